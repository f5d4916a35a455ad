"""One report of runs on several minor versions of Kubernetes: what differs between them, and a column for each."""
