"""Stimuli for one kind of candidate: extenders, and compiled schedulers with their plugins."""
