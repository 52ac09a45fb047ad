"""Every article once, from everywhere: sources, fetching, deduplication, schedule."""
