"""Binaries of pinned versions: found, downloaded or built, and cached. Nothing here runs them as daemons."""
