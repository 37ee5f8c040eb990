"""`memref` operations that make another view of a buffer: no data moves, only sizes and strides."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import cast

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IntegerType,
    i8,
    i64,
)
from xdsl.ir import Operation, SSAValue

from ...errors import StepwellError
from .emitter import Emitter, Handler, unsupported
from .types import (
    AnyMemRef,
    Index,
    Layout,
    MemRefValue,
    checked,
    is_memref,
    layout_of,
    memory_type,
)


def _open_as_none(static: DenseArrayBase) -> list[int | None]:
    values = cast("DenseArrayBase[IntegerType]", static).get_values()
    return [None if value == DYNAMIC_INDEX else value for value in values]


def _mixed(e: Emitter, static: DenseArrayBase, dynamic: Sequence[SSAValue]) -> list[Index]:
    """A list of which each entry is given by an attribute or by an operand."""
    operands = iter(e.indices(dynamic))
    return [next(operands) if value is None else value for value in _open_as_none(static)]


def _result_type(op: Operation) -> AnyMemRef:
    type_ = op.results[0].type
    if not is_memref(type_):
        raise unsupported(op, f"of type {type_}")
    checked(type_, op)
    return type_


def _known(index: Index, declared: int | None) -> Index:
    """What a type declares about a size or stride, if anything."""
    return index if declared is None else declared


def _bind_view(
    e: Emitter, op: Operation, pointer: SSAValue, sizes: Sequence[Index], strides: Sequence[Index]
) -> None:
    """Bind the result to a view of these sizes and strides, or to what its type says of them."""
    type_ = _result_type(op)
    layout = layout_of(type_)
    view = MemRefValue(
        type_,
        pointer,
        tuple(_known(*pair) for pair in zip(sizes, layout.sizes, strict=True)),
        tuple(_known(*pair) for pair in zip(strides, layout.strides, strict=True)),
    )
    e.bind_memref(op.results[0], view)


def _convert_subview(e: Emitter, op: Operation) -> None:
    assert isinstance(op, memref.SubviewOp)
    source = e.memref(op.source)
    offsets = _mixed(e, op.static_offsets, op.offsets)
    sizes = _mixed(e, op.static_sizes, op.sizes)
    steps = _mixed(e, op.static_strides, op.strides)
    pointer = e.element_pointer(source, offsets)
    strides = [e.mul(step, stride) for step, stride in zip(steps, source.strides, strict=True)]
    kept = _kept_dimensions(op)
    _bind_view(e, op, pointer, [sizes[d] for d in kept], [strides[d] for d in kept])


def _kept_dimensions(op: memref.SubviewOp) -> list[int]:
    """
    The dimensions of the source that the result has; a rank-reducing subview drops some of size 1.

    Which ones is told by the shape and then by the strides of the result's type, as upstream does.
    """
    type_ = _result_type(op)
    wanted = layout_of(type_)
    sizes = _open_as_none(op.static_sizes)
    if len(wanted.sizes) == len(sizes):
        return list(range(len(sizes)))
    source = layout_of(cast(AnyMemRef, op.source.type))
    steps = _open_as_none(op.static_strides)
    strides = [
        None if stride is None or step is None else stride * step
        for stride, step in zip(source.strides, steps, strict=True)
    ]
    kept = _match(0, 0, sizes, strides, wanted)
    if kept is None:
        raise StepwellError(
            f"found memref.subview with result {type_}, expected the source's dimensions but some of size "
            "1; mend the result type",
            op=op,
        )
    return kept


def _match(
    dim: int,
    taken: int,
    sizes: Sequence[int | None],
    strides: Sequence[int | None],
    wanted: Layout,
) -> list[int] | None:
    """The first choice of dimensions from `dim` on whose sizes and strides are the wanted ones."""
    if taken == len(wanted.sizes):
        return [] if all(size == 1 for size in sizes[dim:]) else None
    if dim == len(sizes):
        return None
    if sizes[dim] == wanted.sizes[taken] and strides[dim] == wanted.strides[taken]:
        rest = _match(dim + 1, taken + 1, sizes, strides, wanted)
        if rest is not None:
            return [dim, *rest]
    if sizes[dim] == 1:
        return _match(dim + 1, taken, sizes, strides, wanted)
    return None


def _convert_cast(e: Emitter, op: Operation) -> None:
    """`cast` and `memory_space_cast`: the same view under a type that says more or less about it."""
    source = e.memref(op.operands[0])
    _bind_view(e, op, source.pointer, source.sizes, source.strides)


def _convert_reinterpret_cast(e: Emitter, op: Operation) -> None:
    assert isinstance(op, memref.ReinterpretCastOp)
    source = e.memref(op.source)
    base = _base_pointer(e, op, source)
    offsets = _mixed(e, op.static_offsets, op.offsets)
    element = memory_type(source.type.element_type)
    pointer = base if offsets[0] == 0 else e.pointer_at(base, offsets, element)
    sizes = _mixed(e, op.static_sizes, op.sizes)
    _bind_view(e, op, pointer, sizes, _mixed(e, op.static_strides, op.strides))


def _base_pointer(e: Emitter, op: Operation, source: MemRefValue) -> SSAValue:
    """Where the buffer starts that `source` is a view of, as far as its type tells."""
    offset = layout_of(source.type).offset
    if offset is None:
        raise unsupported(op, f"of {source.type}, whose offset is open")
    if offset == 0:
        return source.pointer
    return e.pointer_at(source.pointer, (-offset,), memory_type(source.type.element_type))


def _convert_extract_strided_metadata(e: Emitter, op: Operation) -> None:
    """An open offset counts as 0 from the view's own first element: base and offset agree."""
    assert isinstance(op, memref.ExtractStridedMetaDataOp)
    source = e.memref(op.source)
    offset = layout_of(source.type).offset or 0
    base = _base_pointer(e, op, source) if offset else source.pointer
    e.bind_memref(op.base_buffer, MemRefValue(_result_type(op), base, (), ()))
    e.bind(op.offset, e.constant(offset))
    for result, size in zip(op.sizes, source.sizes, strict=True):
        e.bind(result, e.ssa(size))
    for result, stride in zip(op.strides, source.strides, strict=True):
        e.bind(result, e.ssa(stride))


