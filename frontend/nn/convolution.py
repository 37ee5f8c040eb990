"""Public functions of windows that move over images. See `functions` for the rules they all follow."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...dialects import graph
from ...errors import StepwellError
from ..numpy.elementwise import add
from ..promotion import dtype_named
from ..recording import as_tensor, cast_to, promoted, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .windows import Extents, Padding, explicit_pads, numbers, pads

MOST_PHASES = 1024
"""A transposed convolution is one convolution for each step of its strides: a number in a file must not make millions."""


@traceable
def conv(
    x: TensorLike,
    w: TensorLike,
    /,
    b: TensorLike | None = None,
    stride: Extents = 1,
    padding: Padding = 0,
    dilation: Extents = 1,
    groups: int = 1,
) -> Tensor:
    """
    The convolution of images `x` (n, c, …) by weights `w` (f, c / groups, …), with any number of axes after the
    channels, plus a bias `b` for each of the f output channels (`torch.nn.functional.conv2d`, ONNX Conv).

    `stride` and `dilation` are a number, or one for each axis of the window; so is `padding`, which may also be a pair
    for each axis (before, after), `"valid"` (none), `"same"` (as many places of the window as make ceil(extent / stride),
    an odd element of the padding behind the image) or `"same_lower"` (before it).

    >>> x, w = np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 3, 3), np.float32)
    >>> sw.nn.conv(x, w)[0, 0]
    array([[9., 9.],
           [9., 9.]], dtype=float32)
    """
    x, w = promoted(x, w)
    rank = _rank(x, w)
    strides, dilations = numbers(stride, rank, "stride"), numbers(dilation, rank, "dilation")
    reaches = [step * (taps - 1) + 1 for step, taps in zip(dilations, w.shape[2:], strict=True)]
    before, after = pads(padding, x.shape[2:], reaches, strides)
    y = record(graph.ConvOp, x, w, strides, dilations, before, after, *numbers(groups, 1, "groups"))
    return y if b is None else biased(y, b)


@traceable
def conv_transpose(
    x: TensorLike,
    w: TensorLike,
    /,
    b: TensorLike | None = None,
    stride: Extents = 1,
    padding: Extents | Sequence[Sequence[int]] = 0,
    output_padding: Extents = 0,
    groups: int = 1,
    dilation: Extents = 1,
) -> Tensor:
    """
    What a convolution of these parameters does to gradients: images `x` (n, c, …) and weights `w` (c, f / groups, …)
    make (i - 1) · stride + dilation · (k - 1) + 1 - padding + output_padding elements along each axis, plus a bias
    (`torch.nn.functional.conv_transpose2d`, ONNX ConvTranspose). `padding` is cut off at both ends, or a pair for each
    axis says how much at the beginning and at the end.

    Raises StepwellError for strides whose product is too large, and for shapes that do not fit.

    >>> x, w = np.ones((1, 1, 2), np.float32), np.ones((1, 1, 2), np.float32)
    >>> sw.nn.conv_transpose(x, w, stride=2)
    array([[[1., 1., 1., 1.]]], dtype=float32)
    """
    x, w = promoted(x, w)
    rank = _rank(x, w)
    strides, dilations = numbers(stride, rank, "stride"), numbers(dilation, rank, "dilation")
    before, after = explicit_pads(padding, rank)
    more = numbers(output_padding, rank, "output_padding")
    after = tuple(end - extra for end, extra in zip(after, more, strict=True))
    (count,) = numbers(groups, 1, "groups")
    y = record(graph.ConvTransposeOp, x, w, strides, dilations, before, after, count)
    phases = prod(map(min, strides, y.shape[2:]))
    if phases > MOST_PHASES:
        raise StepwellError(
            f"found strides {list(strides)} of a transposed convolution, expected at most {MOST_PHASES} for all axes "
            "together; make them smaller"
        )
    return y if b is None else biased(y, b)


def _rank(x: Tensor, w: Tensor) -> int:
    """The axes of the window."""
    if x.ndim < 3 or w.ndim != x.ndim:
        raise StepwellError(
            f"found an image of shape {list(x.shape)} and weights of shape {list(w.shape)}, expected a batch, channels "
            "and the same number of axes after them in both; reshape one"
        )
    return x.ndim - 2


def biased(y: Tensor, b: TensorLike) -> Tensor:
    """With a number added to each channel."""
    bias = cast_to(as_tensor(b), dtype_named(y.dtype))
    if bias.shape != (y.shape[1],):
        raise StepwellError(
            f"found a bias of shape {list(bias.shape)}, expected one number for each of {y.shape[1]} output channels"
        )
    return add(y, record(graph.ReshapeOp, bias, (y.shape[1], *[1] * (y.ndim - 2))))
