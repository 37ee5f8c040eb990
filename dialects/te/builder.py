"""How an operation of the graph level writes its definition: computes, one after another, element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...frozen import frozen
from ..combiner import Combiner
from ..dtypes import signless
from ..leaf_operations import inserted
from ..scalar import ScalarBuilder
from ..shaped import Tensor, tensor_type
from .compute import ComputeOp
from .loop_builder import LoopBuilder
from .loops import LoopsOp, buffer_of
from .reads import Iterator, Read, compute_block
from .terms import YieldOp
from .text import Number, axis_names

OpT = TypeVar("OpT", bound=Operation)


@frozen
class Access:
    """
    What a body reads of a tensor: the element at `indices`, which are expressions over the iterators, and `pad`
    where they leave the tensor. Without `indices` the body is given the whole tensor.
    """

    source: SSAValue
    indices: tuple[AffineExpr, ...] | None = None
    pad: Number | None = None

    def __init__(
        self,
        source: SSAValue,
        indices: Sequence[AffineExpr] | None = None,
        pad: Number | None = None,
    ):
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "indices", None if indices is None else tuple(indices))
        object.__setattr__(self, "pad", pad)


Body: TypeAlias = Callable[
    [ScalarBuilder, Sequence[SSAValue], Sequence[SSAValue]], SSAValue | tuple[SSAValue, ...]
]
"""
Emits the element of each result from a builder for the first result's element type, the iterators and what is read;
for an arg-reduction a value and its index.
"""


def the_element(
    b: ScalarBuilder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
) -> SSAValue:
    """The body of a compute that only moves elements."""
    (element,) = elements
    return element


def signless_tensor(type_: Tensor) -> Tensor:
    """The type as it is from te down."""
    element = type_.get_element_type()
    plain = signless(element)
    return type_ if plain is element else TensorType(plain, type_.get_shape(), type_.encoding)


def signless_number(value: Number) -> Number:
    """A number of the graph level, for instance that of a pad, as it is from te down."""
    if not isinstance(value, IntegerAttr):
        return value
    return IntegerAttr(value.value.data, signless(value.type), truncate_bits=True)  # pyright: ignore[reportArgumentType, reportCallIssue]


@dataclass
class TeBuilder:
    """Where the computes go, and what became of the values of the graph level."""

    builder: Builder
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    source: Operation | None = None
    """The operation that is being defined: what is inserted has its location and its result's name."""

    def insert(self, op: OpT) -> OpT:
        """Insert an operation at the location of the one that is being defined."""
        if self.source is not None:
            op.location = self.source.location
        return inserted(self.builder, op)

    @property
    def last(self) -> Operation | None:
        """What has been inserted last into the block."""
        return self.builder.insertion_point.block.last_op

    def since(self, op: Operation | None) -> tuple[Operation, ...]:
        """What has been inserted behind an operation; None stands before all."""
        block = self.builder.insertion_point.block
        behind = block.first_op if op is None else op.next_op
        found: list[Operation] = []
        while behind is not None:
            found.append(behind)
            behind = behind.next_op
        return tuple(found)

    def compute(
        self,
        result: Tensor,
        accesses: Sequence[Access],
        body: Body = the_element,
        *,
        names: Sequence[str] | None = None,
        reduction: Sequence[Iterator] = (),
        combiner: Combiner | None = None,
        hint: str | None = None,
    ) -> SSAValue:
        """
        Insert a compute of this type of the graph level; its value, which later computes may access.

        `names` are those of the parallel iterators, one for each axis of the result, by default i, j, k …; the
        iterators of `reduction` come behind them. Equal accesses become one.
        """
        shape = result.get_shape()
        names = axis_names(len(shape)) if names is None else names
        parallel = [Iterator(name, extent) for name, extent in zip(names, shape, strict=True)]
        iterators = [*parallel, *reduction]
        reads = [self._read(access, len(iterators)) for access in accesses]
        distinct = list(dict.fromkeys(reads))
        hints = ["abcdefgh"[n] if n < 8 else None for n in range(len(distinct))]
        block = compute_block(iterators, distinct, hints)
        args = block.args[len(iterators) :]
        scalars = ScalarBuilder(Builder(InsertPoint.at_end(block)), result.get_element_type())
        elements = [args[distinct.index(read)] for read in reads]
        found = body(scalars, block.args[: len(iterators)], elements)
        scalars.builder.insert(YieldOp(*(found if isinstance(found, tuple) else (found,))))
        op = ComputeOp(
            parallel,
            distinct,
            signless_tensor(result),
            Region(block),
            reduction=reduction,
            combiner=combiner,
        )
        op.result.name_hint = hint or self._hint()
        return self.insert(op).result

    def loops(
        self,
        sources: Sequence[SSAValue],
        results: Sequence[Tensor],
        body: Callable[[LoopBuilder, Sequence[SSAValue], Sequence[SSAValue]], None],
        *,
        inits: Sequence[SSAValue] = (),
    ) -> Sequence[SSAValue]:
        """
        Insert loops that write tensors of these types of the graph level; their values.

        `body` is given where to write, the buffers of the sources and those of the results, of which the first ones
        start as the tensors `inits`.
        """
        read = [self.values.get(source, source) for source in sources]
        starts = [self.values.get(start, start) for start in inits]
        types = [signless_tensor(type_) for type_ in results]
        block = Block(
            arg_types=[buffer_of(tensor_type(v)) for v in read] + [*map(buffer_of, types)]
        )
        inside, outside = block.args[: len(read)], block.args[len(read) :]
        for number, arg in enumerate(inside):
            arg.name_hint = "abcdefgh"[number] if number < 8 else None
        for arg in outside:
            arg.name_hint = self._hint()
        body(LoopBuilder(Builder(InsertPoint.at_end(block))), inside, outside)
        block.add_op(YieldOp())
        name = "loops" if self.source is None else self.source.name.partition(".")[2]
        op = LoopsOp(name, read, starts, types, Region(block))
        for output in op.outputs:
            output.name_hint = self._hint()
        return self.insert(op).outputs

    def _read(self, access: Access, num_iterators: int) -> Read:
        indices = access.indices
        map_ = None if indices is None else AffineMap(num_iterators, 0, indices)
        pad = None if access.pad is None else signless_number(access.pad)
        return Read(self.values.get(access.source, access.source), map_, pad)

    def _hint(self) -> str | None:
        """The name of the result in the source, or that of the operation."""
        op = self.source
        return None if op is None else op.results[0].name_hint or op.name.partition(".")[2]
