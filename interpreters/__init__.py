"""What the operations of levels 1 to 4 mean, on NumPy values."""
