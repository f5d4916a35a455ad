"""Load of nodes, and probes of whether a candidate prefers quiet ones."""
