"""What can be known about the IR without changing it."""
