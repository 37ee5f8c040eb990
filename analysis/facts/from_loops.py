"""The facts of a function of loops, whoever made them: te → loop, a person, or another compiler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache

from xdsl.dialects import affine, arith, func, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FloatAttr,
    IntegerAttr,
    MemRefType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.traits import IsTerminator, is_side_effect_free

from ...dialects import loop
from ...dialects.affine_atoms import constant_expr, dim_expr
from ...dialects.affine_bounds import linear_form
from ...dialects.leaf_operations import map_of
from ...dialects.shaped import memref_type
from ...frozen import frozen
from ...lazy import cached_property
from ..constants import constant_global
from ..effects import has_no_effect
from ..operations import blocks_of, body_of, operands_of, operations_in, operations_of
from ..reductions import operator_name, operator_of
from ..signature import calls_by_programs, is_of_caller, is_own, values_given
from .kernel import (
    Access,
    Axis,
    BufferFacts,
    Extension,
    Extent,
    Home,
    KernelFacts,
    Role,
    Statement,
    Subscript,
    Symbol,
    entries_held,
    number_of,
    program_constants,
    sort_key,
    widest_number,
)

_ROLES = {
    loop.LoopKind.PARALLEL: Role.PARALLEL,
    loop.LoopKind.REDUCTION: Role.REDUCTION,
    loop.LoopKind.SERIAL: Role.SERIAL,
}


@frozen
class LoopFacts:
    """A kernel's facts, and which loops, stores and buffers of the function they describe."""

    facts: KernelFacts
    loops: tuple[tuple[loop.ForOp, ...], ...]
    """of each statement, outermost first: its axes"""
    stores: tuple[loop.StoreOp, ...]
    loads: tuple[tuple[loop.LoadOp, ...], ...]
    """of each statement, in the order of its reads"""
    buffers: tuple[SSAValue, ...]


def facts_of_loops(function: func.FuncOp) -> LoopFacts:
    """The facts of a function at the loop level. It is walked once."""
    return _Reader(function).read()


