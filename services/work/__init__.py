"""The one way in which work follows from a stored change: stages, what is due, tries, and their messages."""
