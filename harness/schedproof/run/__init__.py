"""A run: its options and clusters, which cluster tries which clause, and its results, as types."""
