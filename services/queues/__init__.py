"""Adapters of the Queues port."""
