"""What LLVM is told about a loop: attributes of the `llvm.br` back to its head, as xDSL lacks upstream's `loop_annotation`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from ...dialects.loop import MARK
from .emitter import Emitter

NO_UNROLL = "stepwell.no_unroll"
"""What `loop_annotation` says with its `unroll` disabled."""

UNROLL = "stepwell.unroll"
"""As `NO_UNROLL`, with `unroll` and `full`: LLVM writes out all iterations, of which the bounds say how many there are."""

NO_VECTORS = "stepwell.no_vectors"
"""As `NO_UNROLL`, of a loop whose iterations LLVM must not put into the lanes of vectors."""


def branch_back(
    e: Emitter, header: Block, arguments: Sequence[SSAValue], hints: Sequence[str]
) -> None:
    """End a loop's body: back to its head, with what LLVM is to be told about the loop."""
    e.branch(header, arguments)
    branch = e.block.last_op
    assert branch is not None
    for hint in hints:
        branch.attributes[hint] = MARK
