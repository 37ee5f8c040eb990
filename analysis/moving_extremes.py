"""
Extremes of windows that move along an axis, element by element: `max(x[i], x[i + 1], …, x[i + w - 1])`.

A window of two is the extreme of two elements, one of four that of two windows of two which lie two apart, and so on: where
it counts not how often an element is joined, w - 1 operations for each element become as many as w has digits in binary, the
last of which joins two windows that overlap. (M. van Herk, "A fast algorithm for local minimum and maximum filters on
rectangular and octagonal kernels", Pattern Recognition Letters 13, 1992, needs three for any w, but goes from element to
element, which vectors do not.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import BlockArgument, Operation, SSAValue

from ..dialects import te
from ..dialects.affine_bounds import linear_form
from ..dialects.dtypes import is_float
from ..dialects.shaped import shape_of, tensor_type
from ..frozen import frozen

Extreme = (
    arith.MaximumfOp
    | arith.MinimumfOp
    | arith.MaxSIOp
    | arith.MinSIOp
    | arith.MaxUIOp
    | arith.MinUIOp
)

FLOAT_EXTREME = 4
"""Instructions of an extreme of floats that may be NaN: three to five on x86."""

MOVED = 6
"""
Of a window made of two smaller ones: two loads, of which one lies across lines of the cache and counts twice, the store,
for which the loads of the next step wait now and then, and its share of a loop and of the windows around a block.
"""

ACROSS = 1.5
"""As much more it takes across rows, where vectors of a window lie within lines and blocks have fewer places."""


@frozen
class MovingExtreme:
    """What a compute joins by one operation: `width` neighbours of a tensor, at each place, and `others`."""

    compute: te.ComputeOp
    root: Extreme
    """the operation whose result is the extreme of all"""
    source: BlockArgument
    """the tensor, as the kernel sees it"""
    axis: int
    width: int
    start: tuple[int, ...]
    """where the first place's window begins"""
    others: tuple[SSAValue, ...]

    @property
    def shifts(self) -> Iterator[tuple[int, int]]:
        """For each window that is made of two smaller ones how far these are apart, and its own width."""
        width = 1
        while width < self.width:
            shift = min(width, self.width - width)
            width += shift
            yield shift, width


def find_moving_extreme(kernel: te.KernelOp) -> MovingExtreme | None:
    """The first wide enough moving extreme that a kernel computes of one of its operands."""
    for op in kernel.body.block.ops:
        if not isinstance(op, te.ComputeOp) or op.reduction or DYNAMIC_INDEX in op.static_extents:
            continue
        for inner in reversed([*op.body.block.ops]):
            if isinstance(inner, Extreme) and not _is_joined_again(inner):
                found = _found(op, inner)
                if found is not None:
                    return found
    return None


def _is_joined_again(op: Extreme) -> bool:
    """Whether the result goes into another extreme of the same kind, and nowhere else."""
    user = op.result.get_user_of_unique_use()
    return type(user) is type(op)


def _leaves(op: Extreme) -> list[SSAValue]:
    """What is joined, by operations whose results nothing else needs."""
    found: list[SSAValue] = []
    pending: list[Operation] = [op]
    while pending:
        for operand in pending.pop().operands:
            owner = operand.owner
            is_inner = type(owner) is type(op) and operand.get_user_of_unique_use() is not None
            if is_inner and isinstance(owner, Operation):
                pending.append(owner)
            else:
                found.append(operand)
    return found


def _found(compute: te.ComputeOp, root: Extreme) -> MovingExtreme | None:
    args, reads = list(compute.read_args), compute.reads
    leaves = list(dict.fromkeys(_leaves(root)))
    by_source: dict[SSAValue, list[int]] = {}
    for leaf in leaves:
        if leaf in args:
            number = args.index(leaf)
            by_source.setdefault(reads[number].source, []).append(number)
    for source, numbers in by_source.items():
        offsets = [_offsets(compute, reads[number]) for number in numbers]
        if not isinstance(source, BlockArgument) or any(one is None for one in offsets):
            continue
        starts = [one for one in offsets if one is not None]
        axis = _axis(starts)
        if axis is None or not _is_worth_while(source, len(numbers), axis):
            continue
        window = {args[number] for number in numbers}
        others = tuple(leaf for leaf in leaves if leaf not in window)
        start = min(starts)
        return MovingExtreme(compute, root, source, axis, len(numbers), start, others)
    return None


def _offsets(compute: te.ComputeOp, read: te.Read) -> tuple[int, ...] | None:
    """How far from the place an element is along each axis; None where axes are not those of the place."""
    count = len(compute.parallel)
    if read.map is None or read.pad is not None or len(read.map.results) != count:
        return None
    offsets: list[int] = []
    for axis, expr in enumerate(read.map.results):
        linear = linear_form(expr, count)
        if linear is None:
            return None
        along = [int(n == axis) for n in range(count)]
        is_single = compute.static_extents[axis] == 1 and not any(linear[0])
        if linear[0] != along and not is_single:
            return None
        offsets.append(linear[1])
    return tuple(offsets)


def _axis(starts: Sequence[tuple[int, ...]]) -> int | None:
    """The one axis along which elements are neighbours; None where they are not all in a line, or some are missing."""
    if len(set(starts)) < len(starts) or len(starts) < 2:
        return None
    moving = [n for n, along in enumerate(zip(*starts, strict=True)) if len(set(along)) > 1]
    if len(moving) != 1:
        return None
    along = sorted(start[moving[0]] for start in starts)
    return moving[0] if along[-1] - along[0] == len(starts) - 1 else None


def _is_worth_while(source: SSAValue, width: int, axis: int) -> bool:
    """Whether fewer operations outweigh that windows are stored and loaded on the way."""
    operation = FLOAT_EXTREME if is_float(tensor_type(source).get_element_type()) else 1
    stages = (width - 1).bit_length()
    is_across = axis < len(shape_of(source)) - 1
    doubled = stages * (operation + MOVED) * (ACROSS if is_across else 1)
    return doubled < (width - 1) * (operation + 1)
