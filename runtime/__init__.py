"""Compiling in process and calling what was compiled."""
