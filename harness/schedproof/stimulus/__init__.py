"""The stimulus of suites: changes of pods, nodes, load and lines. It asserts nothing."""
