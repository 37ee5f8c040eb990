"""Interchange: legality, bounds computed anew, imperfect nests, what loops still are."""

from random import Random
from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.dialects.schedule.steps import Fission, Reorder, Simplify, Split

from .loop_nests import RandomNest, applied, check, check_extents, reason
from .nest_texts import MATMUL, TRIANGLE


@pytest.mark.parametrize("order", [("k", "j", "i"), ("j", "k", "i"), ("i", "k", "j")])
def test_extents(order: tuple[str, ...]) -> None:
    check_extents(MATMUL, Reorder("f/i", order), extents=(1, 2, 7, 8, 33))


def test_triangular_nests_get_new_bounds() -> None:
    check_extents(TRIANGLE, Reorder("f/i", ("j", "i")))
    check_extents(TRIANGLE, Split("f/i", 4), Reorder("f/i.outer", ("j", "i.inner", "i.outer")))


def test_trapezoids_with_steps_and_symbols() -> None:
    program = """
    func.func @f(%A: memref<99x99xi32>, %n: index) {
      loop.for parallel "i" %i = -3 to {n} step 3 {
        loop.for parallel "j" %j = max(%i, 0) to min(2 * %i + 9, %n + 30) step 2 {
          loop.for parallel "k" %k = %j to %j + 2 {
            %a = loop.load %A[%i + 3, %k] : memref<99x99xi32>
            %s = arith.addi %a, %a : i32
            loop.store %s, %A[%i + 3, %k] : memref<99x99xi32>
          }
        }
      }
      func.return
    }
    """
    # A maximum at the start of a loop with a step has no first value to count from.
    message = reason(program.replace("{n}", "9"), Reorder("f/i", ("j", "i", "k")))
    assert "has a step and starts at a maximum of several expressions" in message
    one = program.replace("max(%i, 0)", "%i + 3")
    check_extents(one, Reorder("f/i", ("j", "i", "k")))
    check_extents(one, Reorder("f/i", ("k", "j", "i")))


def test_a_start_at_a_maximum_of_values_that_are_steps_apart() -> None:
    program = """
    func.func @f(%A: memref<99x99xi32>, %n: index) {
      loop.for serial "p" %p = 0 to 2 {
        loop.for parallel "i" %i = -4 to {n} step 4 {
          loop.for parallel "j" %j = max(%i + %p, %p - 2) to min(2 * %i + 9, %n + 30) step 2 {
            %a = loop.load %A[%i + 4, %j + 2] : memref<99x99xi32>
            %k = arith.index_cast %j : index to i32
            %s = arith.addi %a, %k : i32
            loop.store %s, %A[%i + 4, %j + 2] : memref<99x99xi32>
          }
        }
      }
      func.return
    }
    """
    check_extents(program, Reorder("f/i", ("j", "i")))


def test_where_nothing_runs_the_new_bounds_do_not_let_anything_run() -> None:
    # Only i = 0 has iterations inside; the new bounds may not take i = 0 for granted.
    program = """
    func.func @f(%A: memref<99xi32>) {
      loop.for serial "i" %i = -3 to {n} {
        loop.for serial "j" %j = max(1, %i floordiv 2) to %i floordiv 2 + 2 {
          loop.for serial "k" %k = %i - 1 to %j step 3 {
            %a = loop.load %A[%j + %i + 9] : memref<99xi32>
            %s = arith.addi %a, %a : i32
            loop.store %s, %A[%k + %j + 9] : memref<99xi32>
          }
        }
      }
      func.return
    }
    """
    check_extents(program, Reorder("f/j", ("k", "j")), extents=(1, 2), native=False)


def test_bounds_that_still_hold_are_kept() -> None:
    text = applied(
        MATMUL.replace("{n}", "10"),
        Split("f/i", 4),
        Reorder("f/i.outer", ("i.outer", "j", "i.inner")),
    )
    assert "%i = %i_outer to min(%i_outer + 4, 10)" in text


def test_statements_beside_a_loop_move_into_it() -> None:
    program = """
    func.func @f(%A: memref<{n}x5xi32> {stepwell.noalias}, %B: memref<{n}xi32> {stepwell.noalias}) {
      %zero = arith.constant 0 : i32
      loop.for parallel "i" %i = 0 to {n} {
        loop.store %zero, %B[%i] : memref<{n}xi32>
        %two = arith.constant 2 : i32
        loop.for serial "k" %k = 0 to 5 {
          %a = loop.load %A[%i, %k] : memref<{n}x5xi32>
          %b = loop.load %B[%i] : memref<{n}xi32>
          %t = arith.muli %b, %two : i32
          %s = arith.addi %t, %a : i32
          loop.store %s, %B[%i] : memref<{n}xi32>
        }
        %b = loop.load %B[%i] : memref<{n}xi32>
        %t = arith.muli %b, %b : i32
        loop.store %t, %B[%i] : memref<{n}xi32>
      }
      func.return
    }
    """
    check_extents(program, Reorder("f/i", ("k", "i")))
    check_extents(program, Reorder("f/i", ("k", "i")), Simplify("f"))


def test_a_statement_needs_an_iteration_to_run_in() -> None:
    program = """
    func.func @f(%B: memref<9xi32>, %n: index, %v: i32) {
      loop.for parallel "i" %i = 0 to 9 {
        loop.store %v, %B[%i] : memref<9xi32>
        loop.for serial "k" %k = 0 to %n {
          loop.store %v, %B[%i] : memref<9xi32>
        }
      }
      func.return
    }
    """
    assert "would not run where 'k' has no iteration" in reason(program, Reorder("f/i", ("k", "i")))


