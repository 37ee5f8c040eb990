"""What is raised for inputs that must be constants. Loaded where nothing of the `onnx` package is."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import StepwellError


class InputNeeded(StepwellError):
    """Inputs whose values decide shapes, and which must be known when the model is imported."""

    def __init__(self, message: str, inputs: Sequence[str], where: str):
        super().__init__(message, where=where)
        self.inputs = tuple(inputs)
