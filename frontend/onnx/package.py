"""The `onnx` package, which is an optional dependency."""

from __future__ import annotations

from importlib.util import find_spec

from ...errors import StepwellError


def require_onnx(where: str | None = None) -> None:
    """Raises StepwellError, naming the extra that brings it, when the `onnx` package is not installed."""
    if find_spec("onnx") is None:
        raise StepwellError(
            "found no package 'onnx', expected it to be installed to read models; pip install 'stepwell[onnx]'",
            where=where,
        )
