"""Passes on level 2, `te`."""
