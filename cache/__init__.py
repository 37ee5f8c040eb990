"""What is kept from one process to the next: a folder of checked entries, and the keys they are found by."""
