"""Workflows: long work in pages, and the changes that start it. services/runs/driver.py carries them out."""
