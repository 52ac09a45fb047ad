"""From the bytes of a response to raw items. No I/O and no clock."""
