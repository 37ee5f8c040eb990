"""Passes that stay on one level."""
