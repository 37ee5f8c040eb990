"""Passes on level 1, `graph`."""
