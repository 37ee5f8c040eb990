"""
Functions of neural networks, by ONNX's or PyTorch's names and argument orders. See `numpy` for the rules they follow.
"""
