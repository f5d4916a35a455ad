"""A run: its options and clusters, its way and its events, which cluster tries which clause, and its results."""
