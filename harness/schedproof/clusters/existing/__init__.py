"""A cluster that others run: access to it, the objects of a run, and their removal."""
