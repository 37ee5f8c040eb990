"""Normalizing functions: along axes, over channels, and by what lies around an element."""

from __future__ import annotations

import numpy as np

from ...dialects import graph
from ...dialects.graph.windows import Window
from ...errors import StepwellError
from ..numpy.arguments import AxisLike, axes_of, integers, normalized, number, single_axis
from ..numpy.elementwise import floating, power, where
from ..recording import as_tensor, converted, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .norms import lp_norm


@traceable
def softmax(x: TensorLike, /, axis: int = -1) -> Tensor:
    """
    exp(x) / sum(exp(x)) along an axis, computed so that large elements do not overflow.

    >>> sw.softmax([0.0, 0.0, 1000.0])
    array([0., 0., 1.])
    """
    return record(graph.SoftmaxOp, floating(x), single_axis(axis))


@traceable
def log_softmax(x: TensorLike, /, axis: int = -1) -> Tensor:
    """
    log(softmax(x)) along an axis, computed so that large elements do not overflow.

    >>> sw.nn.log_softmax([0.0, 0.0, 1000.0])
    array([-1000., -1000.,     0.])
    """
    return record(graph.LogSoftmaxOp, floating(x), single_axis(axis))


@traceable
def layer_norm(
    x: TensorLike,
    /,
    scale: TensorLike = None,
    bias: TensorLike = None,
    *,
    axis: int = -1,
    eps: float = 1e-5,
) -> Tensor:
    """
    (x - mean) / sqrt(variance + eps) over the axes from `axis` on, times `scale`, plus `bias` (ONNX
    LayerNormalization). Both broadcast to those axes and may be None. The result has the dtype of `x`.

    >>> sw.nn.layer_norm([[1.0, 3.0], [10.0, 30.0]])
    array([[-1.,  1.],
           [-1.,  1.]])
    """
    tensor = floating(x)
    parameters = converted([scale if scale is not None else 1], tensor.dtype)
    if bias is not None:
        parameters += converted([bias], tensor.dtype)
    elif scale is None:
        parameters = []
    return record(
        graph.LayerNormOp, tensor, *parameters, axis=single_axis(axis), epsilon=number(eps, "eps")
    )


@traceable
def rms_norm(
    x: TensorLike, /, scale: TensorLike = None, *, axis: int = -1, eps: float = 1e-5
) -> Tensor:
    """
    x / sqrt(mean of squares + eps) over the axes from `axis` on, times `scale`, which broadcasts to them and may be None
    (ONNX RMSNormalization). The result has the dtype of `x`.

    >>> sw.nn.rms_norm([3.0, 4.0])
    array([0.8485, 1.1314])
    """
    tensor = floating(x)
    parameters = [] if scale is None else converted([scale], tensor.dtype)
    return record(
        graph.RmsNormOp, tensor, *parameters, axis=single_axis(axis), epsilon=number(eps, "eps")
    )


