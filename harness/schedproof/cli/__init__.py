"""The command line: one module for each command. What a command does is in the rooms below."""
