"""Compiling a plugin into a kube-scheduler of the cluster's version, and explaining what does not compile or start."""
