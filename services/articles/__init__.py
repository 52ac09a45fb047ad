"""Ingestion: polls feeds, finds the article of each entry, and writes what is new."""
