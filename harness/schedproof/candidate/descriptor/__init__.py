"""Reads candidate.yaml: every field with its position, its default, and the fix if it is invalid."""
