"""stage: a copy for the accesses that move with one loop, while others of the buffer are left out."""

from random import Random

import numpy as np
import pytest
from stepwell.dialects.schedule.steps import Split, Stage, Step
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import apply
from xdsl.dialects.builtin import ModuleOp

from .producer_nests import check_step

TYPE = "memref<24xi32>"
LOOPS = "tijkab"


def gram(rows: int, depth: int) -> str:
    """`C = X Xᵀ`: both operands are one buffer."""
    x, c = f"memref<{rows}x{depth}xf64>", f"memref<{rows}x{rows}xf64>"
    return f"""
func.func @f(%X: {x}, %C: {c} {{stepwell.result}}) {{
  %zero = arith.constant 0.0 : f64
  loop.for parallel "i" %i = 0 to {rows} {{
    loop.for parallel "j" %j = 0 to {rows} {{
      loop.store %zero, %C[%i, %j] : {c}
      loop.for reduction "k" %k = 0 to {depth} {{
        %a = loop.load %X[%i, %k] : {x}
        %b = loop.load %X[%j, %k] : {x}
        %c = loop.load %C[%i, %j] : {c}
        %p = arith.mulf %a, %b : f64
        %s = arith.addf %c, %p fastmath<reassoc> : f64
        loop.store %s, %C[%i, %j] : {c}
      }}
    }}
  }}
  func.return
}}
"""


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (9, 5)])
def test_two_operands_that_are_one_buffer(shape: tuple[int, int]) -> None:
    """Each has a copy in a layout of its own; a split loop's variable is that of its inner loop."""
    module = parse_text(gram(*shape))
    nests = Nests(module)
    for step in (
        Split("f/i", 4),
        Stage("f/X", into="right", order=(1, 0), panel=4, pad=4, along="j"),
        Stage("f/X", "i.outer", into="left", order=(1, 0), pad=4, along="i.inner"),
    ):
        apply(step, nests)
    x = np.random.default_rng(0).integers(-8, 9, shape).astype(np.float64)
    np.testing.assert_array_equal(interpret(module, [x])[0], x @ x.T)


class RandomPlaces:
    """A function of loops `t i j k` and statements between them, all on the buffers A and B."""

    def __init__(self, random: Random):
        self.random = random
        self.values = 0

    def text(self) -> str:
        choose = self.random.choice
        body: list[str] = []
        for name in choose(("ij", "ij", "ijk")):
            body += [*self.nest(name), *self.statement("t" if choose((0, 1)) else "")]
        if choose((0, 1)):
            body = ['loop.for serial "u" %u = 0 to 2 {', *body, "}"]
        body = ['loop.for serial "t" %t = 0 to 2 {', *body, "}"]
        args = f"%A: {TYPE}, %B: {TYPE}"
        if choose((0, 1)):
            args = f"%A: {TYPE}"
            alloc = f"%B = loop.alloc stack : {TYPE}"
            body = [alloc, *self.copy("a", "A", "B"), *body, *self.copy("b", "B", "A")]
        head = f"func.func @f({args}) attributes {{stepwell.noalias}} {{"
        return "\n".join([head, *body, "func.return", "}"])

    def copy(self, name: str, source: str, target: str) -> list[str]:
        """What is scratch memory has values first, and some of them are read in the end."""
        value = self.value()
        count = self.random.choice((24, 7)) if target == "A" else 24
        return [
            f'loop.for serial "{name}" %{name} = 0 to {count} {{',
            f"{value} = loop.load %{source}[%{name}] : {TYPE}",
            f"loop.store {value}, %{target}[%{name}] : {TYPE}",
            "}",
        ]

    def nest(self, name: str) -> list[str]:
        inside = self.statement(f"t{name}")
        if self.random.random() < 0.4:
            inside += self.statement(f"t{name}")
        return [f'loop.for serial "{name}" %{name} = 0 to 4 {{', *inside, "}"]

    def statement(self, around: str) -> list[str]:
        """`A[…] = 3 * A[…] + B[…]`; nothing outside of loops."""
        if not around:
            return []
        first, second, three, product, total = (self.value() for _ in range(5))
        return [
            f"{first} = loop.load %{self.place(around)} : {TYPE}",
            f"{second} = loop.load %{self.place(around)} : {TYPE}",
            f"{three} = arith.constant 3 : i32",
            f"{product} = arith.muli {first}, {three} : i32",
            f"{total} = arith.addi {product}, {second} : i32",
            f"loop.store {total}, %{self.place(around)} : {TYPE}",
        ]

    def place(self, around: str) -> str:
        """Parts of the buffers that are apart more often than not."""
        start = self.random.choice((0, 2, 6, 6, 12, 12, 18))
        return f"{self.random.choice('AAB')}[%{self.random.choice(around)} + {start}]"

    def value(self) -> str:
        self.values += 1
        return f"%v{self.values}x"


def random_nests(seeds: range) -> tuple[int, int]:
    """Two copies of parts of each; how many were legal and refused."""
    legal = refused = 0
    for seed in seeds:
        random = Random(seed)

        def choose(module: ModuleOp, random: Random = random) -> list[Step]:
            names = [name for name in LOOPS if f'"{name}"' in str(module)]
            return [
                Stage(
                    f"f/{random.choice('AAB')}",
                    random.choice(["", "t", random.choice(names)]),
                    into=into,
                    panel=random.choice((0, 0, 2, 3)),
                    pad=random.choice((0, 0, 2, 4)),
                    along=random.choice(names),
                )
                for into in ("first", "second")
            ]

        counts = check_step(RandomPlaces(random).text(), choose)
        legal, refused = legal + counts[0], refused + counts[1]
    return legal, refused


def test_random_nests() -> None:
    """Where what is left out writes and reads near what has the copy, before, between and after."""
    legal, refused = random_nests(range(60))
    assert legal > 20 and refused > 20
