"""Rules of operators that move elements: shapes, parts, and elements that indices choose."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from .builder import Builder, NoValue, Rule

FAR = 1 << 40
"""As a bound of a slice: as far as there are elements."""


def transpose(b: Builder) -> None:
    x = b.value(2)
    order = [int(axis) for axis in b.rng.permutation(len(b.shapes[x]))]
    b.node("Transpose", x, perm=order, shape=[b.shapes[x][axis] for axis in order])


def reshape(b: Builder) -> None:
    """The first extent taken from the value's shape, as exporters write it; the others joined."""
    x = b.value(2)
    first = b.node("Gather", b.node("Shape", x), b.integers(0))
    target = b.node("Concat", first, b.integers(-1), axis=0)
    shape = b.shapes[x]
    b.node("Reshape", x, target, shape=(shape[0], int(np.prod(shape[1:]))))


def flatten(b: Builder) -> None:
    x = b.value(1)
    shape, axis = b.shapes[x], b.number(0, len(b.shapes[x]))
    b.node("Flatten", x, axis=axis, shape=(int(np.prod(shape[:axis])), int(np.prod(shape[axis:]))))


def new_axis(b: Builder) -> None:
    x = b.value()
    shape = b.shapes[x]
    if 1 in shape and b.chance(0.6):
        axis = shape.index(1)
        b.node("Squeeze", x, b.integers(axis), shape=(*shape[:axis], *shape[axis + 1 :]))
    elif len(shape) < 4:
        axis = b.number(0, len(shape))
        b.node("Unsqueeze", x, b.integers(axis), shape=(*shape[:axis], 1, *shape[axis:]))


def with_extent(b: Builder, x: str, axis: int, extent: int) -> tuple[int, ...]:
    """The shape of a value with another extent at an axis."""
    return (*b.shapes[x][:axis], extent, *b.shapes[x][axis + 1 :])


def cut(b: Builder) -> None:
    x = b.value(1)
    axis = b.axis_of(x)
    start, stop, step = b.pick((0, -1, 1), (1, FAR, 1), (-2, 9, 1), (0, FAR, 2), (-1, -FAR, -1))
    # A negative bound counts from the end, but that of a slice backwards is before the first.
    python_stop = None if step < 0 else stop
    extent = len(range(*slice(start, python_stop, step).indices(b.shapes[x][axis])))
    if extent == 0:
        raise NoValue
    bounds = [b.integers(one) for one in (start, stop, axis, step)]
    b.node("Slice", x, *bounds, shape=with_extent(b, x, axis, extent))


def split(b: Builder) -> None:
    x = b.value(1)
    axis = b.axis_of(x)
    first = b.number(1, b.shapes[x][axis])
    sizes = [size for size in (first, b.shapes[x][axis] - first) if size]
    shapes = [with_extent(b, x, axis, size) for size in sizes]
    b.several("Split", [x, b.integers(*sizes)], shapes, axis=axis)


def pad(b: Builder) -> None:
    x = b.value(1)
    shape = b.shapes[x]
    mode = b.pick("constant", "edge", "reflect")
    if mode == "reflect" and min(shape) < 2:
        raise NoValue
    pads = [b.number(0, 1 if mode == "reflect" else 2) for _ in range(2 * len(shape))]
    rank = len(shape)
    padded = [pads[axis] + extent + pads[axis + rank] for axis, extent in enumerate(shape)]
    b.node("Pad", x, b.integers(*pads), shape=padded, mode=mode)


def crop(b: Builder) -> None:
    x = b.value(1)
    axis = b.axis_of(x)
    extent = b.number(1, 6)
    shape = with_extent(b, x, axis, extent)
    b.node("CenterCropPad", x, b.integers(extent), axes=[axis], shape=shape)


def join(b: Builder) -> None:
    x = b.value(1)
    axis = b.axis_of(x)
    shape = with_extent(b, x, axis, 3 * b.shapes[x][axis])
    b.node("Concat", x, b.node("Tanh", x), x, axis=axis, shape=shape)


def repeat(b: Builder) -> None:
    x = b.value(1)
    counts = [b.number(1, 2) for _ in b.shapes[x]]
    b.node("Tile", x, b.integers(*counts), shape=np.multiply(counts, b.shapes[x]))


def expand(b: Builder) -> None:
    x = b.value()
    shape = [b.number(1, 3) if extent == 1 else extent for extent in b.shapes[x]]
    if b.chance(0.5) and len(shape) < 5:
        shape = [2, *shape]
    b.node("Expand", x, b.integers(*shape), shape=shape)


def triangle(b: Builder) -> None:
    x = b.value(2)
    diagonal = b.integers(b.number(-1, 1))
    b.node("Trilu", x, diagonal, shape=b.shapes[x], upper=b.number(0, 1))


