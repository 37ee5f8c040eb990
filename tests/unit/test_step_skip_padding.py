"""Loops without the iterations in which a reduction joins padding alone."""

import numpy as np
import pytest
from stepwell.analysis.levels import Level
from stepwell.dialects.schedule.steps import SkipPadding, Split, Stage
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.runtime.jit import compile_module
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import apply
from stepwell.transforms.step_support.refusal import Refusal

from .loop_nests import applied, check_extents, reason

WINDOW = """
func.func @f(%A: memref<{n}x{n}xi32>, %w: memref<3x2xi32>, %B: memref<{n}x{n}xi32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to {n} {
    loop.for parallel "j" %j = 0 to {n} {
      loop.for reduction "k" %k = 0 to 3 {
        loop.for reduction "l" %l = 0 to 2 {
          %a = loop.if (2 * %i + %k - 1 >= 0, -2 * %i - %k + {n} >= 0, %j - 2 * %l >= 0) -> (i32) {
            %0 = loop.load %A[2 * %i + %k - 1, %j - 2 * %l] : memref<{n}x{n}xi32>
            loop.yield %0 : i32
          } else {
            %1 = arith.constant 0 : i32
            loop.yield %1 : i32
          }
          %b = loop.load %w[%k, %l] : memref<3x2xi32>
          %p = arith.muli %a, %b : i32
          %c = loop.load %B[%i, %j] : memref<{n}x{n}xi32>
          %s = arith.addi %c, %p : i32
          loop.store %s, %B[%i, %j] : memref<{n}x{n}xi32>
        }
      }
    }
  }
  func.return
}
"""


@pytest.mark.parametrize("loop", ["k", "l", "i"])
def test_extents(loop: str) -> None:
    """Loops over the window, and over the result: what is left out would have added nothing."""
    check_extents(WINDOW, SkipPadding(f"f/{loop}"), extents=(3, 5, 7, 17, 31, 33))


def test_loops_over_the_window_and_inside_of_tiles() -> None:
    """Bounds of a tile's loops are taken, whichever of them says more."""
    tiles = Split("f/i", 4), SkipPadding("f/k"), SkipPadding("f/i.inner"), SkipPadding("f/l")
    check_extents(WINDOW, *tiles, extents=(3, 5, 7, 17, 31, 33))


def test_bounds_follow_from_conditions() -> None:
    text = applied(WINDOW.replace("{n}", "9"), SkipPadding("f/k"), SkipPadding("f/l"))
    assert '"k" %k = max(0, %i * -2 + 1) to min(3, %i * -2 + 10)' in text
    assert '"l" %l = 0 to min(2, %j floordiv 2 + 1)' in text


def row(
    *,
    weights: str = "{stepwell.constant, stepwell.finite}",
    combine: str = "arith.addf %c, %p fastmath<reassoc>",
    outside: str = "0.0",
    product: str = "arith.mulf %a, %b",
    bounds: str = "0 to 3",
    more: str = "",
) -> str:
    return f"""
        func.func @f(%A: memref<9xf32>, %w: memref<3xf32> {weights}, %B: memref<9xf32>) attributes {{stepwell.noalias}} {{
          loop.for parallel "i" %i = 0 to 9 {{
            loop.for serial "k" %k = {bounds} {{
              %a = loop.if (%i + %k - 1 >= 0, -%i - %k + 9 >= 0) -> (f32) {{
                %0 = loop.load %A[%i + %k - 1] : memref<9xf32>
                loop.yield %0 : f32
              }} else {{
                %1 = arith.constant {outside} : f32
                loop.yield %1 : f32
              }}
              %b = loop.load %w[%k] : memref<3xf32>
              %p = {product} : f32
              %c = loop.load %B[%i] : memref<9xf32>
              %s = {combine} : f32
              loop.store %s, %B[%i] : memref<9xf32>
              {more}
            }}
          }}
          func.return
        }}"""


def test_copies_of_finite_numbers() -> None:
    """Of a copy it is asked what is stored in it."""
    for at, pad in (("", 0), ("i", 4)):
        text = applied(row(), Stage("f/w", at, into="w1", pad=pad), SkipPadding("f/k"))
        assert "w1" in text and '"k" %k = max(0, -%i + 1) to min(3, -%i + 10)' in text
    with pytest.raises(Refusal, match="is not known to leave a result as it is"):
        applied(row(weights=""), Stage("f/w", "i"), SkipPadding("f/k"))


NOT_KNOWN = "is not known to leave a result as it is where a read is outside of its buffer"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (row(weights="{stepwell.constant}"), NOT_KNOWN),
        (row(outside="1.0"), NOT_KNOWN),
        (row(product="arith.addf %a, %b"), NOT_KNOWN),
        (row(combine="arith.maximumf %c, %p"), NOT_KNOWN),
        (row(combine="arith.addf %c, %p"), "updates nothing by a reduction that may be reordered"),
        (row(more="loop.store %p, %B[%i] : memref<9xf32>"), "has 2 stores, expected one"),
        (row(bounds="0 to 3 step 2"), "loop 'k' counts by more than 1"),
        (row(bounds="1 to 2"), "no iteration of loop 'k' reads outside of a buffer alone"),
    ],
)
def test_refusals(program: str, expected: str) -> None:
    assert expected in reason(program, SkipPadding("f/k"))


@pytest.mark.parametrize(
    "program",
    [
        row(),
        row(weights="", product="arith.mulf %a, %b fastmath<nnan,ninf>"),
        row(weights="", combine="arith.maximumf %c, %a", outside="0xFF800000"),
    ],
)
def test_products_with_finite_numbers_and_identities(program: str) -> None:
    """Whatever makes the term leave the result as it is, results are those of before, natively and in the interpreter."""
    module = parse_text(program, "row.mlir")
    rng = np.random.default_rng(3)
    given = [rng.integers(-9, 9, n).astype(np.float32) for n in (9, 3, 9)]
    expected = interpret(module, given)[2]
    apply(SkipPadding("f/k"), Nests(module))
    assert '"k" %k = max(0, -%i + 1) to min(3, -%i + 10)' in str(module)
    np.testing.assert_array_equal(interpret(module, given)[2], expected)
    lower_to(module, Level.LLVM)
    compile_module(module)(*given)
    np.testing.assert_array_equal(given[2], expected)
