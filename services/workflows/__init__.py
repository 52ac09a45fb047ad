"""Workflows: long work in pages, and the changes that start it. services/work/driver.py carries them out."""
