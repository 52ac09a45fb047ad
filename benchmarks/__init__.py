"""What the speed and cost claims rest on. Each runs by its path and as a module."""
