"""What each operation of a program at the graph level costs: multiply-adds, operations on numbers, parameters, bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp, NameLoc
from xdsl.ir import Operation, SSAValue
from xdsl.traits import ConstantLike

from ..dialects.control_flow import Scan
from ..dialects.graph import ConstantOp, GraphOp
from ..dialects.graph.shapes import element_count
from ..dialects.shaped import shape_of
from ..frozen import frozen


@frozen
class Cost:
    """
    The cost of an operation, or of several, as `HasCost` counts it.

    `multiply_adds` are those of products and convolutions, which is how the sizes of networks are published;
    `flops` count each of them as two, and every other operation on numbers as one. `parameters` are elements of
    constants, `bytes` those of all operands and results. None stands where an extent is `?`.
    """

    multiply_adds: int | None = 0
    flops: int | None = 0
    parameters: int = 0
    bytes: int | None = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            _sum(self.multiply_adds, other.multiply_adds),
            _sum(self.flops, other.flops),
            self.parameters + other.parameters,
            _sum(self.bytes, other.bytes),
        )

    def times(self, runs: int) -> Cost:
        """The cost of so many runs, which share their parameters."""
        counts = (self.multiply_adds, self.flops, self.bytes)
        multiply_adds, flops, moved = (None if n is None else n * runs for n in counts)
        return Cost(multiply_adds, flops, self.parameters, moved)


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


@frozen
class NodeCost:
    """The cost of one operation, with the name of its first result and its shape."""

    op: Operation
    cost: Cost

    @property
    def name(self) -> str:
        """The node of a model that it comes from, or else what its result is called."""
        location = self.op.location
        return (
            location.desc.data
            if isinstance(location, NameLoc)
            else self.op.results[0].name_hint or ""
        )

    @property
    def kind(self) -> str:
        return self.op.name.removeprefix("graph.")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(shape_of(self.op.results[0]))


def node_costs(module: ModuleOp) -> list[NodeCost]:
    """
    The operations of a module at the graph level in order, without constants: each is counted where it is first used.

    What stands in a scan costs as often as it is run; of a loop or branch that ends at run time it is counted once.
    """
    counted: set[SSAValue] = set()
    return [
        NodeCost(op, _cost(op, counted).times(_runs(op)))
        for op in module.walk()
        if isinstance(op, GraphOp) and not isinstance(op, ConstantOp)
    ]


def _runs(op: Operation) -> int:
    """How often an operation is run for each time that its function is, as far as scans say."""
    runs, around = 1, op.parent_op()
    while around is not None:
        runs *= around.steps.value.data if isinstance(around, Scan) else 1
        around = around.parent_op()
    return runs


def total_cost(nodes: Iterable[NodeCost]) -> Cost:
    """The sum over the operations."""
    return sum((node.cost for node in nodes), Cost())


def costs_by_kind(nodes: Sequence[NodeCost]) -> dict[str, tuple[int, Cost]]:
    """For each kind of operation how many there are, and their cost; the most expensive first."""
    found: dict[str, tuple[int, Cost]] = {}
    for node in nodes:
        count, cost = found.get(node.kind, (0, Cost()))
        found[node.kind] = (count + 1, cost + node.cost)
    return dict(sorted(found.items(), key=lambda item: -(item[1][1].flops or 0)))


def _cost(op: GraphOp, counted: set[SSAValue]) -> Cost:
    constants = {value for value in op.operands if ConstantLike.get_constant_value(value)}
    new = constants - counted
    counted |= new
    return Cost(
        op.multiply_adds(),
        op.flops(),
        sum(element_count(shape_of(value)) or 0 for value in new),
        op.bytes_moved(),
    )
