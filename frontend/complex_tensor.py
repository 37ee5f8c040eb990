"""
Complex numbers in traced functions: a pair of Tensors, the real and the imaginary parts.

The IR has no complex element type: a pair is split and joined at the border of the compiled function, and everything in
between, fusion and vectors too, is of real numbers that each level has already. Functions say what they are of pairs by
`complex_rules.of_complex`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, cast

import numpy as np

from ..errors import StepwellError
from ..spelling import did_you_mean
from .call_site import call_site_text
from .complex_arrays import Pair, complex_dtype, is_complex_array, is_complex_dtype
from .numpy_dispatch import TracedArray
from .operators import call
from .tensor import MOST_PARTS, Tensor, is_basic


class Complex(Pair, TracedArray):
    """
    A traced value of dtype complex64 or complex128: `real` and `imag` are Tensors of one shape, in float32 or float64.

    Operators, indexing and methods are NumPy's, for the functions that are defined for complex numbers.
    """

    __slots__ = ("imag", "real")
    __array_priority__ = 1001

    def __init__(self, real: Tensor, imag: Tensor):
        self.real, self.imag = real, imag

    @property
    def parts(self) -> tuple[Tensor, Tensor]:
        return self.real, self.imag

    @property
    def shape(self) -> tuple[int, ...]:
        return self.real.shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.real.size

    @property
    def dtype(self) -> np.dtype:
        return complex_dtype(self.real.dtype)

    @property
    def T(self) -> Any:
        return call("transpose", self)

    @property
    def mT(self) -> Any:
        return call("matrix_transpose", self)

    def __repr__(self) -> str:
        return f"Tensor({self.dtype}{list(self.shape)})"

    def __len__(self) -> int:
        return len(self.real)

    def __iter__(self) -> Iterator[Any]:
        if not self.shape or self.shape[0] > MOST_PARTS:
            iter(self.real)  # says so
        return (self[number] for number in range(self.shape[0]))

    def __getattr__(self, name: str) -> NoReturn:
        known = [one for one in dir(Complex) if one[0] != "_"]
        what = did_you_mean(name, known, "x.real and x.imag have all that real values have")
        raise AttributeError(f"a traced complex value has no attribute '{name}'; {what}")

    def _unusable(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise StepwellError(
            f"found {self!r} where Python needs its elements, which a traced value does not have while the function is "
            "traced; compute with stepwell's functions",
            where=call_site_text(),
        )

    __bool__ = __complex__ = __float__ = __int__ = __index__ = __array__ = item = tolist = _unusable
    __hash__ = None  # as of any object whose == gives no bool

    def __pos__(self) -> Complex:
        return self.copy()

    def __getitem__(self, key: Any) -> Any:
        part = call("__getitem__", self, key)
        for own, whole in zip(part.parts, self.parts, strict=True):
            if is_basic(key) and own.shape:
                own.as_view_of(whole)
        return part

    def __setitem__(self, key: Any, value: Any) -> None:
        """As of real values: from here on this name stands for a new value."""
        real, imag = call("real", value), call("imag", value)
        self.real[key] = real
        self.imag[key] = imag

    def copy(self) -> Complex:
        """The same value, which may be assigned into."""
        return Complex(self.real.copy(), self.imag.copy())

    __copy__ = copy

    # NumPy's methods.

    def conj(self) -> Any:
        return call("conj", self)

    conjugate = conj

    def astype(self, dtype: Any, *, copy: bool = True) -> Any:
        return call("astype", self, dtype)

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        return call("reshape", self, shape[0] if len(shape) == 1 else shape, order)

    def ravel(self, order: str = "C") -> Any:
        return call("ravel", self, order)

    flatten = ravel

    def transpose(self, *axes: Any) -> Any:
        if len(axes) == 1 and not isinstance(axes[0], int):
            axes = axes[0]
        return call("transpose", self, axes or None)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        return call("swapaxes", self, axis1, axis2)

    def squeeze(self, axis: Any = None) -> Any:
        return call("squeeze", self, axis)

    def sum(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        return call("sum", self, axis, keepdims=keepdims)

    def mean(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        return call("mean", self, axis, keepdims=keepdims)

    def cumsum(self, axis: int | None = None) -> Any:
        return call("cumsum", self, axis)

    def dot(self, other: Any) -> Any:
        return call("dot", self, other)


def is_complex(value: object) -> bool:
    """Whether there are complex numbers in an argument, or it names their dtype."""
    if isinstance(value, list | tuple):
        return any(map(is_complex, cast("Sequence[object]", value)))
    return (
        isinstance(value, Complex | complex) or is_complex_array(value) or is_complex_dtype(value)
    )
