"""What a round is measured by: processor time and memory, the scheduler's own metrics, the phases of a pod."""
