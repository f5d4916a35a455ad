"""Clauses: the guarantee of each, and its judge, a pure function of a history. No I/O, no clock, nothing that runs."""
