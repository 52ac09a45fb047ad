"""Which feeds are watched: what may be said of one, the registry, and whole lists at once."""
