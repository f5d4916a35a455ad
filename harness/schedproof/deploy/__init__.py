"""Runs a candidate: as processes on this machine, as pods, or as the control plane's scheduler of kind."""
