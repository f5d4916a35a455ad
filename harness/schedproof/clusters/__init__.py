"""Clusters of all kinds behind one protocol (`cluster.Cluster`), and their common parts."""
