"""Network load and its readings: real packets in network namespaces, scripted series, what Prometheus has of a node."""
