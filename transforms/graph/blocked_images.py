"""The images of a program that convolutions make: which of them have their channels in blocks together, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.dtypes import is_float
from ...dialects.graph import (
    ConcatOp,
    ConvOp,
    GraphOp,
    PadOp,
    PoolOp,
    ReductionOp,
    SliceOp,
    SplitOp,
    TransposeOp,
    WinogradInputOp,
    WinogradOutputOp,
)
from ...dialects.graph.blocked_convolution import CHANNELS
from ...dialects.interfaces import Elementwise
from ...dialects.shaped import shape_of, tensor_type
from .constant_operands import is_known


@dataclass(eq=False)
class Images:
    """Values of a block that have their channels in blocks together, or not at all: what stands between them needs that."""

    values: list[SSAValue] = field(default_factory=list[SSAValue])
    writers: list[ConvOp] = field(default_factory=list[ConvOp])
    readers: list[ConvOp] = field(default_factory=list[ConvOp])
    between: list[GraphOp] = field(default_factory=list[GraphOp])
    """operations for which a block of channels is as good as channels"""
    from_tiles: list[TransposeOp] = field(default_factory=list[TransposeOp])
    """of images with channels last that Winograd's transform makes"""
    to_tiles: list[TransposeOp] = field(default_factory=list[TransposeOp])
    """to images with channels last that Winograd's transform reads"""
    channels: int = 1
    """how many are in a block"""
    obstacle: str = ""
    """why channels stay as they are"""

    @property
    def convolutions(self) -> list[ConvOp]:
        """All that read or write them."""
        between = [op for op in self.between if isinstance(op, ConvOp)]
        return [*self.writers, *self.readers, *between]

    @property
    def first_writer(self) -> GraphOp:
        """What remarks about these images are about."""
        return [*self.writers, *self.from_tiles][0]

    @property
    def is_between_convolutions(self) -> bool:
        """Whether convolutions make and read them, at least one of which may have channels in blocks."""
        is_made, is_read = (self.writers or self.from_tiles, self.readers or self.to_tiles)
        return bool(is_made and is_read and self.convolutions)


class _Joined:
    """Values by the set that they are in, of which one is the first."""

    def __init__(self) -> None:
        self._first: dict[SSAValue, SSAValue] = {}

    def first(self, value: SSAValue) -> SSAValue:
        while (other := self._first.get(value, value)) is not value:
            value = other
        return value

    def join(self, one: SSAValue, other: SSAValue) -> None:
        self._first[self.first(other)] = self.first(one)


def is_direct(op: Operation) -> bool:
    """Whether it is a convolution whose image or result may have its channels in blocks."""
    return isinstance(op, ConvOp) and op.groups.value.data == 1 and _is_definite(op)


def is_depthwise(op: Operation) -> bool:
    """Whether it is a convolution of each channel alone, which takes and makes images with their channels in blocks."""
    if not isinstance(op, ConvOp) or not _is_definite(op):
        return False
    alone = {op.groups.value.data, shape_of(op.image)[CHANNELS], shape_of(op.result)[CHANNELS]}
    return len(alone) == 1 and is_image(op.image) and is_image(op.result)


def _is_definite(conv: ConvOp) -> bool:
    """Whether it adds up floats, and weights and all extents are known."""
    return (
        is_known(conv.weights)
        and is_float(tensor_type(conv.result).get_element_type())
        and DYNAMIC_INDEX not in (*shape_of(conv.image), *shape_of(conv.weights))
    )


def is_image(value: SSAValue) -> bool:
    """
    Whether a value has a batch, channels and more than one element of each, all extents being known: single elements are
    near together as they are.
    """
    type_ = value.type
    if not isinstance(type_, TensorType):
        return False
    shape = shape_of(value)
    if len(shape) < 3 or DYNAMIC_INDEX in shape:
        return False
    return shape[CHANNELS] > 1 and prod(shape[CHANNELS + 1 :]) > 1


