"""Control flow at level 4, run natively."""

from __future__ import annotations

import numpy as np
import pytest
from stepwell.analysis.levels import Level
from stepwell.driver.pipelines import lower_to
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.runtime.jit import compile_module


def test_nested_control_flow(compiled):
    """Ifs with and without results in a for in a while: order of blocks, phis, critical edges."""
    text = """
    func.func @main(%n: index, %m: index) -> i64 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %start = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %total, %last = scf.while (%acc = %start, %k = %c0) : (i64, index) -> (i64, index) {
        %more = arith.cmpi slt, %k, %n : index
        scf.condition(%more) %acc, %k : i64, index
      } do {
      ^bb0(%acc: i64, %k: index):
        %inner = scf.for %i = %c0 to %m step %c1 iter_args(%s = %acc) -> (i64) {
          %r = arith.remsi %i, %c3 : index
          %is0 = arith.cmpi eq, %r, %c0 : index
          %v = scf.if %is0 -> (i64) {
            %even = arith.remsi %k, %c2 : index
            %e = arith.cmpi eq, %even, %c0 : index
            %w = scf.if %e -> (i64) {
              %x = arith.index_cast %i : index to i64
              scf.yield %x : i64
            } else {
              scf.yield %one : i64
            }
            scf.yield %w : i64
          } else {
            scf.yield %start : i64
          }
          %t = arith.addi %s, %v : i64
          scf.yield %t : i64
        }
        %next = arith.addi %k, %c1 : index
        scf.yield %inner, %next : i64, index
      }
      %l = arith.index_cast %last : index to i64
      %result = arith.addi %total, %l : i64
      func.return %result : i64
    }"""
    main = compiled(text)

    def reference(n: int, m: int) -> int:
        total = 0
        for k in range(n):
            total += sum((i if k % 2 == 0 else 1) for i in range(m) if i % 3 == 0)
        return total + n

    for n, m in ((0, 5), (1, 0), (4, 7), (9, 20)):
        assert main(n, m) == reference(n, m)


def test_swapped_loop_values(compiled):
    """The phis of a loop take their values at once, not one after the other."""
    text = """
    func.func @main(%n: index) -> i64 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %a0 = arith.constant 0 : i64
      %b0 = arith.constant 1 : i64
      %a, %b = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a0, %y = %b0) -> (i64, i64) {
        %z = arith.addi %x, %y : i64
        scf.yield %y, %z : i64, i64
      }
      func.return %a : i64
    }"""
    assert [compiled(text)(n) for n in range(10)] == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]


@pytest.mark.parametrize(
    ("type_", "lower", "upper", "step", "beyond"),
    [
        ("index", 2**63 - 8, 2**63 - 1, 16, 2**63 + 8),
        ("index", 0, 2**63 - 1, 2**62, 2**63),
        ("i8", 100, 127, 3, 127),
        ("i8", 100, 127, 4, 128),
        ("i32", -(2**31), 2**31 - 1, 2**30, 2**31),
    ],
)
def test_counters_that_wrap(type_: str, lower: int, upper: int, step: int, beyond: int):
    """Such loops never ended, and left their buffers. The first that fits comes to 127 after its last iteration."""
    colon = "" if type_ == "index" else f" : {type_}"
    text = f"""
    func.func @main() -> i64 {{
      %lower = arith.constant {lower} : {type_}
      %upper = arith.constant {upper} : {type_}
      %step = arith.constant {step} : {type_}
      %start = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %r = scf.for %i = %lower to %upper step %step iter_args(%n = %start) -> (i64){colon} {{
        %more = arith.addi %n, %one : i64
        scf.yield %more : i64
      }}
      func.return %r : i64
    }}"""
    module = parse_text(text, "f.mlir")
    bits = 64 if type_ == "index" else int(type_[1:])
    if beyond < 2 ** (bits - 1):
        lower_to(module, Level.LLVM)
        assert compile_module(module)() == len(range(lower, upper, step))
        return
    with pytest.raises(
        StepwellError,
        match=rf"f.mlir:8:\d+: found a loop .* would be {beyond} after .* {bits} bits",
    ):
        lower_to(module, Level.LLVM)


