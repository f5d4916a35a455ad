"""Images of a kind cluster made without a registry: from our own binaries and from Debian packages, layer by layer."""
