"""Masked stores of one lane write its element alone."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw
from ml_dtypes import bfloat16
from stepwell.frontend.text import parse_text

LANES = 16


@pytest.mark.parametrize("lane", (0, 5, 15))
@pytest.mark.parametrize(("wide", "narrow"), ((32, 16), (32, 8), (64, 32), (64, 16), (16, 8)))
def test_one_lane_of_a_truncated_vector(wide: int, narrow: int, lane: int) -> None:
    """LLVM 22.1 stores the element as it was before it was truncated, with AVX-512, over the elements behind it."""
    mask = ", ".join(str(n == lane).lower() for n in range(LANES))
    long, short = f"vector<{LANES}xi{wide}>", f"vector<{LANES}xi{narrow}>"
    text = f"""
        func.func @f(%x: memref<{LANES}xi{wide}>, %y: memref<64xi{narrow}>) {{
          %c0 = arith.constant 0 : index
          %m = arith.constant dense<[{mask}]> : vector<{LANES}xi1>
          %v = vector.load %x[%c0] : memref<{LANES}xi{wide}>, {long}
          %t = arith.trunci %v : {long} to {short}
          vector.maskedstore %y[%c0], %m, %t : memref<64xi{narrow}>, vector<{LANES}xi1>, {short}
          func.return
        }}"""
    x = np.arange(-1, LANES - 1, dtype=f"int{wide}")
    y = np.full(64, 77, f"int{narrow}")
    sw.Lowered(parse_text(text, "store.mlir")).compile(threads=1)(x, y)
    assert y[lane] == x[lane]
    assert (np.delete(y, lane) == 77).all()


@pytest.mark.parametrize("lanes", (2, 8, 16, 64))
@pytest.mark.parametrize(("wide", "narrow"), ((64, 32), (64, 16), (32, 16), (32, 8), (16, 8)))
@pytest.mark.parametrize("in_loop", (False, True))
def test_a_mask_of_one_lane_that_llvm_finds(
    wide: int, narrow: int, lanes: int, in_loop: bool
) -> None:
    """Of a constant number of lanes, and of a loop's variable that has one value."""
    long, short = f"vector<{lanes}xi{wide}>", f"vector<{lanes}xi{narrow}>"
    text = f"""
        func.func @f(%x: memref<{lanes}xi{wide}>, %y: memref<80xi{narrow}>) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          scf.for %i = %c1 to %c2 step %c1 {{
            %m = vector.create_mask {"%i" if in_loop else "%c1"} : vector<{lanes}xi1>
            %v = vector.load %x[%c0] : memref<{lanes}xi{wide}>, {long}
            %t = arith.trunci %v : {long} to {short}
            vector.maskedstore %y[%c0], %m, %t : memref<80xi{narrow}>, vector<{lanes}xi1>, {short}
          }}
          func.return
        }}"""
    x = np.arange(-1, lanes - 1, dtype=f"int{wide}")
    y = np.full(80, 77, f"int{narrow}")
    sw.Lowered(parse_text(text, "store.mlir")).compile(threads=1)(x, y)
    assert y[0] == -1
    assert (y[1:] == 77).all()


@pytest.mark.parametrize("columns", (1, 17, 33, 49))
def test_the_last_column_of_a_narrow_product(columns: int) -> None:
    """The memory behind the result is the caller's."""
    a, b = np.ones((65, 63), bfloat16), np.ones((63, columns), bfloat16)
    memory = np.full(65 * columns + 8, 7, bfloat16)
    out = memory[: 65 * columns].reshape(65, columns)
    sw.jit(lambda a, b: a @ b).lower(a, b).compile(threads=1)(a, b, out=out)
    assert (out == 63).all()
    assert (memory[65 * columns :] == 7).all()
