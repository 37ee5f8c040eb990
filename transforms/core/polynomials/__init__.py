"""Transcendental functions as arithmetic: the builder, the coefficients, the functions."""
