"""`schedproof doctor`: what this machine has, what it lacks, and how to get it."""
