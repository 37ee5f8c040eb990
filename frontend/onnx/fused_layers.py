"""Operators of `com.microsoft` that are a layer with its activation, or a convolution with the channels last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..nn import activations, convolution
from ..numpy import elementwise, manipulation
from .contraction import gemm
from .registry import Unsupported, Value, onnx_op
from .windows import WindowAttributes, with_window

DOMAIN = "com.microsoft"

_ACTIVATIONS: dict[str, Callable[..., Value]] = {
    "Celu": activations.celu,
    "Clip": elementwise.clip,
    "Elu": activations.elu,
    "HardSigmoid": activations.hard_sigmoid,
    "LeakyRelu": activations.leaky_relu,
    "Relu": activations.relu,
    "Selu": activations.selu,
    "Sigmoid": activations.sigmoid,
    "Softplus": activations.softplus,
    "Softsign": activations.softsign,
    "Tanh": elementwise.tanh,
    "ThresholdedRelu": activations.thresholded_relu,
}
"""What can stand behind a layer; each takes its parameters by position, and has ONNX's defaults."""


def _activated(x: Value, activation: str, parameters: Sequence[float]) -> Value:
    if not activation:
        return x
    if activation not in _ACTIVATIONS:
        raise Unsupported(f"activation '{activation}'")
    return _ACTIVATIONS[activation](x, *parameters)


@onnx_op("FusedGemm", domain=DOMAIN)
def fused_gemm(
    a: Value,
    b: Value,
    c: Value = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    activation: str = "",
    activation_alpha: float | None = None,
    activation_beta: float | None = None,
    activation_gamma: float | None = None,
) -> Value:
    """The activation of alpha · a @ b + beta · c."""
    y = gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)
    given = (activation_alpha, activation_beta, activation_gamma)
    return _activated(y, activation, [one for one in given if one is not None])


@onnx_op("FusedConv", domain=DOMAIN)
@with_window()
def fused_conv(
    x: Value,
    w: Value,
    b: Value = None,
    z: Value = None,
    *,
    activation: str = "",
    activation_params: Sequence[float] = (),
    group: int = 1,
    window: WindowAttributes,
) -> Value:
    """The activation of a convolution plus `z`."""
    y = convolution.conv(x, w, b, *window.of_convolution(w), group)
    return _activated(y if z is None else elementwise.add(y, z), activation, activation_params)


@onnx_op("NhwcFusedConv", domain=DOMAIN)
@with_window()
def nhwc_fused_conv(
    x: Value,
    w: Value,
    b: Value = None,
    z: Value = None,
    *,
    activation: str = "",
    activation_params: Sequence[float] = (),
    group: int = 1,
    window: WindowAttributes,
) -> Value:
    """A FusedConv of images (n, …, c) and of `z` with the channels last; the weights are (f, c / group, …)."""
    around = window.of_convolution(w)
    y = _channels_last(convolution.conv(_channels_first(x), w, b, *around, group))
    return _activated(y if z is None else elementwise.add(y, z), activation, activation_params)


@onnx_op("NhwcConv", domain=DOMAIN)
@with_window()
def nhwc_conv(
    x: Value,
    w: Value,
    b: Value = None,
    *,
    group: int = 1,
    window: WindowAttributes,
) -> Value:
    """A convolution of images (n, …, c) by weights (f, …, c / group), as ONNX Runtime's optimizer writes them."""
    w = _channels_first(w)
    around = window.of_convolution(w)
    return _channels_last(convolution.conv(_channels_first(x), w, b, *around, group))


def _channels_first(x: Value) -> Value:
    return manipulation.moveaxis(x, -1, 1)


def _channels_last(x: Value) -> Value:
    return manipulation.moveaxis(x, 1, -1)
