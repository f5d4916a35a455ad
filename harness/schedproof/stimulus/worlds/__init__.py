"""Random worlds on a cluster: runs them, searches for failing ones, and makes these smaller."""
