"""What the fetcher is made of: rules that are pure, and one adapter (wire) that talks HTTP."""
