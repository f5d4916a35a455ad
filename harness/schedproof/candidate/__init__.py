"""Candidates and their claims, as candidate.yaml describes them. Nothing here starts a process."""
