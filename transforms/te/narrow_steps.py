"""Results of the steps of a loop, of which later steps and what follows use parts."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, ModuleOp

from ...analysis.levels import Level
from ...analysis.needed_parts import needed_parts
from ...analysis.operations import operations_of_kind
from ...dialects import loop, te
from ..remarks import remark
from ..stepwell_pass import StepwellPass


class TeNarrowStepsPass(StepwellPass):
    """
    Note what part of the results of kernels in a loop each step needs, where that is less than all.

    Before: `te.scan 9 carry (%s = ...) { te.kernel "next" ... }`, of whose last state the first element is used.
    After: `te.kernel "next" ... attributes {stepwell.needed = [affine_map<(d0) -> (0, d0 * -1 + 8)>]}`, the least and
    the greatest index for each axis. The kernel still defines all elements; loop-narrow leaves out what nobody reads.
    """

    name = "te-narrow-steps"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for scan in operations_of_kind(op, te.ScanOp):
            for parts in needed_parts(scan):
                parts.kernel.attributes[loop.NEEDED] = ArrayAttr(map(AffineMapAttr, parts.maps))
                name = parts.kernel.kernel_name.data
                remark(parts.kernel, f"of '{name}' later steps need {1 - parts.saved:.0%}")
