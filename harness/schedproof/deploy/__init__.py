"""How a candidate runs: processes on this machine, or pods and control planes of kind."""
