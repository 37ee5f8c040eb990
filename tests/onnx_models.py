"""
Random ONNX models of 1 to 15 nodes, compared with ONNX's reference evaluator.

    python tests/onnx_models.py --models 2000 --seed 0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnx.reference import ReferenceEvaluator
from stepwell.errors import StepwellError
from stepwell.frontend.onnx.backend import StepwellBackend

OPSET = 18
MAX_ELEMENTS = 2000
TOLERANCE = 1e-4
"""of the largest element of an output, or of 1"""


@dataclass
class Builder:
    """A model in the making: nodes, weights, and the values that a next node may take."""

    rng: np.random.Generator
    nodes: list[Any] = field(default_factory=list)
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)

    def pick(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def value(self, at_least: int = 0) -> str | None:
        """A value of so many axes, newer ones more often."""
        fitting = [name for name, shape in self.shapes.items() if len(shape) >= at_least]
        if not fitting:
            return None
        return fitting[max(self.rng.integers(len(fitting)), self.rng.integers(len(fitting)))]

    def weight(self, array: Any) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def random(self, *shape: int) -> str:
        return self.weight(self.rng.uniform(-1, 1, shape).astype(np.float32))

    def integers(self, *values: int) -> str:
        return self.weight(np.array(values, np.int64))

    def node(
        self, op: str, *inputs: str, shape: tuple[int, ...] | None = None, **attributes: Any
    ) -> str:
        """Add a node; its result is a value to take when its shape is given and not too large."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(
            make_node(op, list(inputs), [name], f"{op}_{len(self.nodes)}", **attributes)
        )
        if shape is not None and np.prod(shape) <= MAX_ELEMENTS:
            self.shapes[name] = tuple(int(extent) for extent in shape)
        return name


Rule = Callable[[Builder], object]
UNARY = (
    *(
        "Relu",
        "Sigmoid",
        "Tanh",
        "Abs",
        "Neg",
        "Erf",
        "Softplus",
        "Elu",
        "Selu",
        "HardSwish",
        "Mish",
        "Softsign",
    ),
    *("LeakyRelu", "HardSigmoid", "Celu", "ThresholdedRelu", "Shrink", "Identity", "Sin", "Cos"),
)


def unary(b: Builder) -> None:
    x = b.value()
    b.node(b.pick(*UNARY), x, shape=b.shapes[x])


def positive(b: Builder) -> None:
    x = b.value()
    one = b.weight(np.float32(1))
    above = b.node("Add", b.node("Abs", x), one)
    b.node(b.pick("Sqrt", "Log", "Reciprocal"), above, shape=b.shapes[x])


def binary(b: Builder) -> None:
    x = b.value()
    shape = b.shapes[x]
    other = [
        extent if b.rng.random() < 0.6 else 1 for extent in shape[b.rng.integers(len(shape) + 1) :]
    ]
    fitting = [name for name in b.shapes if b.shapes[name] == shape]
    y = b.pick(*fitting) if b.rng.random() < 0.5 else b.random(*other)
    pair = (x, y) if b.rng.random() < 0.5 else (y, x)
    b.node(b.pick("Add", "Sub", "Mul", "Max", "Min"), *pair, shape=shape)


def select(b: Builder) -> None:
    condition = b.pick(*b.inputs)  # of exact elements: what is compared decides the result
    x = b.value()
    shape = b.shapes[condition]
    try:
        joint = np.broadcast_shapes(shape, b.shapes[x])
    except ValueError:
        return
    holds = b.node(b.pick("Greater", "LessOrEqual"), condition, b.weight(np.float32(0.1)))
    b.node("Where", holds, x, b.weight(np.float32(0.5)), shape=joint)


def product(b: Builder) -> None:
    x = b.value(2)
    if x is None:
        return
    *batch, m, k = b.shapes[x]
    n = int(b.rng.integers(1, 6))
    if b.rng.random() < 0.5 or batch:
        b.node("MatMul", x, b.random(k, n), shape=(*batch, m, n))
    else:
        b.node("Gemm", x, b.random(n, k), b.random(n), shape=(m, n), transB=1, alpha=0.5)


