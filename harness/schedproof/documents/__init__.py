"""Reading YAML that users write: positions, problems, suggestions, durations; the same for every kind of file."""
