"""PyTorch and its exporter, which are optional dependencies, and its tensors as NumPy's arrays."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...dialects.dtypes import BFLOAT16, numpy_dtype
from ...errors import StepwellError


def torch_package() -> Any:
    """The package `torch`. Raises StepwellError, naming the extra, where it or what exports from it is not installed."""
    missing = [name for name in ("torch", "onnx", "onnxscript") if find_spec(name) is None]
    if missing:
        raise StepwellError(
            f"found no package '{missing[0]}', expected it to be installed to take modules of PyTorch; "
            "pip install 'stepwell[torch]'"
        )
    return import_module("torch")


def as_numpy(tensor: Any) -> np.ndarray:
    """The elements of a tensor on the CPU, in its own memory."""
    tensor = tensor.detach()
    if str(tensor.dtype) != "torch.bfloat16":
        return tensor.numpy()
    from xdsl.dialects.builtin import bf16

    return tensor.view(import_module("torch").int16).numpy().view(numpy_dtype(bf16))


def as_torch(array: np.ndarray) -> Any:
    """An array as a tensor in the same memory."""
    torch: Any = import_module("torch")
    if array.dtype.name == BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
