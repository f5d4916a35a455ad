"""A kind cluster: its nodes, its traffic, its Docker objects, and what a killed run has left of them."""
