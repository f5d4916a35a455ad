"""A run: its options and clusters, which cluster tries which clause, and what came of it, as typed results."""
