"""The real daemons of a cluster, each with its flags, files and readiness. `clusters` combines them."""
