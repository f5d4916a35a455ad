"""What stands on the connections of a candidate: it passes bytes on, keeps what was said, and makes faults."""
