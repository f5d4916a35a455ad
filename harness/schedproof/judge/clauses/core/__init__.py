"""Clauses of every candidate: placement, binding, freshness, preemption, and what is left alone."""
