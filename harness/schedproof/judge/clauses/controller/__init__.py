"""Clauses about a controller that binds pods itself."""
