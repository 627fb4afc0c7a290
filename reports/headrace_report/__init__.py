"""Draws headrace's report pages from run files alone. Verdicts are read, never computed, here."""

__version__ = "0.1.0"
