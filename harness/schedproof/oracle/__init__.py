"""Where a pod may run by Kubernetes' documented semantics: pure functions of manifests."""
