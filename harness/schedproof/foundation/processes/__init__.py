"""Processes of this machine: the sandbox in which they run, their resource usage, their leftovers."""
