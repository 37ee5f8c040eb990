"""
Vector loops as `vector` operations: all iterations of a loop at once, each in a lane.

Every operation of the body runs for all lanes before the next one does, which is what the step
`vectorize` has proved harmless. A value that is the same in all lanes stays a scalar.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from math import copysign

from xdsl.dialects import affine, arith, math, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    UnitAttr,
    VectorType,
    i1,
)
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind

from ..analysis.affine_isl import applied
from ..analysis.masks import known_lanes
from ..analysis.operations import body_of, operands_of, operations_of
from ..analysis.reductions import ReductionUpdate
from ..analysis.turned import powers_of_two
from ..dialects import loop
from ..dialects.combiner import Combiner
from ..dialects.dtypes import is_float
from ..dialects.leaf_operations import append_leaf, leaf
from ..dialects.scalar import SECOND_IS_NUMBER
from ..dialects.upstream.arith import VectorCmpfOp, VectorCmpiOp, VectorSelectOp
from ..dialects.upstream.arith_casts import CASTS
from .affine_to_arith import PREDICATES, holds_within
from .core_builder import CoreBuilder, predicate
from .lane_accesses import LaneAccesses
from .lane_choices import load_chosen
from .lane_count import is_written_out
from .lane_values import (
    LaneValues,
    ScalarConverter,
    both,
    elements,
    extract,
    inserted,
    shuffled,
)
from .reciprocals import may_multiply, shared_reciprocal


def convert_lanes(
    scalar: ScalarConverter, for_op: loop.ForOp, lanes: int, builder: CoreBuilder
) -> None:
    """
    Append what a vector loop of so many iterations becomes.

    Registers hold powers of two, and LLVM takes other vectors to pieces badly: 12 lanes are 8, then 4. These
    may run one after the other, as the iterations do in order.
    """
    skipped, body = 0, body_of(for_op)
    for count in powers_of_two(lanes):
        values = LaneValues(scalar, for_op, skipped, count, builder)
        LaneConverter(values).convert(body, builder)
        skipped += count


_APART = frozenset(
    {
        affine.ApplyOp,
        loop.ForOp,
        loop.IfOp,
        loop.LoadOp,
        loop.PrefetchOp,
        loop.StoreOp,
        loop.YieldOp,
        memref.LoadOp,
    }
)
"""All others are the same operation on vectors."""


class LaneConverter:
    """Converts the body of a vector loop for some of its lanes."""

    def __init__(self, values: LaneValues, done: Collection[Operation] = ()):
        """`done` are operations whose results have been bound already, or are not used."""
        self.scalar = values.scalar
        self.values = values
        self.accesses = LaneAccesses(values)
        scalars = values.loop.scalars  # loads at computed indices append them
        self._skipped: Collection[Operation] = {*scalars, *done} if done else scalars
        self.totals: dict[Operation, SSAValue] = {}
        """what running reductions have come to after the lanes, by their stores"""

    # Operations.

    def convert(self, block: Block, builder: CoreBuilder) -> None:
        """Append what the operations of `block` become, a `loop.yield` excepted."""
        skipped = self._skipped
        for op in operations_of(block):
            if skipped and op in skipped:
                continue
            if type(op) is loop.LoadOp:
                self.accesses.load(op, builder)
            elif type(op) is loop.StoreOp:
                self._store(op, builder)
            elif type(op) not in _APART:
                self._elementwise(op, builder)
            elif type(op) is loop.ForOp:
                self._for(op, builder)
            elif type(op) is loop.IfOp:
                self._if(op, builder)
            elif type(op) is memref.LoadOp and op in self.values.loop.chosen:
                load_chosen(op, self.values.loop.chosen[op], self.values, builder)
            elif type(op) is affine.ApplyOp and any(map(self.values.varies, operands_of(op))):
                self._apply(op, builder)
            elif type(op) is loop.PrefetchOp:
                with self.values.in_lane(builder, 0, list(op.operands_)):
                    self.scalar.convert_op(op, builder)
            elif type(op) is not loop.YieldOp:
                self.scalar.convert_op(op, builder)

    def _store(self, op: loop.StoreOp, builder: CoreBuilder) -> None:
        if op in self.totals:
            self.accesses.store_one(op, self.totals[op], builder)
        else:
            self.accesses.store(op, builder)

    def _for(self, op: loop.ForOp, builder: CoreBuilder) -> None:
        if is_written_out(op):
            for inside in self.scalar.open_copies(op, builder):
                self.convert(body_of(op), inside)
            return
        inside = self.scalar.open_for(op, builder)
        self.convert(body_of(op), inside)
        inside.append(scf.YieldOp, ())

    def _elementwise(self, op: Operation, builder: CoreBuilder) -> None:
        reductions, runs = self.values.loop.reductions, self.values.loop.running
        update = reductions.get(op) if reductions else None
        running = runs.get(op) if runs else None
        if update is not None:
            self._reduce(update, builder)
        elif running is not None:
            self._run(running, builder)
        elif not any(map(self.values.varies, operands_of(op))):
            self.scalar.convert_op(op, builder)
        elif type(op) in _ON_SCALARS:
            self._by_lane(op, builder)
        elif type(op) is arith.DivfOp and self._has_reciprocal(op, builder):
            self._divide(op, builder)
        else:
            new = leaf(
                _ON_VECTORS.get(type(op), type(op)),
                [self.values.vector(builder, v) for v in operands_of(op)],
                (self.values.type_of(op.results[0].type),),
                op.properties,
                op.attributes,
            )
            append_leaf(builder.block, new)
            self.values.bind(op.results[0], new.results[0])

    def _has_reciprocal(self, op: arith.DivfOp, builder: CoreBuilder) -> bool:
        return (
            may_multiply(op)
            and not self.values.varies(op.rhs)
            and builder.is_invariant(self.scalar.values[op.rhs])
        )

    def _divide(self, op: arith.DivfOp, builder: CoreBuilder) -> None:
        """Every lane by the same number: the product with its reciprocal."""
        divisor = self.scalar.values[op.rhs]
        reciprocal = shared_reciprocal(builder, self.scalar.expander, op, divisor)
        sides = (self.values.vector(builder, op.lhs), self.values.spread(builder, reciprocal))
        product = builder.emit(arith.MulfOp, sides, sides[0].type, {"fastmath": op.fastmath})
        self.values.bind(op.result, product)

    def _by_lane(self, op: Operation, builder: CoreBuilder) -> None:
        """An operation that there is on scalars only."""
        operands = [self.values.vector(builder, v) for v in op.operands]
        result = self.values.zero(op.results[0].type)
        for lane in range(self.values.lanes):
            new = op.clone()
            new.operands = [extract(builder, value, lane) for value in operands]
            value = builder.insert(new).results[0]
            result = inserted(builder, value, result, lane)
        self.values.bind(op.results[0], result)

    def _apply(self, op: affine.ApplyOp, builder: CoreBuilder) -> None:
        expr, operands = applied(op), list(op.mapOperands)
        self.values.bind(op.result, self.values.indices(builder, expr, operands))

    # Conditions.

    def _if(self, op: loop.IfOp, builder: CoreBuilder) -> None:
        operands = list(op.condition_operands)
        if any(self.values.varies(v) for v in operands):
            self._masked_if(op, operands, builder)
            return
        holds = self._decided(op, operands)
        if holds is not None:
            self._take(op, 0 if holds else 1, builder)
            return
        new = [self.scalar.values[v] for v in operands]
        condition = self.scalar.expander.condition(builder, op.condition.data.constraints, new)
        branches: list[CoreBuilder] = []
        yields: list[list[SSAValue]] = []
        for region in op.regions:
            if region.blocks:
                inside = builder.inside(Block())
                self.convert(region.block, inside)
                branches.append(inside)
                yields.append(self._yielded(region.block))
        for column in range(len(op.outputs)):
            if any(isinstance(row[column].type, VectorType) for row in yields):
                for inside, row in zip(branches, yields, strict=True):
                    row[column] = self.values.spread(inside, row[column])
        for inside, row in zip(branches, yields, strict=True):
            inside.append(scf.YieldOp, row)
        types = [value.type for value in yields[0]]
        made = builder.branch(condition, *(b.block for b in branches), result_types=types)
        for old, result in zip(op.outputs, made.results, strict=True):
            self.values.bind(old, result)

    def _yielded(self, block: Block) -> list[SSAValue]:
        last = block.last_op
        assert isinstance(last, loop.YieldOp)
        return [self.scalar.values[v] for v in last.values]

    def _masked_if(self, op: loop.IfOp, operands: list[SSAValue], builder: CoreBuilder) -> None:
        """Both branches run, each with the lanes that take it."""
        condition = self._condition(op, operands, builder)
        taken = known_lanes(condition)
        if taken is not None and len(set(taken)) == 1:
            self._take(op, 0 if taken[0] else 1, builder)
            return
        outer = self.values.mask
        yields: list[list[SSAValue]] = []
        inside: SSAValue | None = None
        for region, is_else in zip(op.regions, (False, True), strict=True):
            if not region.blocks:
                continue
            taken = self._inverted(builder, condition) if is_else else condition
            self.values.mask = self._both(builder, outer, taken)
            inside = inside or self.values.mask
            self.convert(region.block, builder)
            yields.append(self._yielded(region.block))
        self.values.mask = outer
        for n, old in enumerate(op.outputs):
            loaded, otherwise = (row[n] for row in yields)
            if self.values.zero_outside.get(loaded) is inside and _is_zero(otherwise):
                self.values.bind(old, loaded)  # lanes that do not load have it already
                continue
            then, other = (self.values.spread(builder, row[n]) for row in yields)
            sides = (condition, then, other)
            self.values.bind(old, builder.emit(VectorSelectOp, sides, then.type))

    def _decided(self, op: loop.IfOp, operands: Sequence[SSAValue]) -> bool | None:
        """Whether a condition that all lanes have in common holds, where ranges say it."""
        new = [self.scalar.values[v] for v in operands]
        known = [self.scalar.expander.decided(c, new) for c in op.condition.data.constraints]
        return False if False in known else None if None in known else True

    def _take(self, op: loop.IfOp, branch: int, builder: CoreBuilder) -> None:
        """Only one branch of an `if`, which all lanes take."""
        region = op.regions[branch]
        if not region.blocks:
            return
        self.convert(region.block, builder)
        for old, value in zip(op.outputs, self._yielded(region.block), strict=True):
            self.values.bind(old, value)

    def restrict(self, op: loop.IfOp, builder: CoreBuilder) -> None:
        """From here on only those lanes run for which the condition of `op` holds."""
        condition = self._condition(op, list(op.condition_operands), builder)
        self.values.mask = self._both(builder, self.values.mask, condition)

    def _condition(self, op: loop.IfOp, operands: list[SSAValue], builder: CoreBuilder) -> SSAValue:
        """The lanes for which the condition holds. What all lanes have in common is asked once."""
        lanes = [True] * self.values.lanes
        constraints: list[AffineConstraintExpr] = []
        for constraint in op.condition.data.constraints:
            known = self._lanes_of(constraint, operands)
            if known is None:
                constraints.append(constraint)
            else:
                lanes = [one and other for one, other in zip(lanes, known, strict=True)]
        if not constraints or not any(lanes):
            return self.values.dense(self.values.type_of(i1), lanes)
        shared = [c for c in constraints if self.values.stride(c.lhs, operands) == 0]
        holds = [self._holds(builder, c, operands) for c in constraints if c not in shared]
        if shared:
            holds.append(self.values.spread(builder, self._hold(builder, shared, operands)))
        if not all(lanes):
            holds.append(self.values.dense(self.values.type_of(i1), lanes))
        condition, *others = holds
        for other in others:
            condition = both(builder, condition, other)
        return condition

    def _lanes_of(
        self, constraint: AffineConstraintExpr, operands: Sequence[SSAValue]
    ) -> list[bool] | None:
        """In which lanes a constraint (against zero) holds, where ranges say it of each."""
        stride = self.values.stride(constraint.lhs, operands)
        if stride is None:
            return None
        new = [self.scalar.values[v] for v in operands]
        within, known = self.scalar.expander.range_of(constraint.lhs, new), list[bool]()
        for lane in range(self.values.lanes):
            one = holds_within(constraint.kind, within, stride * lane)
            if one is None:
                return None
            known.append(one)
        return known

    def _hold(
        self,
        builder: CoreBuilder,
        constraints: Sequence[AffineConstraintExpr],
        operands: Sequence[SSAValue],
    ) -> SSAValue:
        """An i1 that is true where constraints hold (against zero) that are the same in all lanes."""
        result: SSAValue | None = None
        for constraint in constraints:
            sides = (
                self.values.expand(builder, constraint.lhs, operands),
                self.scalar.expander.constant(0),
            )
            word = PREDICATES[constraint.kind]
            holds = builder.shared(arith.CmpiOp, sides, i1, predicate(word), mark=word)
            result = both(builder, result, holds)
        assert result is not None
        return result

    def _both(self, builder: CoreBuilder, outer: SSAValue | None, mask: SSAValue) -> SSAValue:
        """The lanes of two masks, which is a constant if they are."""
        known, others = known_lanes(mask), None if outer is None else known_lanes(outer)
        if known is None or others is None:
            return both(builder, outer, mask)
        lanes = [one and other for one, other in zip(known, others, strict=True)]
        return self.values.dense(self.values.type_of(i1), lanes)

    def _inverted(self, builder: CoreBuilder, mask: SSAValue) -> SSAValue:
        known = known_lanes(mask)
        if known is not None:
            return self.values.dense(self.values.type_of(i1), [not lane for lane in known])
        all_lanes = self.values.dense(self.values.type_of(i1), [1])
        return builder.shared(arith.XOrIOp, (mask, all_lanes), mask.type)

    def _holds(
        self, builder: CoreBuilder, constraint: AffineConstraintExpr, operands: Sequence[SSAValue]
    ) -> SSAValue:
        """The lanes in which a constraint (against zero) holds."""
        expr, kind = constraint.lhs, constraint.kind
        stride = self.values.stride(expr, operands)
        mask_type = self.values.type_of(i1)
        expander = self.scalar.expander
        if stride in (-1, 1) and kind is AffineConstraintKind.ge:
            # The first lanes, or all but these: their number is compared in 32 bits.
            first = self.values.expand(builder, expr + 1 if stride == -1 else -expr, operands)
            sides = (first,)
            lanes = builder.shared(vector.CreateMaskOp, sides, mask_type, mark=self.values.lanes)
            return lanes if stride == -1 else self._inverted(builder, lanes)
        word = PREDICATES[kind]
        values = self.values.indices(builder, expr, operands)
        zeros = self.values.spread(builder, expander.constant(0))
        sides = (values, zeros)
        return builder.shared(VectorCmpiOp, sides, mask_type, predicate(word), mark=word)

    # Reductions.

    def _reduce(self, update: ReductionUpdate, builder: CoreBuilder) -> None:
        """`x = x + value` in every lane: the lanes' values are joined first."""
        combine = update.combine
        value, _ = self._joined(update, builder)
        element = combine.results[0].type
        properties: dict[str, Attribute] = {"kind": CombiningKindAttr(_KINDS[type(combine)])}
        if "fastmath" in combine.properties:
            properties["fastmath"] = combine.properties["fastmath"]
        start = self.scalar.values[update.load.result]
        reduced = builder.emit(vector.ReductionOp, (value, start), element, properties)
        is_second = combine.operands[-1] is update.load.result
        is_number = is_second and SECOND_IS_NUMBER in combine.attributes
        if is_number and isinstance(reduced.owner, Operation):
            reduced.owner.attributes[SECOND_IS_NUMBER] = UnitAttr()
        self.values.bind(combine.results[0], reduced)

    def _joined(self, update: ReductionUpdate, builder: CoreBuilder) -> tuple[SSAValue, SSAValue]:
        """What the lanes join with an element, the identity in those that do not run; and the identity in all."""
        combine = update.combine
        other = next(v for v in combine.operands if v is not update.load.result)
        value = self.values.vector(builder, other)
        element = combine.results[0].type
        identities = _identities(update.operator, self.values.type_of(element))
        rest = self.scalar.expander.constant_of(identities)
        if self.values.mask is not None:
            value = builder.emit(VectorSelectOp, (self.values.mask, value, rest), value.type)
        return value, rest

    def _run(self, update: ReductionUpdate, builder: CoreBuilder) -> None:
        """
        `x = x + value; … x …` in every lane: the prefixes of the lanes' values, and then what x was before.

        Each step joins every lane with the one that is twice as far away as in the step before. What x is after all
        lanes is one operation behind what it was before, so that nothing else waits for the lanes before.
        """
        combine, lanes = update.combine, self.values.lanes
        value, rest = self._joined(update, builder)

        def join(a: SSAValue, b: SSAValue) -> SSAValue:
            made = type(combine).create(
                operands=(a, b), result_types=(b.type,), properties=combine.properties
            )
            return builder.insert(made).results[0]

        distance = 1
        while distance < lanes:
            moved = [lane - distance if lane >= distance else lanes for lane in range(lanes)]
            value = join(shuffled(builder, value, rest, moved), value)
            distance *= 2
        before = self.scalar.values[update.load.result]
        self.totals[update.store] = join(before, extract(builder, value, lanes - 1))
        self.values.bind(combine.results[0], join(self.values.spread(builder, before), value))


