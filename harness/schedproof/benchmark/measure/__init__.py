"""Measurements of a round: CPU time and memory, the scheduler's own metrics, the phases of a pod's latency."""
