"""What happened in a trial, as records in order, and the states of the world that follow from them. Only data."""
