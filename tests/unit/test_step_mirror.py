"""Products of a matrix with itself, of which what is on and below the diagonal is computed, and the rest copied."""

import numpy as np
import pytest
import stepwell as sw
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import Mirror, Parallel, Reorder, Split, Vectorize

from .loop_nests import check_extents, reason

GRAM = """
func.func @f(%A: memref<7x{n}xi32> {stepwell.noalias}, %C: memref<{n}x{n}xi32> {stepwell.noalias}) {
  %zero = arith.constant 0 : i32
  loop.for parallel "i" %i = 0 to {n} {
    loop.for parallel "j" %j = 0 to {n} {
      loop.store %zero, %C[%i, %j] : memref<{n}x{n}xi32>
      loop.for reduction "k" %k = 0 to 7 {
        %a = loop.load %A[%k, %i] : memref<7x{n}xi32>
        %b = loop.load %A[%k, %j] : memref<7x{n}xi32>
        %p = arith.muli %a, %b : i32
        %c = loop.load %C[%i, %j] : memref<{n}x{n}xi32>
        %s = arith.addi %c, %p : i32
        loop.store %s, %C[%i, %j] : memref<{n}x{n}xi32>
      }
    }
  }
  func.return
}
"""
"""`C = A.T @ A`."""

COLUMNS = Split("f/j", 4, "j.tile", "j.column")


@pytest.mark.parametrize(
    "steps",
    [
        (Mirror("f/j"),),
        (Reorder("f/i", ("j", "i")), Mirror("f/i")),
        (COLUMNS, Mirror("f/j.tile"), Vectorize("f/j.column", 4)),
        (
            Split("f/i", 3, "i.tile", "i.row"),
            COLUMNS,
            Reorder("f/i.tile", ("j.tile", "i.tile", "i.row", "j.column")),
            Mirror("f/i.tile"),
            Parallel("f/j.tile"),
        ),
    ],
    ids=["columns", "rows", "tiles of columns", "tiles"],
)
def test_the_matrix_stays_what_it_is(steps: tuple[Step, ...]) -> None:
    check_extents(GRAM, *steps, extents=(5, 11))


def _without(line: str) -> str:
    assert line in GRAM
    return GRAM.replace(line, "")


INIT = "      loop.store %zero, %C[%i, %j] : memref<{n}x{n}xi32>\n"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (_without(INIT), "adds to '%C' in 1 statements, and it begins with 0 numbers"),
        (
            GRAM.replace(INIT, INIT + INIT.replace("%zero", "%seven")).replace(
                "  %zero", "  %seven = arith.constant 7 : i32\n  %zero"
            ),
            "it begins with 2 numbers, expected one of each",
        ),
        (GRAM.replace("%A[%k, %j]", "%A[%k, 0]"), "adds other products to elements below the diagonal"),
        (GRAM.replace("arith.muli", "arith.subi"), "adds no products of two elements"),
        (
            GRAM.replace("        %a = loop.load %A[%k, %i]", "        %unused = loop.load %A[%k, %i]").replace(
                "      loop.for reduction", "      %a = loop.load %A[0, %i] : memref<7x{n}xi32>\n      loop.for reduction"
            ),
            "multiplies what is loaded outside of it",
        ),
        (GRAM.replace("%A[%k, %i]", "%A[0, %i]").replace("%A[%k, %j]", "%A[0, %j]"), "more than once"),
        (GRAM.replace("0 to {n} {\n    loop.for parallel \"j\" %j = 0 to {n}", "0 to {n} {\n    loop.for parallel \"j\" %j = 1 to {n}"), "below the diagonal than above it"),
        (
            GRAM.replace("        loop.store %s", "        loop.store %p, %C[%j, %i] : memref<{n}x{n}xi32>\n        loop.store %s"),
            "is not all that the",
        ),
    ],
)  # fmt: skip
def test_refusals(program: str, expected: str) -> None:
    assert expected in reason(program.replace("{n}", "9"), Mirror("f/j"))


@pytest.mark.parametrize(
    ("dtype", "shape", "is_left"),
    [
        (np.float64, (70, 33), True),
        (np.float64, (50, 64), False),
        (np.float32, (200, 97), True),
    ],
)
def test_products_with_themselves_by_rule(
    dtype: type, shape: tuple[int, int], is_left: bool
) -> None:
    def gram(a):
        return (a.T @ a if is_left else a @ a.T) / 3 + a[0, 0]

    a = np.random.default_rng(0).uniform(-1, 1, shape).astype(dtype)
    low = sw.jit(gram, target="zen5").lower(a)
    assert "mirrors C" in str(low.plan())
    found, tolerance = sw.jit(gram)(a), 1e-5 if dtype is np.float32 else 1e-13
    np.testing.assert_allclose(found, gram(a), rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(found, found.T)
