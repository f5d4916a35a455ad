"""What is scheduled in a benchmark, as data: read from our own files, or from upstream's scheduler_perf."""
