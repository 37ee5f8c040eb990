"""Random producers and consumers of one buffer as text, and whether a step left them as they were."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import numpy as np
from stepwell.analysis.dependence import dependences
from stepwell.analysis.signature import entry_function
from stepwell.analysis.verify import verify
from stepwell.dialects import loop
from stepwell.dialects.loop import LoopKind, LoopKindAttr
from stepwell.dialects.schedule import Step
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret, random_inputs
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import apply
from stepwell.transforms.step_support.refusal import Refusal
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

SIZE = 40
ORIGIN = 12
TYPE = f"memref<{SIZE}xi32>"


class RandomProducer:
    """
    Writes a function `f` in which nests compute `B`, scratch or an argument, from `A`, and others read it.

    Loops are called `p…` in what produces, `m…` between, and `c…` in what consumes into `C` and `D`.
    """

    def __init__(self, random: Random, *, covers: bool = False):
        """With `covers`, `B` is scratch, each element set once, and nearly always before it is read."""
        self.random = random
        self.covers = covers
        self.names = 0

    def text(self) -> str:
        choose = self.random.random
        scratch = self.covers or choose() < 0.7
        turns, inner_alloc = choose() < 0.25, choose() < 0.5
        alloc = f"%B = loop.alloc stack : {TYPE}"
        body: list[str] = [*self._produce()]
        if choose() < 0.3:
            body += self._between()
        for target in "CD"[: self.random.choice((1, 1, 2))]:
            body += self._consume(target)
        if choose() < 0.2:
            body += self._between()
        if turns:
            body = [alloc] * (scratch and inner_alloc) + body
            body = ['loop.for serial "t" %t = 0 to 3 {', *body, "}"]
        if scratch and not (turns and inner_alloc):
            body = [alloc, *body]
        names = "ACD" if scratch else "ABCD"
        args = ", ".join(f"%{name}: {TYPE} {{stepwell.noalias}}" for name in names)
        return "\n".join([f"func.func @f({args}) {{", *body, "func.return", "}"])

    def _loops(self, prefix: str, count: int) -> tuple[list[str], list[str], list[str]]:
        """Names, heads and ends of nested loops."""
        names: list[str] = []
        heads: list[str] = []
        for _ in range(count):
            low, high = self.random.randint(-2, 2), self.random.randint(1, 7)
            bounds = str(low), str(high)
            if names and self.random.random() < 0.25:
                bounds = bounds[0], f"%{names[-1]} + {self.random.randint(0, 3)}"
            step = self.random.choice(("", "", "", " step 2", " step 3"))
            name = f"{prefix}{self.names}"
            self.names += 1
            names.append(name)
            heads.append(f'loop.for serial "{name}" %{name} = {bounds[0]} to {bounds[1]}{step} {{')
        return names, heads, ["}"] * count

    def _at(self, names: Sequence[str], *, wide: bool = False) -> str:
        """A subscript; with two loops either may count more."""
        terms = [str(ORIGIN + self.random.randint(-2, 2))]
        factors = (1, 1, 1, 2, -1) if not wide else (1, 1, 0)
        for number, name in enumerate(names):
            factor = self.random.choice(factors) * (
                3 if number and self.random.random() < 0.5 else 1
            )
            if factor:
                terms.append(f"%{name} * {factor}")
        return (
            f"({' + '.join(reversed(terms))}) mod {SIZE}"
            if len(terms) > 2
            else " + ".join(reversed(terms))
        )

    def _produce(self) -> list[str]:
        if self.covers:
            return self._cover()
        kind = self.random.random()
        names, heads, ends = self._loops("p", self.random.choice((1, 1, 2)))
        at = self._at(names)
        if kind < 0.5:
            inside = self._store("B", at, [("A", self._at(names, wide=True))])
            if self.random.random() < 0.15:
                inside += self._store("D", self._at(names), [("A", self._at(names))])
        elif kind < 0.85:
            zero = [f"%z = arith.constant {self.random.randint(0, 3)} : i32"]
            inside = [*zero, f"loop.store %z, %B[{at}] : {TYPE}"]
            inner, inner_heads, inner_ends = self._loops("p", 1)
            source = ("A", self._at([*names, *inner], wide=True))
            inside += [*inner_heads, *self._update("B", at, source), *inner_ends]
        else:
            inside = self._store("B", at, [("B", self._at(names)), ("A", self._at(names))])
        return [*heads, *inside, *ends]

    def _cover(self) -> list[str]:
        """All elements, in one loop or two, forwards or backwards."""
        at, source = self.random.choice(
            (("%p0", "%p0"), (f"-%p0 + {SIZE - 1}", "%p0"), ("%p0 * 8 + %p1", "%p1 * 5 + %p0"))
        )
        reads = [("A", source), ("A", "0")][: self.random.choice((1, 2))]
        heads = [f'loop.for serial "p0" %p0 = 0 to {SIZE} {{']
        if "p1" in at:
            heads = [
                'loop.for serial "p0" %p0 = 0 to 5 {',
                'loop.for serial "p1" %p1 = 0 to 8 {',
            ]
        return [*heads, *self._store("B", at, reads), *(["}"] * len(heads))]

    def _between(self) -> list[str]:
        names, heads, ends = self._loops("m", 1)
        target = self.random.choice("AD" if self.covers else "ABD")
        return [*heads, *self._store(target, self._at(names), [("A", self._at(names))]), *ends]

    def _consume(self, target: str) -> list[str]:
        names, heads, ends = self._loops("c", self.random.choice((1, 1, 2)))
        if self.random.random() < 0.2:
            at = self._at(names[:1])
            return [*heads, *self._update(target, at, ("B", self._at(names))), *ends]
        reads = [("B", self._at(names)) for _ in range(self.random.choice((1, 1, 2)))]
        if self.random.random() < 0.3:
            reads.append(("A", self._at(names)))
        inside = self._store(target, self._at(names), reads)
        if self.random.random() < 0.15:
            inside += self._store("A", self._at(names), [(target, self._at(names))])
        if self.random.random() < 0.2:
            inside = [f"loop.if (%{names[0]} - 1 >= 0) {{", *inside, "}"]
        return [*heads, *inside, *ends]

    def _store(self, target: str, at: str, reads: Sequence[tuple[str, str]]) -> list[str]:
        """`target[at] = 3 * first + second …`."""
        lines: list[str] = []
        total = ""
        for buffer, where in reads:
            value, scaled = self._value(), self._value()
            lines.append(f"{value} = loop.load %{buffer}[{where}] : {TYPE}")
            if total:
                three, next_ = self._value(), self._value()
                lines += [
                    f"{three} = arith.constant 3 : i32",
                    f"{scaled} = arith.muli {total}, {three} : i32",
                    f"{next_} = arith.addi {scaled}, {value} : i32",
                ]
                value = next_
            total = value
        return [*lines, f"loop.store {total}, %{target}[{at}] : {TYPE}"]

    def _update(self, target: str, at: str, read: tuple[str, str]) -> list[str]:
        old, new, total = self._value(), self._value(), self._value()
        return [
            f"{new} = loop.load %{read[0]}[{read[1]}] : {TYPE}",
            f"{old} = loop.load %{target}[{at}] : {TYPE}",
            f"{total} = arith.addi {old}, {new} : i32",
            f"loop.store {total}, %{target}[{at}] : {TYPE}",
        ]

    def _value(self) -> str:
        self.names += 1
        return f"%v{self.names}x"


def loops_of(module: ModuleOp) -> list[loop.ForOp]:
    return [op for op in module.walk() if isinstance(op, loop.ForOp)]


def say_kinds(module: ModuleOp) -> None:
    """Mark each loop as what its dependences say it is."""
    function = next(op for op in module.ops if isinstance(op, func.FuncOp))
    found = dependences(function)
    for for_op in loops_of(module):
        for_op.kind = LoopKindAttr(found.kind_of(for_op))


def check_kinds(module: ModuleOp) -> None:
    """No loop may say more than its dependences do."""
    order = (LoopKind.SERIAL, LoopKind.REDUCTION, LoopKind.PARALLEL)
    function = next(op for op in module.ops if isinstance(op, func.FuncOp))
    found = dependences(function)
    for for_op in loops_of(module):
        known, said = found.kind_of(for_op), for_op.kind.data
        assert order.index(said) <= order.index(known), f"{for_op.loop_name} is {known}\n{module}"


def check_step(text: str, choose: Callable[[ModuleOp], Sequence[Step]]) -> tuple[int, int]:
    """
    Apply the steps chosen for the function, marked with its kinds; how many were legal and refused.

    Fails when one changes what is computed, what a refusal leaves, or makes a loop's kind untrue.
    """
    module = parse_text(text, "random.mlir")
    say_kinds(module)
    inputs = random_inputs(entry_function(module, "f"), 0)
    expected = interpret(module, inputs)
    nests = Nests(module)
    legal = refused = 0
    for step in choose(module):
        before = str(module)
        try:
            apply(step, nests)
        except Refusal:
            assert str(module) == before, f"{step} was refused and changed the IR"
            refused += 1
            continue
        legal += 1
        verify(module)
        check_kinds(module)
        what = f"{step} on\n{before}\ngave\n{module}"
        for found, wanted in zip(interpret(module, inputs), expected, strict=True):
            np.testing.assert_array_equal(found, wanted, err_msg=what)
        after = str(module)
        assert str(parse_text(after, "again.mlir")) == after
    return legal, refused
