"""What a caller passes to a function and gets back, as data. Loaded where nothing of xDSL is; see signature.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..frozen import frozen

Convention = Literal["tensor", "marked", "inout"]


@frozen
class ArgSpec:
    """One array (or scalar, passed by value) at a function's boundary. `None` in `shape` is `?`."""

    name: str
    shape: tuple[int | None, ...]
    dtype: np.dtype
    scalar: bool = False

    def __str__(self) -> str:
        extents = ", ".join("?" if extent is None else str(extent) for extent in self.shape)
        return f"{self.dtype}[{extents}]"

    def fits(self, shape: Sequence[int]) -> bool:
        """Whether an array of this shape may be passed."""
        return len(shape) == len(self.shape) and all(
            expected is None or expected == found
            for expected, found in zip(self.shape, shape, strict=True)
        )

    @property
    def is_static(self) -> bool:
        return None not in self.shape


@frozen
class FunctionSignature:
    """
    How a function is called.

    `inputs` are what the caller provides, in order; `results` what it gets back. Under `inout`, `results`
    are the final contents of every memref argument followed by the returned values.
    `arena_bytes` is the size of the arena argument, 0 when the function has none.
    """

    name: str
    inputs: tuple[ArgSpec, ...]
    results: tuple[ArgSpec, ...]
    convention: Convention
    arena_bytes: int = 0

    def __str__(self) -> str:
        inputs = ", ".join(f"{spec.name}: {spec}" for spec in self.inputs)
        return f"{self.name}({inputs}) -> ({', '.join(map(str, self.results))})"
