"""Programs of pinned versions: found, downloaded or built, and kept in the cache. Nothing here runs them."""
