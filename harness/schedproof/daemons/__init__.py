"""Real daemons of a cluster, each with its flags, its files and when it is ready. `clusters` combines them."""