def test_blocks_in_any_order(compiled):
    """A branch with both targets the same, a block used before its text, one that nothing reaches."""
    text = """
    func.func @main(%c: i1, %x: i32, %y: i32) -> i32 {
      cf.cond_br %c, ^join(%x : i32), ^join(%y : i32)
    ^last(%r: i32):
      func.return %r : i32
    ^never:
      %dead = arith.addi %x, %x : i32
      cf.br ^last(%dead : i32)
    ^join(%v: i32):
      %d = arith.muli %v, %v : i32
      cf.cond_br %c, ^last(%d : i32), ^again(%d : i32)
    ^again(%w: i32):
      %m = arith.subi %w, %x : i32
      %big = arith.cmpi sgt, %m, %x : i32
      cf.cond_br %big, ^again(%m : i32), ^last(%m : i32)
    }"""
    main = compiled(text)
    assert main(True, 5, 7) == 25
    assert main(False, 5, 7) == 4


def test_switches(compiled):
    text = """
    func.func @main(%k: index) -> i32 {
      %r = scf.index_switch %k -> i32
      case 2 { %a = arith.constant 20 : i32
        scf.yield %a : i32 }
      case 5 { %b = arith.constant 50 : i32
        scf.yield %b : i32 }
      default { %d = arith.constant -1 : i32
        scf.yield %d : i32 }
      cf.switch %r : i32, [
        default: ^other(%r : i32),
        20: ^twenty,
        50: ^other(%r : i32)
      ]
    ^twenty:
      %c = arith.constant 21 : i32
      cf.br ^other(%c : i32)
    ^other(%v: i32):
      func.return %v : i32
    }"""
    main = compiled(text)
    assert [main(k) for k in (0, 2, 5, 7)] == [-1, 21, 50, -1]


def test_execute_region_and_parallel(compiled):
    text = """
    func.func @main(%x: memref<3x4xf32>, %n: index) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %init = arith.constant 0.5 : f32
      %sum = "scf.parallel"(%c0, %c0, %c3, %c4, %c1, %c1, %init) <{operandSegmentSizes = array<i32: 2, 2, 2, 1>}> ({
      ^bb0(%i: index, %j: index):
        %v = memref.load %x[%i, %j] : memref<3x4xf32>
        scf.reduce(%v : f32) {
        ^bb1(%l: f32, %r: f32):
          %s = arith.addf %l, %r : f32
          scf.reduce.return %s : f32
        }
      }) : (index, index, index, index, index, index, f32) -> f32
      %result = scf.execute_region -> (f32) {
        %big = arith.cmpi sgt, %n, %c3 : index
        cf.cond_br %big, ^one, ^two
      ^one:
        scf.yield %sum : f32
      ^two:
        %neg = arith.negf %sum : f32
        scf.yield %neg : f32
      }
      func.return %result : f32
    }"""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    main = compiled(text)
    assert main(x, 9) == 66.5
    assert main(x, 1) == -66.5


