"""The record of a trial: its records in order, and the states of the world that follow from them. Only data."""