def einsum(b: Builder) -> None:
    x = b.value(2)
    if x is None or len(b.shapes[x]) > 3:
        return
    *batch, m, k = b.shapes[x]
    equation = "...ij,kj->...ki"
    b.node("Einsum", x, b.random(3, k), equation=equation, shape=(*batch, 3, m))


def along_axis(b: Builder) -> None:
    x = b.value(1)
    axis = int(b.rng.integers(-len(b.shapes[x]), len(b.shapes[x])))
    b.node(b.pick("Softmax", "LogSoftmax", "LpNormalization"), x, shape=b.shapes[x], axis=axis)


def layer_norm(b: Builder) -> None:
    x = b.value(1)
    extent = b.shapes[x][-1]
    b.node("LayerNormalization", x, b.random(extent), b.random(extent), shape=b.shapes[x])


def channel_norm(b: Builder) -> None:
    x = b.value(3)
    if x is None:
        return
    c = b.shapes[x][1]
    if b.rng.random() < 0.5:
        b.node("InstanceNormalization", x, b.random(c), b.random(c), shape=b.shapes[x])
        return
    variance = b.weight(b.rng.uniform(0.5, 2, c).astype(np.float32))
    b.node(
        "BatchNormalization", x, b.random(c), b.random(c), b.random(c), variance, shape=b.shapes[x]
    )


def reduction(b: Builder) -> None:
    x = b.value(1)
    shape = b.shapes[x]
    axis = int(b.rng.integers(len(shape)))
    keep = int(b.rng.integers(2))
    rest = [*shape[:axis], *([1] if keep else []), *shape[axis + 1 :]]
    kind = b.pick(
        "ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"
    )
    b.node(kind, x, b.integers(axis - b.pick(0, len(shape))), shape=tuple(rest), keepdims=keep)


def transpose(b: Builder) -> None:
    x = b.value(2)
    if x is not None:
        order = [int(axis) for axis in b.rng.permutation(len(b.shapes[x]))]
        b.node("Transpose", x, perm=order, shape=tuple(b.shapes[x][axis] for axis in order))


def reshape(b: Builder) -> None:
    """The first extent taken from the value's shape, as exporters write it; the others joined."""
    x = b.value(2)
    if x is None:
        return
    first = b.node("Gather", b.node("Shape", x), b.integers(0))
    target = b.node("Concat", first, b.integers(-1), axis=0)
    shape = b.shapes[x]
    b.node("Reshape", x, target, shape=(shape[0], int(np.prod(shape[1:]))))


def new_axis(b: Builder) -> None:
    x = b.value()
    shape = b.shapes[x]
    if 1 in shape and b.rng.random() < 0.6:
        axis = shape.index(1)
        b.node("Squeeze", x, b.integers(axis), shape=(*shape[:axis], *shape[axis + 1 :]))
    elif len(shape) < 4:
        axis = int(b.rng.integers(len(shape) + 1))
        b.node("Unsqueeze", x, b.integers(axis), shape=(*shape[:axis], 1, *shape[axis:]))


def cut(b: Builder) -> None:
    x = b.value(1)
    shape = b.shapes[x]
    axis = int(b.rng.integers(len(shape)))
    step = b.pick(1, 2, -1)
    part = slice(*b.pick((0, -1), (1, 1 << 40), (-2, 9))) if step > 0 else slice(None)
    start, stop = (part.start, part.stop) if step > 0 else (-1, -(1 << 40))
    extent = len(range(*slice(start, None if step < 0 else stop, step).indices(shape[axis])))
    if extent == 0:
        return
    bounds = (b.integers(one) for one in (start, stop, axis, step))
    b.node("Slice", x, *bounds, shape=(*shape[:axis], extent, *shape[axis + 1 :]))


def pad(b: Builder) -> None:
    x = b.value(1)
    shape = b.shapes[x]
    mode = b.pick("constant", "edge", "reflect")
    pads = [int(b.rng.integers(0, 2 if mode == "reflect" else 3)) for _ in range(2 * len(shape))]
    if mode == "reflect" and min(shape) < 2:
        return
    rank = len(shape)
    padded = tuple(pads[axis] + extent + pads[axis + rank] for axis, extent in enumerate(shape))
    b.node("Pad", x, b.integers(*pads), shape=padded, mode=mode)


