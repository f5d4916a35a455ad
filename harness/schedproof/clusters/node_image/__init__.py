"""Builds the images of a kind cluster without a registry, from binaries and Debian packages, layer by layer."""