def _convert_extract_pointer(e: Emitter, op: Operation) -> None:
    """The one place where a pointer becomes an integer: the program asked for it."""
    assert isinstance(op, memref.ExtractAlignedPointerAsIndexOp)
    base = _base_pointer(e, op, e.memref(op.source))
    e.bind(op.aligned_pointer, e.emit(llvm.PtrToIntOp, (base,), i64))


def _convert_view(e: Emitter, op: Operation) -> None:
    """A typed view into a buffer of bytes."""
    assert isinstance(op, memref.ViewOp)
    source = e.memref(op.source)
    shift = e.index(op.byte_shift)
    pointer = source.pointer if shift == 0 else e.pointer_at(source.pointer, (shift,), i8)
    given = iter(e.indices(op.sizes))
    layout = layout_of(_result_type(op))
    if not layout.is_identity:
        raise unsupported(op, f"of type {op.result.type}, whose layout is not the identity")
    sizes = [next(given) if size is None else size for size in layout.sizes]
    _bind_view(e, op, pointer, sizes, e.row_major(sizes))


def _groups(op: memref.CollapseShapeOp | memref.ExpandShapeOp) -> list[list[int]]:
    return [[dim.value.data for dim in group] for group in op.reassociation]


def _convert_collapse_shape(e: Emitter, op: Operation) -> None:
    """Neighbouring dimensions as one: their sizes multiply, the innermost stride stays."""
    assert isinstance(op, memref.CollapseShapeOp)
    source = e.memref(op.src)
    sizes: list[Index] = []
    strides: list[Index] = []
    for group in _groups(op):
        size: Index = 1
        for dim in group:
            size = e.mul(size, source.sizes[dim])
        sizes.append(size)
        strides.append(_collapsed_stride(op, source, group))
    _bind_view(e, op, source.pointer, sizes, strides)


