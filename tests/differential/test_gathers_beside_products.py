"""Products that are finished with elements at computed indices, and chains of rows that read such, agree with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts.from_loops import facts_of_loops
from stepwell.frontend.text import parse_text
from xdsl.dialects import func


def added_rows(np: Any, x: Any, w: Any, table: Any, rows: Any) -> Any:
    return table[rows] - x @ w


def added_columns(np: Any, x: Any, w: Any, table: Any, rows: Any) -> Any:
    return np.maximum(x @ w + table[:1, rows[0]], 0) * table[rows, 0][:, None]


def normalized(np: Any, x: Any, w: Any, table: Any, rows: Any) -> Any:
    scores = x @ w + table[rows]
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def gathered_operand(np: Any, x: Any, w: Any, table: Any, rows: Any) -> Any:
    return table[rows] @ w.T + x[rows % 3]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function", [added_rows, added_columns, normalized, gathered_operand])
@pytest.mark.parametrize(("m", "k", "n"), [(33, 31, 100), (128, 64, 64)])
def test_gathers_beside_products(function: Any, m: int, k: int, n: int, threads: int):
    rng = np.random.default_rng(m)
    x, w, table = (rng.normal(size=shape) for shape in ((m, k), (k, n), (17, n)))
    rows = rng.integers(-17, 17, m)
    compiled = sw.jit(lambda *arrays: function(sw, *arrays), threads=threads)
    found = compiled(x, w, table, rows)
    np.testing.assert_allclose(found, function(np, x, w, table, rows), rtol=1e-12, atol=1e-12)


def test_a_product_that_is_finished_with_a_gather_is_in_tiles():
    arrays = (np.ones((128, 64)), np.ones((64, 64)), np.ones((9, 64)), np.zeros(128, np.int64))
    low = sw.jit(lambda *arrays: added_rows(sw, *arrays)).lower(*arrays)
    assert "contraction: tile" in low.plan()


def test_what_is_looked_up_and_written_is_not_described():
    text = """func.func @f(%a: memref<9xf32>, %i: memref<9xindex>) {
      loop.for serial "n" %n = 0 to 9 {
        %k = loop.load %i[%n] : memref<9xindex>
        %v = memref.load %FROM[%k] : memref<9xf32>
        loop.store %v, %a[%n] : memref<9xf32>
      }
      func.return
    }"""
    other = text.replace("%a: memref<9xf32>", "%a: memref<9xf32>, %b: memref<9xf32>")
    for source, is_complete in (
        (text.replace("%FROM", "%a"), False),
        (other.replace("%FROM", "%b"), True),
    ):
        module = parse_text(source, "f")
        (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
        assert facts_of_loops(function).facts.is_complete is is_complete
