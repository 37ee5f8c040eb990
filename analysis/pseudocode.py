"""
The operations of a block as statements a person reads: `C[i, j] += A[i, k] * B[k, j]`.

Only for reading: types and rounding flags are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import affine, arith, func, math
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, MemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.traits import is_side_effect_free

from ..dialects import loop
from ..dialects.affine_text import write_affine
from ..dialects.upstream.arith import RemFOp
from ..frozen import frozen

_ATOM, _UNARY, _PRODUCT, _SUM, _COMPARISON, _CHOICE = 6, 5, 4, 3, 2, 1
"""How strongly the operators bind, as in Python."""

_BINARY: dict[type[Operation], tuple[str, int]] = {
    arith.AddfOp: ("+", _SUM),
    arith.AddiOp: ("+", _SUM),
    arith.SubfOp: ("-", _SUM),
    arith.SubiOp: ("-", _SUM),
    arith.MulfOp: ("*", _PRODUCT),
    arith.MuliOp: ("*", _PRODUCT),
    arith.DivfOp: ("/", _PRODUCT),
    arith.AndIOp: ("&", _COMPARISON),
    arith.OrIOp: ("|", _COMPARISON),
    arith.XOrIOp: ("^", _COMPARISON),
}
_FUNCTIONS: dict[type[Operation], str] = {
    arith.MaximumfOp: "max",
    arith.MaxnumfOp: "maxnum",
    arith.MaxSIOp: "max",
    arith.MaxUIOp: "max",
    arith.MinimumfOp: "min",
    arith.MinSIOp: "min",
    arith.MinUIOp: "min",
    RemFOp: "fmod",
}
_UPDATES: dict[type[Operation], str] = {
    arith.AddfOp: "+=",
    arith.AddiOp: "+=",
    arith.MulfOp: "*=",
    arith.MuliOp: "*=",
}
_COMMUTES = frozenset(_UPDATES)
_CASTS = (
    arith.SIToFPOp,
    arith.UIToFPOp,
    arith.FPToSIOp,
    arith.FPToUIOp,
    arith.ExtFOp,
    arith.TruncFOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.TruncIOp,
    arith.IndexCastOp,
    arith.BitcastOp,
)
_INTEGER_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
_FLOAT_COMPARISONS = ("==", ">", ">=", "<", "<=", "!=")


@frozen
class Statement:
    """A line of text, or an operation with regions or storage that the reader shows in his own way."""

    text: str = ""
    op: loop.ForOp | loop.IfOp | loop.AllocOp | None = None


@dataclass
class _Expression:
    """A value's text, how strongly it binds, and the buffers it reads."""

    text: str
    strength: int = _ATOM
    reads: frozenset[SSAValue] = frozenset()

    def inside(self, strength: int) -> str:
        """The text where an operator of that strength is around it."""
        return self.text if self.strength >= strength else f"({self.text})"


