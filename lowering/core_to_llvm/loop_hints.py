"""What a schedule says of a loop, and what LLVM is told about it: attributes of the `llvm.br` back to its head, as xDSL lacks upstream's `loop_annotation`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Block, Operation, SSAValue

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


def number_of(value: SSAValue) -> int | None:
    """The number that a constant is; None for another value."""
    owner = value.owner
    known = owner.properties["value"] if type(owner) is arith.ConstantOp else None
    return known.value.data if isinstance(known, IntegerAttr) else None


def is_written_out(op: Operation) -> bool:
    """Whether a schedule says that all iterations of a loop are written out, and numbers say how many these are."""
    mode = op.attributes.get(MODE)
    is_marked = isinstance(mode, StringAttr) and mode.data == RunMode.UNROLL
    return is_marked and None not in map(number_of, operands_of(op)[:3])
