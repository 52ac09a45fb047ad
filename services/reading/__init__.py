"""What was taken in and done, as callers may read it."""
