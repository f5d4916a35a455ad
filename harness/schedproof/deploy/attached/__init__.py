"""Schedulers that run already in an existing cluster: their pods are found and watched."""
