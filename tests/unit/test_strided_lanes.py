"""Lanes whose elements are some way apart in memory."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw
from stepwell.interpreters.harness import interpret

from .vector_loops import check_lanes


@pytest.mark.parametrize("shape", [(31, 3, 1), (33, 8, 1), (17, 7, 1)])
def test_nothing_beyond_the_last_element_is_loaded(shape: tuple[int, ...]):
    """Of lanes far apart, few of which are done together, whole vectors would reach beyond the last one's element."""
    x = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
    module = sw.jit(lambda x: sw.transpose(x, (1, 0, 2)), threads=1).lower(x).module("core")
    (found,) = interpret(module, [x])
    np.testing.assert_array_equal(found, x.transpose(1, 0, 2))


@pytest.mark.parametrize("place", ["%i * 2 ceildiv 2", "%i floordiv 3", "%i mod 4"])
def test_lanes_are_no_neighbours_where_another_subscript_goes_along_unevenly(place: str):
    check_lanes(f"""
func.func @f(%x: memref<9x9xi32>, %y: memref<9x9xi32>) {{
  loop.for parallel vector "i" %i = 0 to 8 {{
    %a = loop.load %x[{place}, %i] : memref<9x9xi32>
    loop.store %a, %y[{place}, %i] : memref<9x9xi32>
  }}
  func.return
}}
""")


@pytest.mark.parametrize("size", [9, 16, 23, 30, 33])
@pytest.mark.parametrize(
    ("apart", "columns", "before"), [(2, 3, 1), (2, 5, 2), (3, 5, 1), (4, 7, 3)]
)
def test_columns_of_windows_share_vectors(size: int, apart: int, columns: int, before: int):
    """At both ends of a row, and with fewer windows than lanes."""
    count = (size + 2 * before - columns) // apart + 1
    place = f"%i * {apart} + %k - {before}"
    check_lanes(f"""
func.func @f(%x: memref<3x{size}xi32>, %y: memref<3x{columns}x16xi32>) {{
  %zero = arith.constant 0 : i32
  loop.for parallel "r" %r = 0 to 3 {{
    loop.for parallel unroll "k" %k = 0 to {columns} {{
      loop.for parallel vector "i" %i = 0 to 16 {{
        %a = loop.if ({place} >= 0, {size - 1} - ({place}) >= 0, {count - 1} - %i >= 0) -> (i32) {{
          %b = loop.load %x[%r, {place}] : memref<3x{size}xi32>
          loop.yield %b : i32
        }} else {{
          loop.yield %zero : i32
        }}
        loop.store %a, %y[%r, %k, %i] : memref<3x{columns}x16xi32>
      }}
    }}
  }}
  func.return
}}
""")
