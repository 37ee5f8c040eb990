"""Networks of convolutions computed for a few images of a batch at a time, so that images between layers stay in cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.levels import Level
from ...analysis.plans.images import LayerBytes, plan_images
from ...dialects.graph.convolution import SlidingWindowOp
from ...dialects.shaped import shape_of
from ...frozen import frozen
from ...targets.target import Target
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .blocks_of_rows import (
    RowsPlan,
    bytes_of,
    following,
    has_rows,
    is_by_rows,
    rewrite,
    takes_rows,
)


def networks(block: Block) -> Iterator[tuple[Sequence[Operation], Sequence[Operation], int]]:
    """
    The convolutions of a block and what computes each image by itself behind them, two at least; what stands between them
    and needs them, and the number of images.
    """
    taken: set[Operation] = set()
    for op in list(block.ops):
        if not isinstance(op, SlidingWindowOp) or op in taken or op.parent is not block:
            continue
        images = shape_of(op.image)[0]
        if images in (DYNAMIC_INDEX, 0, 1) or not is_by_rows(op, images):
            continue
        ops, after = following(op, images)
        taken.update(ops)
        if sum(isinstance(one, SlidingWindowOp) for one in ops) > 1:
            yield ops, after, images


def _layer(op: Operation, images: int) -> LayerBytes:
    by_image = [v for v in op.operands if has_rows(v, images) and takes_rows(op, v)]
    others = [v for v in op.operands if v not in by_image]
    return LayerBytes(_bytes_of_all([*by_image, *op.results]), _bytes_of_all(others))


def _bytes_of_all(values: Sequence[SSAValue]) -> float:
    shapes = {value: shape_of(value) for value in values}
    return float(sum(bytes_of(v) for v, shape in shapes.items() if DYNAMIC_INDEX not in shape))


@frozen
class GraphComputeByImagesPass(StepwellPass):
    """
    Compute the layers of a network for a few images of a batch at a time, where images between layers would leave the last cache.

    Before: `y = conv(relu(conv(x, v)), w)` of sixteen images. After: a scan over the images, each step of which is the network for
    one. Weights come once for each step then; `analysis/plans/images.py` compares what is waited for.
    """

    name = "graph-compute-by-images"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    target: str | Target = "host"
    opt: str = "full"
    zero_has_meaning = frozenset({"threads"})

    threads: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.opt == "quick":
            return
        target = Target.of(self.target)
        regions = [region for function in op.ops for region in function.regions]
        blocks = [region.block for region in regions if len(region.blocks) == 1]
        for block in blocks:
            for ops, after, images in networks(block):
                layers = [_layer(one, images) for one in ops]
                plan = plan_images(layers, images, target, self.threads or target.cores)
                if isinstance(plan, str):
                    remark(ops[0], f"not computed by images: {plan}", missed=True)
                    continue
                remark(ops[0], str(plan))
                rewrite(RowsPlan(tuple(ops), tuple(after), images, plan.block))
