"""What a schedule says of a loop, and what LLVM is told about it: attributes of the `llvm.br` back to its head, as xDSL lacks upstream's `loop_annotation`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.frames import constant_value
from ...analysis.operations import operands_of
from ...dialects.loop import MARK, MODE, RunMode
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


def is_written_out(op: Operation) -> bool:
    """Whether a schedule says that all iterations of a loop are written out, and numbers say how many these are."""
    mode = op.attributes.get(MODE)
    is_marked = isinstance(mode, StringAttr) and mode.data == RunMode.UNROLL
    return is_marked and None not in map(constant_value, operands_of(op)[:3])
