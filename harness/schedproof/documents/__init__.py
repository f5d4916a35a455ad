"""Reads YAML that users write: positions, problems, suggestions and durations, for every kind of file."""
