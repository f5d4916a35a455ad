"""Small worlds of nodes and pods: how they are drawn, made smaller and written down. Nothing here runs anything."""