@dataclass
class Pseudocode:
    """Writes the blocks of one function. Values keep their names from one block to those inside it."""

    function: func.FuncOp
    _names: dict[SSAValue, _Expression] = field(default_factory=dict[SSAValue, "_Expression"])
    _waiting: dict[SSAValue, _Expression] = field(default_factory=dict[SSAValue, "_Expression"])
    """Values used once, to be written where they are used."""
    _taken: set[str] = field(default_factory=set[str])
    _operands: dict[Operation, tuple[str, str]] = field(
        default_factory=dict[Operation, tuple[str, str]]
    )
    """The operands of additions and multiplications, for the updates they may be part of."""

    def __post_init__(self) -> None:
        for arg in self.function.body.block.args:
            self._new_name(arg)

    def name(self, value: SSAValue) -> str:
        """What the value is called."""
        return self._use(value).text

    def statements(self, block: Block) -> Iterator[Statement]:
        """The statements of the block, in order; the blocks inside are for the caller to ask for."""
        outside, self._waiting = self._waiting, {}
        for op in block.ops:
            yield from self._statement(op)
        self._waiting = outside

    def affine(self, expr: AffineExpr, values: Sequence[SSAValue]) -> str:
        """An affine expression with the names of the values it is over."""
        parts: list[str] = []
        write_affine(expr, parts.append, lambda n: parts.append(self._use(values[n]).inside(_ATOM)))
        return "".join(parts)

    def condition(self, op: loop.IfOp) -> str:
        return " and ".join(
            f"{self.affine(c.lhs, list(op.condition_operands))} {c.kind.value} 0"
            for c in op.condition.data.constraints
        )

    def _statement(self, op: Operation) -> Iterator[Statement]:
        if isinstance(op, loop.YieldOp | func.ReturnOp):
            if op.operands:
                yield Statement(f"{op.name.split('.')[1]} {self._list(op.operands)}")
        elif isinstance(op, loop.ForOp | loop.IfOp):
            yield from self._written_before(op)
            if op.results:
                self._name_results(op)
            yield Statement(op=op)
        elif isinstance(op, loop.AllocOp):
            self._new_name(op.buffer)
            yield Statement(op=op)
        elif isinstance(op, loop.StoreOp):
            text = self._store(op)
            yield from self._written_before(op)
            yield Statement(text)
        elif isinstance(op, loop.LoadOp) or is_side_effect_free(op):
            yield from self._value(op)
        else:
            text = self._call(op)
            yield from self._written_before(op)
            yield Statement(self._assigned(op, text))

    def _value(self, op: Operation) -> Iterator[Statement]:
        """Remember what the operation computes, or give it a name where it is used more than once."""
        if len(op.results) != 1 or isinstance(op.results[0].type, MemRefType):
            text = self._call(op)
            yield Statement(self._assigned(op, text))
            return
        (result,) = op.results
        expression = self._expression(op)
        uses = list(result.uses)
        if isinstance(op, arith.ConstantOp | affine.ApplyOp) and expression.text.count("\n") == 0:
            self._names[result] = expression
        elif len(uses) == 1 and uses[0].operation.parent is op.parent:
            self._waiting[result] = expression
        elif uses:
            yield Statement(f"{self._new_name(result)} = {expression.text}")

    def _written_before(self, op: Operation) -> Iterator[Statement]:
        """Give names to the waiting values that read what the operation may write."""
        written = {
            operand
            for inner in op.walk()
            if isinstance(inner, loop.StoreOp) or not _only_reads(inner)
            for operand in ([inner.buffer] if isinstance(inner, loop.StoreOp) else inner.operands)
        }
        for value, expression in list(self._waiting.items()):
            if expression.reads & written:
                del self._waiting[value]
                yield Statement(f"{self._new_name(value)} = {expression.text}")

    # Expressions.

    def _use(self, value: SSAValue) -> _Expression:
        if value in self._waiting:
            return self._waiting.pop(value)
        if isinstance(value, BlockArgument):
            for_op = value.owner.parent_op()
            if isinstance(for_op, loop.ForOp):
                return _Expression(for_op.loop_name.data)
        return self._names.get(value) or _Expression(self._new_name(value))

    def _list(self, values: Sequence[SSAValue]) -> str:
        return ", ".join(self._use(value).text for value in values)

    def _element(self, op: loop.LoadOp | loop.StoreOp) -> str:
        values = list(op.operands_)
        indices = ", ".join(self.affine(expr, values) for expr in op.map.data.results)
        return f"{self._use(op.buffer).text}[{indices}]"

    def _store(self, op: loop.StoreOp) -> str:
        """`C[i] += x` for a store of `C[i] + x`, else `C[i] = …`."""
        combine = op.value.owner
        if (
            isinstance(combine, Operation)
            and op.value in self._waiting
            and combine in self._operands
        ):
            for own, rest in zip(combine.operands, self._operands[combine][::-1], strict=True):
                is_same = isinstance(own.owner, loop.LoadOp) and _same_element(own.owner, op)
                if is_same and own not in self._names:
                    self._waiting.pop(op.value)
                    return f"{self._element(op)} {_UPDATES[type(combine)]} {rest}"
        return f"{self._element(op)} = {self._use(op.value).text}"

    def _expression(self, op: Operation) -> _Expression:
        if isinstance(op, loop.LoadOp):
            return _Expression(self._element(op), reads=frozenset([op.buffer]))
        if isinstance(op, arith.ConstantOp):
            return _constant(op)
        if isinstance(op, affine.ApplyOp):
            return _Expression(self.affine(op.map.data.results[0], list(op.mapOperands)), _SUM)
        operands = [self._use(operand) for operand in op.operands]
        reads = frozenset[SSAValue]().union(*(operand.reads for operand in operands))
        text, strength = self._operation(op, operands)
        return _Expression(text, strength, reads)

    def _operation(self, op: Operation, operands: list[_Expression]) -> tuple[str, int]:
        if type(op) in _BINARY:
            symbol, strength = _BINARY[type(op)]
            left, right = operands
            if type(op) in _COMMUTES:
                self._operands[op] = left.text, right.text
            # a - (b - c): the right operand needs parentheses at the same strength.
            least = strength if type(op) in _COMMUTES else strength + 1
            return f"{left.inside(strength)} {symbol} {right.inside(least)}", strength
        match op:
            case arith.NegfOp():
                return f"-{operands[0].inside(_UNARY)}", _UNARY
            case arith.CmpfOp() | arith.CmpiOp():
                symbol = _comparison(op)
                left, right = (operand.inside(_SUM) for operand in operands)
                return f"{left} {symbol} {right}", _COMPARISON
            case arith.SelectOp():
                condition, true, false = (operand.inside(_COMPARISON) for operand in operands)
                return f"{true} if {condition} else {false}", _CHOICE
            case math.FmaOp():
                a, b = (operand.inside(_PRODUCT) for operand in operands[:2])
                return f"{a} * {b} + {operands[2].inside(_SUM)}", _SUM
            case _:
                return f"{_function(op)}({', '.join(o.text for o in operands)})", _ATOM

    def _call(self, op: Operation) -> str:
        name = f"@{op.callee.string_value()}" if isinstance(op, func.CallOp) else op.name
        return f"{name}({self._list(op.operands)})"

    def _assigned(self, op: Operation, text: str) -> str:
        return f"{', '.join(self._name_results(op))} = {text}" if op.results else text

    def _name_results(self, op: Operation) -> list[str]:
        return [self._new_name(result) for result in op.results]

    def _new_name(self, value: SSAValue) -> str:
        """A name for the value that no other has, like the one printed IR gives it."""
        base = value.name_hint or "t"
        name, number = base, 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        self._names[value] = _Expression(name)
        return name


