"""Clauses side by side: several clusters of the same kind, each with its own instance of a candidate."""
