"""A kind cluster: its nodes, its traffic, its Docker objects, and leftovers of killed runs."""
