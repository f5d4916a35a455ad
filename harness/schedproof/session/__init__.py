"""A session: its options, its clusters, and candidates that are tried and judged one after the other."""