class RandomProgram:
    """
    A function of three i64, with loops and choices nested at random, as level-4 text and as Python.

    The two are written side by side, statement by statement.
    """

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.count = 0
        self.core: list[str] = []
        self.python: list[str] = []
        values = self.statements(["a", "b", "c"], depth=3, indent=1)
        self.python.append(f"    return {values[-1]}")
        self.core.append(f"func.return %{values[-1]} : i64")

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def pick(self, values: list[str]) -> str:
        return values[int(self.rng.integers(len(values)))]

    def statements(self, values: list[str], depth: int, indent: int) -> list[str]:
        """Some statements after which more values are known; all of these."""
        values = list(values)
        for _ in range(int(self.rng.integers(2, 5))):
            kinds = (
                [self.arithmetic, self.choice, self.loop, self.until]
                if depth
                else [self.arithmetic]
            )
            values.append(kinds[int(self.rng.integers(len(kinds)))](values, depth, indent))
        return values

    def arithmetic(self, values: list[str], depth: int, indent: int) -> str:
        name, x, y = self.fresh("v"), self.pick(values), self.pick(values)
        op, sign = [("addi", "+"), ("subi", "-"), ("muli", "*"), ("xori", "^")][
            int(self.rng.integers(4))
        ]
        self.core.append(f"%{name} = arith.{op} %{x}, %{y} : i64")
        self.python.append(f"{'    ' * indent}{name} = wrap({x} {sign} {y})")
        return name

    def condition(self, values: list[str], indent: int) -> str:
        name, x, y = self.fresh("p"), self.pick(values), self.pick(values)
        self.core.append(f"%{name} = arith.cmpi slt, %{x}, %{y} : i64")
        self.python.append(f"{'    ' * indent}{name} = {x} < {y}")
        return name

    def choice(self, values: list[str], depth: int, indent: int) -> str:
        condition, result = self.condition(values, indent), self.fresh("r")
        pad = "    " * indent
        self.core.append(f"%{result} = scf.if %{condition} -> (i64) {{")
        self.python.append(f"{pad}if {condition}:")
        for number in range(2):
            value = self.pick(self.statements(values, depth - 1, indent + 1))
            self.core.append(f"scf.yield %{value} : i64\n}}" + (" else {" if number == 0 else ""))
            self.python.append(f"{pad}    {result} = {value}")
            if number == 0:
                self.python.append(f"{pad}else:")
        return result

    def loop(self, values: list[str], depth: int, indent: int) -> str:
        x, y, s = (self.fresh(stem) for stem in "xys")
        u, v, i = self.fresh("u"), self.fresh("w"), self.fresh("i")
        first, second, trips = self.pick(values), self.pick(values), int(self.rng.integers(4))
        pad = "    " * indent
        self.core.append(
            f"%n{i} = arith.constant {trips} : index\n"
            f"%{u}, %{v} = scf.for %{i} = %c0 to %n{i} step %c1 iter_args(%{x} = %{first}, %{y} = %{second})"
            f" -> (i64, i64) {{\n%{s} = arith.index_cast %{i} : index to i64"
        )
        self.python.append(f"{pad}{x}, {y} = {first}, {second}\n{pad}for {s} in range({trips}):")
        inner = self.statements([*values, x, y, s], depth - 1, indent + 1)
        last = self.pick(inner)
        self.core.append(f"scf.yield %{y}, %{last} : i64, i64\n}}")
        self.python.append(f"{pad}    {x}, {y} = {y}, {last}\n{pad}{u}, {v} = {x}, {y}")
        return u if self.rng.integers(2) else v

    def until(self, values: list[str], depth: int, indent: int) -> str:
        k, x, k2, x2, r, n = (self.fresh(stem) for stem in ("k", "x", "k", "x", "r", "n"))
        p, following = self.fresh("p"), self.fresh("k")
        start, trips = self.pick(values), int(self.rng.integers(4))
        pad = "    " * indent
        self.core.append(
            f"%{n} = arith.constant {trips} : i64\n"
            f"%unused{r}, %{r} = scf.while (%{k} = %zero, %{x} = %{start}) : (i64, i64) -> (i64, i64) {{\n"
            f"%{p} = arith.cmpi slt, %{k}, %{n} : i64"
        )
        self.python.append(f"{pad}{k}, {x} = 0, {start}\n{pad}while True:")
        before = self.pick(self.statements([*values, k, x], depth - 1, indent + 1))
        self.core.append(
            f"scf.condition(%{p}) %{k}, %{before} : i64, i64\n}} do {{\n^bb0(%{k2}: i64, %{x2}: i64):\n"
            f"%{following} = arith.addi %{k2}, %one : i64"
        )
        self.python.append(
            f"{pad}    {k2}, {x2} = {k}, {before}\n{pad}    if not {k} < {trips}:\n{pad}        break"
        )
        after = self.pick(self.statements([*values, k2, x2], depth - 1, indent + 1))
        self.core.append(f"scf.yield %{following}, %{after} : i64, i64\n}}")
        self.python.append(f"{pad}    {k}, {x} = {k2} + 1, {after}\n{pad}{r} = {x2}")
        return r

    def text(self) -> str:
        constants = (
            "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
            "%zero = arith.constant 0 : i64\n%one = arith.constant 1 : i64"
        )
        body = "\n".join(self.core)
        return f"func.func @main(%a: i64, %b: i64, %c: i64) -> i64 {{\n{constants}\n{body}\n}}"

    def reference(self, a: int, b: int, c: int) -> int:
        def wrap(value: int) -> int:
            return (value + 2**63) % 2**64 - 2**63

        names = {"wrap": wrap}
        exec("def main(a, b, c):\n" + "\n".join(self.python), names)
        return names["main"](a, b, c)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(30))
def test_random_control_flow(seed: int):
    program = RandomProgram(seed)
    module = parse_text(program.text())
    main = compile_module(module)
    for arguments in ((0, 0, 0), (1, -2, 3), (2**62, -(2**61), 7)):
        assert main(*arguments) == program.reference(*arguments)
