"""Records the history of a run from watches, the audit log and scores in scheduler logs, and samples a soak."""
