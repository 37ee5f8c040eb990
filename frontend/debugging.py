"""
Looking into compiled functions: Python that is called with values when they are there, and functions run without
compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from ..errors import StepwellError
from ..frozen import frozen
from . import switches
from .call_site import call_site_text
from .recording import active_recording, as_tensor
from .structure import Structure, flatten, unflatten
from .tensor import Tensor


@frozen
class Callback:
    """A function of the user's that is called with values of the program after it has run."""

    function: Callable[..., Any]
    nest: Structure
    """Of its arguments."""
    plain: tuple[Any, ...]
    """The leaves of its arguments; those that are computed are None here."""
    tensors: tuple[Tensor, ...]
    """Those that are computed."""

    def run(self, arrays: Sequence[Any]) -> None:
        """Call it with these arrays in place of the tensors."""
        computed = iter(arrays)
        leaves = (next(computed) if leaf is None else leaf for leaf in self.plain)
        args, kwargs = unflatten(self.nest, leaves)
        self.function(*args, **kwargs)


@frozen
class LoopOfCallbacks:
    """Callbacks in the body of a loop, of whose values there is one for each step along the leading axis."""

    inside: tuple[Callback | LoopOfCallbacks, ...]
    steps: int
    reverse: bool
    tensors: tuple[Tensor, ...]

    def run(self, arrays: Sequence[Any]) -> None:
        """Call them, step by step."""
        for step in reversed(range(self.steps)) if self.reverse else range(self.steps):
            run_callbacks(self.inside, [array[step] for array in arrays])


AnyCallback = Callback | LoopOfCallbacks


def tensors_of(callbacks: Sequence[AnyCallback]) -> list[Tensor]:
    """What callbacks are called with: results of the program."""
    return [tensor for callback in callbacks for tensor in callback.tensors]


def run_callbacks(callbacks: Sequence[AnyCallback], arrays: Sequence[Any]) -> None:
    """Call them in order with the arrays that the program gave for `tensors_of` them."""
    start = 0
    for callback in callbacks:
        end = start + len(callback.tensors)
        callback.run(arrays[start:end])
        start = end


def active_callbacks() -> list[AnyCallback]:
    """Those that were asked for in what is recorded now."""
    recording = active_recording()
    return [] if recording is None else cast("list[AnyCallback]", recording.callbacks)


def debug_callback(callback: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """
    Call `callback(*args, **kwargs)` with the arrays that traced values among the arguments become.

    It is called after the compiled function has run, once for each step of loops around it, in order; what it returns is
    left. Outside of traced functions it is called at once. What `lower` gives leaves callbacks out.

    Raises StepwellError inside `while_loop`, `cond` and `switch`, which do not keep their values.

    >>> import numpy as np, stepwell as sw
    >>> seen = []
    >>> halved = sw.jit(lambda x: (sw.debug_callback(seen.append, x.sum()), x / 2)[1])(np.ones(4))
    >>> seen
    [array(4.)]
    """
    recording = active_recording()
    if recording is None:
        callback(*args, **kwargs)
        return
    if not recording.keeps_values:
        raise StepwellError(
            "found debug_print or debug_callback in while_loop, cond or switch, expected it outside of them or in a loop of "
            "known steps; use fori_loop or scan, or run the function in `with stepwell.disable_jit():`",
            where=call_site_text(),
        )
    leaves: list[tuple[str, Any]] = []
    nest = flatten((args, kwargs), "argument", leaves)
    plain = tuple(None if isinstance(leaf, Tensor) else leaf for _, leaf in leaves)
    tensors = tuple(as_tensor(leaf) for _, leaf in leaves if isinstance(leaf, Tensor))
    active_callbacks().append(Callback(callback, nest, plain, tensors))


def debug_print(text: str, *args: Any, **kwargs: Any) -> None:
    """
    Print `text.format(*args, **kwargs)` with the arrays that traced values become: see `debug_callback`.

    >>> import numpy as np, stepwell as sw
    >>> @sw.jit
    ... def scaled(x):
    ...     sw.debug_print("sum {:.2f} of {name}", x.sum(), name="x")
    ...     return x * 2
    >>> scaled(np.ones(2))
    sum 2.00 of x
    array([2., 2.])
    """
    debug_callback(lambda *args, **kwargs: print(text.format(*args, **kwargs)), *args, **kwargs)


@contextmanager
def disable_jit() -> Generator[None]:
    """
    Let jitted functions run as plain Python inside, in every thread: operators are NumPy's, Stepwell's functions compute at
    once, loops are Python's. Values may be printed, and looked at in a debugger.

    >>> import numpy as np, stepwell as sw
    >>> @sw.jit
    ... def absolute(x):
    ...     return x if x.sum() > 0 else -x
    >>> with sw.disable_jit():
    ...     absolute(np.array([1.0, -3.0]))
    array([-1.,  3.])
    """
    switches.disabled += 1
    try:
        yield
    finally:
        switches.disabled -= 1
