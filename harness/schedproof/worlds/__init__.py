"""Small worlds of nodes and pods: generated, shrunk, and written as text or YAML. Nothing here runs anything."""
