"""The embedded cluster: processes of this machine, without Docker; and a minimal cluster for benchmarks."""
