"""Random functions of loops that follow each other, for steps that join and cut them."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import numpy as np
from stepwell.interpreters.harness import interpret
from xdsl.dialects.builtin import ModuleOp

BUFFERS = ("A", "B", "C", "D", "E", "F")
EXTENT = 40
TYPE = f"memref<{EXTENT}xi32>"


@dataclass
class RandomSiblings:
    """
    Writes a function `f` of six i32 buffers and an index argument `n`, with scratch buffers.

    Most accesses are at the innermost variable plus a small number, so that many dependences have a
    constant distance. Values are used by later statements of the same body.
    """

    random: Random
    with_symbol: bool = False
    strides: tuple[int, ...] = (1, 1, 1, 2)
    loops: int = 0
    values: int = 0
    lines: list[str] = field(default_factory=list)

    def text(self) -> str:
        arguments = ", ".join(f"%{b}: {TYPE}" for b in BUFFERS)
        self._line(0, f"func.func private @f({arguments}, %n: index) {{")
        for _ in range(self.random.randint(2, 4)):
            if self.random.random() < 0.25:
                self._statements([], 1, list(BUFFERS))
            self._loop([], 1, list(BUFFERS))
        self._line(1, "func.return")
        self._line(0, "}")
        return "\n".join(self.lines)

    def _line(self, level: int, text: str) -> None:
        self.lines.append("  " * level + text)

    def _fresh(self, prefix: str) -> str:
        self.values += 1
        return f"%{prefix}{self.values}x"

    def _loop(self, around: list[str], level: int, buffers: list[str]) -> None:
        name = f"i{self.loops}"
        self.loops += 1
        low, high = self.random.choice(((0, 8), (0, 8), (0, 8), (1, 8), (0, 7), (2, 10), (-2, 5)))
        lower, upper = str(low), str(high)
        if self.with_symbol and self.random.random() < 0.4:
            upper = f"%n + {self.random.randint(-1, 2)}"
        if around and self.random.random() < 0.2:
            lower = f"max(%{around[-1]}, {low})"
        if self.random.random() < 0.15:
            upper = f"min({upper}, {self.random.randint(3, 9)})"
        stride = self.random.choice(self.strides)
        step = f" step {stride}" if stride > 1 else ""
        self._line(level, f'loop.for serial "{name}" %{name} = {lower} to {upper}{step} {{')
        self._body([*around, name], level + 1, list(buffers))
        self._line(level, "}")

    def _body(self, around: list[str], level: int, buffers: list[str]) -> None:
        if self.random.random() < 0.15:
            buffer = self._fresh("T")
            self._line(level, f"{buffer} = loop.alloc stack : {TYPE}")
            zero = self._fresh("z")
            self._line(level, f"{zero} = arith.constant 7 : i32")
            for n in range(EXTENT if self.random.random() < 0.1 else 0):
                self._line(level, f"loop.store {zero}, {buffer}[{n}] : {TYPE}")
            buffers.append(buffer.removeprefix("%"))
        for _ in range(self.random.choice((1, 1, 2, 3))):
            if len(around) < 3 and self.random.random() < 0.4:
                self._loop(around, level, buffers)
            else:
                self._statements(around, level, buffers)

    def _subscript(self, around: list[str]) -> str:
        offset = 14 + self.random.choice((0, 0, 0, 1, -1, 2))
        kind = self.random.random()
        if not around or kind < 0.1:
            return str(offset)
        if len(around) > 1 and kind < 0.35:
            return f"%{around[-1]} + %{around[-2]} + {offset}"
        return f"%{self.random.choice((around[-1], around[-1], around[0]))} + {offset}"

    def _statements(self, around: list[str], level: int, buffers: list[str]) -> None:
        known: list[str] = []
        if self.random.random() < 0.15 and around:
            condition = f"%{self.random.choice(around)} - {self.random.randint(-2, 6)} >= 0"
            self._line(level, f"loop.if ({condition}) {{")
            self._statement(around, level + 1, buffers, [])
            if self.random.random() < 0.5:
                self._line(level, "} else {")
                self._statement(around, level + 1, buffers, [])
            self._line(level, "}")
            return
        for _ in range(self.random.choice((1, 1, 2, 3))):
            self._statement(around, level, buffers, known)

    def _statement(
        self, around: list[str], level: int, buffers: list[str], known: list[str]
    ) -> None:
        target, source = self.random.choice(buffers), self.random.choice(buffers)
        at = self._subscript(around)
        if target.startswith("T"):
            # Scratch memory is written before it is read.
            first = self._fresh("v")
            self._line(level, f"{first} = arith.constant 3 : i32")
            self._line(level, f"loop.store {first}, %{target}[{at}] : {TYPE}")
        if source.startswith("T"):
            source = "A"
        a, b, c = (self._fresh("v") for _ in range(3))
        self._line(level, f"{a} = loop.load %{source}[{self._subscript(around)}] : {TYPE}")
        kind = self.random.random()
        if kind < 0.3:
            self._line(level, f"{b} = loop.load %{target}[{at}] : {TYPE}")
            operation = "addi" if kind < 0.2 else "subi"
            self._line(level, f"{c} = arith.{operation} {b}, {a} : i32")
        elif kind < 0.4 and around:
            index = self._fresh("x")
            self._line(level, f"{index} = affine.apply affine_map<(d0) -> (d0 + 1)>(%{around[-1]})")
            self._line(level, f"{b} = arith.index_cast {index} : index to i32")
            self._line(level, f"{c} = arith.muli {b}, {a} : i32")
        else:
            other = self.random.choice(known) if known and kind < 0.8 else a
            self._line(level, f"{c} = arith.muli {other}, {a} : i32")
        self._line(level, f"loop.store {c}, %{target}[{at}] : {TYPE}")
        known += [a, c]


def inputs(n: int = 8) -> list[np.ndarray]:
    """Numbers for the six buffers, the same ones each time, and `n`."""
    generator = np.random.default_rng(0)
    buffers = [generator.integers(-50, 50, EXTENT).astype(np.int32) for _ in BUFFERS]
    return [*buffers, np.int64(n)]


def run(module: ModuleOp, n: int = 8) -> tuple[np.ndarray, ...]:
    """The six buffers after `f` has run."""
    return interpret(module, inputs(n), "f")
