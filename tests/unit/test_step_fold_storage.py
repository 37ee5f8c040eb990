"""Circular buffers: an axis of a scratch buffer of which the last few elements are kept."""

import numpy as np
import pytest
import stepwell as sw
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import (
    ComputeAt,
    FoldStorage,
    FuseLoops,
    Normalize,
    Parallel,
    Peel,
    Split,
    Vectorize,
)

from .loop_nests import applied, check_extents, reason

LINE = """
func.func @f(%A: memref<{n}xi32> {stepwell.noalias}, %C: memref<{n}xi32> {stepwell.noalias}) {
  %T = loop.alloc arena : memref<{n}xi32>
  loop.for parallel "i" %i = 0 to {n} {
    %a = loop.load %A[%i] : memref<{n}xi32>
    %s = arith.muli %a, %a : i32
    loop.store %s, %T[%i] : memref<{n}xi32>
  }
  loop.for parallel "y" %y = 0 to {n} - 2 {
    %t = loop.load %T[%y] : memref<{n}xi32>
    %u = loop.load %T[%y + 2] : memref<{n}xi32>
    %v = arith.subi %u, %t : i32
    loop.store %v, %C[%y] : memref<{n}xi32>
  }
  func.return
}
"""
"""`C[y] = T[y + 2] - T[y]`, where `T[i] = A[i] ** 2`."""

ROWS = """
func.func @f(%A: memref<{n}x13xi32> {stepwell.noalias}, %C: memref<{n}x13xi32> {stepwell.noalias}) {
  %T = loop.alloc arena : memref<{n}x13xi32>
  loop.for parallel "i" %i = 0 to {n} {
    loop.for parallel "j" %j = 0 to 12 {
      %a = loop.load %A[%i, %j] : memref<{n}x13xi32>
      %b = loop.load %A[%i, %j + 1] : memref<{n}x13xi32>
      %s = arith.addi %a, %b : i32
      loop.store %s, %T[%i, %j] : memref<{n}x13xi32>
    }
  }
  loop.for parallel "y" %y = 0 to {n} - 2 {
    loop.for parallel "x" %x = 0 to 12 {
      %t = loop.load %T[%y, %x] : memref<{n}x13xi32>
      %u = loop.load %T[%y + 1, %x] : memref<{n}x13xi32>
      %w = loop.load %T[%y + 2, %x] : memref<{n}x13xi32>
      %p = arith.muli %t, %u : i32
      %v = arith.addi %p, %w : i32
      loop.store %v, %C[%y, %x] : memref<{n}x13xi32>
    }
  }
  func.return
}
"""
"""`C[y, x] = T[y, x] * T[y + 1, x] + T[y + 2, x]`, where `T[i, j] = A[i, j] + A[i, j + 1]`."""

SLIDING: tuple[Step, ...] = (Peel("f/i", front=2), Normalize("f"), FuseLoops("f/i", "y"))
"""Each iteration makes the element, or row, that it is the first to read."""

AGAIN = """
func.func @f(%A: memref<{n}x7xi32> {stepwell.noalias}, %C: memref<{n}x7xi32> {stepwell.noalias}) {
  %T = loop.alloc stack : memref<7xi32>
  loop.for serial "o" %o = 0 to {n} {
    loop.for serial "i" %i = 0 to 7 {
      %zero = arith.constant 0 : i32
      loop.store %zero, %T[-%i + 6] : memref<7xi32>
      loop.for reduction "k" %k = 0 to 7 {
        %a = loop.load %A[%o, %k] : memref<{n}x7xi32>
        %t = loop.load %T[-%i + 6] : memref<7xi32>
        %s = arith.addi %t, %a : i32
        loop.store %s, %T[-%i + 6] : memref<7xi32>
      }
      %u = loop.load %T[-%i + 6] : memref<7xi32>
      loop.store %u, %C[%o, %i] : memref<{n}x7xi32>
    }
  }
  func.return
}
"""
"""All elements are stored to again in each iteration of the outer loop, before they are read."""


def test_a_sliding_window() -> None:
    check_extents(LINE, *SLIDING, FoldStorage("f/T", 0, 3), extents=(7,))


def test_a_sliding_window_of_rows_in_vectors() -> None:
    rows = Vectorize("f/j", 4), Vectorize("f/x", 4)
    check_extents(ROWS, *SLIDING, FoldStorage("f/T", 0, 3), *rows, extents=(7,))


def test_lanes_that_turn_over() -> None:
    """The vector of the first iterations runs over the end of what is kept."""
    program = LINE.replace('"y" %y = 0 to {n} - 2', '"y" %y = {n} - 7 to {n} - 2')
    check_extents(program, FoldStorage("f/T", 0, 7), Vectorize("f/y", 5), extents=(33,))


def test_a_sliding_window_is_what_numpy_computes() -> None:
    s = sw.Schedule(ROWS.replace("{n}", "11"))
    s.peel("i", front=2)
    s.normalize("f")
    s.fuse_loops("i", "y")
    s.fold_storage("T", axis=0, factor=4)
    a = np.random.default_rng(0).integers(-9, 9, (11, 13)).astype(np.int32)
    c = np.zeros_like(a)
    s.compile()(a, c)
    t = a[:, :-1] + a[:, 1:]
    np.testing.assert_array_equal(c[:9, :12], t[:-2] * t[1:-1] + t[2:])


