"""Random worlds on a cluster: run, searched, and made smaller."""
