"""Public functions of windows that move over images. See `functions` for the rules they all follow."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects import graph
from ...errors import StepwellError
from ..numpy.arguments import integers
from ..numpy.elementwise import add
from ..promotion import dtype_named
from ..recording import as_tensor, cast_to, promoted, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable

Padding = int | str | Sequence[int] | Sequence[Sequence[int]]


@traceable
def conv(
    x: TensorLike,
    w: TensorLike,
    /,
    b: TensorLike | None = None,
    stride: int | Sequence[int] = 1,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """
    The convolution of images `x` (n, c, …) by weights `w` (f, c / groups, …), with any number of axes after the
    channels, plus a bias `b` for each of the f output channels (`torch.nn.functional.conv2d`, ONNX Conv).

    `stride` and `dilation` are a number, or one for each axis of the window; so is `padding`, which may also be a pair
    for each axis (before, after), `"valid"` (none), or `"same"`: as many elements as the image has where strides are 1,
    the odd one after it.
    """
    x, w = promoted(x, w)
    rank = _rank(x, w)
    strides, dilations = _numbers(stride, rank, "stride"), _numbers(dilation, rank, "dilation")
    before, after = _pads(padding, x, w, strides, dilations)
    y = record(graph.ConvOp, x, w, strides, dilations, before, after, groups)
    return y if b is None else _biased(y, b)


@traceable
def conv_transpose(
    x: TensorLike,
    w: TensorLike,
    /,
    b: TensorLike | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | Sequence[Sequence[int]] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """
    What a convolution of these parameters does to gradients: images `x` (n, c, …) and weights `w` (c, f / groups, …)
    make (i - 1) · stride + dilation · (k - 1) + 1 - padding + output_padding elements along each axis, plus a bias
    (`torch.nn.functional.conv_transpose2d`, ONNX ConvTranspose). `padding` is cut off at both ends, or a pair for each
    axis says how much at the beginning and at the end.
    """
    x, w = promoted(x, w)
    rank = _rank(x, w)
    strides, dilations = _numbers(stride, rank, "stride"), _numbers(dilation, rank, "dilation")
    before, after = _pads(padding, x, w, strides, dilations)
    more = _numbers(output_padding, rank, "output_padding")
    after = tuple(end - extra for end, extra in zip(after, more, strict=True))
    y = record(graph.ConvTransposeOp, x, w, strides, dilations, before, after, groups)
    return y if b is None else _biased(y, b)


def _rank(x: Tensor, w: Tensor) -> int:
    """The axes of the window."""
    if x.ndim < 3 or w.ndim != x.ndim:
        raise StepwellError(
            f"found an image of shape {list(x.shape)} and weights of shape {list(w.shape)}, expected a batch, channels "
            "and the same number of axes after them in both; reshape one"
        )
    return x.ndim - 2


def _numbers(value: int | Sequence[int], rank: int, what: str) -> tuple[int, ...]:
    numbers = integers(value, what)
    if len(numbers) == 1:
        numbers *= rank
    if len(numbers) != rank:
        raise StepwellError(
            f"found {len(numbers)} numbers for {what}, expected one, or {rank}, one for each axis of the window"
        )
    return numbers


def _pads(
    padding: Padding, x: Tensor, w: Tensor, strides: Sequence[int], dilations: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Before and after each axis."""
    rank = len(strides)
    if isinstance(padding, str):
        if padding == "valid":
            return (0,) * rank, (0,) * rank
        if padding != "same" or max(strides) > 1:
            raise StepwellError(
                f"found padding '{padding}' with strides {list(strides)}, expected 'valid', or 'same' with strides of "
                "1; give numbers"
            )
        whole = [step * (taps - 1) for step, taps in zip(dilations, w.shape[2:], strict=True)]
        before = tuple(count // 2 for count in whole)
        return before, tuple(count - low for count, low in zip(whole, before, strict=True))
    if isinstance(padding, Sequence) and any(isinstance(each, Sequence) for each in padding):
        pairs = [integers(each, "padding") for each in padding]
        if len(pairs) != rank or any(len(pair) != 2 for pair in pairs):
            raise StepwellError(
                f"found padding {padding!r:.60}, expected a pair (before, after) for each of {rank} axes"
            )
        return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    numbers = _numbers(padding, rank, "padding")  # pyright: ignore[reportArgumentType]
    return numbers, numbers


def _biased(y: Tensor, b: TensorLike) -> Tensor:
    """With a number added to each channel."""
    bias = cast_to(as_tensor(b), dtype_named(y.dtype))
    if bias.shape != (y.shape[1],):
        raise StepwellError(
            f"found a bias of shape {list(bias.shape)}, expected one number for each of {y.shape[1]} output channels"
        )
    return add(y, record(graph.ReshapeOp, bias, (y.shape[1], *[1] * (y.ndim - 2))))