def _is_zero(value: SSAValue) -> bool:
    """Whether a value is the constant 0, and not -0."""
    if not isinstance(value.owner, arith.ConstantOp):
        return False
    match value.owner.value:
        case FloatAttr() as number:
            return number.value.data == 0 and copysign(1, number.value.data) > 0
        case IntegerAttr() as number:
            return number.value.data == 0
        case _:
            return False


_ON_VECTORS: dict[type[Operation], type[Operation]] = {
    arith.CmpiOp: VectorCmpiOp,
    arith.CmpfOp: VectorCmpfOp,
    arith.SelectOp: VectorSelectOp,
    **CASTS,
}
"""Operations that are other ones on vectors."""

_ON_SCALARS = (math.IPowIOp, math.FPowIOp)
"""Operations that have no form on vectors at lower levels."""

_KINDS: dict[type[Operation], CombiningKindFlag] = {
    arith.AddfOp: CombiningKindFlag.ADD,
    arith.AddiOp: CombiningKindFlag.ADD,
    arith.MulfOp: CombiningKindFlag.MUL,
    arith.MuliOp: CombiningKindFlag.MUL,
    arith.MaxSIOp: CombiningKindFlag.MAXSI,
    arith.MinSIOp: CombiningKindFlag.MINSI,
    arith.MaxUIOp: CombiningKindFlag.MAXUI,
    arith.MinUIOp: CombiningKindFlag.MINUI,
    arith.AndIOp: CombiningKindFlag.AND,
    arith.OrIOp: CombiningKindFlag.OR,
    arith.XOrIOp: CombiningKindFlag.XOR,
    arith.MaximumfOp: CombiningKindFlag.MAXIMUMF,
    arith.MinimumfOp: CombiningKindFlag.MINIMUMF,
    arith.MaxnumfOp: CombiningKindFlag.MAXNUMF,
}


@lru_cache(maxsize=256)
def _identities(operator: str, type_: VectorType[Attribute]) -> DenseIntOrFPElementsAttr:
    return elements(type_, [_identity(operator, type_.element_type)])


def _identity(operator: str, element: Attribute) -> int | float:
    """
    Of sums of floats -0, to which any number can be added and stays as it is. Lanes that are chosen from zeros LLVM 22.1
    takes for an expansion, an instruction that Zen cores do not overlap with the next row's.
    """
    if operator == "xor":
        return 0
    if operator == Combiner.ADD and is_float(element):
        return -0.0
    return Combiner(operator).identity(element).value.data
