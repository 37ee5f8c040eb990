"""
The networks that `stepwell bench --suite networks` measures: convolution layers by themselves, pooling, and whole models.

    make models                                                  # fetches and exports them into build/models
    stepwell bench --suite networks --roofline build/networks.svg
    stepwell bench --suite networks 'resnet50*' '3x3 *' --threads 2

Each runs here, in ONNX Runtime, in OpenVINO, and layers and exported models in PyTorch, too: frozen, with weights in
the layout that its convolutions want, or compiled by inductor where there is a C++ compiler. All are in f32.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from runpy import run_path
from typing import Any

import real_models
import stepwell as sw
from layers import LAYERS, Layer
from stepwell.tools.bench_case import Case
from stepwell.tools.bench_models import ModelFile
from suite import case

BATCHES = {"resnet50": (4, 16)}
"""Batches that models are run with besides theirs."""


# Layers. Weights are constants.


def convolution(layer: Layer) -> Case:
    options = {"stride": layer.stride, "padding": layer.border, "dilation": layer.dilation}
    attributes = {
        "strides": [layer.stride] * 2,
        "pads": [layer.border] * 4,
        "dilations": [layer.dilation] * 2,
        "group": layer.groups,
    }
    kernel = (layer.outputs, layer.channels // layer.groups, layer.kernel, layer.kernel)
    return case(
        str(layer),
        lambda x, w: sw.conv(x, w, groups=layer.groups, **options),
        {"x": _array("f32", (1, layer.channels, layer.image, layer.image))},
        [("Conv", "x w", "y", attributes)],
        weights={"w": _array("f32", kernel)},
        torch=frozen(
            lambda nn: nn.Conv2d(
                layer.channels,
                layer.outputs,
                layer.kernel,
                groups=layer.groups,
                bias=False,
                **options,
            )
        ),
        group=layer.group,
    )


def transposed(channels: int, outputs: int, image: int, kernel: int, stride: int) -> Case:
    """A convolution that enlarges an image `stride` times."""
    border = (kernel - stride) // 2
    return case(
        f"transposed {kernel}x{kernel} {channels}-{outputs}@{image} s{stride}",
        lambda x, w: sw.conv_transpose(x, w, stride=stride, padding=border),
        {"x": _array("f32", (1, channels, image, image))},
        [("ConvTranspose", "x w", "y", {"strides": [stride] * 2, "pads": [border] * 4})],
        weights={"w": _array("f32", (channels, outputs, kernel, kernel))},
        torch=frozen(
            lambda nn: nn.ConvTranspose2d(
                channels, outputs, kernel, stride, padding=border, bias=False
            )
        ),
        group="transposed",
    )


def pooling(kind: str, channels: int, image: int, kernel: int, stride: int) -> Case:
    """`kind` is Max or Average."""
    border = kernel // 2
    ours = {"Max": sw.max_pool, "Average": sw.average_pool}[kind]
    return case(
        f"{kind.lower()} pool {kernel}x{kernel} {channels}@{image} s{stride}",
        lambda x: ours(x, kernel, stride=stride, padding=border),
        {"x": _array("f32", (1, channels, image, image))},
        [
            (
                f"{kind}Pool",
                "x",
                "y",
                {
                    "kernel_shape": [kernel] * 2,
                    "strides": [stride] * 2,
                    "pads": [border] * 4,
                    **({"count_include_pad": 1} if kind == "Average" else {}),
                },
            )
        ],
        torch=partial(_torch_pool, kind, kernel, stride, border),
        group="pooling",
    )


def _torch_pool(kind: str, kernel: int, stride: int, border: int, x: Any) -> Any:
    import torch

    pool = {"Max": torch.nn.functional.max_pool2d, "Average": torch.nn.functional.avg_pool2d}[kind]
    return pool(x, kernel, stride, border)


def _array(element: str, extents: Sequence[int]) -> str:
    return "x".join([*map(str, extents), element])


# PyTorch at its best.


def frozen(module: Callable[[Any], Any]) -> Callable[..., Any]:
    """A call of the layer that this makes of `torch.nn`, with the weights that it is given."""

    @cache
    def made(x: Any, w: Any) -> Callable[..., Any]:
        import torch

        layer = module(torch.nn)
        layer.weight.data = w
        return _optimized(layer, x)

    return lambda x, w: made(x, w)(x)


def _optimized(module: Any, *inputs: Any) -> Callable[..., Any]:
    """A module as PyTorch runs it fastest without a compiler: frozen, with weights in the layout of oneDNN."""
    import torch

    return torch.jit.optimize_for_inference(
        torch.jit.freeze(torch.jit.trace(module.eval(), inputs))
    )


@cache
def _exported(name: str, inputs: tuple[Any, ...]) -> Callable[..., Any]:
    """A network of `export_models.py`, compiled by inductor where there is a C++ compiler."""
    import torch

    exports = run_path(str(Path(__file__).with_name("export_models.py")))  # it imports torch, too
    network = exports["prepared"](name).network
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        return _optimized(network, *inputs)
    return torch.compile(network, options={"freezing": True})


# Models.


def model(found: real_models.Model, batch: int = 0) -> Case:
    """A model of `real_models.py`; with a batch its inputs have so many elements along the first axis."""
    shapes = {
        name: (batch, *shape[1:]) if batch else tuple(shape) for name, shape in found.shapes.items()
    }
    given = {name: array for name, array in found.given.items() if array.ndim}
    integers = {
        **{name: shapes[name] for name in found.integers},
        **{name: array.shape for name, array in given.items()},
    }
    arguments = {
        **{name: _array("f32", shape) for name, shape in shapes.items()},
        **{name: _array("i64", shape) for name, shape in integers.items()},
    }
    return Case(
        f"{found.name}-batch-{batch}" if batch else found.name,
        ModelFile(found.path, found.given),
        arguments,
        torch=partial(_torch_model, found.name)
        if found.path.parent == real_models.EXPORTED
        else None,
        group="models",
    )


def _torch_model(name: str, *inputs: Any) -> Any:
    return _exported(name, inputs)(*inputs)


CASES = (
    *map(convolution, LAYERS),
    transposed(64, 32, 28, 4, 2),
    transposed(256, 128, 14, 2, 2),
    pooling("Max", 64, 112, 3, 2),
    pooling("Max", 64, 56, 2, 2),
    pooling("Average", 64, 112, 3, 2),
    *map(model, real_models.MODELS),
    *(model(found, batch) for found in real_models.MODELS for batch in BATCHES.get(found.name, ())),
)