class _Reader:
    def __init__(self, function: func.FuncOp):
        self.function = function
        self.is_complete = True
        self.statements: list[Statement] = []
        self.loops: list[tuple[loop.ForOp, ...]] = []
        self.stores: list[loop.StoreOp] = []
        self.loads: list[tuple[loop.LoadOp, ...]] = []
        self.buffers: dict[SSAValue, int] = {}
        self.axes: dict[loop.ForOp, Axis] = {}
        self.starts: dict[loop.ForOp, _Linear] = {}
        self.counted: set[Operation] = set()
        """what statements so far are made by: a value that several store is computed once"""
        self.looked_up: set[SSAValue] = set()
        """the buffers with loads at computed indices, which no statement describes"""

    def read(self) -> LoopFacts:
        for argument in self.function.body.block.args:
            if isinstance(argument.type, MemRefType):
                self._number(argument)
        self._block(self.function.body.block, ())
        buffers = tuple(self._buffer(value) for value in self.buffers)
        # What is only looked up from is there for all iterations, in whatever order.
        written = {store.buffer for store in self.stores}
        is_complete = self.is_complete and not self.looked_up & written
        constants = program_constants(self.function, buffers)
        facts = KernelFacts(buffers, tuple(self.statements), is_complete, constants)
        return LoopFacts(
            facts, tuple(self.loops), tuple(self.stores), tuple(self.loads), tuple(self.buffers)
        )

    def _block(self, block: Block, around: tuple[loop.ForOp, ...]) -> None:
        for op in operations_of(block):
            if type(op) is loop.ForOp:
                self.axes[op] = Axis(_extent(op), _ROLES[op.kind.data])
                self._block(body_of(op), (*around, op))
            elif type(op) is loop.StoreOp:
                self._statement(op, around)
            elif type(op) is loop.IfOp and not op.results:
                for inner in blocks_of(op):
                    self._block(inner, around)
            elif type(op) is memref.LoadOp:
                self.looked_up.add(op.memref)
            elif not _is_described(op):
                self.is_complete = False

    def _statement(self, store: loop.StoreOp, around: tuple[loop.ForOp, ...]) -> None:
        behind = _operations_behind(store.value)
        combine = store.value.owner
        name = operator_name(combine) if isinstance(combine, Operation) else None
        own = _own_load(store, combine) if name is not None else None
        reads = [
            (self._access(op, around), op)
            for op in behind
            if type(op) is loop.LoadOp and op is not own
        ]
        reads.sort(key=lambda pair: sort_key(pair[0]))
        loads = tuple(op for _, op in reads)
        before = self.loops[-1] if self.loops else ()
        shared = next(
            (n for n, (a, b) in enumerate(zip(before, around, strict=False)) if a is not b),
            min(len(before), len(around)),
        )
        is_update = own is not None
        counted = Counter(
            op.name
            for op in behind
            if type(op) not in _FREE
            and not (is_update and op is combine)
            and op not in self.counted
        )
        self.counted.update(behind)
        self.statements.append(
            Statement(
                tuple(self.axes[for_op] for for_op in around),
                shared,
                tuple(access for access, _ in reads),
                self._access(store, around),
                name if is_update else None,
                isinstance(combine, Operation) and is_update and operator_of(combine) is not None,
                tuple(sorted(counted.items())),
                widest_number(op for op in behind if op.name in counted),
                entries_held(behind),
            )
        )
        self.loops.append(around)
        self.stores.append(store)
        self.loads.append(loads)

    def _access(self, op: loop.LoadOp | loop.StoreOp, around: tuple[loop.ForOp, ...]) -> Access:
        operands = tuple(op.operands_)
        exprs = map_of(op, "map").results
        subscripts = tuple([self._subscript(expr, operands, around) for expr in exprs])
        parent = op.parent_op()
        is_guarded = not isinstance(parent, loop.ForOp | func.FuncOp)
        extension = Extension.of(op.result) if isinstance(op, loop.LoadOp) else None
        outside = _number_else(parent) if isinstance(parent, loop.IfOp) else None
        return Access(self._number(op.buffer), subscripts, is_guarded, extension, outside)

    def _subscript(
        self, expr: AffineExpr, operands: tuple[SSAValue, ...], around: tuple[loop.ForOp, ...]
    ) -> Subscript | None:
        linear = self._linear(expr, operands)
        if linear is None:
            return None
        return Subscript(tuple([linear.by.get(f, 0) for f in around]), linear.constant)

    def _linear(self, expr: AffineExpr, operands: tuple[SSAValue, ...]) -> _Linear | None:
        """An expression over loop variables as one over the numbers of their loops' iterations."""
        linear = linear_form(expr, len(operands))
        if linear is None:
            return None
        by, constant = dict[loop.ForOp, int](), linear[1]
        for factor, value in zip(linear[0], operands, strict=True):
            if not factor:
                continue
            for_op = _loop_of(value)
            start = None if for_op is None else self._start(for_op)
            if for_op is None or start is None:
                return None
            for each, coefficient in start.by.items():
                by[each] = by.get(each, 0) + factor * coefficient
            by[for_op] = by.get(for_op, 0) + factor * for_op.step.value.data
            constant += factor * start.constant
        return _Linear(by, constant)

    def _start(self, for_op: loop.ForOp) -> _Linear | None:
        """A loop's lower bound; None when it is a maximum or not linear."""
        if for_op not in self.starts:
            results = for_op.lower_map.data.results
            start = (
                self._linear(results[0], tuple(for_op.lower_operands))
                if len(results) == 1
                else None
            )
            if start is None:
                return None
            self.starts[for_op] = start
        return self.starts[for_op]

    def _number(self, buffer: SSAValue) -> int:
        return self.buffers.setdefault(buffer, len(self.buffers))

    @cached_property
    def _calls(self) -> list[func.CallOp]:
        return calls_by_programs(self.function)

    def _buffer(self, value: SSAValue) -> BufferFacts:
        type_ = memref_type(value)
        shape: tuple[Extent, ...] = tuple(
            None if size == DYNAMIC_INDEX else size for size in type_.get_shape()
        )
        marks = self._marks(value)
        home = _home(value, marks)
        shared = marks.get(loop.SHARED)
        return BufferFacts(
            shape,
            _strides(type_),
            type_.get_element_type(),
            home,
            home is Home.RESULT and self._is_passed_on(value),
            _depth(value) if home is Home.SCRATCH else 0,
            loop.NEEDED in marks,
            home is Home.ARGUMENT and is_of_caller(value, self._calls),
            loop.FINITE in marks,
            shared.value.data if isinstance(shared, IntegerAttr) else None,
        )

    def _is_passed_on(self, value: SSAValue) -> bool:
        """Whether a buffer of the program's own is given for the argument."""
        assert isinstance(value, BlockArgument)
        return any(map(is_own, values_given(value, self._calls)))

    def _marks(self, value: SSAValue) -> Mapping[str, Attribute]:
        """The attributes of an argument; none of what is no argument."""
        attributes = self.function.arg_attrs
        if attributes is None or value.owner is not self.function.body.block:
            return {}
        assert isinstance(value, BlockArgument)
        return attributes.data[value.index].data


