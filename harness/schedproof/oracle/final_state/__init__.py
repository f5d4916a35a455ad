"""Judges a whole placement at the end of a round, without the order of decisions."""
