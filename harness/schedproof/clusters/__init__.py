"""Clusters of every kind behind one protocol (`cluster.Cluster`), and what is the same in all of them."""