def carried(op: Operation) -> Sequence[SSAValue] | None:
    """
    The operands and results of an operation that have their channels in blocks together, where it does the same to each
    channel, or joins or cuts images; None for other operations.
    """
    if isinstance(op, ConvOp):
        return (op.image, op.result) if is_depthwise(op) else None
    if isinstance(op, PoolOp):
        alone = {n for each in (op.window, op.strides) for n in each.get_values()[: CHANNELS + 1]}
        return (op.operand, op.result) if alone == {1} else None
    if isinstance(op, ConcatOp | SplitOp):
        values = (*op.operands, *op.results)
        return None if any(is_known(v) or not is_image(v) for v in values) else values
    if isinstance(op, ReductionOp):
        behind = range(2, len(shape_of(op.operand)))
        return (op.operand,) if tuple(op.axes.get_values()) == tuple(behind) else None
    if not isinstance(op, Elementwise) or not isinstance(op, GraphOp) or len(op.results) != 1:
        return None
    (result,) = op.results
    images = [value for value in op.operands if shape_of(value) == shape_of(result)]
    others = [value for value in op.operands if shape_of(value) != shape_of(result)]
    is_said = all(is_alike(value, shape_of(result)) for value in others)
    return (*(v for v in images if not is_known(v)), result) if images and is_said else None


def is_alike(value: SSAValue, shape: Sequence[int]) -> bool:
    """Whether it is broadcast to an image along all axes behind the channels, or is a constant."""
    own = (*[1] * (len(shape) - len(shape_of(value))), *shape_of(value))
    return is_known(value) or all(extent == 1 for extent in own[CHANNELS + 1 :])


def images_of(block: Block, sizes: Sequence[int]) -> list[Images]:
    """The images of a block that convolutions make, in blocks of the first of some sizes that divides their channels."""
    joined = _Joined()
    values = (v for op in block.ops for v in (*op.operands, *op.results))
    images = [v for v in dict.fromkeys(values) if is_image(v)]
    for op in block.ops:
        if not is_direct(op):
            first, *others = [v for v in carried(op) or () if is_image(v)] or [None]
            for other in others:
                assert first is not None and other is not None
                joined.join(first, other)
    found: dict[SSAValue, Images] = {}
    for value in images:
        one = found.setdefault(joined.first(value), Images())
        one.values.append(value)
        _describe(one, value, block)
    for one in found.values():
        one.between = list(dict.fromkeys(one.between))
        counts = [shape_of(value)[CHANNELS] for value in one.values]
        whole = [size for size in sizes if not any(count % size for count in counts)]
        if not whole:
            odd = next(count for count in counts if count % sizes[-1])
            one.obstacle = f"{odd} are no whole blocks of {sizes[-1]}"
        else:
            one.channels = whole[0]
    return [one for one in found.values() if one.is_between_convolutions]


def is_to_tiles(op: Operation) -> bool:
    """Whether it puts channels last for Winograd's transform of an image, with a border or without."""
    if not isinstance(op, TransposeOp) or not op.result.has_one_use():
        return False
    (use,) = op.result.uses
    reader = use.operation
    if isinstance(reader, PadOp) and reader.result.has_one_use():
        (use,) = reader.result.uses
        reader = use.operation
    return isinstance(reader, WinogradInputOp) and op.permutation == (0, 2, 3, 1)


def is_from_tiles(op: Operation) -> bool:
    """Whether it puts channels, last in the images that Winograd's transform makes, where images have them."""
    if not isinstance(op, TransposeOp) or op.permutation != (0, 3, 1, 2):
        return False
    writer = op.operand.owner
    if isinstance(writer, SliceOp):
        writer = writer.operand.owner
    return isinstance(writer, WinogradOutputOp)


def _describe(images: Images, value: SSAValue, block: Block) -> None:
    """Add what makes and what reads one of the values that are used in a block."""
    writer = value.owner
    if isinstance(writer, Block) or writer.parent is not block:
        images.obstacle = "an argument has them so"
    elif is_direct(writer):
        assert isinstance(writer, ConvOp)
        images.writers.append(writer)
    elif value in (carried(writer) or ()) and isinstance(writer, GraphOp):
        images.between.append(writer)
    elif is_from_tiles(writer):
        assert isinstance(writer, TransposeOp)
        images.from_tiles.append(writer)
    else:
        images.obstacle = f"{writer.name} needs them so"
    for use in value.uses:
        reader = use.operation
        if is_direct(reader) and use.index == 0:
            assert isinstance(reader, ConvOp)
            images.readers.append(reader)
        elif value in (carried(reader) or ()) and isinstance(reader, GraphOp):
            images.between.append(reader)
        elif is_to_tiles(reader):
            assert isinstance(reader, TransposeOp)
            images.to_tiles.append(reader)
        else:
            images.obstacle = f"{reader.name} needs them so"
