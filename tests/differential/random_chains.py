"""
Random programs of the kinds that steps on producers, consumers and reductions are for.

Nests that hand on elements through scratch buffers; reductions with an initialisation or an accumulator;
buffers that each iteration of a loop fills and uses; tiles of constant size, which a micro-kernel computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from .nest_programs import (
    FLOATS,
    OPERATORS,
    REDUCTIONS,
    Access,
    Affine,
    Loop,
    NestProgram,
    Node,
    Operand,
    Scratch,
    Statement,
    accesses,
    nodes,
    variable,
)

ARGUMENTS, SCRATCH = "ABCDEFGH", "TUVWXYZ"
SCOPES = ("stack", "stack", "thread", "arena")
EXTENTS = {1: 8, 2: 5, 3: 3}
"""The greatest number of iterations of a loop, by the depth of its nest."""


@dataclass(frozen=True)
class Axis:
    """The values `low` to below `high`, which is written as `symbol` plus a number if there is one."""

    low: int
    high: int
    symbol: str = ""

    def moved(self, least: int, greatest: int) -> Axis:
        """With the values from `least` to `greatest` further on."""
        return replace(self, low=self.low + least, high=self.high + greatest)

    def joined(self, other: Axis) -> Axis:
        symbol = self.symbol if self.symbol == other.symbol else ""
        return Axis(min(self.low, other.low), max(self.high, other.high), symbol)


Named = Mapping[str, Axis]
"""Loops by name, the outermost first."""


def chain_program(rng: Random) -> NestProgram:
    """A program of one of the kinds; how many statements it runs is not looked at."""
    return _Maker(rng).program()


@dataclass
class _Maker:
    rng: Random
    ranks: dict[str, int] = field(default_factory=dict[str, int])
    symbols: dict[str, int] = field(default_factory=dict[str, int])
    loops: int = 0
    is_float: bool = False
    kernel: str = ""

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def program(self) -> NestProgram:
        rng = self.rng
        element = rng.choice(("i64", "i32", "f64", "f32"))
        self.is_float = element in FLOATS
        kinds: tuple[Callable[[], list[Node]], ...]
        kinds = (self._producers, self._producers, self._reduction, self._staged, self._tiles)
        body = tuple(rng.choice(kinds)())
        scratch = {node.buffer for node in nodes(body) if isinstance(node, Scratch)}
        dynamic = frozenset(n for n in self.ranks if n not in scratch and self.chance(0.05))
        noalias = rng.choice(("each",) * 12 + ("function", ""))
        seed = rng.randint(0, 10**6)
        return NestProgram(
            body, self.ranks, self.symbols, element, noalias, dynamic, seed, self.kernel
        )

    # Names and ranges.

    def _loop_name(self) -> str:
        self.loops += 1
        return f"i{self.loops - 1}"

    def _named(self, axes: Sequence[Axis]) -> dict[str, Axis]:
        return {self._loop_name(): axis for axis in axes}

    def _argument(self, rank: int) -> str:
        name = next(n for n in ARGUMENTS if n not in self.ranks)
        self.ranks[name] = rank
        return name

    def _scratch(self, rank: int) -> tuple[str, Scratch]:
        name = next(n for n in SCRATCH if n not in self.ranks)
        self.ranks[name] = rank
        return name, Scratch(name, self.rng.choice(SCOPES), self.chance(0.06))

    def _axis(self, extent: int) -> Axis:
        low = self.rng.choice((0, 0, 0, 0, 1, -1, 2))
        size = self.rng.randint(max(2, extent - 3), extent) if self.chance(0.9) else 1
        if self.chance(0.15):
            name = self.rng.choice("nm")
            value = self.symbols.setdefault(name, self.rng.randint(2, extent))
            return Axis(low, value + self.rng.choice((0, 0, 1)), name)
        return Axis(low, low + size)

    def _nest(self, named: Named, body: Sequence[Node], step: int = 1) -> Loop:
        """Loops inside each other around a body; `step` is the innermost one's."""
        made: tuple[Node, ...] = tuple(body)
        for name, axis in reversed(named.items()):
            high = Affine((), axis.high)
            if axis.symbol:
                high = variable(axis.symbol, axis.high - self.symbols[axis.symbol])
            made = (Loop(name, (Affine((), axis.low),), (high,), made, step),)
            step = 1
        (outermost,) = made
        assert isinstance(outermost, Loop)
        return outermost

    def _shuffled(self, named: Named, probability: float = 0.25) -> dict[str, Axis]:
        if not self.chance(probability):
            return dict(named)
        return {name: named[name] for name in self.rng.sample(list(named), len(named))}

    # Statements.

    def _at(self, buffer: str, names: Sequence[str], offsets: Sequence[int] = ()) -> Access:
        offsets = offsets or [0] * len(names)
        pairs = zip(names, offsets, strict=True)
        return Access(buffer, tuple(variable(name, offset) for name, offset in pairs))

    def _set(self, target: Access, operands: Sequence[Operand], update: str = "") -> Statement:
        """`target = operands…`, with a number or the value of a loop now and then."""
        operands = list(operands)
        if self.chance(0.3):
            operands.append(self.rng.randint(-3, 3))
        operators = tuple(self.rng.choice(OPERATORS[self.is_float]) for _ in operands[1:])
        return Statement(target, tuple(operands), operators, update, self.chance(0.85))

    def _reducing(self) -> str:
        return self.rng.choice(REDUCTIONS[self.is_float])

    # Nests that hand on elements.

    def _producers(self) -> list[Node]:
        """Two to four statements, each in a nest that reads what the one before has written."""
        rng = self.rng
        depth, count = rng.choice((1, 1, 2, 2, 2, 3)), rng.choice((2, 2, 2, 3, 3, 4))
        boxes: dict[int, list[Axis]] = {
            count - 1: [self._axis(EXTENTS[depth]) for _ in range(depth)]
        }
        reads: dict[int, list[_Read]] = {n: [] for n in range(count)}
        for stage in range(count - 1, 0, -1):
            sources = [stage - 1]
            if stage > 1 and self.chance(0.25):
                sources.append(rng.randrange(stage - 1))
            for source in sources:
                read = self._read(source, depth)
                reads[stage].append(read)
                box = read.box(boxes[stage])
                have = boxes.get(source, box)
                boxes[source] = [a.joined(b) for a, b in zip(have, box, strict=True)]
        around = self._named([Axis(0, rng.choice((2, 3)))]) if self.chance(0.25) else {}
        return self._stages(boxes, reads, around)

    def _read(self, source: int, depth: int) -> _Read:
        rng = self.rng
        order = tuple(rng.sample(range(depth), depth)) if self.chance(0.12) else tuple(range(depth))
        zero = (0,) * depth
        if self.chance(0.55):
            return _Read(source, order, (zero,))
        axis = rng.randrange(depth)
        window = rng.choice(((0, 1), (-1, 0), (-1, 0, 1), (0, 2), (1,), (-1,)))
        offsets = tuple(tuple(by if n == axis else 0 for n in range(depth)) for by in window)
        return _Read(source, order, offsets)

    def _stages(
        self,
        boxes: Mapping[int, list[Axis]],
        reads: Mapping[int, list[_Read]],
        around: Named,
    ) -> list[Node]:
        last = len(boxes) - 1
        depth = len(boxes[last])
        inputs = [self._argument(depth)]
        if self.chance(0.5):
            inputs.append(self._argument(self.rng.randint(1, depth)))
        outer, names, makers = list(around), [], list[Scratch]()
        for _ in range(last):
            if self.chance(0.08):
                names.append(self._argument(depth))
            else:
                name, maker = self._scratch(depth)
                names.append(name)
                makers.append(maker)
        kept = bool(outer) and self.chance(0.6)
        names.append(self._argument(depth + kept))
        if self.chance(0.08) and not kept:
            names[last] = inputs[0]
        body: list[Node] = []
        for stage in range(last + 1):
            named = self._named(boxes[stage])
            here = list(named)
            operands: list[Operand] = []
            for read in reads[stage]:
                operands += read.accesses(names[read.source], here)
            if not operands or self.chance(0.25):
                operands += self._inputs(inputs, here)
            subscripts = [*outer, *here] if kept and stage == last else here
            target = self._at(names[stage], subscripts)
            body.append(self._stage(target, operands, named, is_last=stage == last))
        if not around:
            return [*makers, *body]
        if self.chance(0.5):
            return [*makers, self._nest(around, body)]
        return [self._nest(around, [*makers, *body])]

    def _inputs(self, inputs: Sequence[str], here: Sequence[str]) -> list[Operand]:
        buffer = self.rng.choice(inputs)
        names = list(here)[: self.ranks[buffer]]
        if self.chance(0.2):
            names = self.rng.sample(list(here), self.ranks[buffer])
        offsets = [self.rng.choice((0, 0, 0, 0, 1)) for _ in names]
        return [self._at(buffer, names, offsets)]

    def _stage(
        self, target: Access, operands: Sequence[Operand], named: Named, *, is_last: bool
    ) -> Loop:
        """A nest that computes each element of its box, here and there as a reduction."""
        if self.chance(0.15):
            (name,) = over = self._named([Axis(0, self.rng.choice((2, 3)))])
            buffer = self._argument(len(named) + 1)
            terms = [*operands, self._at(buffer, [*named, name])]
            update = self._set(target, terms, self._reducing())
            return self._nest(named, [Statement(target, (0,), ()), self._nest(over, [update])])
        update = self._reducing() if is_last and self.chance(0.15) else ""
        step = 2 if is_last and self.chance(0.08) else 1
        nest = self._nest(self._shuffled(named), [self._set(target, operands, update)], step)
        return self._triangular(nest) if is_last and self.chance(0.15) else nest

    def _triangular(self, nest: Loop) -> Loop:
        (inner,) = nest.body
        if not isinstance(inner, Loop):
            return nest
        edge = variable(nest.name, self.rng.choice((-1, 0, 1)))
        if self.chance(0.5):
            inner = replace(inner, lower=(*inner.lower, edge))
        else:
            inner = replace(inner, upper=(*inner.upper, edge))
        return replace(nest, body=(inner,))

    # Reductions.

    def _reduction(self) -> list[Node]:
        """Sums of products in one of the usual shapes, maybe of a buffer computed before or used after."""
        rng = self.rng
        axes = [self._axis(4) for _ in range(rng.choice((1, 2, 2)))]
        named, (over,) = self._named(axes), [self._axis(5)]
        ks, k = {self._loop_name(): over}, None
        if self.chance(0.35):
            size = rng.choice((2, 3))
            ks = self._named([Axis(0, 2), Axis(0, size)])
            block, inside = ks
            k = Affine(((block, size), (inside, 1)))
        (i, *rest) = named
        k = k or variable(next(iter(ks)))
        a, b = self._argument(2), self._argument(len(axes))
        operands = [
            Access(a, (variable(i), k)),
            Access(b, (k, *(variable(name) for name in rest))),
        ]
        c, made = self._argument(len(axes)), list[Node]()
        epilogue = self.chance(0.45)
        if epilogue and self.chance(0.75):
            del self.ranks[c]
            c, maker = self._scratch(len(axes))
            made.append(maker)
        target = self._at(c, list(named))
        body = [*made, *self._reduced(target, operands, named, ks)]
        if epilogue:
            again = self._renamed(named)
            final = self._at(self._argument(len(axes)), list(again))
            uses = [self._at(c, list(again)), *([final] if self.chance(0.3) else [])]
            body.append(self._nest(self._shuffled(again), [self._set(final, uses)]))
        return body

    def _reduced(
        self, target: Access, operands: Sequence[Operand], named: Named, ks: Named
    ) -> list[Node]:
        reducing = self._reducing()
        first: Operand = self.rng.choice((0, 0, 1, target))
        init = Statement(target, (first,), ()) if first != target else None

        def update(where: Access) -> Statement:
            return self._set(where, operands, reducing)

        (i, *rest) = named
        match self.rng.randrange(5):
            case 0 if init is not None:
                inner = self._nest(ks, [update(target)])
                if self.chance(0.2):
                    inner = replace(inner, upper=(*inner.upper, variable(i, 2)))
                return [self._nest(named, [init, inner])]
            case 1 if init is not None:
                again = self._renamed(named)
                first_nest = self._nest(again, [_with_names(init, named, again)])
                order = self._shuffled({**named, **ks}, 0.6)
                return [first_nest, self._nest(order, [update(target)])]
            case 2:
                name, maker = self._scratch(0)
                own = Access(name, ())
                last = self._set(target, [own], reducing if self.chance(0.3) else "")
                inner = self._nest(ks, [update(own)])
                start = Statement(own, (self.rng.choice((0, 1)),), ())
                return [self._nest(named, [maker, start, inner, last])]
            case 3 if rest:
                name, maker = self._scratch(len(rest))
                columns = {n: named[n] for n in rest}
                before, after = self._renamed(columns), self._renamed(columns)
                fill = Statement(self._at(name, list(before)), (0,), ())
                sums = self._nest(
                    self._shuffled({**ks, **columns}, 0.5), [update(self._at(name, rest))]
                )
                out = self._at(target.buffer, [i, *after])
                last = self._set(out, [self._at(name, list(after))])
                parts = [maker, self._nest(before, [fill]), sums, self._nest(after, [last])]
                return [self._nest({i: named[i]}, parts)]
            case _:
                return [self._nest(self._shuffled({**named, **ks}, 0.6), [update(target)])]

    def _renamed(self, named: Named) -> dict[str, Axis]:
        return self._named(list(named.values()))

    # Buffers filled and used in each iteration of a loop.

    def _staged(self) -> list[Node]:
        rng = self.rng
        outer = self._named([self._axis(5)])
        around = self._named([Axis(0, 2)]) if self.chance(0.25) else {}
        (i,) = outer
        depth = rng.choice((1, 1, 2))
        box = [Axis(0, rng.randint(2, 4 if depth == 1 else 3)) for _ in range(depth)]
        source, target = self._argument(depth), self._argument(depth + 1)
        body: list[Node] = []
        made: list[str] = []
        for _ in range(rng.choice((1, 1, 2))):
            name, maker = self._scratch(depth)
            made.append(name)
            fill = self._named([axis.moved(-1, 1) for axis in box])
            first, *others = fill
            start = Affine(((i, rng.choice((1, 1, 2))), (first, 1)))
            value = Access(source, (start, *(variable(n) for n in others)))
            body += [
                maker,
                self._nest(fill, [self._set(self._at(name, list(fill)), [value])]),
            ]
        use = self._named(box)
        reads: list[Operand] = []
        for name in made:
            offsets = [(0,) * depth, tuple(rng.choice((-1, 0, 1)) for _ in box)]
            reads += [self._at(name, list(use), by) for by in offsets[: rng.choice((1, 2))]]
        where = self._at(target, [i, *use])
        if self.chance(0.15):
            where = self._at(source, list(use), [rng.choice((0, 3)) for _ in use])
        update = self._reducing() if self.chance(0.3) else ""
        body.append(self._nest(use, [self._set(where, reads, update)]))
        nest = self._nest(outer, body, rng.choice((1, 1, 1, 2)))
        return [self._nest(around, [nest])] if around else [nest]

    # Tiles.

    def _tiles(self) -> list[Node]:
        """Blocks of a constant size, whose nest the module has as a kernel too."""
        rng = self.rng
        depth = rng.choice((1, 2, 2))
        blocks = self._named([self._axis(3) for _ in range(depth)])
        sizes = [rng.choice((2, 3, 4) if depth == 1 else (2, 3)) for _ in range(depth)]
        inside = self._named([Axis(0, size) for size in sizes])
        places = [
            Affine(((block, size), (name, 1)))
            for block, size, name in zip(blocks, sizes, inside, strict=True)
        ]
        target = Access(self._argument(depth), tuple(places))
        self.kernel = next(iter(inside))
        if self.chance(0.5):
            sources = [Access(self._argument(depth), tuple(places))]
            if self.chance(0.5):
                sources.append(Access(self._argument(1), (places[-1],)))
            statement = self._set(target, sources, self._reducing() if self.chance(0.3) else "")
            return [self._nest({**blocks, **inside}, [statement])]
        over = self._named([Axis(0, rng.choice((2, 3)))])
        (k,) = over
        sources = [
            Access(self._argument(2), (places[0], variable(k))),
            Access(self._argument(depth), (variable(k), *places[1:])),
        ]
        statement = self._set(target, sources, self._reducing())
        if self.chance(0.4):
            inner = [Statement(target, (0,), ()), self._nest(over, [statement])]
            return [self._nest({**blocks, **inside}, inner)]
        return [self._nest({**blocks, **inside, **over}, [statement])]


@dataclass(frozen=True)
class _Read:
    """Which stage is read, its axes in which order, and how far from the reader's iteration."""

    source: int
    order: tuple[int, ...]
    offsets: tuple[tuple[int, ...], ...]

    def box(self, reader: Sequence[Axis]) -> list[Axis]:
        """The elements that are read of the source, in its axes."""
        by_axis = list(zip(*self.offsets, strict=True))
        return [
            reader[axis].moved(min(by_axis[n]), max(by_axis[n]))
            for n, axis in enumerate(self.order)
        ]

    def accesses(self, buffer: str, names: Sequence[str]) -> list[Access]:
        return [
            Access(
                buffer,
                tuple(
                    variable(names[axis], by) for axis, by in zip(self.order, offset, strict=True)
                ),
            )
            for offset in self.offsets
        ]


def _with_names(statement: Statement, old: Named, new: Named) -> Statement:
    """The statement in the loops of other names."""
    names = dict(zip(old, new, strict=True))
    (target, *_) = accesses((statement,))
    subscripts = tuple(variable(names[s.terms[0][0]], s.number) for s in target.subscripts)
    return replace(statement, target=Access(target.buffer, subscripts))
