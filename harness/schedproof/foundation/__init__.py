"""The sandbox, waiting and its deadlines, errors, ports, streams. Nothing here is specific to Kubernetes."""
