"""Clauses about an extender's responses, and about kube-scheduler while the extender does not respond."""
