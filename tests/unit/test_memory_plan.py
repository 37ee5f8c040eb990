"""Where buffers are placed in the arena, and for how long they live."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from stepwell.analysis.liveness import ALIGNMENT, LiveRange, live_ranges, place
from stepwell.analysis.verify import verify
from stepwell.dialects import loop
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.transforms.loop.plan_memory import LoopPlanMemoryPass
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Block, SSAValue


def buffers(count: int) -> list[SSAValue]:
    return list(Block(arg_types=[MemRefType(f32, (1,))] * count).args)


spans = st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(0, 300))


@given(st.lists(spans, max_size=12))
def test_buffers_alive_together_are_apart(spans: list[tuple[int, int, int]]):
    ranges = [
        LiveRange(buffer, size, first, first + length)
        for buffer, (first, length, size) in zip(buffers(len(spans)), spans, strict=True)
    ]
    placement = place(ranges)
    assert set(placement.offsets) == {r.buffer for r in ranges}
    assert placement.total % ALIGNMENT == 0
    for one in ranges:
        offset = placement.offsets[one.buffer]
        assert offset % ALIGNMENT == 0
        assert offset >= 0 and offset + one.size <= placement.total
        for other in ranges:
            if one is not other and one.overlaps(other) and one.size and other.size:
                start = placement.offsets[other.buffer]
                assert offset + one.size <= start or start + other.size <= offset


@given(st.lists(spans, max_size=12))
def test_no_more_than_all_of_them_and_no_less_than_the_most_at_once(
    spans: list[tuple[int, int, int]],
):
    ranges = [
        LiveRange(buffer, size, first, first + length)
        for buffer, (first, length, size) in zip(buffers(len(spans)), spans, strict=True)
    ]
    rounded = [-(-r.size // ALIGNMENT) * ALIGNMENT for r in ranges]
    at_once = [sum(r.size for r in ranges if r.first <= time <= r.last) for time in range(20)]
    total = place(ranges).total
    assert max(at_once) <= total <= sum(rounded)


def test_a_chain_needs_the_place_of_two():
    ranges = [LiveRange(b, 1000, n, n + 1) for n, b in enumerate(buffers(20))]
    assert place(ranges).total == 2 * 1024


def test_an_empty_buffer_takes_no_place():
    (one, two) = buffers(2)
    placement = place([LiveRange(one, 0, 0, 5), LiveRange(two, 64, 0, 5)])
    assert placement.total == 64
    assert place([]).total == 0


def ranges_of(body: str) -> dict[str, tuple[int, int]]:
    module = parse_text(
        "func.func @f(%n: index, %c: i1, %y: memref<4xf32>) {\n" + body + "\n  func.return\n}"
    )
    verify(module)
    function = next(op for op in module.ops if isinstance(op, func.FuncOp))
    block = function.body.block
    sizes: dict[SSAValue, int] = {op.buffer: 16 for op in block.ops if isinstance(op, loop.AllocOp)}
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
    """) == {"a": (2, 2), "b": (2, 2)}


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
    """) == {"a": (1, 3)}


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
