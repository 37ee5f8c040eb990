"""Loop nests for computes: the body of each element inside the loops its iterators ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, tensor
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, MemRefType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ..analysis.cost import (
    SCHEDULED_MULTIPLY_ADDS,
    is_contraction,
    is_outer_reduction,
    multiply_adds,
    reduces_windows,
    sums_few_terms,
)
from ..analysis.fusion import is_epilogue_of
from ..dialects import loop, te
from ..dialects.affine_bounds import guards_within
from ..dialects.combiner import Combiner
from ..dialects.dtypes import bit_width
from ..dialects.leaf_operations import copy_of, inserted, leaf
from ..dialects.scalar import EXACT
from ..dialects.shaped import Tensor, is_tensor, memref_type, tensor_type
from ..errors import StepwellError
from ..frozen import frozen
from ..transforms.core.fp_flags import SCALAR_FLAGS
from ..transforms.numerics import FpContract
from .te_loop_order import LoopOrder, choose_order

STACK_LIMIT_BYTES = 16 * 1024
"""Larger accumulator buffers do not go on the stack; half of a usual L1 data cache."""

COMBINE_FLAGS = {
    "strict": None,
    "contract": arith.FastMathFlagsAttr([FastMathFlag.REASSOC, FastMathFlag.ALLOW_CONTRACT]),
    "fast": arith.FastMathFlagsAttr("fast"),
}
_ANY_EXTREME = arith.FastMathFlagsAttr(
    [FastMathFlag.REASSOC, FastMathFlag.ALLOW_CONTRACT, FastMathFlag.NO_SIGNED_ZEROS]
)
EXTREME_FLAGS = {"strict": None, "contract": _ANY_EXTREME, "fast": _ANY_EXTREME}
"""Of max and min: which of two zeros is kept costs x86 three instructions of six."""
_NORMALISING_FLAGS = {
    "strict": None,
    "contract": arith.FastMathFlagsAttr([FastMathFlag.ALLOW_RECIP]),
    "fast": arith.FastMathFlagsAttr("fast"),
}
"""Of a division of many elements by their sum: products with its reciprocal. (x / x.max() is 1 somewhere, and stays so.)"""


@frozen
class NestGroup:
    """
    Computes that share their outer loops: one anchor, then what is computed from its value in place.

    `materialized` are those whose tensor is stored. Where `is_apart` the initialisation, the accumulation and
    the epilogue are a perfect nest each, one after the other, as a schedule wants them.
    """

    anchor: te.ComputeOp
    epilogue: te.ComputeOp | None
    order: LoopOrder
    is_apart: bool = False

    @property
    def materialized(self) -> tuple[te.ComputeOp, ...]:
        if self.epilogue is None:
            return (self.anchor,)
        return (self.anchor, self.epilogue) if self.is_apart else (self.epilogue,)


class NestBuilder:
    """Builds nests at a builder's insertion point; `values` maps tensors to buffers."""

    def __init__(
        self,
        builder: Builder,
        values: dict[SSAValue, SSAValue],
        fp: FpContract,
        *,
        apart: bool = False,
    ):
        """With `apart` every compute gets perfect nests, otherwise large contractions and sums of few terms do."""
        self.builder = builder
        self.values = values
        self.fp: FpContract = fp
        self.prefixes: dict[te.ComputeOp, str] = {}
        self._apart = apart
        self._loop_names: set[str] = set()

    def unique_loop_name(self, name: str) -> str:
        """`name`, or with a number after it when a loop of this function has it already."""
        candidate, number = name, 0
        while candidate in self._loop_names:
            number += 1
            candidate = f"{name}_{number}"
        self._loop_names.add(candidate)
        return candidate

    def plan(self, computes: Sequence[te.ComputeOp]) -> list[NestGroup]:
        """Join each reduction with its epilogue where that is allowed and its accumulators are stored or fit."""
        groups: list[NestGroup] = []
        pending = set(computes)
        joined: set[te.ComputeOp] = set()
        consumers: dict[te.ComputeOp, te.ComputeOp] = {}
        for compute in computes:
            for read in compute.reads:
                producer = read.source.owner
                if (
                    isinstance(producer, te.ComputeOp)
                    and producer in pending
                    and producer not in consumers
                    and compute not in joined
                    and is_epilogue_of(compute, producer)
                    and (self._is_apart(producer) or self._accumulators_fit(producer))
                ):
                    consumers[producer] = compute
                    joined.add(compute)
        anchor_of = {epilogue: anchor for anchor, epilogue in consumers.items()}
        for compute in computes:
            if compute in consumers:
                continue
            anchor = anchor_of.get(compute, compute)
            epilogue = compute if compute in anchor_of else None
            groups.append(NestGroup(anchor, epilogue, self._order(anchor), self._is_apart(anchor)))
        return groups

    def _is_apart(self, anchor: te.ComputeOp) -> bool:
        if self._apart:
            return not any(combiner.is_arg for combiner in anchor.combiners)
        if sums_few_terms(anchor):
            return True
        is_large = multiply_adds(anchor) >= SCHEDULED_MULTIPLY_ADDS
        is_tiled = is_contraction(anchor) or is_outer_reduction(anchor) or reduces_windows(anchor)
        return is_large and is_tiled

    def _order(self, anchor: te.ComputeOp) -> LoopOrder:
        if self._is_apart(anchor):
            parallel = anchor.num_parallel.value.data
            count = len(anchor.extents)
            return LoopOrder(tuple(range(parallel)), tuple(range(parallel, count)), ())
        return choose_order(anchor, keep_reductions=self.fp == "strict")

    def _accumulators_fit(self, anchor: te.ComputeOp) -> bool:
        shape = anchor.result.type.get_shape()
        elements = prod(shape[it] for it in self._order(anchor).inner)
        bits = max(bit_width(result.type.get_element_type()) for result in anchor.outputs)
        return elements * max(bits, 8) // 8 <= STACK_LIMIT_BYTES

    def build(self, group: NestGroup) -> None:
        """Insert the nest of one group. The buffers of its materialized tensors exist."""
        nest = _Nest(self, group)
        nest.build()


