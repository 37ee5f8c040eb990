"""Loads that fill vectors, by pointers that advance with a loop: what they load, and which loops have them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.frontend.text import parse_text
from stepwell.lowering.core_to_llvm import lowered_to_llvm
from stepwell.runtime.jit import compile_module

HIDDEN = re.compile(r'llvm.inline_asm "", "=r,0"')


def tile(
    rows: int,
    *,
    lanes: int = 16,
    step: int = 1,
    factor: int = 1,
    source: str = "%a",
    type_: str = "memref<16x48xf32>",
    indices: str = "%at, %column",
    before: str = "",
    inside: str = "",
    twice: str = "",
) -> str:
    """
    `c[i, :] += a[first + i, factor * (lower + k)]` for k up to `%upper`, with the loop over i written out; `twice` is what else is done with
    the vector `%xs` that is added.
    """
    numbers = "".join(f"%c{n} = arith.constant {n} : index\n" for n in {0, 1, rows, step, factor})
    vector = f"vector<{lanes}xf32>"
    return f"""
    func.func @main(%a: memref<16x48xf32>, %c: memref<16x{lanes}xf32>, %first: index, %lower: index, %upper: index) {{
      {numbers}{before}
      scf.for %k = %c0 to %upper step %c{step} {{
        %from = arith.addi %k, %lower : index
        %column = arith.muli %from, %c{factor} : index
        {inside}
        scf.for %i = %c0 to %c{rows} step %c1 {{
          %at = arith.addi %i, %first : index
          %x = memref.load {source}[{indices}] : {type_}
          %xs = vector.broadcast %x : f32 to {vector}
          %sum = vector.load %c[%i, %c0] : memref<16x{lanes}xf32>, {vector}
          %new = arith.addf %sum, %xs : {vector}
          vector.store %new, %c[%i, %c0] : memref<16x{lanes}xf32>, {vector}
          {twice}
        }} {{stepwell.mode = "unroll"}}
      }}
      func.return
    }}"""


def in_registers(text: str, lanes: int) -> str:
    """With the sums in a buffer of the function's own, which is copied to `%c` at the end."""
    vector = f"vector<{lanes}xf32>"
    sums = f"%t = memref.alloca() : memref<16x{lanes}xf32>\n%rows = arith.constant 16 : index\n"
    copies = [
        f"""scf.for %r = %c0 to %rows step %c1 {{
          %moved = vector.load {one}[%r, %c0] : memref<16x{lanes}xf32>, {vector}
          vector.store %moved, {other}[%r, %c0] : memref<16x{lanes}xf32>, {vector}
        }}
        """
        for one, other in (("%c", "%t"), ("%t", "%c"))
    ]
    text = text.replace("%c[%i,", "%t[%i,").replace("func.return", copies[1] + "func.return")
    return text.replace("scf.for %k", sums + copies[0] + "scf.for %k")


def pointers(text: str, bits: int = 512, *, own_loads: bool = False) -> int:
    """How many there are."""
    lowered = lowered_to_llvm(parse_text(text), vector_bits=bits, own_loads=own_loads)
    return len(HIDDEN.findall(str(lowered)))


ADDED_AGAIN = """
%sum_2 = vector.load %c[%i, %c0] : memref<16x16xf32>, vector<16xf32>
%new_2 = arith.addf %sum_2, %xs : vector<16xf32>
vector.store %new_2, %c[%i, %c0] : memref<16x16xf32>, vector<16xf32>
"""


