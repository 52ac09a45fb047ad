"""Labelled sentences with ambiguous names, and the training of the cues' weights on them."""
