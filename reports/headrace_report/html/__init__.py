"""The page itself: what stands where, and how it looks."""
