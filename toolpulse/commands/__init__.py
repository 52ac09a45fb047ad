"""The commands, one module for each part of the API. Each declares its commands in `add_to`."""
