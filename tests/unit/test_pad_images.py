"""Images that are written inside of the border that a convolution reads: the same numbers at ragged sizes, and native."""

import numpy as np
import pytest
from stepwell.dialects.graph import BlockedConvOp, PadOp
from stepwell.driver.options import Options
from stepwell.frontend.lowered import Lowered
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.targets.target import Target
from stepwell.transforms.graph.pad_images import Borders, GraphPadImagesPass
from xdsl.context import Context

RNG = np.random.default_rng(15)


class WhereverPossible(Borders):
    """Writes images inside of their borders whatever that takes."""

    def _why_slower(self, conv):
        return None


def network(image, stride, low, high):
    """Two convolutions with a residual between them; the second one's window is 3 x 2, and is padded unevenly."""
    h, w = image
    oh, ow = (h + low[0] + high[0] - 3) // stride + 1, (w + low[1] + high[1] - 2) // stride + 1
    x, y = f"tensor<2x2x{h}x{w}x4xf32>", f"tensor<2x1x{oh}x{ow}x4xf32>"
    v, u = "tensor<2x4x2x4x3x3xf32>", "tensor<1x4x2x4x3x2xf32>"
    return parse_text(
        f"""
        func.func @main(%x: {x}, %v: {v}, %u: {u}) -> {y} {{
          %a = graph.blocked_conv %x, %v strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] blocks = 4, 4
              : {x}, {v} -> {x}
          %b = graph.add %a, %x : {x}, {x} -> {x}
          %r = graph.relu %b : {x}
          %y = graph.blocked_conv %r, %u strides = [{stride}, {stride}] dilations = [1, 1]
              pad = {list(low)}, {list(high)} blocks = 4, 4 : {x}, {u} -> {y}
          func.return %y : {y}
        }}""",
        "network.mlir",
    )


@pytest.mark.parametrize(
    ("image", "stride", "low", "high"),
    [((5, 2), 1, (1, 1), (1, 0)), ((7, 5), 2, (0, 1), (2, 1)), ((3, 17), 1, (2, 0), (1, 3))],
)
def test_images_are_written_inside_of_their_border(image, stride, low, high):
    module = network(image, stride, low, high)
    args = [
        RNG.standard_normal(shape).astype(np.float32)
        for shape in ((2, 2, *image, 4), (2, 4, 2, 4, 3, 3), (1, 4, 2, 4, 3, 2))
    ]
    (expected,) = interpret(module, args)
    borders = WhereverPossible(Target.parse("zen4"))
    *_, conv = (op for op in module.walk() if isinstance(op, BlockedConvOp))
    borders.pad(conv)
    assert sum(isinstance(op, PadOp) for op in module.walk()) == 1
    module.verify()
    (padded,) = interpret(module, args)
    np.testing.assert_allclose(padded, expected, rtol=1e-5, atol=1e-5)
    native = Lowered(module, name="network", options=Options()).compile(threads=1)
    np.testing.assert_allclose(native(*args), expected, rtol=1e-4, atol=1e-4)


def test_a_border_is_written_where_threads_do_not_wait_for_it():
    """One thread saves more in the convolution than it writes; of two, each waits for lines that the other one has written."""
    text = """
    func.func @main(%x: tensor<1x24x14x14x16xf32>, %d: tensor<24x3x3x16xf32>) -> tensor<1x24x14x14x16xf32> {
      %r = graph.relu %x : tensor<1x24x14x14x16xf32>
      %y = graph.blocked_depthwise_conv %r, %d strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1]
          : tensor<1x24x14x14x16xf32>, tensor<24x3x3x16xf32> -> tensor<1x24x14x14x16xf32>
      func.return %y : tensor<1x24x14x14x16xf32>
    }"""
    padded = {}
    for threads in (1, 2):
        module = parse_text(text, "depthwise.mlir")
        GraphPadImagesPass(target="sapphire-rapids", threads=threads).apply(Context(), module)
        padded[threads] = any(isinstance(op, PadOp) for op in module.walk())
    assert padded == {1: True, 2: False}
