"""A cluster that others run: what may be done in it, and how it is left as it was."""
