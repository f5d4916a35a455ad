"""Whether a whole placement is right once all is done, in the order that explains it."""
