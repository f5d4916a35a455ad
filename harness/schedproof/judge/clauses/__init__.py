"""Clauses by the part of a candidate that they are about. Each module ends in its clauses, which `catalogue` lists."""
