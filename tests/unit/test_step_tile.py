"""Tiles: their order, their tails, and nests that are not rectangular."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.dialects.schedule.steps import Simplify, Skew, Tile

from .loop_nests import RandomNest, applied, check, check_extents, reason
from .nest_texts import MATMUL, TRIANGLE


@pytest.mark.parametrize("tail", ["guard", "peel"])
@pytest.mark.parametrize("factors", [(4,), (3, 4), (2, 3, 4), (40, 1, 5)])
def test_extents(factors: tuple[int, ...], tail: str) -> None:
    check_extents(MATMUL, Tile("f/i", factors, tail), extents=(1, 2, 7, 8, 12, 33))


def test_triangles() -> None:
    check_extents(TRIANGLE, Tile("f/i", (3, 4)))
    check_extents(TRIANGLE, Tile("f/i", (3, 4)), Simplify("f"), extents=(1, 2, 7, 8, 12))


def test_peeling_leaves_constant_trip_counts_in_whole_tiles() -> None:
    text = applied(MATMUL.replace("{n}", "10"), Tile("f/i", (4, 4, 4), "peel"))
    assert "%i = %i_outer to %i_outer + 4 {" in text
    assert "min(" not in text


def test_padding_counts_the_corners_too() -> None:
    program = """
    func.func @f(%A: memref<9xi32>, %v: i32) {
      %T = loop.alloc stack : memref<SIZExi32>
      loop.for serial "i" %i = 0 to 3 {
        loop.for serial "j" %j = 0 to 3 {
          loop.store %v, %T[%i + %j] : memref<SIZExi32>
        }
      }
      func.return
    }
    """
    # Each loop alone runs to 3 + 2; together they reach 3 + 3.
    message = reason(program.replace("SIZE", "6"), Tile("f/i", (4, 4), "pad"))
    assert "outside of its shape" in message
    assert "%j_outer + 4 {" in applied(program.replace("SIZE", "7"), Tile("f/i", (4, 4), "pad"))


def test_a_stencil_is_tiled_once_it_is_skewed() -> None:
    program = """
    func.func @f(%A: memref<{n}x{n}xi32>) {
      loop.for serial "i" %i = 1 to {n} {
        loop.for serial "j" %j = 0 to {n} - 1 {
          %a = loop.load %A[%i - 1, %j + 1] : memref<{n}x{n}xi32>
          %b = loop.load %A[%i, %j] : memref<{n}x{n}xi32>
          %s = arith.subi %b, %a : i32
          loop.store %s, %A[%i, %j] : memref<{n}x{n}xi32>
        }
      }
      func.return
    }
    """
    message = reason(program.replace("{n}", "9"), Tile("f/i", (4, 4)))
    assert "at distance (1, -1)" in message and "skew the nest first" in message
    check_extents(program, Skew("f/j", "i"), Tile("f/i", (3, 4)))


@settings(max_examples=24, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_nests(seed: int) -> None:
    random = Random(seed)
    depth = random.choice((2, 3))
    text = RandomNest(random, depth=depth, perfect=True).text()
    factors = tuple(random.randint(1, 4) for _ in range(depth))
    check(
        text, [Tile("f/i0", factors, random.choice(("guard", "guard", "peel", "pad", "perfect")))]
    )