def blocks(b: Builder) -> None:
    """Blocks of an image as channels, or channels as blocks."""
    x = b.value(4, 4)
    n, c, height, width = b.shapes[x]
    if b.chance(0.5):
        more = b.node("Concat", x, x, b.node("Neg", x), x, axis=1)
        mode, shape = b.pick("DCR", "CRD"), (n, c, 2 * height, 2 * width)
        b.node("DepthToSpace", more, blocksize=2, mode=mode, shape=shape)
    else:
        more = b.node("Tile", x, b.integers(1, 1, 2, 2))
        b.node("SpaceToDepth", more, blocksize=2, shape=(n, 4 * c, height, width))


def reverse(b: Builder) -> None:
    x = b.value(2)
    lengths = [b.number(1, b.shapes[x][0]) for _ in range(b.shapes[x][1])]
    b.node("ReverseSequence", x, b.integers(*lengths), shape=b.shapes[x])


# Indices.


def pick_rows(b: Builder) -> None:
    x = b.value(1)
    axis = b.axis_of(x)
    extent = b.shapes[x][axis]
    indices = [b.number(-extent, extent - 1) for _ in range(3)]
    b.node("Gather", x, b.integers(*indices), axis=axis, shape=with_extent(b, x, axis, 3))


def pick_elements(b: Builder) -> None:
    x = b.value(1)
    axis = b.axis_of(x)
    shape = with_extent(b, x, axis, b.number(1, 4))
    indices = b.weight(b.rng.integers(-b.shapes[x][axis], b.shapes[x][axis], shape))
    b.node("GatherElements", x, indices, axis=axis, shape=shape)


def pick_parts(b: Builder) -> None:
    x = b.value(1)
    shape = b.shapes[x]
    depth = b.number(1, len(shape))
    indices = np.stack([b.rng.integers(-one, one, (2, 3)) for one in shape[:depth]], -1)
    b.node("GatherND", x, b.weight(indices), shape=(2, 3, *shape[depth:]))


def put_elements(b: Builder) -> None:
    x = b.value(1)
    axis = b.axis_of(x)
    extent = b.number(1, b.shapes[x][axis])
    shape = with_extent(b, x, axis, extent)
    # Each place of an axis once: which of two values stays there would be open.
    places = b.rng.permuted(np.broadcast_to(_counted(b.shapes[x], axis), b.shapes[x]), axis=axis)
    indices = b.weight(np.take(places, range(extent), axis))
    reduction = b.pick("none", "add", "mul", "max", "min")
    b.node(
        *("ScatterElements", x, indices, b.random(*shape)),
        shape=b.shapes[x],
        axis=axis,
        reduction=reduction,
    )


def _counted(shape: tuple[int, ...], axis: int) -> np.ndarray:
    """0, 1, 2, … along an axis."""
    return np.arange(shape[axis]).reshape(
        [-1 if place == axis else 1 for place in range(len(shape))]
    )


def put_parts(b: Builder) -> None:
    x = b.value(1)
    shape = b.shapes[x]
    rows = b.rng.permutation(shape[0])[: b.number(1, shape[0])].reshape(-1, 1)
    update = b.random(len(rows), *shape[1:])
    reduction = b.pick("none", "add", "mul")
    b.node("ScatterND", x, b.weight(rows), update, shape=shape, reduction=reduction)


def one_hot(b: Builder) -> None:
    x = b.exact()
    index = b.node("Cast", x, to=TensorProto.INT64)
    values = b.weight(np.float32([0, 2.5]))
    b.node("OneHot", index, b.weight(np.int64(3)), values, shape=(*b.shapes[x], 3))


def sums_so_far(b: Builder) -> None:
    x = b.value(1)
    axis = b.weight(np.int64(b.axis_of(x)))
    more = {"exclusive": b.number(0, 1), "reverse": b.number(0, 1)}
    b.node("CumSum", x, axis, shape=b.shapes[x], **more)


def largest(b: Builder) -> None:
    x = b.exact(1)
    axis = b.axis_of(x)
    if b.chance(0.5):
        keep = b.number(0, 1)
        shape = with_extent(b, x, axis, 1)
        shape = shape if keep else shape[:axis] + shape[axis + 1 :]
        place = b.node(b.pick("ArgMax", "ArgMin"), x, axis=axis, keepdims=keep)
        b.as_float(place, shape)
        return
    count = b.number(1, b.shapes[x][axis])
    shape = with_extent(b, x, axis, count)
    _, place = b.several(
        "TopK", [x, b.integers(count)], [shape, None], axis=axis, largest=b.number(0, 1)
    )
    b.as_float(place, shape)


def chosen(b: Builder) -> None:
    x = b.value(1)
    axis = b.axis_of(x)
    holds = b.rng.random(b.shapes[x][axis]) < 0.5
    holds[0] = True
    shape = with_extent(b, x, axis, int(holds.sum()))
    b.node("Compress", x, b.weight(holds), axis=axis, shape=shape)


RULES: tuple[Rule, ...] = (
    *(transpose, transpose, reshape, flatten, new_axis, cut, cut, split, pad, crop, join, repeat),
    *(expand, triangle, blocks, reverse, pick_rows, pick_elements, pick_parts, put_elements),
    *(put_parts, one_hot, sums_so_far, largest, chosen),
)
