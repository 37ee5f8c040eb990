"""Shape inference with `?`, what constructors accept and refuse, and what `?` means when run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stepwell.dialects import graph
from stepwell.dialects.dtypes import ui8
from stepwell.dialects.graph import shapes
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.lowering.graph_to_te import ConvertGraphToTePass
from stepwell.transforms.graph.decompose import GraphDecomposePass
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i1, i8, i32
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

D = DYNAMIC_INDEX


def value(*shape: int, element: Any = f32) -> SSAValue:
    return create_ssa_value(TensorType(element, shape))


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        (((2, 3), (3,)), (2, 3)),
        (((), (0,)), (0,)),
        (((D,), (1,)), (D,)),
        (((1,), (D,)), (D,)),
        (((D,), (5,)), (5,)),
        (((D, 1), (1, D)), (D, D)),
        (((0,), (1,)), (0,)),
    ],
)
def test_broadcast(operands: Any, expected: Any) -> None:
    assert shapes.broadcast(*operands) == expected


def test_broadcast_refuses() -> None:
    with pytest.raises(VerifyException, match=r"found shapes 2x3 and 2x4, .* axis -1 has 3 and 4"):
        shapes.broadcast((2, 3), (2, 4))
    with pytest.raises(VerifyException, match="axis -1 has 0 and 2"):
        shapes.broadcast((0,), (2,))


@pytest.mark.parametrize(
    ("lhs", "rhs", "expected"),
    [
        ((2, D), (3, 4), (2, 4)),
        ((D, 3), (3, D), (D, D)),
        ((D,), (3,), ()),
        ((D, 1, 2, 3), (5, 3, 4), (D, 5, 2, 4)),
        ((3,), (5, 3, 4), (5, 4)),
        ((5, 2, 3), (3,), (5, 2)),
    ],
)
def test_matmul(lhs: Any, rhs: Any, expected: Any) -> None:
    assert shapes.matmul(lhs, rhs) == expected
    assert graph.MatmulOp(value(*lhs), value(*rhs)).result.type == TensorType(f32, expected)


@pytest.mark.parametrize(
    ("shape", "target", "expected"),
    [
        ((D, 3), (-1,), (D,)),
        ((D, 3), (3, D), (3, D)),
        ((2, 3), (3, -1), (3, 2)),
        ((0, 3), (-1, 3), (0, 3)),
        ((4,), (2, 2), (2, 2)),
    ],
)
def test_reshape(shape: Any, target: Any, expected: Any) -> None:
    assert shapes.reshaped(shape, target) == expected


@pytest.mark.parametrize("target", [(7,), (-1, 4), (-1, -1), (-2, 3), (-1, 0)])
def test_reshape_refuses(target: Any) -> None:
    with pytest.raises(VerifyException, match="found shape"):
        shapes.reshaped((2, 3), target)


def test_other_dynamic_shapes() -> None:
    x = value(D, 3)
    assert graph.SumOp(x, 1, keepdims=True).result.type == TensorType(f32, [D, 1])
    assert graph.TransposeOp(x).result.type == TensorType(f32, [3, D])
    assert graph.ConcatOp([x, value(2, D)], 0).result.type == TensorType(f32, [D, 3])
    assert graph.ConcatOp([value(2, D), value(D, 3)], 1).result.type == TensorType(f32, [2, D])
    assert graph.PadOp(x, [1, 1], [0, 0]).result.type == TensorType(f32, [D, 4])
    assert graph.ExpandDimsOp(x, 0).result.type == TensorType(f32, [1, D, 3])
    assert graph.SliceOp(x, [slice(1, 3), slice(None)]).result.type == TensorType(f32, [2, 3])
    assert graph.GatherOp(x, value(D, element=i32), 1).result.type == TensorType(f32, [D, D])
    assert graph.ExpOp(x).flops() is None and graph.ExpOp(x).bytes_moved() is None


REFUSED = [
    (lambda: graph.SumOp(value(2), 1), "found axis 1 for a tensor of rank 1"),
    (lambda: graph.SumOp(value(), 0), "at least one axis"),
    (lambda: graph.SumOp(value(2, 3), (0, -2)), "each axis once"),
    (lambda: graph.ConcatOp([]), "no tensors to join"),
    (lambda: graph.ConcatOp([value(2), value(2, 2)]), "equal ranks"),
    (lambda: graph.SplitOp(value(4), [1, 2]), "add up"),
    (lambda: graph.SliceOp(value(4, 4), [slice(None)]), "found 1 slices"),
    (lambda: graph.SliceOp(value(4), [slice(None, None, 0)]), "step 0"),
    (lambda: graph.SliceOp(value(D), [slice(None, None)]), "extent '\\?'"),
    (lambda: graph.PadOp(value(4), [1, 1], [0]), "one amount"),
    (lambda: graph.PadOp(value(4, element=ui8), [1], [0], 256), "found number 256"),
    (lambda: graph.PadOp(value(4, element=i8), [1], [0], float("nan")), "found number nan"),
    (lambda: graph.ClipOp(value(4, element=i32), 0.5), "found number 0.5"),
    (lambda: graph.LayerNormOp(value(4), bias=value(4)), "bias without a scale"),
    (lambda: graph.BroadcastToOp(value(D), [4, D, 2]), "'\\?' only where the operand"),
    (lambda: graph.BroadcastToOp(value(D, 3), [4, 2]), "found shape \\?x3 to broadcast"),
    (lambda: graph.BroadcastToOp(value(3), [D, 3]), "'\\?' only where"),
    (lambda: graph.GatherOp(value(3), value(3, element=i1)), "expected i32 or i64"),
    (lambda: graph.NegOp(create_ssa_value(f32)), "expected a ranked tensor"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_constructors_refuse(make: Any, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        make()


DYNAMIC = """
func.func @main(%x: tensor<?x3xf32>, %y: tensor<?xf32>) -> (tensor<?x3xf32>, tensor<?xf32>, tensor<2x?x3xf32>) {
  %m = graph.softmax %x axis = 1 : tensor<?x3xf32>
  %r = graph.reshape %m : tensor<?x3xf32> -> tensor<?xf32>
  %s = graph.add %r, %y : tensor<?xf32>, tensor<?xf32> -> tensor<?xf32>
  %b = graph.broadcast_to %x : tensor<?x3xf32> -> tensor<2x?x3xf32>
  func.return %m, %s, %b : tensor<?x3xf32>, tensor<?xf32>, tensor<2x?x3xf32>
}
"""


def test_dynamic_programs_run_at_the_graph_level() -> None:
    module = parse_text(DYNAMIC)
    module.verify()
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    y = np.ones(12, np.float32)
    before = interpret(module, [x, y])
    assert before[2].shape == (2, 4, 3)
    GraphDecomposePass().apply(Context(), module)
    module.verify()
    for found, expected in zip(interpret(module, [x, y]), before, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_dynamic_programs_are_not_lowered_and_stay_as_they_are() -> None:
    module = parse_text(DYNAMIC, "model.mlir")
    text = str(module)
    with pytest.raises(
        StepwellError, match=r"^model.mlir:3:8: found graph.softmax on tensor<\?x3xf32>"
    ):
        ConvertGraphToTePass().apply(Context(), module)
    assert str(module) == text
