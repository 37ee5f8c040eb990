"""
Random affine loop programs for schedule steps: one to four statements in nests one to four deep.

Nests are perfect or not; bounds are constant, symbolic, triangular, shifted, banded, negative, a minimum or
maximum, with steps. Statements copy, combine, update in place and reduce. Subscripts are inside of the
buffers by construction, which `analysis/in_bounds` confirms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
from stepwell.analysis.dependence import dependences
from stepwell.analysis.in_bounds import check_in_bounds
from stepwell.analysis.verify import verify
from stepwell.dialects import loop
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from .nest_kernels import kernels
from .nest_programs import (
    FLOATS,
    LARGEST_EXACT,
    OPERATORS,
    REDUCTIONS,
    Access,
    Affine,
    Array,
    Branch,
    Condition,
    Guarded,
    Let,
    Loop,
    NestProgram,
    Node,
    Opaque,
    Operand,
    Scratch,
    Statement,
    TooLarge,
    accesses,
    measure,
    nodes,
    variable,
)
from .nest_text import text_of
from .random_chains import chain_program

INSTANCES = 260
"""Statements that a program runs at most."""
EXTENTS = {1: 12, 2: 7, 3: 5, 4: 4}
"""The usual number of iterations of a loop, by the depth of its nest."""
CHAINS = 0.45
"""The share of programs that hand on elements, reduce, stage or are tiled."""
STEPS = (1, 1, 1, 1, 1, 1, 1, 2, 2, 3)


@dataclass
class Case:
    """A program as a module, with inputs and what it computes of them."""

    program: NestProgram
    module: ModuleOp
    inputs: list[Array]
    expected: tuple[Array, ...]

    @property
    def symbols(self) -> dict[str, int]:
        return dict(self.program.symbols)


def case_of_seed(seed: int, index: int) -> Case:
    """Program number `index` of a campaign."""
    return random_case(Random(f"{seed}/{index}"))


def random_case(rng: Random) -> Case:
    """A program that runs something, of numbers that no order of additions rounds."""
    while True:
        program = random_program(rng)
        try:
            instances = measure(program, INSTANCES).instances
        except TooLarge:
            continue
        if not instances:
            continue
        case = case_of(program)
        if _is_exact(case):
            return case
        return case_of(replace(program, element="i64"))


def case_of(program: NestProgram) -> Case:
    module = parse_text(text_of(program), "program.mlir")
    assert isinstance(module, ModuleOp)
    verify(module)
    check_in_bounds(module)
    if program.input_seed % 2:
        _mark_kinds(module)
    inputs = program.inputs()
    return Case(program, module, inputs, interpret(module, inputs, "f"))


def _is_exact(case: Case) -> bool:
    limit = LARGEST_EXACT.get(case.program.element)
    return limit is None or all(
        np.all(np.abs(array) < limit) for array in case.expected if array.size
    )


def _mark_kinds(module: ModuleOp) -> None:
    """Say of each loop what its dependences say, which steps then have to keep true."""
    function = next(op for op in module.ops if isinstance(op, func.FuncOp))
    found = dependences(function)
    for op in function.walk():
        if isinstance(op, loop.ForOp):
            op.kind = loop.LoopKindAttr(found.kind_of(op))


def random_program(rng: Random) -> NestProgram:
    """Any program in more than half of the cases, else one of the kinds of `random_chains.py`."""
    program = chain_program(rng) if rng.random() < CHAINS else _Maker(rng).program()
    if not program.kernel and rng.random() < 0.06:
        program = replace(program, kernel=rng.choice(kernels(program) or [""]))
    return program


@dataclass
class _Maker:
    rng: Random
    ranks: dict[str, int] = field(default_factory=dict[str, int])
    symbols: dict[str, int] = field(default_factory=dict[str, int])
    loops: int = 0
    lets: int = 0
    is_float: bool = False
    rectangular: bool = False
    depth: int = 2
    statements: int = 1
    known: list[str] = field(default_factory=list[str])
    """The values loaded further out."""
    used: list[str] = field(default_factory=list[str])
    """Buffers in the order they were stored to."""

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def program(self) -> NestProgram:
        rng = self.rng
        element = rng.choice(("i64", "i64", "i32", "f64", "f64", "f32"))
        self.is_float = element in FLOATS
        self.rectangular = self.chance(0.35)
        self.depth = rng.choice((1, 2, 2, 2, 3, 3, 4))
        self.statements = rng.choice((1, 1, 2, 2, 3, 4))
        for name in "ABCD"[: rng.choice((1, 2, 2, 3, 3, 4))]:
            rank = rng.choice((0, 1, 1, 2, 2, 2, 3))
            self.ranks[name] = min(rank, self.depth) if self.chance(0.85) else rank
        for name in ("n", "m")[: rng.choice((0, 0, 1, 1, 2))]:
            self.symbols[name] = rng.randint(1, 6)
        shape = rng.choice((self._perfect, self._perfect, self._siblings, self._imperfect))
        body: tuple[Node, ...] = tuple(shape())
        if self.chance(0.2):
            body = self._with_scratch(body)
        scratch = {n.buffer for n in nodes(body) if isinstance(n, Scratch)}
        dynamic = frozenset(n for n in self.ranks if n not in scratch and self.chance(0.08))
        noalias = rng.choice(("each",) * 8 + ("function", ""))
        return NestProgram(
            body, self.ranks, self.symbols, element, noalias, dynamic, rng.randint(0, 10**6)
        )

    def _with_scratch(self, body: tuple[Node, ...]) -> tuple[Node, ...]:
        """Make one of the buffers a scratch buffer of the function, or of an outermost loop's iterations."""
        buffer = self.rng.choice(list(self.ranks))
        if all(name == buffer for name in self.ranks):
            return body
        made = Scratch(buffer, self.rng.choice(("stack", "stack", "thread", "arena")))
        users = [n for n, node in enumerate(body) if _uses(node, buffer)]
        if len(users) == 1 and self.chance(0.4):
            outermost = body[users[0]]
            if isinstance(outermost, Loop):
                inside = replace(outermost, body=(made, *outermost.body))
                return (*body[: users[0]], inside, *body[users[0] + 1 :])
        return (made, *body)

    # Nests.

    def _perfect(self) -> list[Node]:
        loops = self._loops([], self.depth)
        around = [one.name for one in loops]
        body = self._statements(around, self.statements)
        return [_nested(loops, body)]

    def _siblings(self) -> list[Node]:
        """Nests that follow each other, mostly through the same iterations."""
        found: list[Node] = []
        first = self._loops([], self.depth)
        for number in range(self.rng.choice((2, 2, 3))):
            if number == 0:
                loops = first
            elif self.chance(0.75):
                loops = self._renamed(first)
            else:
                loops = self._loops([], self.rng.randint(1, self.depth))
            around = [one.name for one in loops]
            found.append(_nested(loops, self._statements(around, self.rng.choice((1, 1, 2)))))
        return found

    def _renamed(self, loops: Sequence[Loop]) -> list[Loop]:
        """The loops again under other names, a bound here and there moved."""
        names: dict[str, str] = {}
        made: list[Loop] = []
        for one in loops:
            names[one.name] = self._loop_name()
            lower = tuple(_renamed(bound, names) for bound in one.lower)
            upper = tuple(_renamed(bound, names) for bound in one.upper)
            if self.chance(0.3):
                by = self.rng.choice((-1, 1))
                moved = self.rng.choice((lower, upper))
                shifted = tuple(bound.shifted(by) for bound in moved)
                lower, upper = (shifted, upper) if moved is lower else (lower, shifted)
            made.append(Loop(names[one.name], lower, upper, (), one.step))
        return made

    def _imperfect(self) -> list[Node]:
        remaining = [max(2, self.statements)]
        body: list[Node] = []
        while remaining[0] > 0 and len(body) < 3:
            body.append(self._tree([], 1, remaining))
        return body

    def _tree(self, around: list[str], level: int, remaining: list[int]) -> Loop:
        (one,) = self._loops(around, 1, level)
        inside = [*around, one.name]
        known = list(self.known)
        body: list[Node] = []
        for _ in range(self.rng.choice((1, 2, 2, 3))):
            if remaining[0] <= 0:
                break
            if level < self.depth and self.chance(0.6):
                body.append(self._tree(inside, level + 1, remaining))
            else:
                remaining[0] -= 1
                if self.chance(0.12):
                    body.append(self._let(inside))
                body += self._statements(inside, 1)
        if not body:
            body = list(self._statements(inside, 1))
        self.known = known
        return replace(one, body=tuple(body))

    def _let(self, around: list[str]) -> Let:
        self.lets += 1
        name = f"let{self.lets}x"
        self.known.append(name)
        return Let(name, self._access(self.rng.choice(list(self.ranks)), around))

    # Loops.

    def _loop_name(self) -> str:
        self.loops += 1
        return f"i{self.loops - 1}"

    def _loops(self, around: Sequence[str], count: int, level: int = 1) -> list[Loop]:
        """Loops inside each other, without a body."""
        names = list(around)
        made: list[Loop] = []
        for number in range(count):
            name = self._loop_name()
            lower, upper = self._bounds(names, EXTENTS[max(self.depth, level + number)])
            step = 1 if self.rectangular and self.chance(0.7) else self.rng.choice(STEPS)
            made.append(Loop(name, lower, upper, (), step))
            names.append(name)
        return made

    def _bounds(
        self, around: Sequence[str], extent: int
    ) -> tuple[tuple[Affine, ...], tuple[Affine, ...]]:
        rng = self.rng
        low = rng.choice((0, 0, 0, 0, 1, 1, -1, -2, -3))
        size = (
            rng.choice((0, 1, *range(2, extent + 1), extent, extent))
            if (self.chance(0.25))
            else rng.randint(max(2, extent - 2), extent)
        )
        start, end = Affine((), low), Affine((), low + size)
        if self.symbols and self.chance(0.25):
            name = rng.choice(list(self.symbols))
            end = variable(name, rng.choice((0, 0, 1, 2, -1)))
            if self.chance(0.2):
                start = variable(name, rng.choice((-4, -5)), rng.choice((1, -1)))
        if self.rectangular or not around or self.chance(0.55):
            if self.chance(0.1):
                other = Affine((), low + rng.randint(-1, 2))
                return (start, other), (end,)
            if self.chance(0.1):
                return (start,), (end, Affine((), low + rng.randint(1, extent)))
            return (start,), (end,)
        return self._bounds_on(rng.choice(list(around)), start, end, size)

    def _bounds_on(
        self, outer: str, start: Affine, end: Affine, size: int
    ) -> tuple[tuple[Affine, ...], tuple[Affine, ...]]:
        """Bounds that depend on a loop around."""
        number = self.rng.choice((-1, 0, 0, 1, 2))
        match self.rng.randrange(9):
            case 0 | 1:  # upper triangle
                return (variable(outer, number),), (end,)
            case 2 | 3:  # lower triangle
                return (start,), (variable(outer, number + 1),)
            case 4:  # parallelogram
                return (variable(outer, number),), (variable(outer, number + size),)
            case 5:  # band
                return (start, variable(outer, -1)), (variable(outer, 2), end)
            case 6:
                return (start,), (variable(outer, number + size, -1),)
            case 7:
                half = Affine(((outer, 1),), number, "floordiv", 2, 1)
                return (start,), (half.shifted(size // 2),)
            case _:  # trapezoid
                return (start,), (end, variable(outer, number + 2))

    # Statements.

    def _statements(self, around: Sequence[str], count: int) -> tuple[Node, ...]:
        body: list[Node] = [self._statement(around) for _ in range(count)]
        if body and around and self.chance(0.12):
            place = self.rng.randrange(len(body))
            guarded = tuple(body[place:])
            otherwise = (self._statement(around),) if self.chance(0.3) else ()
            body[place:] = [Branch(self._conditions(around), guarded, otherwise)]
        return tuple(body)

    def _conditions(self, around: Sequence[str]) -> tuple[Condition, ...]:
        return tuple(self._condition(around) for _ in range(self.rng.choice((1, 1, 1, 2))))

    def _condition(self, around: Sequence[str]) -> Condition:
        rng = self.rng
        name = rng.choice(list(around))
        number = rng.randint(-3, 1)
        sign = rng.choice((">=", ">=", "<=", "=="))
        if len(around) > 1 and self.chance(0.4):
            other = rng.choice([n for n in around if n != name])
            return Condition(Affine(((name, 1), (other, rng.choice((-1, -1, 1)))), number), sign)
        if self.chance(0.2):
            return Condition(Affine(((name, 1),), 0, "mod", 2), "==")
        return Condition(variable(name, number, rng.choice((1, 1, -1))), sign)

    def _statement(self, around: Sequence[str]) -> Statement:
        rng = self.rng
        names = list(self.ranks)
        source = rng.choice(self.used) if self.used and self.chance(0.5) else rng.choice(names)
        target = self._access(rng.choice(names), around)
        self.used.append(target.buffer)
        operands: list[Operand] = [self._operand(around, source)]
        while len(operands) < 3 and self.chance(0.4):
            operands.append(self._operand(around, rng.choice((*names, target.buffer))))
        operators = tuple(rng.choice(OPERATORS[self.is_float]) for _ in operands[1:])
        update = rng.choice(REDUCTIONS[self.is_float]) if self.chance(0.35) else ""
        return Statement(target, tuple(operands), operators, update, self.chance(0.75))

    def _operand(self, around: Sequence[str], buffer: str) -> Operand:
        rng = self.rng
        kind = rng.random()
        if kind < 0.05:
            return rng.randint(-3, 3)
        if kind < 0.1 and around:
            return variable(rng.choice(list(around)), rng.randint(-2, 2))
        if kind < 0.18 and self.known:
            return rng.choice(self.known)
        access = self._access(buffer, around)
        if kind < 0.21 and around:
            return Guarded(access, self._condition(around), rng.randint(-2, 2))
        return Opaque(access) if kind > 0.99 else access

    def _access(self, buffer: str, around: Sequence[str]) -> Access:
        """Mostly a different loop for each axis, the innermost ones first, a little to one side."""
        rng = self.rng
        rank = self.ranks[buffer]
        if not around:
            return Access(buffer, tuple(Affine((), rng.randint(0, 2)) for _ in range(rank)))
        if self.chance(0.65):
            chosen = list(around)[-rank:] if rank else []
            if self.chance(0.3):
                chosen = rng.sample(list(around), min(rank, len(around)))
            spare = [rng.choice(list(around)) for _ in range(rank - len(chosen))]
            near = (0, 0, 0, 1, -1) if self.chance(0.6) else (0,)
            return Access(
                buffer, tuple(variable(name, rng.choice(near)) for name in (*spare, *chosen))
            )
        return Access(buffer, tuple(self._subscript(around) for _ in range(rank)))

    def _subscript(self, around: Sequence[str]) -> Affine:
        rng = self.rng
        names = rng.sample(list(around), min(len(around), rng.choice((0, 1, 1, 1, 2))))
        terms = tuple((name, rng.choice((1, 1, 1, 1, -1, 2))) for name in names)
        if self.symbols and self.chance(0.1):
            terms += ((rng.choice(list(self.symbols)), rng.choice((1, -1))),)
        number = rng.randint(-2, 2)
        if terms and self.chance(0.12):
            division = rng.choice(("floordiv", "mod", "ceildiv"))
            return Affine(terms, number, division, rng.choice((2, 3)))
        return Affine(terms, number)


def _uses(node: Node, buffer: str) -> bool:
    return any(access.buffer == buffer for access in accesses((node,)))


def _nested(loops: Sequence[Loop], body: tuple[Node, ...]) -> Loop:
    inside = body
    for one in reversed(loops):
        inside = (replace(one, body=inside),)
    (outermost,) = inside
    assert isinstance(outermost, Loop)
    return outermost


def _renamed(expr: Affine, names: dict[str, str]) -> Affine:
    return replace(expr, terms=tuple((names.get(n, n), c) for n, c in expr.terms))
