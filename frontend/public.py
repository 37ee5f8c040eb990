"""The public functions by name, wherever they stand; and their entry among the operators of Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import operators
from .nn import (
    activations,
    convolution,
    detection,
    normalization,
    norms,
    pooling,
    quantization,
    resize,
)
from .numpy import (
    compaction,
    creation,
    einsum,
    elementwise,
    fourier,
    manipulation,
    mathematics,
    products,
    random,
    reductions,
    scans,
    scatter,
    selection,
    sorting,
)
from .numpy.indexing import getitem
from .traceable import is_public

_NUMPY = (
    compaction,
    creation,
    einsum,
    elementwise,
    fourier,
    manipulation,
    mathematics,
    products,
    random,
    reductions,
    scans,
    scatter,
    selection,
    sorting,
)
_NN = (
    activations,
    convolution,
    detection,
    normalization,
    norms,
    pooling,
    quantization,
    resize,
)

_PUBLIC: dict[str, Callable[..., Any]] = {
    name: function
    for module in (*_NUMPY, *_NN)
    for name, function in vars(module).items()
    if is_public(function)
}


def public(name: str) -> Callable[..., Any] | None:
    """The public function called `name`, or None when there is none."""
    return _PUBLIC.get(name)


def public_names() -> list[str]:
    """The names of all public functions."""
    return sorted(_PUBLIC)


operators.enter(_PUBLIC)
operators.enter({"__getitem__": getitem})
