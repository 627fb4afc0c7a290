"""The page itself: its layout and style."""
