"""Constants that are equal by content are one; those that differ by a bit are not."""

from __future__ import annotations

import numpy as np
import pytest
from stepwell.dialects.graph import AddOp, ConstantOp
from stepwell.interpreters.harness import interpret
from stepwell.transforms.graph.share_constants import GraphShareConstantsPass
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region
from xdsl.rewriter import InsertPoint

W = np.arange(200, dtype=np.float32).reshape(10, 20)
CHANGED = W.copy()
CHANGED[5, 5] += 1
SIGNED = W.copy()
SIGNED[0, 0] = -0.0


@pytest.mark.parametrize(
    ("other", "left"),
    [(W.copy(), 1), (CHANGED, 2), (SIGNED, 2), (W.astype(np.float64).view(np.float32), 2)],
    ids=["equal", "one element", "the sign of a zero", "another shape"],
)
def test_equal_constants_are_one(other, left):
    block = Block()
    builder = Builder(InsertPoint.at_end(block))
    results = []
    for name, array in (("w", W), ("v", other)):
        constant = builder.insert(ConstantOp(array, name))
        results.append(builder.insert(AddOp(constant.result, constant.result)).result)
    builder.insert(func.ReturnOp(*results))
    types = [result.type for result in results]
    module = ModuleOp([func.FuncOp("f", ([], types), Region(block))])
    GraphShareConstantsPass().apply(Context(), module)
    module.verify()
    assert sum(isinstance(op, ConstantOp) for op in module.walk()) == left
    found = interpret(module, [])
    assert all(np.array_equal(x, y + y) for x, y in zip(found, (W, other), strict=True))