def test_a_sliding_window_in_each_thread() -> None:
    """Blocks of rows are computed side by side, each with a window of its own; the last one is smaller."""
    check_extents(
        ROWS,
        Split("f/y", 8),
        ComputeAt("f/T", "y.outer"),
        *SLIDING[:2],
        FuseLoops("f/i", "y.inner"),
        FoldStorage("f/T", 0, 3),
        Parallel("f/y.outer"),
        extents=(33,),
    )


def test_elements_that_are_stored_to_again() -> None:
    check_extents(AGAIN, FoldStorage("f/T", 0, 1), extents=(1, 5))
    text = applied(AGAIN.replace("{n}", "5"), FoldStorage("f/T", 0, 1))
    assert "memref<1xi32>" in text and 'loop.for reduction "k"' in text


def test_loops_that_are_parallel_no_more() -> None:
    parallel = AGAIN.replace('serial "i"', 'parallel "i"').replace("{n}", "5")
    assert 'loop.for serial "i"' in applied(parallel, FoldStorage("f/T", 0, 1))
    inside = parallel.replace("  %T = loop.alloc stack : memref<7xi32>\n", "").replace(
        "      %zero", "      %T = loop.alloc stack : memref<7xi32>\n      %zero"
    )
    assert 'loop.for parallel "i"' in applied(inside, FoldStorage("f/T", 0, 1))


VIEWED = AGAIN.replace(
    "  func.return", "  func.call @g(%T) : (memref<7xi32>) -> ()\n  func.return"
).replace("func.func @f", "func.func private @g(%T: memref<7xi32>)\nfunc.func @f")
INDIRECT = LINE.replace(
    "    %t = loop.load %T[%y]",
    "    %at = arith.index_cast %u : i32 to index\n    %t = memref.load %T[%at]",
)
INDIRECT = INDIRECT.replace("    %u = loop.load %T[%y + 2] : memref<{n}xi32>\n", "").replace(
    "    %at", "    %u = loop.load %T[%y + 2] : memref<{n}xi32>\n    %at"
)


@pytest.mark.parametrize(
    ("program", "step", "expected"),
    [
        (LINE, FoldStorage("f/A", 0, 3), "'%A' is no scratch buffer of the function"),
        (LINE, FoldStorage("f/T", 1, 3), "axis is 1, and '%T' has 1 axes; count them from 0"),
        (LINE, FoldStorage("f/T", -1, 3), "axis is -1"),
        (LINE, FoldStorage("f/T", 0, 0), "factor is 0, expected at least 1 and less than the 9"),
        (LINE, FoldStorage("f/T", 0, 9), "factor is 9, expected at least 1 and less than the 9"),
        (
            LINE,
            FoldStorage("f/T", 0, 3),
            "the store to '%T' (program.mlir:7:5) would overwrite what the load of '%T' (program.mlir:10:10) reads: "
            "iterations (i=6) and (y=0) have two elements in one place; fuse_loops what fills",
        ),
        (VIEWED, FoldStorage("f/T", 0, 1), "'func.call' uses '%T' as a whole"),
        (INDIRECT, FoldStorage("f/T", 0, 3), "'memref.load' uses '%T' as a whole"),
        (
            AGAIN.replace("[-%i + 6]", "[%z]").replace(
                "      %zero", "      %q = loop.load %A[%o, %i] : memref<{n}x7xi32>\n"
                "      %z = arith.index_cast %q : i32 to index\n      %zero"
            ),
            FoldStorage("f/T", 0, 1),
            "'loop.store' uses '%T' in a way that is not an affine access",
        ),
        (
            AGAIN.replace('serial "i"', 'parallel threads "i"'),
            FoldStorage("f/T", 0, 1),
            "loop 'i' is marked 'threads', and the store to '%T' (program.mlir:7:7) and the store to '%T' "
            "(program.mlir:7:7) in iterations (o=0, i=0) and (o=0, i=1) have two elements in one place; mark loops "
            "after",
        ),
        (
            LINE.replace('"i" %i = 0 to {n}', '"i" %i = 0 to %n')
            .replace("%C: memref<{n}xi32> {stepwell.noalias}", "%C: memref<{n}xi32> {stepwell.noalias}, %n: index")
            .replace("%T = loop.alloc arena : memref<{n}xi32>", "%T = loop.alloc arena(%n) : memref<?xi32>")
            .replace("%T[%i] : memref<{n}xi32>", "%T[%i] : memref<?xi32>")
            .replace("%T[%y] : memref<{n}xi32>", "%T[%y] : memref<?xi32>")
            .replace("%T[%y + 2] : memref<{n}xi32>", "%T[%y + 2] : memref<?xi32>"),
            FoldStorage("f/T", 0, 3),
            "the size of '%T' along axis 0 is not constant; give it a static shape",
        ),
    ],
)  # fmt: skip
def test_refusals(program: str, step: Step, expected: str) -> None:
    assert expected in reason(program.replace("{n}", "9"), step)


def test_the_least_factor_is_named() -> None:
    sliding = applied(LINE.replace("{n}", "9"), *SLIDING)
    assert "factor=3 keeps both" in reason(sliding, FoldStorage("f/T", 0, 2))
