"""ONNX's attributes of windows, as the functions of `nn` have them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields
from inspect import Parameter
from typing import Any, TypeVar, cast

from ...frozen import frozen
from ..nn.windows import Extents, Padding
from .registry import Unsupported, Value

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_AUTOMATIC = {"VALID": "valid", "SAME_UPPER": "same", "SAME_LOWER": "same_lower"}


def padding(auto_pad: str, pads: Sequence[int], rank: int) -> Padding:
    """What `auto_pad` says, or else `pads`."""
    if auto_pad in _AUTOMATIC:
        return _AUTOMATIC[auto_pad]
    if auto_pad not in ("NOTSET", ""):
        raise Unsupported(f"auto_pad {auto_pad}")
    return pairs(pads, rank)


def pairs(pads: Sequence[int], rank: int) -> Sequence[Sequence[int]]:
    """The elements before and behind each axis, of `pads` as ONNX has them: all beginnings and then all ends."""
    if not pads:
        return [(0, 0)] * rank
    if len(pads) != 2 * rank:
        raise Unsupported(f"{len(pads)} pads for a window of {rank} axes")
    return list(zip(pads[:rank], pads[rank:], strict=True))


@frozen
class WindowAttributes:
    """The attributes that say which window moves over images, and how."""

    auto_pad: str = "NOTSET"
    dilations: Sequence[int] = ()
    kernel_shape: Sequence[int] = ()
    pads: Sequence[int] = ()
    strides: Sequence[int] = ()

    def kernel(self, w: Value) -> tuple[int, ...]:
        """The extents of the window of weights. Raises Unsupported where `kernel_shape` says others."""
        taps = tuple(w.shape[2:])
        if self.kernel_shape and tuple(self.kernel_shape) != taps:
            raise Unsupported(
                f"kernel_shape {list(self.kernel_shape)} with weights of shape {list(w.shape)}"
            )
        return taps

    def of_convolution(self, w: Value) -> tuple[Extents, Padding, Extents]:
        """stride, padding and dilation, as convolutions by these weights take them."""
        around = padding(self.auto_pad, self.pads, len(self.kernel(w)))
        return self.strides or 1, around, self.dilations or 1

    def of_pooling(self) -> tuple[Extents, Extents, Padding, Extents]:
        """kernel_size, stride, padding and dilation, as pooling functions take them."""
        around = padding(self.auto_pad, self.pads, len(self.kernel_shape))
        return self.kernel_shape, self.strides or 1, around, self.dilations or 1


def with_window(*required: str, without: Sequence[str] = ()) -> Callable[[FunctionT], FunctionT]:
    """
    Decorate the function of an operator that takes all attributes of a window as one, the keyword `window`. Those that
    are `required` have no default; the operator does not have those it is `without`.
    """

    def decorate(function: FunctionT) -> FunctionT:
        @functools.wraps(function)
        def called(*inputs: Value, **attributes: Any) -> Any:
            of_window = {name: attributes.pop(name) for name in names if name in attributes}
            return function(*inputs, window=WindowAttributes(**of_window), **attributes)

        signature = inspect.signature(function)
        attributes_here = [one for one in fields(WindowAttributes) if one.name not in without]
        names = [one.name for one in attributes_here]
        others = [one for name, one in signature.parameters.items() if name != "window"]
        window = [
            Parameter(
                one.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if one.name in required else one.default,
            )
            for one in attributes_here
        ]
        vars(called)["__signature__"] = signature.replace(parameters=[*others, *window])
        return cast("FunctionT", called)

    return decorate
