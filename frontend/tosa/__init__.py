"""TOSA 1.0, as mlir-opt prints it, brought to the graph level."""
