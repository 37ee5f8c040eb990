"""A random ONNX model in the making, and the rules that add to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import TensorProto
from onnx.helper import make_graph, make_node, make_tensor_value_info

MAX_ELEMENTS = 2000

Shape = tuple[int, ...]


class NoValue(Exception):
    """No value of the model is what a rule needs."""


@dataclass
class Builder:
    """
    Nodes, weights, and the values of float32 that a next node may take.

    A rule is a function of this. It takes values first, which raises NoValue where none fits, then adds nodes.
    """

    rng: np.random.Generator
    opset: int
    nodes: list[Any] = field(default_factory=list)
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)

    # Drawing.

    def pick(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def number(self, least: int, most: int) -> int:
        """An integer of this range, with both ends."""
        return int(self.rng.integers(least, most + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    # Values to take.

    def value(self, at_least: int = 0, at_most: int = 9) -> str:
        """A value of so many axes, newer ones more often."""
        fitting = [name for name, shape in self.shapes.items() if at_least <= len(shape) <= at_most]
        if not fitting:
            raise NoValue
        return fitting[max(self.rng.integers(len(fitting)), self.rng.integers(len(fitting)))]

    def exact(self, at_least: int = 0) -> str:
        """An input of the model: where rounding would decide what is computed, its values have none."""
        fitting = [name for name in self.inputs if len(self.shapes[name]) >= at_least]
        if not fitting:
            raise NoValue
        return self.pick(*fitting)

    def axis_of(self, x: str) -> int:
        """An axis of a value, counted from the front."""
        return self.number(0, len(self.shapes[x]) - 1)

    # Weights.

    def weight(self, array: Any) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def scalar(self, number: float) -> str:
        return self.weight(np.float32(number))

    def random(self, *shape: int, least: float = -1, most: float = 1) -> str:
        return self.weight(self.rng.uniform(least, most, shape).astype(np.float32))

    def integers(self, *values: int) -> str:
        return self.weight(np.array(values, np.int64))

    # Nodes.

    def node(self, op: str, *inputs: str, shape: Sequence[int] | None = None, **more: Any) -> str:
        """Add a node with one result, which is a value to take when its shape is given and not too large."""
        return self.several(op, inputs, [shape], **more)[0]

    def several(
        self, op: str, inputs: Sequence[str], shapes: Sequence[Sequence[int] | None], **more: Any
    ) -> list[str]:
        """Add a node with a result for each shape."""
        number = len(self.nodes)
        names = [f"v{number}" + (f"_{place}" if place else "") for place in range(len(shapes))]
        self.nodes.append(make_node(op, list(inputs), names, f"{op}_{number}", **more))
        for name, shape in zip(names, shapes, strict=True):
            if shape is not None and np.prod(shape) <= MAX_ELEMENTS:
                self.shapes[name] = tuple(int(extent) for extent in shape)
        return names

    def as_float(self, x: str, shape: Sequence[int]) -> str:
        """A value of another type, to take as float32."""
        return self.node("Cast", x, shape=shape, to=TensorProto.FLOAT)


Rule = Callable[[Builder], object]


def region(
    nodes: Sequence[Any], inputs: Sequence[tuple[str, int, Shape | None]], outputs: Sequence[str]
):
    """A subgraph with inputs of these names, types and shapes; outputs of float32 but for those named `…go`."""
    return make_graph(
        nodes,
        "region",
        [make_tensor_value_info(*one) for one in inputs],
        [
            make_tensor_value_info(
                name, TensorProto.BOOL if name.endswith("go") else TensorProto.FLOAT, None
            )
            for name in outputs
        ],
    )
