"""Network load and its readings: real packets in network namespaces, scripted series, Prometheus queries for nodes."""
