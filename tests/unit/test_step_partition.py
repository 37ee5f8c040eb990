"""A loop as the iterations that meet all conditions inside of it, and those before and behind them."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import Partition

from .loop_nests import applied, check_extents, check_random_nest, reason

PADDED = """
func.func @f(%A: memref<{n}x{n}xi32>, %w: memref<3x2xi32>, %B: memref<{n}x{n}xi32> {stepwell.result}) {
  %zero = arith.constant 0 : i32
  loop.for parallel "i.init" %i = 0 to {n} {
    loop.for parallel "j.init" %j = 0 to {n} {
      loop.store %zero, %B[%i, %j] : memref<{n}x{n}xi32>
    }
  }
  loop.for parallel "i" %i = 0 to {n} {
    loop.for parallel "j" %j = 0 to {n} {
      loop.for reduction "k" %k = 0 to 3 {
        loop.for reduction "l" %l = 0 to 2 {
          %a = loop.if (%i + %k - 1 >= 0, -%i - %k + {n} >= 0, %j - 2 * %l >= 0) -> (i32) {
            %0 = loop.load %A[%i + %k - 1, %j - 2 * %l] : memref<{n}x{n}xi32>
            loop.yield %0 : i32
          } else {
            %1 = arith.constant 7 : i32
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


def test_extents() -> None:
    steps = Partition("f/i"), Partition("f/j")
    check_extents(PADDED, *steps, extents=(3, 4, 5, 9, 17))
    check_extents(
        PADDED, *steps[:1], extents=(1, 2)
    )  # too small for iterations inside of the border


def test_iterations_inside_have_no_condition() -> None:
    text = applied(PADDED.replace("{n}", "9"), Partition("f/i"), Partition("f/j"))
    inside = text[text.index('"i" ') : text.index('"i.back"')]
    assert '"i" %i_2 = 1 to 8' in inside
    assert "loop.if" not in inside[inside.index('"j" ') :]
    assert "(%j" in inside[: inside.index('"j" ')], "the border along j keeps what it asks of j"


def nest(conditions: str, *, bounds: str = "0 to 9", inner: str = "0 to 3") -> str:
    return f"""
        func.func @f(%A: memref<64xi32>, %v: i32, %n: index, %m: index) {{
          loop.for serial "i" %i = {bounds} {{
            loop.for serial "j" %j = {inner} {{
              loop.if ({conditions}) {{
                loop.store %v, %A[%i + %j] : memref<64xi32>
              }}
            }}
          }}
          func.return
        }}"""


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (nest("%j - 1 >= 0"), "no condition inside of loop 'i' depends on it"),
        (nest("%i + %j >= 0"), "all conditions on loop 'i' hold in all of its iterations"),
        (nest("%i - %j == 0"), "is an equation, which no range of iterations meets"),
        (nest("%i mod 2 - 1 >= 0"), "a condition inside of loop 'i' is not linear in it"),
        (nest("%i - %n >= 0, %i - %m >= 0"), "it is not known which is first"),
        (
            nest("%i - %j >= 0", inner="0 to min(3, %n)"),
            "depends on loop 'j', whose bounds are several",
        ),
        (nest("%i - %j >= 0", bounds="0 to 9 step 2"), "loop 'i' counts by more than 1"),
    ],
)
def test_loops_that_have_no_such_parts(program: str, expected: str) -> None:
    assert expected in reason(program, Partition("f/i"))


@pytest.mark.parametrize(
    ("condition", "interior"),
    [
        ("%i - %n >= 0", "max(0, %n) to 9"),
        ("2 * %i + %j - 5 >= 0", "3 to 9"),
        ("-2 * %i - %j + 9 >= 0", "0 to 4"),
        ("%i - %j <= 3", "0 to 4"),
    ],
)
def test_where_conditions_begin_and_cease_to_hold(condition: str, interior: str) -> None:
    assert (
        f'"i" %i{"_1" if "- 5" in condition or "n" in condition else ""} = {interior}'
        in applied(nest(condition), Partition("f/i"))
    )


@settings(max_examples=24, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_nests(seed: int) -> None:
    def steps(random: Random, name: str) -> list[Step]:
        return [Partition(f"f/{name}")]

    check_random_nest(seed, steps)
