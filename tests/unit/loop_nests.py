"""Random loop nests as text, and whether a schedule step left what they compute as it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest
from stepwell.analysis.dependence import dependences
from stepwell.analysis.levels import Level
from stepwell.analysis.signature import entry_function
from stepwell.analysis.verify import verify
from stepwell.dialects import loop
from stepwell.dialects.schedule import Step
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret, random_inputs
from stepwell.runtime.jit import compile_module
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import apply
from stepwell.transforms.step_support.refusal import Refusal
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

EXTENT = 128
ORIGIN = 64


@dataclass
class RandomNest:
    """
    Writes a function `f` of two i32 buffers of one axis, and maybe an index argument `n`.

    Loops are called `i0`, `i1` … in textual order. Their variables stay within -8 and 12, and subscripts
    within the buffers.
    """

    random: Random
    depth: int = 3
    steps: Sequence[int] = (1, 1, 1, 2, 3)
    perfect: bool = False
    rectangular: bool = False
    loops: list[str] = field(default_factory=list)
    values: int = 0

    def text(self) -> str:
        body = self._loop([], 1)
        if self.random.random() < 0.3:
            body += self._loop([], 1)
        return "\n".join(
            [
                f"func.func @f(%A: memref<{EXTENT}xi32> {{stepwell.noalias}}, "
                f"%B: memref<{EXTENT}xi32> {{stepwell.noalias}}, %n: index) {{",
                *body,
                "  func.return",
                "}",
            ]
        )

    def _loop(self, around: list[str], level: int) -> list[str]:
        name = f"i{len(self.loops)}"
        self.loops.append(name)
        pad = "  " * level
        step = self.random.choice(self.steps)
        head = f'{pad}loop.for serial "{name}" %{name} = {self._bound(around, "max", -4, 1)} to '
        head += self._bound(around, "min", 0, 9) + (f" step {step}" if step != 1 else "") + " {"
        inside = [*around, name]
        body: list[str] = []
        deeper = level < self.depth
        if self.perfect:
            body += self._loop(inside, level + 1) if deeper else self._statements(inside, level + 1)
        else:
            for _ in range(self.random.choice((1, 1, 2))):
                if deeper and self.random.random() < 0.7:
                    body += self._loop(inside, level + 1)
                else:
                    body += self._statements(inside, level + 1)
        return [head, *body, f"{pad}}}"]

    def _bound(self, around: list[str], join: str, low: int, high: int) -> str:
        count = self.random.choice((1, 1, 1, 2))
        terms = [self._term(around, low, high) for _ in range(count)]
        return terms[0] if count == 1 else f"{join}({', '.join(terms)})"

    def _term(self, around: list[str], low: int, high: int) -> str:
        number = self.random.randint(low, high)
        kind = self.random.random()
        if self.rectangular or not around or kind < 0.5:
            return f"%n + {number - 4}" if kind > 0.4 and number % 2 == 0 else str(number)
        outer = self.random.choice(around)
        match self.random.randrange(5):
            case 0:
                return f"-%{outer} + {number}"
            case 1:
                return f"%{outer} floordiv 2 + {number}"
            case _:
                return f"%{outer} + {number // 2}"

    def _subscript(self, around: list[str]) -> str:
        terms = [str(ORIGIN + self.random.randint(-2, 2))]
        for name in around:
            factor = self.random.choice((0, 0, 1, 1, 1, -1, 2))
            if factor:
                terms.append(f"%{name} * {factor}")
        text = " + ".join(reversed(terms))
        return text if len(terms) < 4 else f"({text}) mod {EXTENT}"

    def _value(self) -> str:
        self.values += 1
        return f"%v{self.values}x"

    def _statements(self, around: list[str], level: int) -> list[str]:
        pad = "  " * level
        lines: list[str] = []
        for _ in range(self.random.choice((1, 1, 2))):
            lines += [pad + line for line in self._statement(around)]
        if self.random.random() < 0.2:
            outer = self.random.choice(around)
            condition = f"%{outer} - {self.random.randint(-2, 6)} >= 0"
            lines = [f"{pad}loop.if ({condition}) {{", *lines, f"{pad}}}"]
        return lines

    def _statement(self, around: list[str]) -> list[str]:
        type_ = f"memref<{EXTENT}xi32>"
        target = self.random.choice("AAB")
        subscript = f"({self._subscript(around)}) mod {EXTENT}"
        a, b, c, d, e = (self._value() for _ in range(5))
        other = self.random.choice("AB")
        lines = [
            f"{a} = loop.load %{target}[{subscript}] : {type_}",
            f"{b} = loop.load %{other}[({self._subscript(around)}) mod {EXTENT}] : {type_}",
        ]
        kind = self.random.random()
        if kind < 0.4:  # a reduction
            lines.append(f"{e} = arith.addi {a}, {b} : i32")
        elif kind < 0.6:  # what depends on no other iteration's value of the target
            lines.append(f"{e} = arith.addi {b}, {b} : i32")
        else:
            lines += [
                f"{c} = arith.constant 3 : i32",
                f"{d} = arith.muli {a}, {c} : i32",
                f"{e} = arith.addi {d}, {b} : i32",
            ]
        return [*lines, f"loop.store {e}, %{target}[{subscript}] : {type_}"]


def run(module: ModuleOp, n: int = 5) -> tuple[np.ndarray, ...]:
    generator = np.random.default_rng(0)
    a, b = (generator.integers(-50, 50, EXTENT).astype(np.int32) for _ in "ab")
    return interpret(module, [a, b, np.int64(n)], "f")


def check(text: str, steps: Sequence[Step], sizes: Sequence[int] = (5, 0)) -> int:
    """Apply the steps in turn; how many were not refused. Fails when one changes what the function does."""
    module = parse_text(text, "nest.mlir")
    nests = Nests(module)
    expected = [run(module, n) for n in sizes]
    applied = 0
    for step in steps:
        before = str(module)
        try:
            apply(step, nests)
        except Refusal:
            assert str(module) == before, f"{step} was refused and changed the IR"
            continue
        applied += 1
        _check_module(module)
        for n, wanted in zip(sizes, expected, strict=True):
            _same(run(module, n), wanted, f"{step} on\n{text}\ngave\n", module)
    return applied


def check_random_nest(seed: int, steps: Callable[[Random, str], Sequence[Step]]) -> None:
    """`check` on a random nest with the steps made for one of its loops, which is given by name."""
    random = Random(seed)
    nest = RandomNest(random, depth=3)
    text = nest.text()
    check(text, steps(random, random.choice(nest.loops)))


EXTENTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 31, 33)
"""Whole and ragged numbers of tiles and vectors, and neighbours of powers of two."""


def check_extents(
    program: str, *steps: Step, extents: Sequence[int] = EXTENTS, native: bool = True
) -> None:
    """
    Apply the steps to `program` with every extent put for `{n}`, and run it before and after.

    All steps must be legal. Results are compared exactly. For three extents they are compared natively too, and for these
    and the first one texts are read back.
    """
    for extent in extents:
        is_native = extent in (1, 7, 33)
        module = parse_text(program.replace("{n}", str(extent)), "program.mlir")
        inputs = random_inputs(entry_function(module), extent)
        expected = interpret(module, inputs)
        nests = Nests(module)
        for step in steps:
            apply(step, nests)
            _check_module(module, is_read_back=is_native or extent == extents[0])
            what = f"{step} with extent {extent} gave\n"
            _same(interpret(module, inputs), expected, what, module)
        if native and is_native:
            lower_to(module, Level.LLVM)
            arrays = [np.array(value) for value in inputs]
            returned = compile_module(module)(*arrays)
            given = [value for value in arrays if value.ndim]
            what = f"{steps} natively with extent {extent} gave\n"
            _same(as_tuple(returned) or given, expected, what, module)


def reason(program: str, step: Step) -> str:
    """Why a step is refused; the program must be as it was."""
    module = parse_text(program, "program.mlir")
    before = str(module)
    with pytest.raises(Refusal) as refusal:
        apply(step, Nests(module))
    assert str(module) == before
    return refusal.value.message


def applied(program: str, *steps: Step) -> str:
    """The program's text after the steps."""
    module = parse_text(program, "program.mlir")
    nests = Nests(module)
    for step in steps:
        apply(step, nests)
        _check_module(module)
    return str(module)


