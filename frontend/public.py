"""The public functions by name, wherever they stand; and their entry among the operators of Tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import (
    array_functions,
    convolution_functions,
    detection_functions,
    einstein_sums,
    elementary_functions,
    fourier_functions,
    functions,
    norm_functions,
    normalization_functions,
    operators,
    ordering_functions,
    pooling_functions,
    quantized_functions,
    random_functions,
    resize_functions,
    selection_functions,
)
from .indexing import getitem
from .traceable import is_public

_TABLES: tuple[Mapping[str, Any], ...] = tuple(
    vars(module)
    for module in (
        functions,
        norm_functions,
        normalization_functions,
        pooling_functions,
        array_functions,
        convolution_functions,
        detection_functions,
        einstein_sums,
        fourier_functions,
        elementary_functions,
        ordering_functions,
        quantized_functions,
        random_functions,
        resize_functions,
        selection_functions,
    )
)

_PUBLIC: dict[str, Callable[..., Any]] = {
    name: function for table in _TABLES for name, function in table.items() if is_public(function)
}


def public(name: str) -> Callable[..., Any] | None:
    """The public function called `name`, or None when there is none."""
    return _PUBLIC.get(name)


def public_names() -> list[str]:
    """The names of all public functions."""
    return sorted(_PUBLIC)


operators.enter(_PUBLIC)
operators.enter({"__getitem__": getitem})