def _home(value: SSAValue, marks: Mapping[str, Attribute]) -> Home:
    if constant_global(value) is not None:
        return Home.CONSTANT
    if not isinstance(value, BlockArgument):
        return Home.SCRATCH
    if loop.CONSTANT in marks:
        return Home.CONSTANT
    return Home.RESULT if loop.RESULT in marks else Home.ARGUMENT


@frozen
class _Linear:
    """A linear expression over numbers of iterations."""

    by: dict[loop.ForOp, int]
    constant: int


@lru_cache(maxsize=256)
def _strides(type_: MemRefType[Attribute]) -> tuple[int | None, ...]:
    strides = type_.get_strides()
    if strides is None:
        return (None,) * len(type_.get_shape())
    return tuple(None if s == DYNAMIC_INDEX else s for s in strides)


def _extent(for_op: loop.ForOp) -> Extent:
    """The trip count; a symbol for `0 to %n` over an index argument of the function."""
    count = for_op.constant_trip_count()
    if count is not None:
        return count
    upper, operands = for_op.upper_map.data, list(for_op.upper_operands)
    starts_at_zero = all(e == constant_expr(0) for e in for_op.lower_map.data.results)
    if not starts_at_zero or for_op.step.value.data != 1 or len(operands) != 1:
        return None
    if upper.results != (dim_expr(0),):
        return None
    argument = operands[0]
    if isinstance(argument, BlockArgument) and isinstance(argument.owner.parent_op(), func.FuncOp):
        return Symbol(argument.index)
    return None


def _number_else(op: loop.IfOp) -> float | None:
    """The only value of a condition where it does not hold, if that is a number."""
    if len(op.outputs) != 1 or not op.else_region.blocks:
        return None
    last = op.else_region.block.last_op
    constant = None if last is None else last.operands[0].owner
    value = constant.value if isinstance(constant, arith.ConstantOp) else None
    return number_of(value) if isinstance(value, FloatAttr | IntegerAttr) else None


def _loop_of(value: SSAValue) -> loop.ForOp | None:
    region = value.block.parent if type(value) is BlockArgument else None
    parent = None if region is None else region.parent
    return parent if type(parent) is loop.ForOp else None


def _depth(value: SSAValue) -> int:
    """In how many loops a value is made."""
    count, op = 0, value.owner.parent_op()
    while op is not None:
        count += isinstance(op, loop.ForOp)
        op = op.parent_op()
    return count


_FREE = frozenset((loop.LoadOp, loop.IfOp, arith.ConstantOp))
"""Operations behind a stored value that are not counted."""

_HARMLESS = frozenset(
    (
        loop.AllocOp,
        loop.PrefetchOp,
        loop.LoadOp,
        loop.YieldOp,
        memref.GetGlobalOp,
        affine.ApplyOp,
    )
)


def _is_described(op: Operation) -> bool:
    """Whether statements say all there is to say of an operation that is neither a loop nor a store."""
    if type(op) in _HARMLESS or _is_terminator(type(op)):
        return True
    if type(op) is loop.IfOp:  # one that yields values, which statements use
        return all(_is_described(inner) for inner in op.walk() if inner is not op)
    return has_no_effect(type(op)) or is_side_effect_free(op)


def _operations_behind(value: SSAValue) -> list[Operation]:
    """The operations that a stored value is made by, each once, inner regions included, in no set order."""
    found: dict[Operation, None] = {}
    pending = [value]
    while pending:
        op = pending.pop(0).owner
        if not isinstance(op, Operation) or op in found:
            continue
        for inner in (op, *operations_in(op)) if op.regions else (op,):
            if _is_terminator(type(inner)):
                pending += inner.operands
                continue
            found[inner] = None
            if type(inner) is not loop.LoadOp:
                pending += [v for v in operands_of(inner) if not _is_buffer(v)]
    return list(found)


@cache
def _is_terminator(kind: type[Operation]) -> bool:
    return kind.has_trait(IsTerminator)


def _is_buffer(value: SSAValue) -> bool:
    return type(value.type) is MemRefType


def _own_load(store: loop.StoreOp, combine: object) -> loop.LoadOp | None:
    """The load of the element that is stored, which the combination updates."""
    if not isinstance(combine, Operation):
        return None
    for operand in combine.operands:
        load = operand.owner
        if (
            isinstance(load, loop.LoadOp)
            and load.buffer is store.buffer
            and load.map == store.map
            and tuple(load.operands_) == tuple(store.operands_)
        ):
            return load
    return None
