"""What a `te.compute` runs over, its iterators, and what it reads, its operands."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineMap

from ...frozen import frozen
from ..shaped import tensor_type
from .text import Number


@frozen
class Iterator:
    """One iterator of a compute: its name, and its extent (an int, or an `index` value)."""

    name: str
    extent: int | SSAValue


@frozen
class Read:
    """
    One operand of a compute.

    With a `map` over the iterators the body sees one element, and where the map leaves the tensor the
    value `pad` (then required). Without a map the body sees the whole tensor, for reads at computed
    indices by `tensor.extract`.
    """

    source: SSAValue
    map: AffineMap | None
    pad: Number | None = None

    def __hash__(self) -> int:
        """That of the source: few reads of one tensor differ in the map alone, whose hash takes long."""
        return hash(self.source)


def compute_block(
    iterators: Sequence[Iterator], reads: Sequence[Read], names: Sequence[str | None] = ()
) -> Block:
    """An empty body block for a compute: its iterators, then one argument per read, named."""
    types: list[Attribute] = [IndexType()] * len(iterators)
    for read in reads:
        type_ = tensor_type(read.source)
        types.append(type_ if read.map is None else type_.get_element_type())
    block = Block(arg_types=types)
    hints = [*(it.name for it in iterators), *(names or [read.source.name_hint for read in reads])]
    for arg, hint in zip(block.args, hints, strict=True):
        arg.name_hint = hint
    return block
