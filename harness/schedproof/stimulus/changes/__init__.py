"""Changes of a cluster and of its candidate for a case. Each part undoes its own changes."""
