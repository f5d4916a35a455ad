"""Workloads of benchmarks as data: read from schedproof's own files, or from upstream's scheduler_perf."""
