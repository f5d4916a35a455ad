"""What a candidate is and claims, and how it is brought into a cluster. What it is asked is `stimulus`."""
