"""The conformance report of a run: what a project publishes, and how it is verified."""
