"""Whether what reads the results of loops at fixed shifts can follow these block by block: what `te-consume-in-blocks` asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from ...dialects import loop, te
from ...dialects.affine_bounds import linear_form
from ...frozen import frozen
from ...lazy import cached_property
from ..operations import comes_after, is_before, used_from_above
from .loop_operands import BLOCK, LEAST_STEPS

MOST_BLOCK = 1 << 15
"""Steps of a block at most, however far back reads go: of 8 bytes each a quarter of an L2 of 1 MiB."""

LONGER = 4
"""Times that a block is longer than what is copied for it of the one before, where there are so many steps."""

LEAST_BLOCKS = 8
"""Blocks that are left where they become longer for that."""


@frozen
class Steps:
    """Steps from 0 up to `count`, without, one after another: all in one loop, or already in blocks of `size`."""

    count: int
    loops: tuple[loop.ForOp, ...]
    """the loop of the steps; or that of a block's steps, and that of those that are no whole block"""
    size: int | None = None
    around: loop.ForOp | None = None
    """the loop over the blocks"""


@frozen
class Written:
    """A tensor of which each step of loops writes the element of its number."""

    number: int
    """of the loops' results"""
    argument: SSAValue
    value: SSAValue
    """the tensor, outside of the loops' kernel"""


@frozen
class Follower:
    """A kernel of one compute along one axis, that reads what steps write at fixed shifts."""

    kernel: te.KernelOp
    compute: te.ComputeOp
    written: Mapping[SSAValue, Written]
    """what is written by what stands for it in the kernel"""

    @property
    def extent(self) -> int:
        return self.compute.static_extents[0]

    @cached_property
    def shifts(self) -> tuple[tuple[int, int], ...]:
        """For each read of what is written the stride and the shift of its subscript."""
        maps = [read.map for read in self.compute.reads if read.source in self.written]
        forms = [linear_form(map_.results[0], 1) for map_ in maps if map_ is not None]
        return tuple((form[0][0], form[1]) for form in forms if form is not None)


@frozen
class BlocksPlan:
    """
    How kernels follow steps in blocks.

    When the steps of a block are done, from `size * b` on, the kernels compute the elements whose last operand was written
    in it: as many as `per_block`, and the first `behind` of them in the first block are none. What was written before
    and is still read is kept: `halo` elements in front of those of the block.
    """

    kernel: te.KernelOp
    loops: te.LoopsOp
    steps: Steps
    written: tuple[Written, ...]
    kept: frozenset[int]
    """the numbers of results that others need too, which are stored as before"""
    followers: tuple[Follower, ...]
    place: te.KernelOp
    """the kernel before which all of it is done"""
    size: int
    blocks: int
    stride: int
    behind: int
    halo: int

    @property
    def per_block(self) -> int:
        return self.size // self.stride

    @property
    def whole(self) -> int:
        """The steps of whole blocks."""
        return self.size * self.blocks

    @property
    def length(self) -> int:
        """Of a buffer of what is written."""
        return self.halo + max(self.size, self.steps.count - self.whole)


def plan_blocks(kernel: te.KernelOp) -> BlocksPlan | str | None:
    """How kernels follow the loops of a kernel in blocks; why they do not, or None where it is nothing of this kind."""
    loops = _only_loops(kernel)
    steps = None if loops is None else _steps_of(loops)
    if loops is None or steps is None:
        return None
    written = _written(kernel, loops, steps)
    if not written:
        return None
    followers = _followers(kernel, written)
    if isinstance(followers, str):
        return followers
    if steps.count < LEAST_STEPS:
        return "the steps are few"
    place = _place(kernel, followers)
    if place is None:
        return "what reads it reads what is computed later"
    kernels = [follower.kernel for follower in followers]
    kept = frozenset(
        one.number for one in written if any(use.operation not in kernels for use in one.value.uses)
    )
    read = {one.number for follower in followers for one in follower.written.values()}
    used = tuple(one for one in written if one.number in read)
    sizes = _sizes(steps, followers)
    if isinstance(sizes, str):
        return sizes
    kept |= {number for number in range(len(loops.outputs)) if number not in read}
    return BlocksPlan(kernel, loops, steps, used, kept, followers, place, *sizes)


# The loops.


def _only_loops(kernel: te.KernelOp) -> te.LoopsOp | None:
    loops, *rest = (op for op in kernel.body.block.ops if not isinstance(op, arith.ConstantOp))
    is_alone = len(rest) == 1 and isinstance(rest[0], te.YieldOp)
    if not isinstance(loops, te.LoopsOp) or not is_alone or kernel.destinations or loops.inits:
        return None
    return loops if [*kernel.yielded] == [*loops.outputs] else None


