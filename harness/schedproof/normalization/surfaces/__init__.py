"""Surfaces: the ways to put questions to a candidate's scoring while it runs, or in a process of its own."""
