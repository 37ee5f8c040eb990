"""The steps of a convolution's plan, from the loops over tiles to what is written out."""

from __future__ import annotations

from ..analysis.facts import Contraction, LoopFacts
from ..analysis.plans.convolution_plan import ConvolutionPlan
from ..targets.target import Target
from .convolution_depths import DeepTiles
from .convolution_tiles import ConvolutionTiles
from .session import Session


def schedule_convolution(
    s: Session, plan: ConvolutionPlan, kernel: LoopFacts, found: Contraction, target: Target
) -> None:
    """Carry out a plan. Raises the Refusal of a step that is not legal."""
    made = DeepTiles if plan.depth else ConvolutionTiles
    tiles = made(s, plan, kernel, found, target)
    tiles.cut()
    tiles.pack()
    tiles.hints.weights(tiles.packing.staged.buffer if tiles.packing else None, target.core)
    tiles.skip_padding()
    tiles.pad_image()
    tiles.hints.image(tiles.halo.buffer if tiles.halo else None)
    tiles.peel()
    tiles.keep_in_registers()
    tiles.vectorize()