@settings(max_examples=30, deadline=None)
@given(
    rows=st.integers(1, 9),
    lanes=st.sampled_from([16, 32]),
    step=st.integers(1, 3),
    factor=st.integers(1, 3),
    first=st.integers(0, 7),
    lower=st.integers(0, 3),
    count=st.integers(0, 12),
    own_loads=st.booleans(),
    twice=st.booleans(),
)
def test_they_load_what_indices_say(
    rows: int,
    lanes: int,
    step: int,
    factor: int,
    first: int,
    lower: int,
    count: int,
    own_loads: bool,
    twice: bool,
):
    lanes = 16 if twice else lanes
    text = tile(rows, lanes=lanes, step=step, factor=factor, twice=ADDED_AGAIN if twice else "")
    text = in_registers(text, lanes)
    lowered = lowered_to_llvm(parse_text(text), threads=1, vector_bits=512, own_loads=own_loads)
    a = np.random.default_rng(0).random((16, 48), np.float32)
    c = np.zeros((16, lanes), np.float32)
    compile_module(lowered)(a, c, first, lower, count)
    columns = factor * (lower + np.arange(0, count, step))
    expected = np.zeros_like(c)
    expected[:rows] = (1 + twice) * a[first : first + rows, columns].sum(1)[:, None]
    np.testing.assert_allclose(c, expected, rtol=1e-6)


def test_one_for_loads_that_numbers_are_between():
    assert pointers(tile(8)) == 1
    assert (
        pointers(tile(8), 256) == pointers(tile(8), 0) == 0
    )  # there are no operands for all lanes
    assert pointers(tile(3)) == 0  # they would save little
    assert pointers(tile(8, lanes=8)) == 0


def test_two_multiply_adds_have_one_each_where_loads_are_to_spare():
    wide, twice = tile(8, lanes=32), tile(8, twice=ADDED_AGAIN)
    assert pointers(wide) == pointers(twice) == 0
    assert pointers(wide, own_loads=True) == 0  # sums are loaded as well
    wide, twice = in_registers(wide, 32), in_registers(twice, 16)
    assert pointers(wide) == pointers(twice) == 0
    assert pointers(wide, own_loads=True) == pointers(twice, own_loads=True) == 2
    hint = "memref.prefetch %a[%c{}, %k], read, locality<3>, data : memref<16x48xf32>"
    hints = "\n".join(map(hint.format, (0, 1)))
    asking = wide.replace("scf.for %i", f"{hints}\nscf.for %i")
    assert pointers(asking, own_loads=True) == 0
    to_l2 = asking.replace("locality<3>", "locality<2>")
    assert pointers(to_l2, own_loads=True) == 2
    thrice = in_registers(tile(8, twice=ADDED_AGAIN + ADDED_AGAIN.replace("_2", "_3")), 16)
    assert pointers(thrice, own_loads=True) == 0


@pytest.mark.parametrize(
    "text",
    [
        tile(8, indices="%at, %c0"),
        tile(8, indices="%at, %other", inside="%other = arith.divui %k, %c8 : index"),
        tile(
            8,
            source="%view",
            type_="memref<16x48xf32, strided<[48, 1], offset: ?>>",
            inside="%view = memref.subview %a[%c0, %k] [16, 48] [1, 1] : memref<16x48xf32> to "
            "memref<16x48xf32, strided<[48, 1], offset: ?>>",
        ),
        tile(8).replace(
            "scf.for %k = %c0 to %upper step %c1", "scf.for %k = %c0 to %upper step %first"
        ),
        tile(8).replace('{stepwell.mode = "unroll"}', ""),
        tile(8, lanes=16).replace("memref<16x48xf32>", "memref<16x?xf32>"),
    ],
    ids=["it stays", "a quotient", "a view", "any step", "a loop", "any distance of rows"],
)
def test_loops_without(text: str):
    assert pointers(text) == 0


def test_sums_of_sums_of_themselves():
    sums = "\n".join(f"%s{n + 1} = arith.addi %s{n}, %s{n} : index" for n in range(60))
    text = tile(8, indices="%at, %s60", inside="%s0 = arith.addi %k, %k : index\n" + sums)
    assert pointers(text) == 0


def test_rows_of_any_distance_within_a_panel():
    """The panel's place is not known, its rows are."""
    text = tile(8, indices="%first, %column, %i", type_="memref<?x48x8xf32>").replace(
        "%a: memref<16x48xf32>", "%a: memref<?x48x8xf32>"
    )
    assert pointers(text) == 1
