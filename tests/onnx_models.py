"""
Random ONNX models of 1 to 15 nodes, compared with ONNX's reference evaluator.

    python tests/onnx_models.py --models 2000 --seed 0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.helper import make_graph, make_model, make_opsetid, make_tensor_value_info
from onnx.reference import ReferenceEvaluator
from onnx_random import elementwise, exported, movement, quantization, regions, windows
from onnx_random.builder import Builder, NoValue
from stepwell.errors import StepwellError
from stepwell.frontend.onnx.backend import StepwellBackend

OPSETS = (19, 21)
MAX_NODES = 15
TOLERANCE = 1e-4
"""of the largest element of an output, or of 1"""

FAMILIES = (elementwise, movement, windows, exported, quantization, regions)
SHARES = (0.3, 0.3, 0.12, 0.14, 0.07, 0.07)


def random_model(seed: int) -> onnx.ModelProto:
    """A model of up to 15 nodes on one to three inputs; all values that nothing takes are outputs."""
    rng = np.random.default_rng(seed)
    b = Builder(rng, int(rng.choice(OPSETS)))
    for number in range(b.number(1, 3)):
        name = f"x{number}"
        b.shapes[name] = tuple(b.number(1, 5) for _ in range(b.number(1, 4)))
        b.inputs.append(name)
    given = dict(b.shapes)
    size = b.number(1, MAX_NODES)
    while len(b.nodes) < size:
        add_step(b)
    used = {name for node in b.nodes for name in names_in(node)}
    outputs = [one for node in b.nodes for one in node.output if one not in used]
    graph = make_graph(
        b.nodes,
        f"seed{seed}",
        [make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in given.items()],
        [make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in b.weights.items() if name in used],
    )
    return make_model(graph, opset_imports=[make_opsetid("", b.opset)])


def add_step(b: Builder) -> None:
    """Add what one rule makes, where that is not too much."""
    family = FAMILIES[b.rng.choice(len(FAMILIES), p=SHARES)]
    count, shapes = len(b.nodes), dict(b.shapes)
    with suppress(NoValue):
        b.pick(*family.RULES)(b)
    if len(b.nodes) > MAX_NODES:
        del b.nodes[count:]
        b.shapes = shapes


def names_in(node: onnx.NodeProto) -> Iterator[str]:
    """What a node takes, also in its subgraphs."""
    yield from node.input
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from names_in(inner)


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
    try:
        with np.errstate(all="ignore"):
            expected = ReferenceEvaluator(model).run(None, inputs)
    except ValueError:
        return None  # the evaluator has no greatest element of a window that is NaN throughout
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