@traceable
def batch_norm(
    x: TensorLike,
    scale: TensorLike,
    bias: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    /,
    *,
    axis: int = 1,
    eps: float = 1e-5,
) -> Tensor:
    """
    (x - mean) / sqrt(variance + eps) · scale + bias with one number of each for each channel on `axis` (ONNX
    BatchNormalization of a trained model). The result has the dtype of `x`.

    >>> x = [[1.0, 10.0], [3.0, 30.0]]  # two channels
    >>> sw.nn.batch_norm(x, [1.0, 1.0], [0.0, 0.0], [2.0, 20.0], [1.0, 100.0])
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    tensor = floating(x)
    parameters = converted([scale, bias, mean, variance], tensor.dtype)
    return record(
        graph.BatchNormOp, tensor, *parameters, axis=single_axis(axis), epsilon=number(eps, "eps")
    )


@traceable
def group_norm(
    x: TensorLike,
    /,
    num_groups: int,
    scale: TensorLike = None,
    bias: TensorLike = None,
    *,
    eps: float = 1e-5,
) -> Tensor:
    """
    (x - mean) / sqrt(variance + eps) over each group of the channels on axis 1, and over all axes behind, times `scale`,
    plus `bias`, which have a number for each channel and may be None (ONNX GroupNormalization).

    >>> sw.nn.group_norm([[1.0, 3.0, 10.0, 30.0]], 2)
    array([[-1.,  1., -1.,  1.]])
    """
    tensor = floating(x)
    channels = tensor.shape[1] if tensor.ndim > 1 else 1
    parameters = [
        np.full(channels, default) if value is None else value
        for value, default in ((scale, 1.0), (bias, 0.0))
    ]
    (groups,) = integers(num_groups, "num_groups")
    return record(
        graph.GroupNormOp,
        tensor,
        *converted(parameters, tensor.dtype),
        groups=groups,
        epsilon=number(eps, "eps"),
    )


@traceable
def instance_norm(
    x: TensorLike,
    /,
    scale: TensorLike = None,
    bias: TensorLike = None,
    *,
    eps: float = 1e-5,
) -> Tensor:
    """
    `group_norm` with a group for each channel (ONNX InstanceNormalization).

    >>> sw.nn.instance_norm([[[1.0, 3.0], [10.0, 30.0]]])
    array([[[-1.,  1.],
            [-1.,  1.]]])
    """
    tensor = as_tensor(x)
    return group_norm(tensor, tensor.shape[1] if tensor.ndim > 1 else 1, scale, bias, eps=eps)


@traceable
def lp_normalize(x: TensorLike, /, p: float = 2, axis: int = -1) -> Tensor:
    """
    x / (Σ |x|ᵖ)^(1/p) along an axis; 0 where that is 0 (ONNX LpNormalization).

    >>> sw.nn.lp_normalize([3.0, 4.0])
    array([0.6, 0.8])
    """
    tensor, axes = floating(x), axes_of(single_axis(axis))
    norm = lp_norm(tensor, number(p, "p"), lambda powers: record(graph.SumOp, powers, axes, True))
    return tensor / where(norm == 0, 1, norm)


@traceable
def mean_variance_normalize(
    x: TensorLike, /, axis: AxisLike = (0, 2, 3), *, eps: float = 1e-9
) -> Tensor:
    """
    (x - mean) / (standard deviation + eps) over these axes (ONNX MeanVarianceNormalization).

    >>> sw.nn.mean_variance_normalize([[1.0, 3.0], [10.0, 30.0]], axis=1)
    array([[-1.,  1.],
           [-1.,  1.]])
    """
    tensor, axes = floating(x), axes_of(axis)
    centered = tensor - record(graph.MeanOp, tensor, axes, True)
    variance = record(graph.MeanOp, centered * centered, axes, True)
    return centered / (record(graph.SqrtOp, variance) + number(eps, "eps"))


@traceable
def local_response_norm(
    x: TensorLike,
    /,
    size: int,
    alpha: float = 1e-4,
    beta: float = 0.75,
    bias: float = 1.0,
) -> Tensor:
    """
    x / (bias + alpha / size · Σ x²) ** beta, summed over `size` channels around each on axis 1 (ONNX LRN; Krizhevsky,
    Sutskever and Hinton, "ImageNet classification with deep convolutional neural networks", 2012).

    Raises StepwellError for a size below 1.

    >>> sw.nn.local_response_norm([[[1.0], [2.0], [3.0]]], 3, alpha=3.0).ravel()
    array([0.2608, 0.2624, 0.4145])
    """
    tensor = floating(x)
    (extent,) = integers(size, "size")
    if extent < 1:
        raise StepwellError(f"found size {extent}, expected at least 1")
    axis = normalized(1, tensor.ndim)

    def on_channels(value: int, others: int) -> tuple[int, ...]:
        return tuple(value if i == axis else others for i in range(tensor.ndim))

    ones = on_channels(1, 1)
    low, high = (extent - 1) // 2, extent - 1 - (extent - 1) // 2
    window = Window(on_channels(extent, 1), ones, ones, on_channels(low, 0), on_channels(high, 0))
    squares = record(graph.SumPoolOp, tensor * tensor, window)
    scaled = squares * (number(alpha, "alpha") / extent) + number(bias, "bias")
    return tensor / power(scaled, number(beta, "beta"))
