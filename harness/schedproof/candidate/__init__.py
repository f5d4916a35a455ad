"""What a candidate is and claims, as its descriptor says. Nothing here runs."""