@dataclass
class _Scope:
    """
    A place to insert at, with the loop variables (by iterator number) around it.

    An iterator without a loop, which has one value only, is 0.
    """

    builder: Builder
    variables: dict[int, SSAValue | int]


_Accumulators = tuple[SSAValue, ...]
"""The buffers of one result: of an arg-reduction the best value and its index."""


class _Nest:
    """The construction of one group's loops."""

    def __init__(self, parent: NestBuilder, group: NestGroup):
        self.parent = parent
        self.group = group
        self.anchor = group.anchor
        self.fp: FpContract = parent.fp

    def build(self) -> None:
        scope = _Scope(self.parent.builder, {})
        if self.anchor.combiners and self.group.is_apart:
            self._reduction_apart(scope)
            return
        scope = self._loops(scope, self.anchor, self.group.order.outer)
        if self.anchor.combiners:
            self._reduction(scope)
        else:
            self._store(scope, self.anchor, self._element(scope, self.anchor))

    # Loops.

    def _loops(
        self, scope: _Scope, compute: te.ComputeOp, iterators: Sequence[int], part: str = ""
    ) -> _Scope:
        """
        Open a loop for each iterator, in order; the scope of the innermost body.

        `part` is added to the loops' names: schedules address loops by names unique in a function.
        """
        shape = compute.result.type.get_shape()
        parallel = len(shape)
        prefix = self.parent.prefixes.get(self.anchor, "")
        every = compute.iterators
        for number in iterators:
            iterator = every[number]
            extent = shape[number] if number < parallel else iterator.extent
            if self.group.is_apart and number < parallel and extent == 1:
                scope = _Scope(scope.builder, {**scope.variables, number: 0})
                continue
            upper = extent if isinstance(extent, int) else self.parent.values[extent]
            kind = loop.LoopKind.PARALLEL if number < parallel else loop.LoopKind.REDUCTION
            name = self.parent.unique_loop_name(prefix + iterator.name + part)
            for_op = inserted(scope.builder, loop.ForOp(name, 0, upper, kind=kind))
            for_op.induction_variable.name_hint = iterator.name
            last = for_op.body.block.last_op
            assert last is not None
            inside = Builder(InsertPoint.before(last))
            scope = _Scope(inside, {**scope.variables, number: for_op.induction_variable})
        return scope

    # Accumulation.

    def _reduction(self, scope: _Scope) -> None:
        order = self.group.order
        if 0 in self.anchor.static_extents[len(self.anchor.parallel) :] and self._is_arg:
            self._finish(scope, [self._of_nothing(scope, *each) for each in self._results])
            return
        accumulators, indices = self._accumulators(scope, order.inner)
        init = self._loops(scope, self.anchor, order.inner, ".init")
        self._initialize(init, accumulators, indices(init))
        update = self._loops(scope, self.anchor, (*order.reduction, *order.inner))
        self._update(update, accumulators, indices(update))
        if accumulators[0][0] is self.parent.values.get(self.anchor.result):
            return
        finish = self._loops(scope, self.anchor, order.inner, ".finish")
        self._finish(finish, self._totals(finish, accumulators, indices(finish)))

    def _reduction_apart(self, scope: _Scope) -> None:
        """The accumulators are the anchor's own buffers."""
        order = self.group.order
        accumulators = [(self.parent.values[result],) for result in self.anchor.outputs]

        def element(at: _Scope) -> list[loop.Index]:
            return [at.variables[it] for it in order.outer]

        init = self._loops(scope, self.anchor, order.outer, ".init")
        self._initialize(init, accumulators, element(init))
        update = self._loops(scope, self.anchor, (*order.outer, *order.reduction))
        self._update(update, accumulators, element(update))
        if self.group.epilogue is None:
            return
        finish = self._loops(scope, self.anchor, order.outer, ".finish")
        self._finish(finish, self._totals(finish, accumulators, element(finish)))

    @property
    def _results(self) -> list[tuple[Combiner, Tensor]]:
        types = [result.type for result in self.anchor.outputs]
        return list(zip(self.anchor.combiners, types, strict=True))

    @property
    def _is_arg(self) -> bool:
        return any(combiner.is_arg for combiner in self.anchor.combiners)

    def _of_nothing(self, scope: _Scope, combiner: Combiner, type_: Tensor) -> SSAValue:
        """What a reduction without iterations gives; the index of an arg-reduction is 0."""
        joined = Combiner.ADD if combiner.is_arg else combiner
        identity = joined.identity(type_.get_element_type())
        return inserted(scope.builder, _constant(identity)).result

    def _initialize(
        self, scope: _Scope, accumulators: Sequence[_Accumulators], at: Sequence[loop.Index]
    ) -> None:
        for combiner, buffers in zip(self.anchor.combiners, accumulators, strict=True):
            types = [memref_type(buffer).get_element_type() for buffer in buffers]
            numbers = [combiner.identity(types[0])]
            numbers += [Combiner.MIN.identity(type_) for type_ in types[1:]]
            constants = [inserted(scope.builder, _constant(n)).result for n in numbers]
            for constant, buffer in zip(constants, buffers, strict=True):
                inserted(scope.builder, loop.StoreOp(constant, buffer, at))

    def _update(
        self, scope: _Scope, accumulators: Sequence[_Accumulators], at: Sequence[loop.Index]
    ) -> None:
        terms = self.anchor.deal(self._element(scope, self.anchor))
        for combiner, own, buffers in zip(self.anchor.combiners, terms, accumulators, strict=True):
            old = [inserted(scope.builder, loop.LoadOp(buffer, at)).result for buffer in buffers]
            for value, buffer in zip(
                self._combined(scope, combiner, old, own), buffers, strict=True
            ):
                inserted(scope.builder, loop.StoreOp(value, buffer, at))

    def _combined(
        self, scope: _Scope, combiner: Combiner, old: Sequence[SSAValue], new: Sequence[SSAValue]
    ) -> tuple[SSAValue, ...]:
        if combiner.is_arg:
            return combiner.combine_arg(scope.builder, (old[0], old[1]), (new[0], new[1]))
        # Flags that promise finite numbers would not be true of the identity of an extreme.
        flags = EXTREME_FLAGS if combiner.is_extreme else COMBINE_FLAGS
        return (combiner.combine(scope.builder, old[0], new[0], flags[self.fp]),)

    def _totals(
        self, scope: _Scope, accumulators: Sequence[_Accumulators], at: Sequence[loop.Index]
    ) -> list[SSAValue]:
        """What is accumulated; of an arg-reduction the index, which is its last buffer."""
        return [inserted(scope.builder, loop.LoadOp(b[-1], at)).result for b in accumulators]

    def _accumulators(
        self, scope: _Scope, inner: Sequence[int]
    ) -> tuple[list[_Accumulators], Callable[[_Scope], list[loop.Index]]]:
        """The buffers that accumulate each result, and how they are subscripted from inside a scope."""
        count = len(self.anchor.parallel)
        if inner and self.group.epilogue is None:
            results = [(self.parent.values[result],) for result in self.anchor.outputs]
            return results, lambda at: [at.variables[it] for it in range(count)]
        shape = [self.anchor.result.type.get_shape()[it] for it in inner]
        made: list[_Accumulators] = []
        for combiner, terms in zip(self.anchor.combiners, self.anchor.terms, strict=True):
            names = ("best", "best_index") if combiner.is_arg else ("acc",)
            buffers = [self._scratch(scope, shape, term.type) for term in terms]
            for buffer, name in zip(buffers, names, strict=True):
                buffer.name_hint = name
            made.append(tuple(buffers))
        return made, lambda at: [at.variables[it] for it in inner]

    def _scratch(self, scope: _Scope, shape: Sequence[int], element: Attribute) -> SSAValue:
        kind = loop.Scope.STACK if shape else loop.Scope.REGISTER
        return inserted(scope.builder, loop.AllocOp(kind, MemRefType(element, shape))).buffer

    def _finish(self, scope: _Scope, totals: Sequence[SSAValue]) -> None:
        """Store the anchor's finished elements, or what the epilogue makes of them."""
        epilogue = self.group.epilogue
        if epilogue is None:
            self._store(scope, self.anchor, totals)
            return
        known: dict[SSAValue, SSAValue] = dict(zip(self.anchor.outputs, totals, strict=True))
        self._store(scope, epilogue, self._element(scope, epilogue, known))

    def _store(self, scope: _Scope, compute: te.ComputeOp, values: Sequence[SSAValue]) -> None:
        at = [scope.variables[number] for number in range(len(compute.parallel))]
        for result, value in zip(compute.outputs, values, strict=True):
            inserted(scope.builder, loop.StoreOp(value, self.parent.values[result], at))

    # Bodies.

    def _element(
        self,
        scope: _Scope,
        compute: te.ComputeOp,
        known: dict[SSAValue, SSAValue] | None = None,
    ) -> list[SSAValue]:
        """Insert the body of one element; what it yields. `known` are tensors read in registers."""
        mapping = self.parent.values  # every value of a body occurs once
        variables = [scope.variables[it] for it in range(len(compute.extents))]
        for arg, variable in zip(compute.iterator_args, variables, strict=True):
            if isinstance(variable, SSAValue):
                mapping[arg] = variable
            elif arg.uses:
                zero = inserted(scope.builder, arith.ConstantOp(IntegerAttr(variable, IndexType())))
                mapping[arg] = zero.result
        for arg, read in zip(compute.read_args, compute.reads, strict=True):
            if known and read.source in known:
                mapping[arg] = known[read.source]
            elif read.map is None:
                mapping[arg] = self.parent.values[read.source]
            else:
                value = self._read(scope.builder, compute, read, variables)
                value.name_hint = arg.name_hint
                mapping[arg] = value
        for op in compute.body.block.ops:
            if type(op) is te.YieldOp:
                return [mapping[value] for value in op.values]
            clone = self._clone_scalar(scope.builder, op, mapping)
            flags = _NORMALISING_FLAGS[self.fp]
            if flags is None or type(clone) is not arith.DivfOp or EXACT in op.attributes:
                continue
            if _is_summed(compute, op.operands[1]):
                clone.fastmath = arith.FastMathFlagsAttr(clone.fastmath.data | flags.data)
        raise AssertionError("a compute's body ends with te.yield")

    def _clone_scalar(
        self, builder: Builder, op: Operation, mapping: dict[SSAValue, SSAValue]
    ) -> Operation:
        if type(op) is tensor.ExtractOp:
            indices = [mapping[index] for index in op.indices]
            load = inserted(builder, memref.LoadOp.get(mapping[op.tensor], indices))
            load.res.name_hint = op.result.name_hint
            mapping[op.result] = load.res
            return load
        _refuse_tensors(op)
        clone = inserted(builder, copy_of(op, mapping))
        if EXACT in clone.attributes:
            return clone
        flags = SCALAR_FLAGS[self.fp]
        if flags is not None and (
            type(clone) is arith.AddfOp
            or type(clone) is arith.SubfOp
            or type(clone) is arith.MulfOp
        ):
            clone.fastmath = arith.FastMathFlagsAttr(clone.fastmath.data | flags.data)
        return clone

    def _read(
        self,
        builder: Builder,
        compute: te.ComputeOp,
        read: te.Read,
        variables: Sequence[SSAValue | int],
    ) -> SSAValue:
        assert read.map is not None
        buffer = self.parent.values[read.source]
        subscripts, loops = _with_numbers(read.map.results, variables)
        constraints: list[AffineExpr] = []
        if read.pad is not None:
            shape = tensor_type(read.source).get_shape()
            constraints = guards_within(read.map.results, shape, compute.static_extents)
        if not constraints:
            return inserted(builder, loop.LoadOp(buffer, subscripts, loops)).result
        assert read.pad is not None
        inside, outside = Block(), Block()
        load = loop.LoadOp(buffer, subscripts, loops)
        inside.add_ops([load, loop.YieldOp(load.result)])
        pad = arith.ConstantOp(read.pad)
        outside.add_ops([pad, loop.YieldOp(pad.result)])
        guarded = loop.IfOp(
            [loop.at_least_zero(expr) for expr in _with_numbers(constraints, variables)[0].results],
            loops,
            Region(inside),
            Region(outside),
            [load.result.type],
        )
        return inserted(builder, guarded).outputs[0]


