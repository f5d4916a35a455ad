"""What a suite does to the world: pods, nodes, load, faults. It asserts nothing."""
