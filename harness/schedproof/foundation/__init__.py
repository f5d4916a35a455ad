"""The sandbox, waiting and its deadlines, errors, ports, streams. Nothing here is about Kubernetes."""
