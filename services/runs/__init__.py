"""Runs and their attempts: the rules, the engine that writes them, and the driver of workflows."""
