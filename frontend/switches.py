"""What is set for the whole process."""

disabled = 0
"""How many `disable_jit` are entered: jitted functions run as plain Python while it is not 0."""
