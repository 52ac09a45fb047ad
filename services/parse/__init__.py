"""Parses the bytes of a response into raw items. No I/O and no clock."""
