"""Two vector loops that read along one and write along the other: the shuffles, and what they compute."""

from __future__ import annotations

import numpy as np
import pytest
from stepwell.analysis.levels import Level
from stepwell.analysis.signature import entry_function
from stepwell.analysis.turned import pieces, powers_of_two
from stepwell.analysis.verify import verify
from stepwell.driver.options import Options
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret, random_inputs
from stepwell.runtime.jit import compile_module

EXTENTS = range(1, 34)
BODY = "%x = loop.load %X[%q, %p] : {X}"


def copies(p: int, rows: tuple[int, ...], type_: str = "f32", body: str = BODY) -> str:
    """For each number of rows a nest that copies `p` lanes of so many rows."""
    buffers = [(f"memref<{q}x{p}x{type_}>", f"memref<{p}x{q}x{type_}>") for q in rows]
    arguments = ", ".join(f"%X{n}: {x}, %Y{n}: {y}" for n, (x, y) in enumerate(buffers))
    nests = [
        f"""
  loop.for parallel vector "p{n}" %p = 0 to {p} {{
    loop.for parallel vector "q{n}" %q = 0 to {q} {{
      {body.replace("{X}", x).replace("%X", f"%X{n}")}
      loop.store %x, %Y{n}[%p, %q] : {y}
    }}
  }}"""
        for n, (q, (x, y)) in enumerate(zip(rows, buffers, strict=True))
    ]
    return f"func.func @f({arguments}) {{{''.join(nests)}\n  func.return\n}}"


def check(text: str, *, native: bool = True) -> str:
    """The text at core level, which computes what it does as loops; natively too."""
    module = parse_text(text, "transposed.mlir")
    inputs = random_inputs(entry_function(module, "f"), 0)
    expected = interpret(module, inputs, "f")
    lower_to(module, Level.CORE)
    verify(module)
    core = str(module)
    _compare(interpret(module, inputs, "f"), expected)
    if native:
        lower_to(module, Level.LLVM, Options(fp="strict"))  # as the interpreter computes
        arrays = [np.array(value) for value in inputs]
        compile_module(module, entry="f")(*arrays)
        _compare(arrays, expected)
    return core


def _compare(found: object, expected: object) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("p", EXTENTS)
def test_extents(p: int) -> None:
    rows = tuple(q for q in EXTENTS if q % 17 == p % 17)
    core = check(copies(p, rows), native=p in (3, 8, 13, 16))
    assert "scf.for" not in core or p == 33
    blocks = (block for q in rows for n in powers_of_two(p) for block in pieces(q, n, min(4, n)))
    has_row_alone = any(1 in block for block in blocks)  # whose elements are loaded one by one
    assert ("memref.load" in core) == has_row_alone or p == 33


@pytest.mark.parametrize("type_", ["f32", "f64", "i8", "i32", "i64", "i1"])
@pytest.mark.parametrize("p", [8, 21])
def test_types(type_: str, p: int) -> None:
    core = check(copies(p, (4, 14, 16), type_))
    assert "vector.shuffle" in core
    assert "memref.load" not in core


def guarded(conditions: str) -> str:
    return f"""%x = loop.if ({conditions}) -> (f32) {{
        %a = loop.load %X[%q, %p] : {{X}}
        loop.yield %a : f32
      }} else {{
        %z = arith.constant 7.0 : f32
        loop.yield %z : f32
      }}"""


@pytest.mark.parametrize("p", [1, 4, 13])
@pytest.mark.parametrize("q", [2, 7])
@pytest.mark.parametrize(
    "conditions", ["2 - %p >= 0", "%q - 1 >= 0", "5 - %q - %p >= 0", "8 - %p >= 0, 3 - %q >= 0"]
)
def test_guards(p: int, q: int, conditions: str) -> None:
    core = check(copies(p, (q,), body=guarded(conditions)), native=p == 13)
    assert "scf.if" not in core
    assert "memref.load" not in core


