"""Typed results in, files out. What is judged or measured is decided before."""
