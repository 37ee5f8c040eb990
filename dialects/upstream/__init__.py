"""What upstream MLIR's dialects have and xDSL's lack, in upstream's syntax."""
