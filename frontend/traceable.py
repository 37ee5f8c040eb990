"""The public functions' two lives: recorded in a traced function, computed at once outside."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from ..errors import StepwellError
from .active import active
from .call_site import call_site_text
from .complex_tensor import Complex, is_complex
from .promotion import is_scalar
from .recording import EagerRecording, active_recording, records_constants
from .signatures import wrong_call
from .structure import flatten, unflatten
from .tensor import VIEW, Tensor

_PUBLIC = "__stepwell_public__"
_OF_COMPLEX = "__stepwell_of_complex__"

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class _Nesting(threading.local):
    """Whether a public function is running in this thread."""

    inside = False


_nesting = _Nesting()


def traceable(function: FunctionT) -> FunctionT:
    """
    Decorate a function written with `as_tensor` and `record` so that it also takes NumPy arrays alone, and
    returns NumPy arrays then; and so that its errors stand at the user's line.

    Called by another public function it records, whatever it is given: what it returns is a Tensor there.
    """
    return _public(function, lambda args, kwargs: _any_tensor(args) or _any_tensor(kwargs.values()))


def creation(function: FunctionT) -> FunctionT:
    """Decorate a function without operands: recorded when a function is being traced, computed otherwise."""
    return _public(function, lambda args, kwargs: active_recording() is not None)


def _public(function: FunctionT, is_traced: Callable[[Any, Any], bool]) -> FunctionT:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        is_of_complex = is_complex(args) or is_complex(tuple(kwargs.values()))
        if _nesting.inside:
            chosen = _rule(call, function.__name__) if is_of_complex else function
            return chosen(*args, **kwargs)
        _nesting.inside = True
        active.calls += 1
        try:
            chosen = _rule(call, function.__name__) if is_of_complex else function
            if is_traced(args, kwargs) or records_constants():
                return _as_numpys(call.__name__, chosen(*args, **kwargs), args)
            return _computed(chosen, args, kwargs)
        except StepwellError as error:
            error.where = error.where or call_site_text()
            raise
        except TypeError:
            error = wrong_call(f"stepwell.{call.__name__}", function, args, kwargs)
            if error is None:
                raise
            error.where = call_site_text()
            raise error from None
        finally:
            _nesting.inside = False

    setattr(call, _PUBLIC, True)
    return cast(FunctionT, call)


def rule_of_complex(function: Callable[..., Any], rule: Callable[..., Any]) -> None:
    """Let a public function be `rule` where an argument is complex, or is a complex dtype."""
    setattr(function, _OF_COMPLEX, rule)


def takes_complex(function: object) -> bool:
    """Whether a public function has a rule for complex numbers."""
    return hasattr(function, _OF_COMPLEX)


def _rule(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    rule = getattr(function, _OF_COMPLEX, None)
    if rule is None:
        raise StepwellError(
            f"found complex numbers in {name}, which there is of real ones; compute with x.real and x.imag"
        )
    return rule


_VIEWS = frozenset(
    (
        *("reshape", "ravel", "transpose", "matrix_transpose", "swapaxes", "moveaxis", "rollaxis"),
        *("expand_dims", "squeeze", "broadcast_to", "diagonal", "permute_dims", "unstack"),
        *("split", "array_split", "hsplit", "vsplit", "dsplit", "broadcast_arrays"),
        *("atleast_1d", "atleast_2d", "atleast_3d", "flip", "fliplr", "flipud", "rot90"),
    )
)
"""Functions whose results share their elements with the operand in NumPy."""

_OF_EACH = frozenset(("broadcast_arrays", "atleast_1d", "atleast_2d", "atleast_3d"))
"""Those of several operands, which have a result for each."""


def _as_numpys(name: str, result: Any, args: Sequence[Any]) -> Any:
    """The result, which says whether an assignment into it would be seen elsewhere in NumPy."""
    first = args[0] if args else None
    if name in _VIEWS and isinstance(result, list | tuple):
        parts = cast("list[Any]", result)
        wholes = args if name in _OF_EACH else [first for _ in parts]
        return type(parts)(_as_numpys(name, *pair) for pair in zip(parts, zip(wholes), strict=True))
    if isinstance(result, Complex) and name != "asarray":
        result = result.copy()  # a part may be that of an operand: the imaginary one of z + 1
        if name in _VIEWS and isinstance(first, Complex):
            for part, whole in zip(result.parts, first.parts, strict=True):
                part.as_view_of(whole)
    if not isinstance(result, Tensor):
        return result
    if any(result is arg for arg in args) and name != "asarray":
        result = result.copy()
    if name in _VIEWS:
        result.shared = VIEW
        if isinstance(first, Tensor) and result.shape:
            result.as_view_of(first)
    elif name in _OF_NUMBERS and args and all(map(_is_number, args)):
        result.weak = True
    return result


_OF_NUMBERS = frozenset(
    (
        *("add", "subtract", "multiply", "divide", "floor_divide", "mod", "power"),
        *("negative", "abs"),
    )
)
"""Python's arithmetic, which gives Python numbers of Python numbers."""


def _is_number(value: object) -> bool:
    """Whether it is a Python number, or stands for one."""
    return value.weak if isinstance(value, Tensor) else is_scalar(value)


def is_public(function: object) -> bool:
    """Whether it is a function that `traceable` or `creation` made."""
    return getattr(function, _PUBLIC, False) is True


def _any_tensor(args: Iterable[Any]) -> bool:
    return any(
        isinstance(arg, Tensor | Complex) or (type(arg) in (list, tuple) and _any_tensor(arg))
        for arg in args
    )


def _computed(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What the operations that `function` records compute: an array, or as many of them in what holds its Tensors."""
    recording = EagerRecording()
    with recording:
        leaves: list[tuple[str, Any]] = []
        structure = flatten(function(*args, **kwargs), "result", leaves)
        return unflatten(structure, (recording.value(tensor) for _, tensor in leaves))
