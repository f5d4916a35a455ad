"""Holds a Kubernetes scheduler to its promises."""

__version__ = "0.1.0"