def _collapsed_stride(op: Operation, source: MemRefValue, group: Sequence[int]) -> Index:
    """The stride of the innermost dimension of a group that has more than one element."""
    dims = [dim for dim in group if source.sizes[dim] != 1] or list(group[-1:])
    for outer, inner in itertools.pairwise(dims):
        size, stride, step = source.sizes[inner], source.strides[inner], source.strides[outer]
        if not (isinstance(size, int) and isinstance(stride, int) and isinstance(step, int)):
            continue  # the text promises it
        if step != size * stride and 0 not in source.sizes:
            raise StepwellError(
                f"found memref.collapse_shape of {source.type}, expected dimensions that are contiguous "
                "with each other; copy it first",
                op=op,
            )
    return source.strides[dims[-1]]


def _convert_expand_shape(e: Emitter, op: Operation) -> None:
    """One dimension as several, row-major within it."""
    assert isinstance(op, memref.ExpandShapeOp)
    source = e.memref(op.src)
    sizes = _mixed(e, op.static_output_shape, op.output_shape)
    strides: list[Index] = [0] * len(sizes)
    for group, stride in zip(_groups(op), source.strides, strict=True):
        for dim in reversed(group):
            strides[dim] = stride
            stride = e.mul(stride, sizes[dim])
    _bind_view(e, op, source.pointer, sizes, strides)


def _convert_dim(e: Emitter, op: Operation) -> None:
    assert isinstance(op, memref.DimOp)
    sizes = e.memref(op.source).sizes
    dim = e.index(op.index)
    if not isinstance(dim, int):
        e.bind(op.result, _chosen(e, dim, sizes))
    elif 0 <= dim < len(sizes):
        e.bind(op.result, e.ssa(sizes[dim]))
    else:
        raise StepwellError(
            f"found memref.dim {dim} of {op.source.type}, expected a dimension it has; mend the index",
            op=op,
        )


def _chosen(e: Emitter, position: SSAValue, values: Sequence[Index]) -> SSAValue:
    """values[position], for a position that is computed."""
    result = e.ssa(values[-1]) if values else e.constant(0)
    for number, value in enumerate(values[:-1]):
        operands = (e.equals(position, number), e.ssa(value), result)
        result = e.emit(llvm.SelectOp, operands, i64)
    return result


def _convert_rank(e: Emitter, op: Operation) -> None:
    assert isinstance(op, memref.RankOp)
    e.bind(op.rank, e.constant(len(e.memref(op.source).sizes)))


def _convert_assume_alignment(e: Emitter, op: Operation) -> None:
    """
    The promise is `llvm.assume` of an `align` operand bundle upstream, which xDSL cannot write: it is
    dropped, and the view stays as it is.
    """
    assert isinstance(op, memref.AssumeAlignmentOp)
    e.bind_memref(op.result, e.memref(op.memref))


MEMREF_VIEWS: dict[type[Operation], Handler] = {
    memref.AssumeAlignmentOp: _convert_assume_alignment,
    memref.CastOp: _convert_cast,
    memref.CollapseShapeOp: _convert_collapse_shape,
    memref.DimOp: _convert_dim,
    memref.ExpandShapeOp: _convert_expand_shape,
    memref.ExtractAlignedPointerAsIndexOp: _convert_extract_pointer,
    memref.ExtractStridedMetaDataOp: _convert_extract_strided_metadata,
    memref.MemorySpaceCastOp: _convert_cast,
    memref.RankOp: _convert_rank,
    memref.ReinterpretCastOp: _convert_reinterpret_cast,
    memref.SubviewOp: _convert_subview,
    memref.ViewOp: _convert_view,
}
