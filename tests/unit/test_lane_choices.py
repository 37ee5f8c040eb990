"""Loads at computed indices in vector loops: neighbours that lanes find to be so, and tables that registers hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.levels import Level
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.runtime.jit import compile_module

from .vector_loops import at_core, check_lanes, loop_program

_BEGIN = """
    %j = arith.index_cast %i : index to I
    %s = arith.index_cast %n : index to I
    %z = arith.constant 0 : I
    %w = arith.constant 15 : I
    %v = arith.constant 120 : I
"""
_END = """
    %k = arith.index_cast %x : I to index
    %low = arith.constant 0 : index
    %most = arith.constant 399 : index
    %raised = arith.maxsi %k, %low : index
    %at = arith.minsi %raised, %most : index
    %a = memref.load %A[%at] : M
    loop.store %a, %B[%i] : M"""

INDICES = {
    "more": "%x = arith.addi %j, %s : I",
    "less": "%x = arith.subi %j, %s : I",
    "clipped": "%y = arith.subi %j, %s : I\n%x = arith.maxsi %y, %z : I",
    "wrapped and clipped": "%y = arith.addi %j, %s : I\n%x = arith.maxsi %y, %v : I",
    "from the end": """
        %y = arith.subi %j, %s : I
        %y2 = arith.addi %y, %w : I
        %c = arith.cmpi slt, %y, %z : I
        %x = arith.select %c, %y2, %y : I""",
    "unless": """
        %eight = arith.constant 8 : I
        %y = arith.subi %j, %s : I
        %c = arith.cmpi sge, %j, %s : I
        %d = arith.cmpi slt, %j, %eight : I
        %e = arith.andi %c, %d : i1
        %x = arith.select %e, %y, %z : I""",
    "remainder": "%y = arith.subi %j, %s : I\n%x = arith.remsi %y, %w : I",
    "modulo": """
        %y = arith.addi %j, %s : I
        %r = arith.remsi %y, %w : I
        %u = arith.addi %r, %w : I
        %t = arith.xori %r, %w : I
        %c = arith.cmpi ne, %r, %z : I
        %d = arith.cmpi slt, %t, %z : I
        %e = arith.andi %c, %d : i1
        %y2 = arith.select %e, %u, %r : I
        %x = arith.maxsi %y2, %z : I""",
}


def program(index: str, width: int, integer: str, guard: str = "") -> str:
    body = f"{_BEGIN}{INDICES[index]}{_END}".replace(": I", f": {integer}")
    body = body.replace("to I\n", f"to {integer}\n")
    if guard:
        body = f"loop.if ({guard}) {{\n{body}\n}}"
    return loop_program(body, width)


def check_shifts(text: str, shifts: Sequence[int]) -> None:
    """With each shift the program gives the same in order, as vectors by the interpreter, and natively."""
    module, core = parse_text(text, "vector.mlir"), at_core(text)
    assert "stepwell.mode" not in str(core)
    assert "scf.if" in str(core) or "load" not in str(core), "no lane runs"
    native = core.clone()
    lower_to(native, Level.LLVM)
    run = compile_module(native)
    for shift in shifts:
        given = [*numbers(), np.array(shift)]
        expected = interpret(module, given)[1]
        np.testing.assert_array_equal(
            interpret(core, given)[1], expected, err_msg=f"{shift} {core}"
        )
        run(*given)
        np.testing.assert_array_equal(given[1], expected, err_msg=f"{shift} {core}")


def numbers() -> list[np.ndarray]:
    values = np.arange(400, dtype=np.int32)
    return [values, values * 0, values[:4]]


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize(("width", "integer"), [(7, "i32"), (16, "i64"), (16, "i8")])
def test_neighbours_and_others(index: str, width: int, integer: str):
    """Shifts by which no lane, some or all are clipped, begin again at a remainder or wrap: of i8 at 128."""
    shifts = (0, 1, 5, -3, width, 14, 15, 40, 120, 250, -(2**63))
    check_shifts(program(index, width, integer), shifts)


@pytest.mark.parametrize("index", ["more", "clipped", "modulo"])
@pytest.mark.parametrize("guard", ["-%i + 9 >= 0", "%i - 4 >= 0", "%i mod 3 == 0", "-%i - 1 >= 0"])
def test_only_some_lanes_run(index: str, guard: str):
    """The last lane that runs says what those do that run, where they are the first ones."""
    check_shifts(program(index, 16, "i64", guard), (0, 3, 30, -20, 390))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 16, 17])
def test_tables(size: int):
    """A table of up to a line of elements is chosen from by the bits of indices; lanes of a longer one run one by one."""
    text = f"""
func.func @f(%A: memref<{size}xi32>, %B: memref<400xi32>, %C: memref<400xi32>) attributes {{stepwell.noalias}} {{
  loop.for parallel vector "i" %i = 0 to 16 {{
    %x = loop.load %B[%i] : memref<400xi32>
    %k = arith.index_cast %x : i32 to index
    %a = memref.load %A[%k] : memref<{size}xi32>
    loop.store %a, %C[%i] : memref<400xi32>
  }}
  func.return
}}"""
    rng = np.random.default_rng(size)
    given = [rng.integers(0, n, m).astype(np.int32) for n, m in ((99, size), (size, 400), (1, 400))]
    check_lanes(text, given, in_lanes=size <= 16)


@pytest.mark.parametrize("n", [1, 5, 33, 100])
def test_rolls_and_rows_by_values(n: int):
    x = np.random.default_rng(n).random((3, n)).astype(np.float32)
    rolled = sw.jit(lambda x, s: sw.roll(x, s, axis=1) + 1)
    before = sw.jit(lambda x, s: x[:, sw.maximum(sw.arange(n) - s, 0)])
    for shift in (0, 1, n - 1, n, -7, 3 * n + 2):
        s = np.int64(shift)
        np.testing.assert_array_equal(rolled(x, s), np.roll(x, shift, axis=1) + 1)
        if shift >= 0:
            at = np.maximum(np.arange(n) - shift, 0)
            np.testing.assert_array_equal(before(x, s), x[:, at])


@pytest.mark.parametrize("steps", [1, 3])
def test_steps_of_a_scan_that_read_shifted_states(steps: int):
    """The positions, which stand before the scan, are known in its steps: each loads neighbours."""
    start = np.random.default_rng(0).random(45)
    shifts = np.array([7, 0, 60])[:steps]

    def follow(xp: Any, start: Any, shift: Any) -> Any:
        before = xp.arange(45) - shift
        return xp.where(before >= 0, start[xp.maximum(before, 0) % 45] + 1, start)

    found = sw.jit(lambda a, s: sw.scan(lambda a, s: (follow(sw, a, s), None), a, s)[0])
    want = start
    for shift in shifts:
        want = follow(np, want, shift)
    np.testing.assert_array_equal(found(start, shifts), want)
    assert "iota" not in found.lower(start, shifts).as_text("te")
