"""
A structured operation of `linalg` as computes: what its maps, iterator types and body say, whatever its name.

    %r = linalg.generic … ["parallel", "reduction"] ins(%a) outs(%z) { … yield %old + %a * %a }
    → %t = te.compute [%i] add [%k] (%a[%i, %k]) { … yield %a * %a };  %r = te.compute [%i] … %z[%i] + %t[%i]

A result is reduced where the body yields its old element combined with something that does not depend on it. The second
compute is left out where the result starts with the combiner's identity. Bodies that keep other state, such as the value and
index of an arg-max, become loops over buffers (`te.loops`), in the order of the iterators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, tensor
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    TensorType,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ..dialects import loop
from ..dialects.combiner import Combiner
from ..dialects.scalar import ScalarBuilder
from ..dialects.shaped import is_tensor, shape_of, tensor_type
from ..dialects.te import ComputeOp, Iterator
from ..dialects.te.builder import Access, TeBuilder
from ..dialects.te.index_maps import dims
from ..dialects.te.loop_builder import LoopBuilder
from ..dialects.te.text import Number, axis_names
from ..dialects.upstream.linalg import IndexOp
from ..errors import StepwellError
from ..frozen import frozen

_COMBINERS: dict[type[Operation], Combiner] = {
    arith.AddfOp: Combiner.ADD,
    arith.AddiOp: Combiner.ADD,
    arith.MulfOp: Combiner.MUL,
    arith.MuliOp: Combiner.MUL,
    arith.MaximumfOp: Combiner.MAX,
    arith.MaxSIOp: Combiner.MAX,
    arith.MaxnumfOp: Combiner.MAXNUM,
    arith.MaxUIOp: Combiner.UMAX,
    arith.MinimumfOp: Combiner.MIN,
    arith.MinSIOp: Combiner.MIN,
    arith.MinUIOp: Combiner.UMIN,
    arith.AndIOp: Combiner.AND,
    arith.OrIOp: Combiner.OR,
}


def structured_to_te(op: LinalgStructuredOperation, te: TeBuilder) -> Sequence[SSAValue]:
    """
    What became of the results of an operation, whose operands are among `te.values`.

    Raises StepwellError for indexing that no loops with known extents have, and for a body with regions.
    """
    structured = _Structured.of(op, te.values)
    plans = [structured.plan(number) for number in range(len(op.outputs))]
    if any(plan is None for plan in plans):
        return structured.by_loops(te)
    return [
        structured.compute(te, number, plan)
        for number, plan in enumerate(plans)
        if plan is not None
    ]


@frozen
class _Plan:
    """How one result is computed: by these loops, and reduced by a combiner where there is one."""

    order: tuple[int, ...]
    """The loops that are axes of the result, in order, then those that are reduced."""
    result_map: tuple[AffineExpr, ...]
    """The index of the result."""
    term: SSAValue
    """What is computed, or reduced, in the body."""
    combiner: Combiner | None = None


@frozen
class _Structured:
    """An operation with its operands as they are at te."""

    op: LinalgStructuredOperation
    operands: tuple[SSAValue, ...]
    maps: tuple[AffineMap, ...]
    extents: tuple[int, ...]
    values: Mapping[SSAValue, SSAValue]

    @classmethod
    def of(cls, op: LinalgStructuredOperation, values: Mapping[SSAValue, SSAValue]) -> _Structured:
        if any(not isinstance(value.type, TensorType) for value in op.outputs):
            raise StepwellError(
                f"found {op.name} on buffers, expected tensors: at te values are tensors; convert it before it is "
                "bufferized",
                op=op,
            )
        operands = tuple(values.get(value, value) for value in op.operands)
        maps = tuple(attr.data for attr in op.get_indexing_maps())
        for inner in op.body.block.ops:
            if inner.regions:
                raise StepwellError(
                    f"found {inner.name} in the body of {op.name}, expected straight-line code; use arith.select",
                    op=inner,
                )
        return cls(op, operands, maps, _extents(op, operands, maps), values)

    @property
    def args(self) -> tuple[BlockArgument, ...]:
        return self.op.body.block.args

    @property
    def yielded(self) -> Sequence[SSAValue]:
        last = self.op.body.block.last_op
        assert last is not None
        return last.operands

    def _old(self, number: int) -> BlockArgument:
        """The element that a result has before."""
        return self.args[len(self.op.inputs) + number]

    def _init(self, number: int) -> SSAValue:
        return self.operands[len(self.op.inputs) + number]

    def plan(self, number: int) -> _Plan | None:
        """How to compute a result, or None where it is not one compute. Raises StepwellError."""
        map_ = self.maps[len(self.op.inputs) + number]
        axes = [expr.position for expr in map_.results if isinstance(expr, AffineDimExpr)]
        rest = [dim for dim in range(len(self.extents)) if dim not in axes]
        if len(set(axes)) < len(axes) or not self._fills(map_, number):
            return None
        if any(
            kind.data is IteratorType.PARALLEL
            for dim, kind in enumerate(self.op.get_iterator_types())
            if dim in rest
        ):
            raise StepwellError(
                f"found {self.op.name} with a parallel loop that is no axis of result {number}, expected it in the "
                "result's map or of type 'reduction': its iterations write the same elements; mend the types",
                op=self.op,
            )
        order, yielded = (*axes, *rest), self.yielded[number]
        if not rest:
            return _Plan(order, map_.results, yielded)
        reduced = self._reduced(number, yielded)
        return None if reduced is None else _Plan(order, map_.results, *reduced)

    def _fills(self, map_: AffineMap, number: int) -> bool:
        """Whether the map reaches each element of a result: its subscripts are loops, or 0 on an axis of extent 1."""
        return all(
            isinstance(expr, AffineDimExpr)
            or (isinstance(expr, AffineConstantExpr) and expr.value == 0 and extent == 1)
            for expr, extent in zip(map_.results, shape_of(self._init(number)), strict=True)
        )

    def _reduced(self, number: int, yielded: SSAValue) -> tuple[SSAValue, Combiner] | None:
        """The term and the combiner of `old ⊕ term`, where the term does not depend on old elements."""
        combination = yielded.owner
        if not isinstance(combination, Operation) or type(combination) not in _COMBINERS:
            return None
        old = self._old(number)
        others = [value for value in combination.operands if value is not old]
        combiner = _COMBINERS[type(combination)]
        if len(others) != 1 or not combiner.is_defined_on(old.type):
            return None
        if combiner is Combiner.MAXNUM and not _starts_with_identity(self._init(number), combiner):
            return None  # A NaN that it starts with stays one where there are no numbers.
        olds = set(self.args[len(self.op.inputs) :])
        return None if olds & _arguments(others[0]) else (others[0], combiner)

    def compute(self, te: TeBuilder, number: int, plan: _Plan) -> SSAValue:
        """Insert the computes of a result; its value."""
        result = tensor_type(self._init(number))
        shape = result.get_shape()
        # Axes of extent 1 that no loop runs over are iterators of their own.
        iterators = [
            expr.position if isinstance(expr, AffineDimExpr) else None for expr in plan.result_map
        ]
        reduced = plan.order[sum(dim is not None for dim in iterators) :]
        place = {dim: n for n, dim in enumerate([*iterators, *reduced]) if dim is not None}
        exprs = [AffineExpr.dimension(place[dim]) for dim in range(len(self.extents))]
        used = [arg for arg in self.args if arg in _arguments(plan.term)]
        accesses = [self._access(arg, exprs) for arg in used if is_tensor(self._operand(arg))]
        accesses += [Access(source) for source in extracted([plan.term], self.values)]
        positions = [place[dim] for dim in range(len(self.extents))]

        def body(
            b: ScalarBuilder, indices: Sequence[SSAValue], elements: Sequence[SSAValue]
        ) -> SSAValue:
            inside = self._inside(used, elements, plan.term)
            return emitted(
                plan.term, b.builder, inside, self.values, [indices[p] for p in positions]
            )

        names = axis_names(len(shape) + len(reduced))
        value = te.compute(
            result,
            accesses,
            body,
            names=names[: len(shape)],
            reduction=[
                Iterator(names[len(shape) + n], self.extents[dim]) for n, dim in enumerate(reduced)
            ],
            combiner=plan.combiner,
        )
        return self._with_init(te, value, number, plan.combiner)

    def _with_init(
        self, te: TeBuilder, value: SSAValue, number: int, combiner: Combiner | None
    ) -> SSAValue:
        """What is reduced, combined with what the result starts with, unless that is the identity or undefined."""
        init = self._init(number)
        if combiner is None or _starts_with_identity(init, combiner):
            return value
        identity = dims(len(shape_of(init)))
        return te.compute(
            tensor_type(init),
            [Access(init, identity), Access(value, identity)],
            lambda b, _, pair: combiner.combine(b.builder, pair[0], pair[1]),
        )

    def _operand(self, arg: BlockArgument) -> SSAValue:
        return self.operands[arg.index]

    def _access(self, arg: BlockArgument, exprs: Sequence[AffineExpr]) -> Access:
        map_ = self.maps[arg.index]
        return Access(
            self._operand(arg),
            [expr.replace_dims_and_symbols(exprs, []) for expr in map_.results],
        )

    def _inside(
        self, used: Sequence[BlockArgument], elements: Sequence[SSAValue], term: SSAValue
    ) -> dict[SSAValue, SSAValue]:
        """What stands for the arguments of the body, and for the tensors that it reads whole."""
        inside: dict[SSAValue, SSAValue] = {}
        given = iter(elements)
        for arg in used:
            source = self._operand(arg)
            inside[arg] = next(given) if is_tensor(source) else source
        for source in extracted([term], self.values):
            inside[source] = next(given)
        return inside

    def by_loops(self, te: TeBuilder) -> Sequence[SSAValue]:
        """Insert loops that do what the operation says, an iteration after the other."""
        inputs = [value for value in self.operands[: len(self.op.inputs)] if is_tensor(value)]
        inits = self.operands[len(self.op.inputs) :]
        whole = extracted(self.yielded, self.values)

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            with w.loops(self.extents) as indices:
                read = iter(sources)
                buffers = [
                    next(read) if is_tensor(value) else None
                    for value in self.operands[: len(self.op.inputs)]
                ]
                inside: dict[SSAValue, SSAValue] = dict(zip(whole, read, strict=True))
                for arg, buffer, map_ in zip(
                    self.args, [*buffers, *results], self.maps, strict=True
                ):
                    inside[arg] = (
                        self._operand(arg)
                        if buffer is None
                        else w.builder.insert(loop.LoadOp(buffer, map_, indices)).result
                    )
                new = [
                    emitted(value, w.builder, inside, self.values, indices)
                    for value in self.yielded
                ]
                for value, buffer, map_ in zip(
                    new, results, self.maps[len(self.op.inputs) :], strict=True
                ):
                    w.builder.insert(loop.StoreOp(value, buffer, map_, indices))

        return te.loops([*inputs, *whole], [tensor_type(init) for init in inits], body, inits=inits)


def _starts_with_identity(init: SSAValue, combiner: Combiner) -> bool:
    """Whether every element that a result starts with leaves what it is combined with as it is."""
    attr = splat_of(init)
    if attr is None:
        return False
    identity = combiner.identity(attr.type)
    return attr.value.data == identity.value.data


def splat_of(value: SSAValue) -> Number | None:
    """The number that all elements of a tensor are, where that is plain to see."""
    op = value.owner
    if isinstance(op, ComputeOp) and not op.sources and len(op.yielded) == 1:
        op = op.yielded[0].owner
    if not isinstance(op, arith.ConstantOp):
        return None
    attr = op.value
    if isinstance(attr, DenseIntOrFPElementsAttr) and attr.is_splat():
        return attr.get_attrs()[0]
    return attr if isinstance(attr, FloatAttr | IntegerAttr) else None


def _extents(
    op: LinalgStructuredOperation, operands: Sequence[SSAValue], maps: Sequence[AffineMap]
) -> tuple[int, ...]:
    """How often each loop runs: as the axis is long that is indexed by it alone."""
    found: dict[int, int] = {}
    for value, map_ in zip(operands, maps, strict=True):
        shape = shape_of(value) if is_tensor(value) else ()
        for expr, extent in zip(map_.results, shape, strict=True):
            if isinstance(expr, AffineDimExpr):
                found.setdefault(expr.position, extent)
    missing = [dim for dim in range(maps[0].num_dims) if dim not in found]
    if missing:
        raise StepwellError(
            f"found {op.name} in which no operand is indexed by loop {missing[0]} alone, expected one that gives the "
            "loop's extent; add an operand of its shape",
            op=op,
        )
    return tuple(found[dim] for dim in range(maps[0].num_dims))


def extracted(terms: Sequence[SSAValue], values: Mapping[SSAValue, SSAValue]) -> list[SSAValue]:
    """The tensors at te that the body reads at computed indices for these values of it."""
    operations = (op for term in terms for op in _operations(term))
    found = [op.tensor for op in operations if isinstance(op, tensor.ExtractOp)]
    return list(dict.fromkeys(values.get(value, value) for value in found))


def emitted(
    term: SSAValue,
    builder: Builder,
    inside: dict[SSAValue, SSAValue],
    values: Mapping[SSAValue, SSAValue],
    indices: Sequence[SSAValue] = (),
) -> SSAValue:
    """
    Emit what a value of a body depends on; the value. `inside` has what arguments and tensors of the body have become,
    and gets what is emitted; `values` is what became of what the body takes from around it, `indices` are the loops.
    """

    def outside(value: SSAValue) -> SSAValue:
        mapped = values.get(value, value)
        if isinstance(mapped.owner, arith.ConstantOp) and not is_tensor(mapped):
            return builder.insert(mapped.owner.clone()).result  # bodies have their own constants
        return inside.get(mapped, mapped)

    for op in _operations(term):
        if isinstance(op, IndexOp | linalg.IndexOp):
            dim = cast("IntegerAttr[IntegerType]", op.properties["dim"])
            inside[op.results[0]] = indices[dim.value.data]
            continue
        for operand in op.operands:
            if operand not in inside:
                inside[operand] = outside(operand)
        copy = builder.insert(_read(op, inside) or op.clone(inside))
        inside.update(zip(op.results, copy.results, strict=True))
    return inside[term] if term in inside else outside(term)


def _read(op: Operation, inside: Mapping[SSAValue, SSAValue]) -> Operation | None:
    """The load that `tensor.extract` is where the tensor is a buffer."""
    if not isinstance(op, tensor.ExtractOp):
        return None
    buffer = inside[op.tensor]
    if not isinstance(buffer.type, MemRefType):
        return None
    return memref.LoadOp.get(buffer, [inside[index] for index in op.indices])


def _operations(value: SSAValue) -> list[Operation]:
    """The operations of a body that a value depends on, in order."""
    found: dict[Operation, None] = {}
    body = _body_of(value)

    def visit(value: SSAValue) -> None:
        op = value.owner
        if not isinstance(op, Operation) or op in found or op.parent is not body:
            return
        for operand in op.operands:
            visit(operand)
        found[op] = None

    visit(value)
    return list(found)


def _body_of(value: SSAValue) -> Block | None:
    if isinstance(value, OpResult):
        return value.owner.parent
    return value.owner if isinstance(value.owner, Block) else None


def _arguments(value: SSAValue) -> set[SSAValue]:
    """The arguments of the body that a value depends on."""
    values = {value, *(operand for op in _operations(value) for operand in op.operands)}
    body = _body_of(value)
    return {v for v in values if isinstance(v, BlockArgument) and v.owner is body}