def _steps_of(loops: te.LoopsOp) -> Steps | None:
    """The steps that are the last of what loops do, in order."""
    top = [op for op in loops.body.block.ops if isinstance(op, loop.ForOp)]
    after = [op for op in loops.body.block.ops if not isinstance(op, te.YieldOp)]
    if not top or after[-1] is not top[-1]:
        return None
    if len(top) == 1:
        (one,) = top
        inner = [op for op in one.body.block.ops if isinstance(op, loop.ForOp)]
        if not inner and (count := _runs_from(one, 0)) is not None:
            return Steps(count, (one,))
    around, blocks = top[0], _runs_from(top[0], 0)
    inner = [op for op in around.body.block.ops if isinstance(op, loop.ForOp)]
    size = _block_of(inner[-1], around) if inner else None
    if blocks is None or size is None:
        return None
    if len(top) == 1:
        return Steps(size * blocks, (inner[-1],), size, around)
    rest = _runs_from(top[-1], size * blocks)
    return None if rest is None else Steps(size * blocks + rest, (inner[-1], top[-1]), size, around)


def _runs_from(op: loop.ForOp, start: int) -> int | None:
    """How many steps of 1 a loop in order has from a number on; None where it is none."""
    is_in_order = op.kind.data is loop.LoopKind.SERIAL and op.step.value.data == 1
    starts = op.lower_map.data.results == (AffineConstantExpr(start),)
    return op.constant_trip_count() if is_in_order and starts else None


def _block_of(op: loop.ForOp, around: loop.ForOp) -> int | None:
    """How many steps a block has, where a loop goes through those of the block that another one counts."""
    if op.kind.data is not loop.LoopKind.SERIAL or op.step.value.data != 1:
        return None
    lower, upper = (
        _of_block(map_.data, operands, around)
        for map_, operands in (
            (op.lower_map, op.lower_operands),
            (op.upper_map, op.upper_operands),
        )
    )
    if lower is None or upper is None:
        return None
    size, start = lower
    return size if start == 0 and upper == (size, size) else None


def _of_block(
    map_: AffineMap, operands: Sequence[SSAValue], around: loop.ForOp
) -> tuple[int, int] | None:
    """The factor of a block's number in a bound, and what is added."""
    if [*operands] != [around.induction_variable] or len(map_.results) != 1:
        return None
    form = linear_form(map_.results[0], 1)
    return None if form is None else (form[0][0], form[1])


def _written(kernel: te.KernelOp, loops: te.LoopsOp, steps: Steps) -> tuple[Written, ...]:
    """The results of which each step writes its element."""
    pairs = enumerate(zip(loops.output_args, kernel.outputs, strict=True))
    return tuple(
        Written(number, argument, value)
        for number, (argument, value) in pairs
        if _is_written_by(argument, steps)
    )


def _is_written_by(argument: SSAValue, steps: Steps) -> bool:
    stores = [use.operation for use in argument.uses]
    if sorted(map(id, (op.parent_op() for op in stores))) != sorted(map(id, steps.loops)):
        return False
    return all(_is_at_step(op) for op in stores)


def _is_at_step(op: Operation) -> bool:
    """Whether a store is of the element whose number is that of the step."""
    around = op.parent_op()
    if not isinstance(op, loop.StoreOp) or not isinstance(around, loop.ForOp):
        return False
    results = op.map.data.results
    if len(results) != 1 or not isinstance(results[0], AffineDimExpr):
        return False
    return op.operands_[results[0].position] is around.induction_variable


# What follows them.


def _followers(kernel: te.KernelOp, written: Sequence[Written]) -> tuple[Follower, ...] | str:
    """What reads what steps write at fixed shifts, of one stride; why nothing does."""
    by_value = {one.value: one for one in written}
    users = [use.operation for one in written for use in one.value.uses]
    kernels = [op for op in dict.fromkeys(users) if isinstance(op, te.KernelOp)]
    reason = "its results are the function's"
    made = set(kernel.outputs) - set(by_value)
    found: list[Follower] = []
    for user in sorted((op for op in kernels if op.parent is kernel.parent), key=_position):
        follower = _follower(user, by_value)
        if isinstance(follower, str):
            reason = follower
            continue
        if found and follower.shifts[0][0] != found[0].shifts[0][0]:
            reason = "others read it at other strides"
            continue
        if not made.isdisjoint(user.inputs):
            reason = "what reads it reads what is made in the same blocks"
            continue
        made |= {*user.outputs}
        found.append(follower)
    return tuple(found) or reason


