"""What functions are of complex numbers: in terms of their real and imaginary parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from ...errors import StepwellError
from ..complex_arrays import is_complex_array, is_complex_dtype, part_dtype
from ..complex_tensor import Complex, is_complex
from ..promotion import FLOAT32, FLOAT64, result_dtype
from ..recording import as_tensor, cast_to
from ..tensor import TensorLike
from ..traceable import rule_of_complex
from .manipulation import broadcast_shapes, broadcast_to

Parts: TypeAlias = tuple[Any, Any]
"""The real part, and the imaginary part or None of a real operand: Tensors, or Python numbers."""


def parts_of(value: TensorLike) -> Parts:
    if isinstance(value, Complex):
        return value.parts
    if isinstance(value, complex) and not isinstance(value, np.generic):
        return value.real, value.imag
    if is_complex_array(value):
        return as_tensor(np.array(value.real)), as_tensor(np.array(value.imag))
    if isinstance(value, list | tuple) and is_of_numbers(value):
        return parts_of(np.asarray(cast("Any", value)))
    return cast("Any", value), None


def is_of_numbers(value: Any) -> bool:
    """Whether all in nested lists are Python numbers."""
    if isinstance(value, list | tuple):
        return all(map(is_of_numbers, cast("Sequence[Any]", value)))
    return isinstance(value, complex | float | int)


def joined(real: TensorLike, imag: TensorLike) -> Complex:
    """The complex numbers of parts that broadcast to each other, in the dtype that they have in common."""
    dtypes = [one if isinstance(one, float | int) else as_tensor(one).dtype for one in (real, imag)]
    arrays = [one for one in dtypes if isinstance(one, np.dtype)]
    dtype = result_dtype(arrays) if arrays else FLOAT64
    if dtype not in (FLOAT32, FLOAT64):
        dtype = FLOAT32 if dtype.kind == "f" or dtype.name == "bfloat16" else FLOAT64
    tensors = [cast_to(as_tensor(one, dtype), dtype) for one in (real, imag)]
    shape = broadcast_shapes(*(one.shape for one in tensors))
    first, second = (one if one.shape == shape else broadcast_to(one, shape) for one in tensors)
    return Complex(first, second)


def as_complex(value: TensorLike) -> Complex:
    """Any operand as complex numbers."""
    real, imag = parts_of(value)
    return joined(real, np.zeros((), np.float32) if imag is None else imag)


def of_complex(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate what a public function is where an argument is complex: `@of_complex(products.matmul)`."""

    def decorate(rule: Callable[..., Any]) -> Callable[..., Any]:
        rule_of_complex(function, rule)
        return rule

    return decorate


def by_parts(function: Callable[..., Any], operands: Sequence[int] = (0,)) -> None:
    """Let a function be applied to the real and to the imaginary parts of the arguments at these places."""

    def rule(*args: Any, **kwargs: Any) -> Any:
        if is_complex_dtype(kwargs.get("dtype")):
            kwargs["dtype"] = part_dtype(np.dtype(kwargs["dtype"]))
        found: list[Any] = []
        for part in (0, 1):
            given = list(args)
            for place in operands:
                if place < len(given):
                    given[place] = _part(given[place], part)
            if is_complex(given) or is_complex(list(kwargs.values())):
                raise StepwellError(
                    f"found complex numbers in another argument of {function.__name__} than its operands, expected real "
                    "ones; take x.real"
                )
            found.append(function(*given, **kwargs))
        return _joined_nests(*found)

    rule_of_complex(function, rule)


def _part(value: Any, part: int) -> Any:
    if isinstance(value, list | tuple) and not is_of_numbers(value):
        return [_part(one, part) for one in cast("Sequence[Any]", value)]
    # Both parts of one dtype, so that what is joined is.
    return as_complex(value).parts[part] if value is not None else None


def _joined_nests(real: Any, imag: Any) -> Any:
    if isinstance(real, list | tuple):
        pairs = zip(cast("Sequence[Any]", real), cast("Sequence[Any]", imag), strict=True)
        return type(cast("Any", real))([_joined_nests(*pair) for pair in pairs])
    return joined(real, imag)


def creation_of_zeros(function: Callable[..., Any], place: int | None) -> None:
    """Let a function that makes arrays of real numbers take a complex dtype, by name or at this place."""

    def rule(*args: Any, **kwargs: Any) -> Any:
        given, dtype = list(args), kwargs.pop("dtype", None)
        if place is not None and place < len(given):
            dtype = given.pop(place)
        if given and isinstance(given[0], Complex | np.ndarray):
            like = cast("Complex", given[0])
            dtype = like.dtype if dtype is None else dtype
            given[0] = like.real
        if not is_complex_dtype(dtype):
            raise StepwellError(
                f"found a complex argument and dtype {dtype}, expected a complex dtype; name one"
            )
        real = function(*given, dtype=part_dtype(np.dtype(dtype)), **kwargs)
        return joined(real, np.zeros((), real.dtype))

    rule_of_complex(function, rule)