def test_guard_reads_nothing_beyond() -> None:
    """The masked lanes' elements do not exist."""
    text = copies(13, (6,), body=guarded("8 - %p >= 0, 3 - %q >= 0"))
    check(text.replace("memref<6x13xf32>", "memref<4x9xf32>"))


def test_guard_around_the_store() -> None:
    body = "loop.if (9 - %p >= 0, 12 - %q >= 0) {" + BODY
    text = copies(16, (14,), body=body).replace(
        "%q] : memref<16x14xf32>", "%q] : memref<16x14xf32> }"
    )
    core = check(text)
    assert "vector.maskedload" in core
    assert "vector.maskedstore" in core
    assert "vector.shuffle" in core


def test_arithmetic_between() -> None:
    """With another operand along the inner loop, one that is the same, and the variables themselves."""
    body = """%a = loop.load %X[%q, %p] : {X}
      %b = loop.load %Y0[%p, %q] : memref<9x14xf32>
      %c = loop.load %X[0, 0] : {X}
      %d = arith.mulf %a, %b : f32
      %i = affine.apply affine_map<(d0, d1) -> (d0 * 3 - d1)> (%p, %q)
      %e = arith.index_cast %i : index to i32
      %f = arith.sitofp %e : i32 to f32
      %g = arith.addf %d, %c : f32
      %x = arith.addf %g, %f : f32"""
    core = check(copies(9, (14,), body=body))
    assert "vector.shuffle" in core


@pytest.mark.parametrize(("p", "q"), [(8, 8), (14, 9)])
def test_what_rows_and_columns_use_is_computed_for_both(p: int, q: int) -> None:
    """The square of `%b` is a vector of the outer loop's lanes where rows use it, and one number where a column does."""
    body = """%a = loop.load %X[%q, %p] : {X}
      %b = loop.load %Z[%p, 0] : memref<PLACESx1xf32>
      %c = arith.mulf %b, %b : f32
      %d = arith.addf %a, %c : f32
      %e = loop.load %X[0, %q] : {X}
      %f = arith.mulf %e, %c : f32
      %x = arith.addf %d, %f : f32"""
    text = copies(p, (q,), body=body).replace("(%X0", "(%Z: memref<PLACESx1xf32>, %X0")
    check(text.replace("PLACES", str(p)))


def test_what_nothing_uses() -> None:
    """Of what is loaded across the lanes, nothing is used."""
    check(copies(8, (9,), body=f"{BODY.replace('%x', '%a')}\n      %x = arith.constant 1.0 : f32"))


def test_bounds_that_move() -> None:
    """Lanes that start elsewhere in each iteration of a loop around, with steps."""
    check("""
func.func @f(%X: memref<40x40xi32>, %Y: memref<40x40xi32>) {
  loop.for parallel "t" %t = 0 to 3 {
    loop.for parallel vector "p" %p = %t * 8 to %t * 8 + 7 {
      loop.for parallel vector "q" %q = %t * 3 + 1 to %t * 3 + 22 step 4 {
        %x = loop.load %X[%q, %p + 2] : memref<40x40xi32>
        loop.store %x, %Y[%p, %q floordiv 40 + %t] : memref<40x40xi32>
      }
    }
    loop.for parallel vector "r" %r = %t * 8 to %t * 8 + 7 {
      loop.for parallel vector "s" %s = %t * 3 + 1 to %t * 3 + 7 {
        %x = loop.load %X[%s * 2, %r + 2] : memref<40x40xi32>
        loop.store %x, %Y[%r, %s] : memref<40x40xi32>
      }
    }
  }
  func.return
}""")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('parallel vector "p0"', 'serial vector "p0"'),
        ('parallel vector "q0"', 'parallel "q0"'),
        ("%X0[%q, %p]", "%X0[%q * 0, %p * 0]"),
        ("%Y0[%p, %q]", "%Y0[%q, %p]"),
    ],
)
def test_others_stay_loops(old: str, new: str) -> None:
    text = copies(8, (8,)).replace(old, new)
    assert text != copies(8, (8,))
    assert "scf.for" in check(text)
