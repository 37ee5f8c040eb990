"""Where buffers are placed in the arena, and for how long they live."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.analysis.liveness import LiveRange, live_ranges
from stepwell.analysis.memory_packing import (
    ALIGNMENT,
    aligned,
    best_fit,
    greedy_by_size,
    lower_bound,
    pack,
    search,
)
from stepwell.analysis.memory_plan import memory_plans
from stepwell.analysis.verify import verify
from stepwell.dialects import loop
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.tools.cli import main
from stepwell.transforms.loop.plan_memory import LoopPlanMemoryPass
from stepwell.transforms.remarks import Remark, listening
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, f32
from xdsl.ir import Block, SSAValue


def buffers(count: int) -> list[SSAValue]:
    return list(Block(arg_types=[MemRefType(f32, (1,))] * count).args)


spans = st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(0, 300))


def ranges_with(spans: list[tuple[int, int, int]]) -> list[LiveRange]:
    return [
        LiveRange(buffer, size, first, first + length)
        for buffer, (first, length, size) in zip(buffers(len(spans)), spans, strict=True)
    ]


def check_apart(ranges: list[LiveRange], offsets: dict[LiveRange, int]) -> None:
    """All have a place, and those that are alive together do not overlap."""
    assert set(offsets) == set(ranges)
    for one in ranges:
        assert offsets[one] % ALIGNMENT == 0 and offsets[one] >= 0
        for other in ranges:
            if one is not other and one.overlaps(other) and one.size and other.size:
                start, end = offsets[other], offsets[other] + other.size
                assert offsets[one] + one.size <= start or end <= offsets[one]


@settings(deadline=None)
@given(st.lists(spans, max_size=12))
def test_buffers_alive_together_are_apart(spans: list[tuple[int, int, int]]):
    ranges = ranges_with(spans)
    check_apart(ranges, greedy_by_size(ranges))
    check_apart(ranges, best_fit(ranges))
    found = search(ranges, 1 << 40, lower_bound(ranges), 5_000)
    if found is not None:
        check_apart(ranges, found)
    packing = pack(ranges, limit=3_000)
    check_apart(ranges, {r: packing.placement.offsets[r.buffer] for r in ranges})


@settings(deadline=None)
@given(st.lists(spans, max_size=12))
def test_the_best_of_all_methods_and_no_less_than_the_most_at_once(
    spans: list[tuple[int, int, int]],
):
    ranges = ranges_with(spans)
    packing = pack(ranges, limit=3_000)
    at_once = [
        sum(aligned(r.size) for r in ranges if r.first <= time <= r.last) for time in range(20)
    ]
    assert packing.lower_bound == max(at_once, default=0)
    assert packing.lower_bound <= packing.placement.total == min(packing.totals.values())
    assert packing.totals[packing.method] == packing.placement.total
    ends = [packing.placement.offsets[r.buffer] + aligned(r.size) for r in ranges]
    assert packing.placement.total == max(ends, default=0)


def test_a_chain_needs_the_place_of_two():
    ranges = [LiveRange(b, 1000, n, n + 1) for n, b in enumerate(buffers(20))]
    assert pack(ranges).placement.total == 2 * 1024


def test_an_empty_buffer_takes_no_place():
    (one, two) = buffers(2)
    assert pack([LiveRange(one, 0, 0, 5), LiveRange(two, 64, 0, 5)]).placement.total == 64
    assert pack([]).placement.total == 0


def spans_of(*spans: tuple[int, int, int]) -> list[LiveRange]:
    """First and last step, and so many cache lines."""
    return ranges_with([(first, last - first, 64 * lines) for first, last, lines in spans])


def test_best_fit_wins_where_order_of_time_matters():
    """By size, the 3 comes first, below, and leaves no room for the second 2 below it."""
    found = pack(spans_of((0, 3, 2), (0, 4, 2), (5, 8, 3), (4, 7, 2)))
    assert found.method == "best fit"
    assert found.placement.total == found.lower_bound == 5 * 64 < found.totals["greedy by size"]


SEARCHED = spans_of((4, 4, 2), (4, 5, 2), (2, 6, 2), (0, 2, 3))
"""Neither order finds the smallest arena."""


def test_the_search_finds_what_both_heuristics_miss():
    packing = pack(SEARCHED)
    assert packing.method == "search"
    assert packing.totals["search"] < min(
        packing.totals["greedy by size"], packing.totals["best fit"]
    )
    assert packing.placement.total == packing.lower_bound


def test_the_search_stops_at_its_limit():
    assert search(SEARCHED, 1 << 40, 0, 0) is None
    assert "search" not in pack(SEARCHED, limit=0).totals


def ranges_of(body: str) -> dict[str, tuple[int, int]]:
    module = parse_text(
        "func.func @f(%n: index, %c: i1, %y: memref<4xf32>) {\n" + body + "\n  func.return\n}"
    )
    verify(module)
    function = next(op for op in module.ops if isinstance(op, func.FuncOp))
    block = function.body.block
    sizes: dict[SSAValue, int] = {
        op.buffer: 16 for op in function.walk() if isinstance(op, loop.AllocOp)
    }
    return {r.buffer.name_hint or "": (r.first, r.last) for r in live_ranges(block, sizes)}


def test_from_the_first_use_to_the_last():
    assert ranges_of("""
      %a = loop.alloc arena : memref<4xf32>
      %b = loop.alloc arena : memref<4xf32>
      %v = loop.load %a[0] : memref<4xf32>
      loop.store %v, %b[0] : memref<4xf32>
      loop.store %v, %a[1] : memref<4xf32>
      loop.store %v, %b[1] : memref<4xf32>
    """) == {"a": (2, 4), "b": (3, 5)}


def test_a_use_inside_a_loop_counts_for_the_loop():
    assert ranges_of("""
      %a = loop.alloc arena : memref<4xf32>
      %b = loop.alloc arena : memref<4xf32>
      loop.for serial "i" %i = 0 to 4 {
        loop.if (%i >= 1) {
          %v = loop.load %a[%i - 1] : memref<4xf32>
          loop.store %v, %b[%i] : memref<4xf32>
        }
      }
    """) == {"a": (2, 7), "b": (2, 7)}


def test_without_uses_nothing_is_alive():
    assert ranges_of("  %a = loop.alloc arena : memref<4xf32>") == {}


def test_views_keep_their_buffer_alive():
    assert ranges_of("""
      %a = loop.alloc arena : memref<4xf32>
      %one = "memref.cast"(%a) : (memref<4xf32>) -> memref<?xf32>
      %two = "memref.cast"(%one) : (memref<?xf32>) -> memref<4xf32>
      %v = arith.constant 1.0 : f32
      loop.store %v, %two[0] : memref<4xf32>
    """) == {"a": (1, 4)}


def test_a_buffer_that_a_branch_yields_is_alive_as_its_result():
    assert ranges_of("""
      %a = loop.alloc arena : memref<4xf32>
      %r = scf.if %c -> (memref<4xf32>) {
        scf.yield %a : memref<4xf32>
      } else {
        scf.yield %y : memref<4xf32>
      }
      %v = arith.constant 1.0 : f32
      loop.store %v, %r[0] : memref<4xf32>
    """) == {"a": (1, 5)}


def test_a_buffer_of_an_iteration_is_alive_in_a_part_of_the_loop():
    assert ranges_of("""
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %v = arith.constant 1.0 : f32
      scf.for %i = %zero to %n step %one {
        %a = loop.alloc arena : memref<4xf32>
        loop.store %v, %a[0] : memref<4xf32>
        %b = loop.alloc arena : memref<4xf32>
        loop.store %v, %b[0] : memref<4xf32>
      }
    """) == {"a": (5, 5), "b": (7, 7)}


def test_a_buffer_that_the_next_iteration_is_given_is_alive_in_all_of_the_loop():
    assert ranges_of("""
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %v = arith.constant 1.0 : f32
      %last = scf.for %i = %zero to %n step %one iter_args(%before = %y) -> (memref<4xf32>) {
        %a = loop.alloc arena : memref<4xf32>
        loop.store %v, %a[0] : memref<4xf32>
        %b = loop.alloc arena : memref<4xf32>
        loop.store %v, %b[0] : memref<4xf32>
        scf.yield %a : memref<4xf32>
      }
      loop.store %v, %last[1] : memref<4xf32>
    """) == {"a": (3, 9), "b": (7, 7)}


def chain(count: int, size: int) -> str:
    """`count` steps, each into a buffer of its own, that add 1 to all elements."""
    type_ = f"memref<{size}xf32>"
    lines = [f"func.func @main(%b0: {type_}, %y: {type_} {{stepwell.result}}) {{"]
    lines.append("%one = arith.constant 1.0 : f32")
    for n in range(1, count + 1):
        target = f"%b{n}" if n < count else "%y"
        if n < count:
            lines.append(f"{target} = loop.alloc arena : {type_}")
        lines.append(f'loop.for parallel "i{n}" %i{n} = 0 to {size} {{')
        lines.append(f"%v{n} = loop.load %b{n - 1}[%i{n}] : {type_}")
        lines.append(f"%w{n} = arith.addf %v{n}, %one : f32")
        lines.append(f"loop.store %w{n}, {target}[%i{n}] : {type_}")
        lines.append("}")
    return "\n".join([*lines, "func.return", "}"])


def test_a_long_chain_runs_in_two_places():
    module = parse_text(chain(40, 20))
    x = np.arange(20, dtype=np.float32)
    LoopPlanMemoryPass().apply(Context(), module)
    verify(module)
    function = next(op for op in module.ops if isinstance(op, func.FuncOp))
    arena = function.function_type.inputs.data[-1]
    assert isinstance(arena, MemRefType) and arena.get_shape() == (2 * 128,)
    assert np.array_equal(interpret(module, [x])[0], x + 40)


def test_an_arena_of_empty_buffers():
    module = parse_text(chain(3, 0))
    LoopPlanMemoryPass().apply(Context(), module)
    verify(module)
    (result,) = interpret(module, [np.empty(0, np.float32)])
    assert result.shape == (0,)


# Scratch memory inside of loops.

SCRATCH = """func.func @main(%x: memref<8x4xf32>, %y: memref<8x4xf32> {{stepwell.result}}) {{
  loop.for parallel{mode} "i" %i = 0 to 8 {{
    %t = loop.alloc arena : memref<4xf32>
    loop.for parallel "j" %j = 0 to 4 {{
      %v = loop.load %x[%i, %j] : memref<8x4xf32>
      loop.store %v, %t[%j] : memref<4xf32>
    }}
    loop.for parallel "k" %k = 0 to 4 {{
      %v = loop.load %t[%k] : memref<4xf32>
      loop.store %v, %y[%i, -%k + 3] : memref<8x4xf32>
    }}
  }}
  func.return
}}"""


def planned(text: str) -> tuple[ModuleOp, list[str]]:
    module = parse_text(text)
    assert isinstance(module, ModuleOp)
    said: list[Remark] = []
    with listening(said.append):
        LoopPlanMemoryPass().apply(Context(), module)
    verify(module)
    return module, [each.message for each in said]


def test_scratch_memory_of_iterations_is_planned():
    module, said = planned(SCRATCH.format(mode=""))
    (plan,) = memory_plans(module)
    assert plan.total == plan.lower_bound == 64
    assert [(lot.name, lot.size) for lot in plan.lots] == [("t", 16)]
    assert said == ["an arena of 64 bytes for 1 buffers, by greedy by size; 64 are alive at once"]
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    assert np.array_equal(interpret(module, [x])[0], x[:, ::-1])


BETWEEN_KERNELS = """func.func private @k(%x: memref<16xf32>, %y: memref<16xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 16 {
    %v = loop.load %x[%i] : memref<16xf32>
    %w = arith.addf %v, %v : f32
    loop.store %w, %y[%i] : memref<16xf32>
  }
  func.return
}
func.func @main(%x: memref<16xf32>, %y: memref<16xf32> {stepwell.result}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  scf.for %t = %zero to %three step %one {
    %a = loop.alloc arena : memref<16xf32>
    func.call @k(%x, %a) : (memref<16xf32>, memref<16xf32>) -> ()
    %b = loop.alloc arena : memref<16xf32>
    func.call @k(%a, %b) : (memref<16xf32>, memref<16xf32>) -> ()
    %c = loop.alloc arena : memref<16xf32>
    func.call @k(%b, %c) : (memref<16xf32>, memref<16xf32>) -> ()
    func.call @k(%c, %y) : (memref<16xf32>, memref<16xf32>) -> ()
  }
  func.return
}"""


def test_buffers_between_kernels_of_an_iteration_share_places():
    module, _ = planned(BETWEEN_KERNELS)
    (plan,) = memory_plans(module)
    assert plan.steps == ("k",) * 4
    assert sorted((lot.name, lot.first, lot.last) for lot in plan.lots) == [
        ("a", 0, 1),
        ("b", 1, 2),
        ("c", 2, 3),
    ]
    assert plan.total == plan.lower_bound == 128
    x = np.arange(16, dtype=np.float32)
    assert np.array_equal(interpret(module, [x])[0], 16 * x)


def test_iterations_on_threads_have_scratch_memory_of_their_own():
    module, said = planned(SCRATCH.format(mode=" threads"))
    assert list(memory_plans(module)) == [] and said == []
    assert any(isinstance(op, loop.AllocOp) for op in module.walk())


# The plan for people.

KERNELS = """func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x8xf32>) -> tensor<2x8xf32> {
  %a = graph.matmul %x, %w : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
  %b = graph.matmul %a, %w : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
  %c = graph.matmul %b, %w : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
  func.return %c : tensor<2x8xf32>
}
"""


def test_the_plan_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    program = tmp_path / "chain.mlir"
    program.write_text(KERNELS)
    assert main(["compile", str(program), "--emit", "memory", "--opt", "quick"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(
        "main: an arena of 128 bytes, 1.00 times the 128 that are alive at once\n"
    )
    assert "           0         64  0-1      a\n" in text
    assert "          64         64  1-2      b\n" in text
    assert "           1        128  main.a\n" in text


def test_the_plan_is_drawn(tmp_path: Path):
    program, picture = tmp_path / "chain.mlir", tmp_path / "plan.svg"
    program.write_text(KERNELS)
    arguments = ["compile", str(program), "--emit", "memory", "--opt", "quick", "-o", str(picture)]
    assert main(arguments) == 0
    assert picture.read_text().lstrip().startswith("<?xml")


def test_a_plan_of_nothing_and_a_wrong_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    program = tmp_path / "none.mlir"
    program.write_text("func.func @main(%x: memref<4xf32>) { func.return }")
    arguments = ["compile", str(program), "--emit", "memory"]
    assert main(arguments) == 0
    assert capsys.readouterr().out == "no scratch memory\n"
    assert main([*arguments, "-o", str(tmp_path / "plan.svg")]) == 1
    assert "found no scratch memory to draw" in capsys.readouterr().err
    assert main([*arguments, "-o", str(tmp_path / "plan.s")]) == 1
    assert "found --emit memory for an output ending in '.s', expected one of .svg" in (
        capsys.readouterr().err
    )
