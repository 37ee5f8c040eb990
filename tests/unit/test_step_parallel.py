"""parallel: marks the loops whose iterations depend on no other, and no others."""

from collections.abc import Sequence
from random import Random

import pytest
from stepwell.dialects import loop
from stepwell.dialects.schedule.steps import Fuse, Parallel, Split, Vectorize
from stepwell.transforms.step_support.refusal import Refusal

from .step_agreement import check_extents, check_random, check_steps


def rows(n: int) -> str:
    """Running sums of rows, through a buffer of one iteration."""
    return f"""
func.func @f(%A: memref<{n}x9xi32>, %B: memref<{n}x9xi32>) attributes {{stepwell.noalias}} {{
  loop.for serial "i" %i = 0 to {n} {{
    %T = loop.alloc stack : memref<9xi32>
    %z = arith.constant 0 : i32
    loop.store %z, %T[0] : memref<9xi32>
    loop.for serial "j" %j = 1 to 9 {{
      %a = loop.load %A[%i, %j] : memref<{n}x9xi32>
      %t = loop.load %T[%j - 1] : memref<9xi32>
      %s = arith.addi %a, %t : i32
      loop.store %s, %T[%j] : memref<9xi32>
    }}
    loop.for serial "k" %k = 0 to 9 {{
      %t = loop.load %T[%k] : memref<9xi32>
      loop.store %t, %B[%i, %k] : memref<{n}x9xi32>
    }}
  }}
  func.return
}}"""


def test_extents() -> None:
    check_extents(rows, [Parallel("f/i")])


def test_with_vectors_inside() -> None:
    check_extents(rows, [Parallel("f/i"), Vectorize("f/k", 4)])


def test_of_blocks_that_do_not_divide() -> None:
    check_extents(rows, [Split("f/i", 4), Parallel("f/i.outer")])


def test_of_a_fused_loop() -> None:
    text = """
func.func @f(%A: memref<6x9xi32>) {
  loop.for parallel "i" %i = 0 to 6 {
    loop.for parallel "j" %j = 0 to 9 {
      %a = loop.load %A[%i, %j] : memref<6x9xi32>
      %b = arith.addi %a, %a : i32
      loop.store %b, %A[%i, %j] : memref<6x9xi32>
    }
  }
  func.return
}"""
    assert "parallel threads" in str(check_steps(text, [Fuse("f/i", "j"), Parallel("f/i.j")]))


def test_refuses_running_sums() -> None:
    with pytest.raises(Refusal, match=r"\(i=0, j=1\) and \(i=0, j=2\) would be raced; choose 'i'"):
        check_steps(rows(5), [Parallel("f/j")])


def test_the_kind_becomes_true() -> None:
    assert 'loop.for parallel threads "i"' in str(check_steps(rows(5), [Parallel("f/i")]))


def test_keeps_random_functions() -> None:
    def mark(random: Random, loops: Sequence[loop.ForOp]) -> Parallel:
        return Parallel(f"f/{random.choice(loops).loop_name.data}")

    legal, refused = check_random(mark, range(16))
    assert legal > 3
    assert refused > 8