def _follower(kernel: te.KernelOp, written: Mapping[SSAValue, Written]) -> Follower | str:
    inside = [op for op in kernel.body.block.ops if not isinstance(op, arith.ConstantOp)]
    compute = inside[0]
    if kernel.destinations or len(inside) != 2 or not isinstance(compute, te.ComputeOp):
        return "what reads it is more than one compute"
    if [*kernel.yielded] != [*compute.outputs] or used_from_above(compute.body):
        return "what reads it needs values of its kernel"
    if compute.combiners or len(compute.static_extents) != 1:
        return "what reads it is a reduction, or along several axes"
    if DYNAMIC_INDEX in compute.static_extents:
        return "what reads it has extents that are values"
    pairs = zip(kernel.body.block.args, kernel.inputs, strict=True)
    own: dict[SSAValue, Written] = {arg: written[v] for arg, v in pairs if v in written}
    follower = Follower(kernel, compute, own)
    reads = [read for read in compute.reads if read.source in own]
    if any(read.map is None for read in compute.reads) or len(follower.shifts) < len(reads):
        return "it is read at computed indices"
    strides = {stride for stride, _ in follower.shifts}
    if len(strides) != 1 or min(strides) < 1:
        return "it is not read along its axis, at one stride"
    return follower


def _place(kernel: te.KernelOp, followers: Sequence[Follower]) -> te.KernelOp | None:
    """A kernel of these before which all that they need is there, and nothing needs what they make."""
    every = [kernel, *(follower.kernel for follower in followers)]
    last = max(every, key=_position)
    made = {output for each in every for output in each.outputs}
    needed = {value for each in every for value in each.inputs} - made
    if all(is_before(value, kernel) for value in needed):
        return kernel
    uses = [use.operation for output in made for use in output.uses]
    if all(op in every or comes_after(op, last) for op in uses):
        return last
    return None


def _position(op: Operation) -> int:
    block = op.parent
    assert block is not None
    return [*block.ops].index(op)


# The blocks.


def steps_of_block(kernel: te.KernelOp) -> int:
    """Steps of a block of a kernel's loops, if elements are computed ahead of them: more where others read far back."""
    loops = _only_loops(kernel)
    steps = None if loops is None else _steps_of(loops)
    if loops is None or steps is None:
        return BLOCK
    followers = _followers(kernel, _written(kernel, loops, steps))
    return BLOCK if isinstance(followers, str) else _block_size(followers, steps.count)


def _reach(followers: Sequence[Follower]) -> tuple[int, int, int]:
    """The stride at which kernels read, how many elements come behind, and what is kept of what was before."""
    shifts = [shift for follower in followers for _, shift in follower.shifts]
    stride = followers[0].shifts[0][0]
    behind = max(shifts) // stride
    return stride, behind, max(stride * behind - min(shifts), 0)


def _block_size(followers: Sequence[Follower], steps: int) -> int:
    """Of so many steps those of a block that these follow: if it can be several times what is kept of the one before."""
    stride, behind, halo = _reach(followers)
    size, least = BLOCK, 2 * max(stride * (behind + 1), halo)
    while size < least or (size < LONGER * halo and LEAST_BLOCKS * size < steps):
        size *= 2
    return size - size % stride


def _sizes(steps: Steps, followers: Sequence[Follower]) -> tuple[int, int, int, int, int] | str:
    """Steps of a block, blocks, the stride, how many elements come behind, and what is kept of what was before."""
    stride, behind, halo = _reach(followers)
    if behind < 0:
        return "it is read outside of where it is written"
    shifts = [shift for follower in followers for _, shift in follower.shifts]
    least = 2 * max(stride * (behind + 1), halo)
    size = steps.size or _block_size(followers, steps.count)
    if size % stride or not least <= size <= min(MOST_BLOCK, steps.count // 2):
        return f"it is read {max(shifts) - min(shifts)} elements back, too far for blocks of {size}"
    # Elements that a kernel has none of are left out only behind the last whole block.
    done = [(follower.extent + behind) * stride for follower in followers]
    blocks = steps.count // size
    if steps.size is None:
        blocks = min(steps.count, *done) // size
    too_few = min(done) < blocks * size or steps.count - blocks * size > 2 * size
    if blocks < 2 or too_few:
        return "what reads it needs a part of it"
    return size, blocks, stride, behind, halo
