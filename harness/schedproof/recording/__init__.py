"""Writes the history of a run: what watches, the audit log and logs of scores show."""