def join(b: Builder) -> None:
    x = b.value(1)
    shape = b.shapes[x]
    axis = int(b.rng.integers(len(shape)))
    b.node(
        "Concat",
        x,
        b.node("Tanh", x),
        x,
        axis=axis,
        shape=(*shape[:axis], 3 * shape[axis], *shape[axis + 1 :]),
    )


def pick_rows(b: Builder) -> None:
    x = b.value(1)
    shape = b.shapes[x]
    axis = int(b.rng.integers(len(shape)))
    indices = b.rng.integers(-shape[axis], shape[axis], 3)
    b.node(
        "Gather",
        x,
        b.integers(*map(int, indices)),
        axis=axis,
        shape=(*shape[:axis], 3, *shape[axis + 1 :]),
    )


def repeat(b: Builder) -> None:
    x = b.value(1)
    counts = [int(b.rng.integers(1, 3)) for _ in b.shapes[x]]
    b.node("Tile", x, b.integers(*counts), shape=tuple(np.multiply(counts, b.shapes[x])))


def triangle(b: Builder) -> None:
    x = b.value(2)
    if x is not None:
        b.node(
            "Trilu",
            x,
            b.integers(int(b.rng.integers(-1, 2))),
            shape=b.shapes[x],
            upper=b.pick(0, 1),
        )


RULES: tuple[Rule, ...] = (
    *(unary, unary, positive, binary, binary, select, product, einsum, along_axis, layer_norm),
    *(
        channel_norm,
        reduction,
        transpose,
        reshape,
        new_axis,
        cut,
        pad,
        join,
        pick_rows,
        repeat,
        triangle,
    ),
)


def random_model(seed: int) -> onnx.ModelProto:
    """A model of up to 15 steps on one to three inputs; all values that nothing takes are outputs."""
    rng = np.random.default_rng(seed)
    b = Builder(rng)
    for number in range(int(rng.integers(1, 4))):
        name = f"x{number}"
        b.shapes[name] = tuple(int(extent) for extent in rng.integers(1, 6, rng.integers(1, 5)))
        b.inputs.append(name)
    given = dict(b.shapes)
    while len(b.nodes) < rng.integers(1, 16):
        b.pick(*RULES)(b)
    used = {name for node in b.nodes for name in node.input}
    outputs = [one for node in b.nodes for one in node.output if one not in used]
    graph = make_graph(
        b.nodes,
        f"seed{seed}",
        [make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in given.items()],
        [make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in b.weights.items()],
    )
    return make_model(graph, opset_imports=[make_opsetid("", OPSET)])


def inputs_of(model: onnx.ModelProto, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        one.name: rng.uniform(
            -2, 2, [dim.dim_value for dim in one.type.tensor_type.shape.dim]
        ).astype(np.float32)
        for one in model.graph.input
    }


def failure_of(seed: int) -> str | None:
    """What is wrong with the results of the model of this seed, or None."""
    model = random_model(seed)
    inputs = inputs_of(model, seed)
    with np.errstate(all="ignore"):
        expected = ReferenceEvaluator(model).run(None, inputs)
    try:
        found = StepwellBackend.prepare(model, opt="quick", threads=1, cache=False).run(inputs)
    except StepwellError as error:
        return f"refused: {error}"
    for name, want, got in zip(model.graph.output, expected, found, strict=True):
        if got.shape != want.shape or got.dtype != want.dtype:
            return f"{name.name}: {got.dtype}{got.shape}, expected {want.dtype}{want.shape}"
        scale = max(1.0, float(np.max(np.abs(want), initial=0, where=np.isfinite(want))))
        if not np.allclose(got, want, rtol=0, atol=TOLERANCE * scale, equal_nan=True):
            return f"{name.name}: differs by {np.nanmax(np.abs(got - want)):.3g} of {scale:.3g}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    failures = 0
    for seed in range(args.seed, args.seed + args.models):
        failure = failure_of(seed)
        if failure:
            failures += 1
            print(f"seed {seed}: {failure}")
    print(f"{args.models} models, {failures} failures")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