def _same_element(load: loop.LoadOp, store: loop.StoreOp) -> bool:
    return (
        load.buffer is store.buffer
        and load.map == store.map
        and tuple(load.operands_) == tuple(store.operands_)
    )


def _only_reads(op: Operation) -> bool:
    return isinstance(op, loop.LoadOp | loop.ForOp | loop.IfOp) or is_side_effect_free(op)


def _constant(op: arith.ConstantOp) -> _Expression:
    match op.value:
        case FloatAttr(value=value):
            text = f"{value.data:g}"
        case IntegerAttr(value=value):
            text = str(value.data)
        case DenseIntOrFPElementsAttr():
            text = "dense"
        case _:
            text = str(op.value)
    return _Expression(text, _PRODUCT if text.startswith("-") else _ATOM)


def _comparison(op: arith.CmpfOp | arith.CmpiOp) -> str:
    predicate = op.predicate.value.data
    if isinstance(op, arith.CmpiOp):
        return _INTEGER_COMPARISONS[predicate]
    if predicate in (0, 7, 14, 15):
        return ("false", "ordered", "unordered", "true")[(0, 7, 14, 15).index(predicate)]
    return _FLOAT_COMPARISONS[(predicate - 1) % 7]


def _function(op: Operation) -> str:
    if isinstance(op, _CASTS):
        return str(op.results[0].type)
    return _FUNCTIONS.get(type(op)) or op.name.partition(".")[2]
