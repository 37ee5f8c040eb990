"""Programs from PyTorch: modules as programs (`from_torch`), and a backend of `torch.compile`."""
