"""Fetching over HTTP: pure rules, and one adapter (transport) that connects."""
