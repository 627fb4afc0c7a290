"""The page itself: what is where, and how it looks."""
