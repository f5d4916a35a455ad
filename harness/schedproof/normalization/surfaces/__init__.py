"""Surfaces: the ways to ask a candidate's scoring, while it runs or in a separate process."""