def test_a_loop_beside_which_nothing_stands_may_end_at_a_minimum() -> None:
    program = """
    func.func @f(%A: memref<128xi32> {stepwell.noalias}, %B: memref<128xi32> {stepwell.noalias},
                 %n: index) {
      %v = arith.constant 7 : i32
      loop.for serial "i" %i = 0 to 5 step 2 {
        loop.for serial "i2" %i2 = %i to min(%i + 2, 5) {
          loop.for serial "j" %j = 0 to 4 {
            loop.store %v, %A[%i2 * 9 + %j] : memref<128xi32>
          }
          loop.store %v, %B[%i2] : memref<128xi32>
        }
      }
      func.return
    }
    """
    check(program, [Reorder("f/i", ("j", "i", "i2"))])


def test_a_witness_is_found_in_time() -> None:
    """The first of all pairs, with a symbol and remainders by 128, takes isl minutes."""
    program = """
    func.func @f(%A: memref<128xi32> {stepwell.noalias}, %n: index) {
      loop.for serial "i" %i = max(%n - 6, 0) to %n step 2 {
        loop.for serial "j" %j = -2 to %i + 2 {
          %x = loop.load %A[(%j * 2 - %i + 63) mod 128] : memref<128xi32>
          %y = loop.load %A[(%j + %i * 2 + 62) mod 128] : memref<128xi32>
          %z = arith.addi %x, %y : i32
          loop.store %z, %A[(%j * 2 - %i + 63) mod 128] : memref<128xi32>
        }
      }
      func.return
    }
    """
    start = monotonic()
    assert "would be swapped" in reason(program, Reorder("f/i", ("j", "i")))
    assert monotonic() - start < 20


def test_a_parallel_loop_that_comes_to_carry_a_dependence_is_marked_anew() -> None:
    program = """
    func.func @f(%A: memref<9x9xi32>) {
      loop.for serial "i" %i = 1 to 9 {
        loop.for parallel "j" %j = 1 to 9 {
          %a = loop.load %A[%i - 1, %j - 1] : memref<9x9xi32>
          loop.store %a, %A[%i, %j] : memref<9x9xi32>
        }
      }
      func.return
    }
    """
    assert 'loop.for serial "j"' in applied(program, Reorder("f/i", ("j", "i")))


def test_a_bound_that_is_not_affine_is_not_lost() -> None:
    program = """
    func.func @f(%A: memref<99x99xi32>, %N: memref<1xindex>, %v: i32) {
      loop.for serial "o" %o = 0 to 1 {
        %m = loop.load %N[0] : memref<1xindex>
        loop.for parallel "i" %i = 0 to %m {
          loop.for parallel "j" %j = %i to 10 {
            loop.store %v, %A[%i, %j] : memref<99x99xi32>
          }
        }
      }
      func.return
    }
    """
    assert "the bounds of 'i' are not affine" in reason(program, Reorder("f/i", ("j", "i")))


def test_a_loop_inside_of_an_opaque_operation_is_refused() -> None:
    program = """
    func.func @f(%A: memref<9x9xi32>, %c: i1, %v: i32) {
      scf.if %c {
        loop.for serial "i" %i = 0 to 9 {
          loop.for serial "j" %j = 0 to 9 {
            loop.store %v, %A[%i, %j] : memref<9x9xi32>
          }
        }
      }
      func.return
    }
    """
    assert "it stands inside of 'scf.if'" in reason(program, Reorder("f/i", ("j", "i")))


@settings(max_examples=24, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_nests(seed: int) -> None:
    random = Random(seed)
    nest = RandomNest(random, depth=random.choice((2, 3)), perfect=random.random() < 0.7)
    text = nest.text()
    order = random.sample(nest.loops[:3], len(nest.loops[:3]))
    pair = random.sample(nest.loops[:2], len(nest.loops[:2]))
    check(text, [Reorder("f/i0", tuple(order)), Reorder("f/i0", tuple(pair))])


PEELED = """
func.func @f(%A: memref<9x{n}xi32>, %B: memref<9x{n}xi32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to 9 {
    loop.for parallel "j" %j = 0 to {n} {
      %a = loop.load %A[%i, %j] : memref<9x{n}xi32>
      loop.store %a, %B[%i, %j] : memref<9x{n}xi32>
    }
  }
  func.return
}
"""


def test_a_loop_beside_the_nest_is_not_moved_into_it() -> None:
    """The tail of a split would run under a condition in the innermost loop: fission gives it a nest."""
    peeled = applied(PEELED.replace("{n}", "11"), Split("f/j", 4, tail="peel"))
    step = Reorder("f/i", ("j.outer", "i", "j.inner"))
    message = reason(peeled, step)
    assert "loop 'j.tail' stands beside 'j.outer' in the body of 'i'" in message
    assert 'fission("i", after="j.outer") first' in message
    before = peeled.replace('loop.for parallel "j.outer"', 'loop.for parallel "kept"')
    assert 'after="kept"' in reason(before, Reorder("f/i", ("kept", "i", "j.inner")))
    check_extents(
        PEELED, Split("f/j", 4, tail="peel"), Fission("f/i", "j.outer"), step, extents=(5, 11, 33)
    )
