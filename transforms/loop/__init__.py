"""Passes on level 3, `loop`."""
