"""What is known of machines: their CPUs, caches, and the rates measured on them."""
