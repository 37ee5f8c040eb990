"""What other steps leave, normalised, decided over the iterations there are."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.dialects import loop
from stepwell.dialects.affine_atoms import constant_expr, dim_expr
from stepwell.dialects.leaf_operations import map_attribute
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import IndexSetSplit, Peel, Reverse, Simplify, Split, Tile
from stepwell.frontend.text import parse_text
from stepwell.transforms.loop.simplify import SimplifyPlan
from stepwell.transforms.step_support.nest import Nest, Nests
from stepwell.transforms.step_support.rewrite import set_bounds
from stepwell.transforms.step_support.tidy import tidy_operation
from xdsl.ir.affine import AffineMap

from .loop_nests import applied, check_extents, check_random_nest
from .nest_texts import LINE, MATMUL, TRIANGLE


def test_extents() -> None:
    check_extents(TRIANGLE, Split("f/i", 4), Split("f/j", 3), Simplify("f"))
    check_extents(LINE, Split("f/i", 4, tail="peel"), Simplify("f"))
    check_extents(LINE, Peel("f/i", 1, 2), Simplify("f"))
    check_extents(TRIANGLE, Tile("f/i", (4, 4)), Simplify("f"), extents=(1, 2, 7, 12))


def test_it_changes_nothing_the_second_time() -> None:
    once = applied(MATMUL.replace("{n}", "10"), Tile("f/i", (4, 3, 2), "peel"), Simplify("f"))
    assert applied(once, Simplify("f")) == once


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("max(0, 4) to min(8, 16)", "%i = 4 to 8"),
        ("max(%n, %n - 3) to min(%n + 9, %n + 8)", "%i = %n to %n + 8"),
        ("max(0, %n) to %n + 8", "%i = max(0, %n) to %n + 8"),
    ],
)
def test_superfluous_expressions(head: str, expected: str) -> None:
    program = f"""
    func.func @f(%A: memref<99xi32>, %n: index, %v: i32) {{
      loop.for parallel "i" %i = {head} {{
        loop.store %v, %A[%i] : memref<99xi32>
      }}
      func.return
    }}
    """
    assert expected in applied(program, Simplify("f"))


def test_the_variable_of_at_most_one_iteration_is_what_it_begins_with() -> None:
    program = """
    func.func @f(%A: memref<9x9xi32>, %B: memref<9x9xi32>, %v: i32) {
      loop.for serial "i" %i = 0 to 9 {
        loop.for serial "j" %j = 3 to min(%i, 4) {
          loop.store %v, %A[%i, %j] : memref<9x9xi32>
        }
        loop.for serial "k" %k = 3 to min(%i, 5) {
          loop.store %v, %B[%i, %k] : memref<9x9xi32>
        }
      }
      func.return
    }
    """
    text = applied(program, Simplify("f"))
    assert "%j = 3 to min(%i, 4)" in text and "%A[%i, 3]" in text and "%B[%i, %k]" in text


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("%i >= 0", None),
        ("%i - 3 <= 0, %i >= 0", "%i - 3 <= 0"),
        ("%i - %n >= 0", "%i - %n >= 0"),
        ("%i - %j + 9 >= 0", None),
        ("%i mod 2 == 0, %i + 1 >= 0", "%i mod 2 == 0"),
    ],
)
def test_conditions(condition: str, expected: str | None) -> None:
    program = f"""
    func.func @f(%A: memref<99xi32>, %B: memref<99xi32>, %n: index, %v: i32) {{
      loop.for serial "i" %i = 0 to 9 {{
        loop.for serial "j" %j = 0 to 9 {{
          loop.if ({condition}) {{
            loop.store %v, %A[%i] : memref<99xi32>
          }}
          loop.store %v, %B[%i] : memref<99xi32>
        }}
      }}
      func.return
    }}
    """
    text = applied(program, Simplify("f"))
    assert ("loop.if" not in text) if expected is None else f"loop.if ({expected})" in text


def test_a_condition_with_a_value_gives_the_branch_that_is_taken() -> None:
    program = """
    func.func @f(%A: memref<99xi32>, %v: i32, %w: i32) {
      loop.for parallel "i" %i = 0 to 9 {
        %x = loop.if (%i - 9 >= 0) -> (i32) { loop.yield %v : i32 } else { loop.yield %w : i32 }
        loop.store %x, %A[%i] : memref<99xi32>
      }
      func.return
    }
    """
    assert "loop.store %w, %A[%i]" in applied(program, Simplify("f"))


def test_loops_of_one_and_of_no_iteration() -> None:
    program = """
    func.func @f(%A: memref<99xi32>, %n: index, %v: i32) {
      loop.for parallel "i" %i = %n to %n + 1 {
        loop.for parallel "none" %z = %i to min(%i, 5) {
          loop.store %v, %A[%z] : memref<99xi32>
        }
        loop.store %v, %A[%i + 1] : memref<99xi32>
      }
      loop.for parallel "maybe" %m = 0 to min(1, %n) {
        loop.store %v, %A[%m] : memref<99xi32>
      }
      func.return
    }
    """
    text = applied(program, Simplify("f"))
    assert "loop.store %v, %A[%n + 1]" in text
    assert '"i"' not in text and '"none"' not in text and '"maybe"' in text


def test_values_that_are_not_affine_are_left_alone() -> None:
    program = """
    func.func @f(%A: memref<99xi32>, %N: memref<9xindex>, %v: i32) {
      loop.for serial "i" %i = 0 to 9 {
        %m = loop.load %N[%i] : memref<9xindex>
        loop.for serial "j" %j = max(0, %m) to min(9, %m + 4) {
          loop.if (%m - 1 >= 0) {
            loop.store %v, %A[%j] : memref<99xi32>
          }
        }
      }
      func.return
    }
    """
    text = applied(program, Simplify("f"))
    assert "max(0, %m) to min(9, %m + 4)" in text and "%m - 1 >= 0" in text


@settings(max_examples=24, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_nests(seed: int) -> None:
    def steps(random: Random, name: str) -> list[Step]:
        first = [
            Split(f"f/{name}", random.randint(2, 4), tail=random.choice(("guard", "peel"))),
            Peel(f"f/{name}", 1, 1),
            IndexSetSplit(f"f/{name}", "n - 3"),
            Reverse(f"f/{name}"),
        ]
        return [random.choice(first), Simplify("f")]

    check_random_nest(seed, steps)


def _loops(*heads: str) -> str:
    """Loops in each other, and a store in the innermost of them."""
    names = "ijk"[: len(heads)]
    lines = [f'loop.for serial "{n}" %{n} = {h} {{' for n, h in zip(names, heads, strict=True)]
    access = f"%A[{', '.join(f'%{n}' for n in names)}] : memref<{'99x' * len(heads)}i32>"
    return (
        f"func.func @f(%A: memref<{'99x' * len(heads)}i32>, %v: i32) {{\n"
        + "\n".join([*lines, f"loop.store %v, {access}", *("}" for _ in heads)])
        + "\nfunc.return\n}"
    )


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        # What is so in the first and the last iterations around is not so in those between.
        (("0 to 3", "0 to min(%i + 1, -%i + 3)"), '"j"'),
        (("0 to 3", "0 to min(%i, -%i + 2)"), '"j"'),
        (("0 to 5", "0 to min(%i * 2 + 2, -%i * 2 + 10, 5)"), "min(%i * 2 + 2, %i * -2 + 10, 5)"),
        (("0 to 5", "0 to min(%i * 2 + 2, -%i * 2 + 10, 6)"), "min(%i * 2 + 2, %i * -2 + 10) {"),
        # Plain loops of one iteration, and of more.
        (("0 to 4 step 4",), None),
        (("0 to 5 step 4",), '"i"'),
    ],
)
def test_loops_that_corners_do_not_decide(heads: tuple[str, ...], expected: str | None) -> None:
    text = applied(_loops(*heads), Simplify("f"))
    assert "loop.for" not in text if expected is None else expected in text


def _nest_of(text: str) -> Nest:
    module = parse_text(text, "<text>")
    return Nests(module).resolve("f/")[0]


def test_what_is_settled_is_looked_at_again_when_the_loops_around_it_have_changed() -> None:
    nest = _nest_of(_loops("0 to 9", "0 to min(4, -%i + 9)"))
    SimplifyPlan(nest).apply()
    outer, inner = nest.loops()
    assert "min(4, -%i + 9)" in str(nest.function)
    assert nest.simplified(inner, nest.frames.of(inner.parent_block()))
    set_bounds(outer, ([constant_expr(0)], ()), ([constant_expr(5)], ()))
    nest.invalidate()
    assert not nest.simplified(inner, nest.frames.of(inner.parent_block()))
    SimplifyPlan(nest).apply()
    assert "%j = 0 to 4" in str(nest.function)


@pytest.mark.parametrize("changes_operands", [False, True])
def test_what_is_settled_is_looked_at_again_when_it_has_changed_itself(
    changes_operands: bool,
) -> None:
    nest = _nest_of(_loops("0 to 9", "0 to 4", "%i to %i + 2"))
    SimplifyPlan(nest).apply()
    _, middle, inner = nest.loops()
    frame = nest.frames.of(inner.parent_block())
    assert nest.simplified(inner, frame)
    if changes_operands:
        inner.operands = [middle.induction_variable] * 2
    else:
        inner.upper_map = map_attribute(AffineMap(1, 0, (dim_expr(0) + 3, dim_expr(0) + 5)))
    assert not nest.simplified(inner, frame)
    SimplifyPlan(nest).apply()
    assert ("%k = %j to %j + 2" if changes_operands else "%k = %i to %i + 3") in str(nest.function)


def test_only_a_map_that_is_plain_is_taken_for_plain_wherever_it_stands() -> None:
    """A map is known by its identity, and kept, so that no other one has it."""
    nest = _nest_of(_loops("0 to 9", "%i to %i + %i - %i + 2"))
    outer, inner = nest.loops()
    frame = nest.frames.of(inner.parent_block())
    assert not tidy_operation(nest, outer, nest.frames.outermost)
    assert tidy_operation(nest, inner, frame)
    assert "%j = %i to %i + 2" in str(nest.function)
    (store,) = (op for op in nest.operations() if isinstance(op, loop.StoreOp))
    assert not tidy_operation(nest, store, nest.frames.of(store.parent_block()))
    maps = [store.map, outer.lower_map, outer.upper_map]
    assert all(nest.plain_maps[id(map_)] is map_ for map_ in maps)


def test_what_a_change_inside_allows_is_done_at_once() -> None:
    """A loop of one iteration leaves a condition alone in the loop around it, which takes it into its bounds then."""
    program = """
    func.func @f(%A: memref<99xi32>, %v: i32) {
      loop.for parallel "i" %i = 0 to 64 {
        loop.for parallel "j" %j = 3 to 4 {
          loop.if (%i - %j >= 0) {
            loop.store %v, %A[%i] : memref<99xi32>
          }
        }
      }
      func.return
    }
    """
    text = applied(program, Simplify("f"))
    assert "%i = 3 to 64" in text
    assert "loop.if" not in text


def test_conditions_that_come_together_become_one() -> None:
    """What stood between two equal conditions never runs."""
    program = """
    func.func @f(%A: memref<99xi32>, %n: index, %v: i32) {
      loop.for serial "i" %i = 0 to 64 {
        loop.if (%n - %i >= 0) {
          loop.store %v, %A[%i] : memref<99xi32>
        }
        loop.for serial "j" %j = %i to %i {
          loop.store %v, %A[%j] : memref<99xi32>
        }
        loop.if (%n - %i >= 0) {
          loop.store %v, %A[%i + 1] : memref<99xi32>
        }
        loop.store %v, %A[%i + 2] : memref<99xi32>
      }
      func.return
    }
    """
    assert applied(program, Simplify("f")).count("loop.if") == 1
