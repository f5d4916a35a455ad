"""A cluster of processes on this machine, without Docker; and a minimal one for benchmarks."""
