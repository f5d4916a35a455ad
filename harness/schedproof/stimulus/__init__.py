"""What a suite does to the world: pods, nodes, load, faults; and the recorder of the history. It asserts nothing."""
