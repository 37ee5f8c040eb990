"""Ways in: tracing Python functions and reading files."""
