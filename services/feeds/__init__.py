"""Feeds: the registry and lists, claims and leases, the outcome of a fetch, and when to fetch next."""
