"""The command line: one module per command. The work of a command is done in the rooms below."""
