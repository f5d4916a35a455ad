"""Processes of this machine: the sandbox in which they run, what they use, what is left of them."""
