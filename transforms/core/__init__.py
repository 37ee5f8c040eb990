"""Passes on level 4, the upstream dialects."""
