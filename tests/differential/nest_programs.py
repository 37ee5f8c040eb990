"""
Small affine loop programs as trees: what `random_nests.py` makes, and what a failure is made small in.

A tree is concrete: its symbols have values, so that the subscripts of every access are enumerated, shifted
to start at zero, and the buffers made as large as they ask for. `nest_text.py` writes a tree as a function
at the loop level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Environment = Mapping[str, int]

FLOATS = {"f32": np.float32, "f64": np.float64}
INTEGERS = {"i32": np.int32, "i64": np.int64}
ARITHMETIC = ("add", "sub", "mul")
OPERATORS = {True: ("add", "sub", "max", "min"), False: (*ARITHMETIC, "xor", "max", "min")}
"""By whether the elements are floats, for which products would leave the exact numbers."""
REDUCTIONS = {True: ("add", "max", "min"), False: ("add", "mul", "xor", "max", "min")}
LARGEST_EXACT = {"f32": 2.0**20, "f64": 2.0**48}
"""Sums of integers below these, in any order, are exact: there are a few hundred of them at most."""


class TooLarge(Exception):
    """The program runs more statements than its limit."""


@dataclass(frozen=True)
class Affine:
    """`sum(coefficient * name) + number`, then maybe divided, then `+ offset`."""

    terms: tuple[tuple[str, int], ...] = ()
    number: int = 0
    division: str = ""
    """`floordiv`, `ceildiv`, `mod` or none"""
    divisor: int = 1
    offset: int = 0

    def value(self, env: Environment) -> int:
        value = self.number + sum(factor * env[name] for name, factor in self.terms)
        match self.division:
            case "floordiv":
                value //= self.divisor
            case "ceildiv":
                value = -(-value // self.divisor)
            case "mod":
                value %= self.divisor
        return value + self.offset

    def shifted(self, by: int) -> Affine:
        if self.division:
            return Affine(self.terms, self.number, self.division, self.divisor, self.offset + by)
        return Affine(self.terms, self.number + by)

    def text(self, names: Mapping[str, str] | None = None) -> str:
        """With `names[n]` for `n`, or `%n`."""
        called = {n: f"%{n}" for n, _ in self.terms} if names is None else names
        parts = [called[n] if c == 1 else f"{called[n]} * {c}" for n, c in self.terms]
        if self.number or not parts:
            parts.append(str(self.number))
        inner = " + ".join(parts)
        if not self.division:
            return inner
        tail = f" + {self.offset}" if self.offset else ""
        return f"({inner}) {self.division} {self.divisor}{tail}"


def variable(name: str, number: int = 0, factor: int = 1) -> Affine:
    return Affine(((name, factor),), number)


@dataclass(frozen=True)
class Condition:
    """`expr >= 0`, `expr <= 0` or `expr == 0`."""

    expr: Affine
    sign: str

    def holds(self, env: Environment) -> bool:
        value = self.expr.value(env)
        return {">=": value >= 0, "<=": value <= 0, "==": value == 0}[self.sign]

    def text(self) -> str:
        return f"{self.expr.text()} {self.sign} 0"


@dataclass(frozen=True)
class Access:
    """One element of a buffer."""

    buffer: str
    subscripts: tuple[Affine, ...]


@dataclass(frozen=True)
class Guarded:
    """An element where a condition holds, a number elsewhere: a `loop.if` with a result."""

    access: Access
    condition: Condition
    otherwise: int


@dataclass(frozen=True)
class Opaque:
    """An element read by `memref.load`, which analyses do not look into."""

    access: Access


Operand = Access | Guarded | Opaque | Affine | int | str
"""A value of a statement; `Affine` is an index as a number, `str` what a `Let` of that name loaded."""


@dataclass(frozen=True)
class Statement:
    """`target = operands[0] ⊕ operands[1] …`, or `target = target update (…)`."""

    target: Access
    operands: tuple[Operand, ...]
    operators: tuple[str, ...]
    update: str = ""
    reassociable: bool = True
    """Whether a float update may be reordered with others."""


@dataclass(frozen=True)
class Let:
    """A value loaded for statements further in or later."""

    name: str
    access: Access


@dataclass(frozen=True)
class Scratch:
    """A scratch buffer made here, filled by loops of its own or, when nothing else is read, by the rest."""

    buffer: str
    scope: str
    filled: bool = True


@dataclass(frozen=True)
class Branch:
    """A `loop.if`."""

    conditions: tuple[Condition, ...]
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Loop:
    """A `loop.for` from the greatest of `lower` to below the least of `upper`."""

    name: str
    lower: tuple[Affine, ...]
    upper: tuple[Affine, ...]
    body: tuple[Node, ...]
    step: int = 1

    def range(self, env: Environment) -> range:
        low = max(bound.value(env) for bound in self.lower)
        high = min(bound.value(env) for bound in self.upper)
        return range(low, high, self.step)


Node = Statement | Let | Scratch | Branch | Loop


@dataclass(frozen=True)
class NestProgram:
    """A function: its buffers by name with their ranks, its symbols with their values, its body."""

    body: tuple[Node, ...]
    ranks: Mapping[str, int]
    symbols: Mapping[str, int]
    element: str
    noalias: str = "each"
    """How arguments are said to be separate: at `each`, by the `function`, or not at all (``)."""
    dynamic: frozenset[str] = frozenset()
    """Arguments whose first axis has its size left open in the type."""
    input_seed: int = 0
    kernel: str = ""
    """A loop whose nest the module also has as a function of its own, or none."""

    def scratch(self) -> set[str]:
        return {node.buffer for node in nodes(self.body) if isinstance(node, Scratch)}

    def arguments(self) -> list[str]:
        """The buffers that are arguments, those that nothing uses left out."""
        used = {access.buffer for access in accesses(self.body)}
        return [name for name in self.ranks if name in used - self.scratch()]

    def inputs(self) -> list[Array]:
        """The arrays and symbols to call `f` with: small whole numbers."""
        generator = np.random.default_rng(self.input_seed)
        shapes = measure(self).shapes
        dtype = {**FLOATS, **INTEGERS}[self.element]
        arrays = [generator.integers(-4, 5, shapes[n]).astype(dtype) for n in self.arguments()]
        return [*arrays, *(np.int64(value) for value in self.symbols.values())]


def nodes(body: Sequence[Node]) -> Iterator[Node]:
    """All nodes of a body and of what is inside of them."""
    for node in body:
        yield node
        if isinstance(node, Loop):
            yield from nodes(node.body)
        elif isinstance(node, Branch):
            yield from nodes((*node.then, *node.otherwise))


def accesses(body: Sequence[Node]) -> Iterator[Access]:
    """All accesses of a body."""
    for node in nodes(body):
        if isinstance(node, Statement):
            yield node.target
            for operand in node.operands:
                access = accessed(operand)
                if access is not None:
                    yield access
        elif isinstance(node, Let):
            yield node.access


def accessed(operand: Operand) -> Access | None:
    if isinstance(operand, Access):
        return operand
    return operand.access if isinstance(operand, Guarded | Opaque) else None


# Where the accesses go.


@dataclass
class Measure:
    """The least and greatest subscripts of each buffer, and how many statements run."""

    least: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    greatest: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    instances: int = 0
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    written: dict[str, set[tuple[int, ...]]] = field(
        default_factory=dict[str, set[tuple[int, ...]]]
    )
    """The elements that have been written of each scratch buffer nothing else fills."""
    unfilled: set[str] = field(default_factory=set[str])
    """The scratch buffers of which an element is read that has not been written."""

    def is_filled(self, node: Scratch) -> bool:
        """Whether a scratch buffer has to be filled where it is made."""
        return node.filled or node.buffer in self.unfilled


def measure(program: NestProgram, limit: int = 10**6) -> Measure:
    """Run through the program. Raises TooLarge when more than `limit` statements run."""
    found = Measure()
    _run(program.body, dict(program.symbols), found, limit)
    for name, rank in program.ranks.items():
        low = found.least.setdefault(name, [0] * rank)
        high = found.greatest.setdefault(name, [0] * rank)
        found.shapes[name] = tuple(b - a + 1 for a, b in zip(low, high, strict=True))
    for node in nodes(program.body):
        if isinstance(node, Scratch) and found.is_filled(node):
            found.instances += prod(found.shapes[node.buffer])
    if found.instances > limit:
        raise TooLarge
    return found


def _run(body: Sequence[Node], env: dict[str, int], found: Measure, limit: int) -> None:
    for node in body:
        match node:
            case Loop():
                for value in node.range(env):
                    env[node.name] = value
                    _run(node.body, env, found, limit)
            case Branch():
                holds = all(c.holds(env) for c in node.conditions)
                _run(node.then if holds else node.otherwise, env, found, limit)
            case Statement():
                found.instances += 1
                if found.instances > limit:
                    raise TooLarge
                for operand in node.operands:
                    access = accessed(operand)
                    holds = not isinstance(operand, Guarded) or operand.condition.holds(env)
                    if access is not None and holds:
                        _read(access, env, found)
                if node.update:
                    _read(node.target, env, found)
                written = _touch(node.target, env, found)
                if node.target.buffer in found.written:
                    found.written[node.target.buffer].add(written)
            case Let():
                _read(node.access, env, found)
            case Scratch():
                if not node.filled:
                    found.written[node.buffer] = set()


def _read(access: Access, env: Environment, found: Measure) -> None:
    element = _touch(access, env, found)
    if element not in found.written.get(access.buffer, {element}):
        found.unfilled.add(access.buffer)


def _touch(access: Access, env: Environment, found: Measure) -> tuple[int, ...]:
    values = [subscript.value(env) for subscript in access.subscripts]
    low = found.least.setdefault(access.buffer, values)
    high = found.greatest.setdefault(access.buffer, values)
    found.least[access.buffer] = [min(a, b) for a, b in zip(low, values, strict=True)]
    found.greatest[access.buffer] = [max(a, b) for a, b in zip(high, values, strict=True)]
    return tuple(values)
