"""Clauses about the answers of an extender, and about kube-scheduler while it gives none."""
