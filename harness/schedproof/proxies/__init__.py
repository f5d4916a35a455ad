"""Proxies on the connections of a candidate: they forward and record traffic, and inject faults."""
