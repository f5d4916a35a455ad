"""Questions about scores, on each surface that a candidate offers."""
