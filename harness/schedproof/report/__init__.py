"""Writes reports: takes typed results, and writes files and terminal output. Judges and measures nothing."""
