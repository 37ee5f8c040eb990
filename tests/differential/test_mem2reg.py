"""Random structured programs over stack buffers compute the same after the buffers have become values."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from stepwell.analysis.verify import verify
from stepwell.frontend.lowered import Lowered
from stepwell.frontend.text import parse_text
from stepwell.transforms.core.mem2reg import promote_buffers
from xdsl.dialects import func, memref

from .campaigns import campaign

SLOTS = ("%s[%c0]", "%s[%c1]", "%t[%c0, %c1]", "%t[%c1, %c0]")
TYPES = {"%s": "memref<2xf64>", "%t": "memref<2x2xf64>"}
HEAD = """
func.func @f(%x: memref<4xf64>, %y: memref<4xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %s = memref.alloca() : memref<2xf64>
  %t = memref.alloca() : memref<2x2xf64>
"""


@dataclass
class _Maker:
    """Writes a program of which every slot is stored to before anything is loaded from it."""

    rng: Random
    lines: list[str] = field(default_factory=list[str])
    count: int = 0

    def text(self) -> str:
        for number, slot in enumerate(SLOTS):
            self.store(self.load_from("%x", f"%c{number}"), slot)
        self.block(3, "%c2")
        for number, slot in enumerate(SLOTS):
            self.add(f"memref.store {self.load(slot)}, %y[%c{number}] : memref<4xf64>")
        return "\n".join([HEAD, *self.lines, "func.return }"])

    def add(self, line: str) -> None:
        self.lines.append(line)

    def new(self, line: str) -> str:
        self.count += 1
        self.add(f"%v{self.count} = {line}")
        return f"%v{self.count}"

    def load_from(self, buffer: str, index: str) -> str:
        return self.new(f"memref.load {buffer}[{index}] : memref<4xf64>")

    def load(self, slot: str) -> str:
        return self.new(f"memref.load {slot} : {TYPES[slot[:2]]}")

    def store(self, value: str, slot: str) -> None:
        self.add(f"memref.store {value}, {slot} : {TYPES[slot[:2]]}")

    def block(self, depth: int, variable: str) -> None:
        for _ in range(self.rng.randint(1, 4)):
            kind = self.rng.choice(("update", "update", "copy", "for", "if", "else"))
            if kind == "copy":
                self.store(self.load(self.rng.choice(SLOTS)), self.rng.choice(SLOTS))
            elif kind == "update" or not depth:
                one, other = (self.load(self.rng.choice(SLOTS)) for _ in range(2))
                value = self.new(f"arith.{self.rng.choice(('addf', 'subf'))} {one}, {other} : f64")
                self.store(value, self.rng.choice(SLOTS))
            elif kind == "for":
                self.loop(depth)
            else:
                self.branch(depth, variable, kind == "else")

    def loop(self, depth: int) -> None:
        self.count += 1
        variable, bound = f"%i{self.count}", self.rng.choice(("%c0", "%c1", "%c3"))
        self.add(f"scf.for {variable} = %c0 to {bound} step %c1 {{")
        self.block(depth - 1, variable)
        self.add("}")

    def branch(self, depth: int, variable: str, has_else: bool) -> None:
        condition = self.new(f"arith.cmpi slt, {variable}, %c1 : index")
        self.add(f"scf.if {condition} {{")
        self.block(depth - 1, variable)
        if has_else:
            self.add("} else {")
            self.block(depth - 1, variable)
        self.add("}")


@campaign(20, 0)
@given(st.randoms(use_true_random=False))
def test_values_are_those_of_the_buffers(rng: Random) -> None:
    text = _Maker(rng).text()
    module = parse_text(text)
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    promote_buffers(function)
    verify(module)
    assert not any(isinstance(op, memref.AllocaOp) for op in function.walk())
    x = np.array([1.0, 2.0, 4.0, 8.0])
    expected, found = np.zeros(4), np.zeros(4)
    Lowered(parse_text(text)).compile(threads=1, opt="quick")(x, expected)
    Lowered(module).compile(threads=1, opt="quick")(x, found)
    np.testing.assert_array_equal(found, expected)