def as_tuple(returned: object) -> tuple[np.ndarray, ...]:
    if returned is None:
        return ()
    return returned if isinstance(returned, tuple) else (returned,)


def _same(
    found: Sequence[np.ndarray], expected: Sequence[np.ndarray], what: str, module: ModuleOp
) -> None:
    """Printing the module, which is said with what differs, takes longer than to compare."""
    for value, want in zip(found, expected, strict=True):
        if not np.array_equal(value, want, equal_nan=want.dtype.kind == "f"):
            np.testing.assert_array_equal(value, want, err_msg=f"{what}{module}")


def _check_module(module: ModuleOp, *, is_read_back: bool = True) -> None:
    """It is valid, its loop names differ, what it says of loops is true, and it prints as it parses."""
    verify(module)
    if is_read_back:
        text = str(module)
        assert str(parse_text(text, "again.mlir")) == text
    for function in module.ops:
        loops = [op for op in function.walk() if isinstance(op, loop.ForOp)]
        names = [op.loop_name.data for op in loops]
        assert len(set(names)) == len(names), names
        if isinstance(function, func.FuncOp) and any(
            op.kind.data is not loop.LoopKind.SERIAL for op in loops
        ):
            known = dependences(function)
            for op in loops:
                if op.kind.data is not loop.LoopKind.SERIAL:
                    assert known.kind_of(op) in (op.kind.data, loop.LoopKind.PARALLEL), op.loop_name