def _constant(value: FloatAttr | IntegerAttr) -> arith.ConstantOp:
    """As `arith.ConstantOp(value)`, in a fraction of the time."""
    return leaf(arith.ConstantOp, (), (value.type,), {"value": value})


def _is_summed(compute: te.ComputeOp, value: SSAValue) -> bool:
    """Whether a value of a body is a sum, the same one for all elements along the last axis."""
    found = (
        read for arg, read in zip(compute.read_args, compute.reads, strict=True) if arg is value
    )
    read, count = next(found, None), len(compute.parallel)
    if read is None or read.map is None or not count or compute.combining is not None:
        return False
    producer = read.source.owner
    return (
        isinstance(producer, te.ComputeOp)
        and producer.combining is Combiner.ADD
        and not any(count - 1 in expr.used_dims() for expr in read.map.results)
    )


def _refuse_tensors(op: Operation) -> None:
    for nested in op.walk():
        if any(is_tensor(value) for value in (*nested.operands, *nested.results)):
            raise StepwellError(
                f"found '{nested.name}' on a tensor in the body of a te.compute, expected only scalars, "
                "and tensor.extract outside of inner regions; read the element before",
                op=nested,
            )


def _with_numbers(
    exprs: Sequence[AffineExpr], variables: Sequence[SSAValue | int]
) -> tuple[AffineMap, list[SSAValue]]:
    """Expressions over `variables` as ones over those that are not numbers."""
    loops = [variable for variable in variables if isinstance(variable, SSAValue)]
    if len(loops) == len(variables):
        return AffineMap(len(loops), 0, tuple(exprs)), loops
    numbers = iter(range(len(loops)))
    dims = [
        AffineExpr.constant(v) if isinstance(v, int) else AffineExpr.dimension(next(numbers))
        for v in variables
    ]
    simpler = tuple(expr.replace_dims_and_symbols(dims, []) for expr in exprs)
    return AffineMap(len(loops), 0, simpler), loops
