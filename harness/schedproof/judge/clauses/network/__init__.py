"""Clauses about traffic: the quietest node is preferred, and readings that are missing, late or wrong."""
