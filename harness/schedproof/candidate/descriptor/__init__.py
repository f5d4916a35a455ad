"""Reading candidate.yaml: every field with its place, its default and what to do where it is wrong."""
