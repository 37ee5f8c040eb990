"""Schedules proposed for kernels: rules that look at loops and a target and write a script."""
