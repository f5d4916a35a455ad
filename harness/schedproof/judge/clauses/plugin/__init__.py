"""Clauses about a kube-scheduler with plugins: its start, its configuration, and what its plugins do."""
