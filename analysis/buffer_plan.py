"""
Where each tensor of a function lives: in a buffer of its own, in the caller's array, or as a view of another tensor.

Kernels that only move elements are removed where one side can be a view of the other. Either the result is a view of
the source (a reshape, slice or transposition of something that is there already), or what computes the source writes
straight into the result: where the result is given to the caller, is made of several parts (a concatenation), has a
border (a pad), or merges axes that do not lie next to each other. Arguments and constants are read through views, and
never written.

The plan is made from the last operation to the first, since a tensor is written once and read afterwards: when a tensor's
turn comes, all that is made from it has its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import func
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ..dialects import te
from ..dialects.affine_bounds import linear_form
from ..dialects.control_flow import ControlFlow, Scan, While
from ..dialects.shaped import is_tensor, shape_of
from ..frozen import frozen
from .kept_apart import kept_apart
from .movements import Movement, Piece, movement_of
from .repeats import REPEATED
from .strided_views import Placing, view_behind, view_through


@frozen
class Home:
    """
    A place in a buffer: that of the tensor `root`, or the caller's array for the result of that number.
    """

    root: SSAValue | int
    placing: Placing


@frozen
class Placed:
    """
    What becomes of a movement whose result has a buffer: its kernel is gone, but for the pieces that are still copied.

    `copied` has, for each of those, why.
    """

    movement: Movement
    copied: tuple[tuple[Piece, str], ...] = ()


@frozen
class Straightened:
    """
    An operand of a kernel that is read through divisions, as `x[i floordiv 6, i mod 6]`, but whose elements lie at
    regular distances along the iterators: it is passed as a view with those for axes, and read as `x[i]`.
    """

    shape: tuple[int, ...]
    home: Home
    map: AffineMap


@frozen
class BufferPlan:
    """The homes of a function's tensors, and what that leaves of the kernels that move elements."""

    homes: Mapping[SSAValue, Home]
    """of every tensor that the function's block defines or takes"""
    views: frozenset[te.KernelOp]
    """whose result is a view of its source"""
    placed: Mapping[te.KernelOp, Placed]
    """whose sources are written into the result by what computes them"""
    kept: Mapping[te.KernelOp, str]
    """movements that stay kernels that copy, with the reason"""
    in_place: Mapping[SSAValue, SSAValue]
    """results of kernels that take over the buffer of an operand that nothing needs any more"""
    apart: Mapping[SSAValue, str]
    """results that could, and have a buffer of their own, with the reason"""
    straightened: Mapping[BlockArgument, Straightened]
    """of arguments of kernels' bodies"""
    returned: Mapping[int, str]
    """results that are copied to the caller's array at the end, by number, with the reason"""
    updated: frozenset[int]
    """results of a region that what computes them writes over the state that they replace"""
    overwriting: frozenset[tuple[int, int]] = frozenset()
    """results of a region, and states of other numbers that what computes these may write over"""


@frozen
class Surroundings:
    """
    What a region's block has from around it: where the tensors that enter it lie, from starts that are known when
    it runs, and where its results go. `state` has for results that replace an argument of the block this argument.
    """

    entering: Mapping[SSAValue, Placing] = field(default_factory=dict[SSAValue, Placing])
    destinations: Sequence[Placing] | None = None
    state: Mapping[int, SSAValue] = field(default_factory=dict[int, SSAValue])


def plan_buffers(block: Block, around: Surroundings | None = None) -> BufferPlan:
    """The plan for a block of kernels, calls and control flow: a function's, or that of a region."""
    return _Planner(block, around or Surroundings()).plan()


@dataclass
class _Planner:
    block: Block
    around: Surroundings
    homes: dict[SSAValue, Home] = field(default_factory=dict[SSAValue, Home])
    views: dict[SSAValue, list[tuple[SSAValue, AffineMap]]] = field(
        default_factory=dict[SSAValue, list[tuple[SSAValue, AffineMap]]]
    )
    """the tensors that are views of a tensor, with the map of each"""
    seen_through: set[te.KernelOp] = field(default_factory=set[te.KernelOp])
    placed: dict[te.KernelOp, Placed] = field(default_factory=dict[te.KernelOp, Placed])
    kept: dict[te.KernelOp, str] = field(default_factory=dict[te.KernelOp, str])
    returned: dict[int, str] = field(default_factory=dict[int, str])

    def plan(self) -> BufferPlan:
        for value, placing in self.around.entering.items():
            self.homes[value] = Home(value, placing)
        self._results()
        for op in reversed(list(self.block.ops)):
            movement = movement_of(op) if isinstance(op, te.KernelOp) else None
            if movement is not None:
                self._movement(movement)
        for value in self._tensors():
            if value not in self.homes:
                self._settle(value, Home(value, Placing.contiguous(shape_of(value))))
        kernels = [op for op in self.block.ops if isinstance(op, te.KernelOp) and op.inline is None]
        straightened = {
            arg: found
            for op in kernels
            for arg, value in zip(op.body.block.args, op.inputs, strict=True)
            if is_tensor(value) and (found := _straightened(arg, self.homes[value])) is not None
        }
        taken = self._in_place(kernels)
        apart = kept_apart(kernels, taken, are_others=self._is_one_of_several())
        state = self.around.state
        return BufferPlan(
            self.homes,
            frozenset(self.seen_through),
            self.placed,
            self.kept,
            {result: value for result, value in taken.items() if result not in apart},
            apart,
            straightened,
            self.returned,
            frozenset(number for number in state if self._may_overwrite(number, number)),
            frozenset(
                (number, other)
                for number in state
                for other in state
                if other != number and self._may_overwrite(number, other)
            ),
        )

    def _is_one_of_several(self) -> bool:
        """Whether the block calls functions, or is what a repeated one computes: others have equal kernels then."""
        around = self.block.parent_op()
        is_repeated = around is not None and REPEATED in around.attributes
        return is_repeated or any(isinstance(op, func.CallOp) for op in self.block.ops)

    def _tensors(self) -> list[SSAValue]:
        """Every tensor, those that are views of others excepted."""
        views = {view for readers in self.views.values() for view, _ in readers}
        values = (*self.block.args, *(result for op in self.block.ops for result in op.results))
        return [value for value in values if is_tensor(value) and value not in views]

    def _results(self) -> None:
        tensors = self._returned_tensors()
        # What is state as well as a result for each step lies in the latter: that is copied to the former.
        for number in sorted(range(len(tensors)), key=lambda n: n in self.around.state):
            value = tensors[number]
            if not _is_computed(value):
                self.returned[number] = "it is an argument or a constant"
            elif value in self.homes:
                is_entering = value in self.around.entering
                self.returned[number] = (
                    "it is computed outside" if is_entering else "it is another result as well"
                )
            elif self.around.destinations is None:
                self.homes[value] = Home(number, Placing.contiguous(shape_of(value)))
            elif _can_write(value, self.around.destinations[number]):
                self.homes[value] = Home(number, self.around.destinations[number])
            else:
                self.returned[number] = "what computes it cannot write rows that lie apart"

    def _returned_tensors(self) -> list[SSAValue]:
        terminator = self.block.last_op
        assert isinstance(terminator, func.ReturnOp | te.YieldOp)
        return [value for value in terminator.operands if is_tensor(value)]

    def _movement(self, movement: Movement) -> None:
        result, why_no_view = movement.result, None
        if result not in self.homes:
            if movement.is_whole:
                why_no_view = self._see_through(movement.pieces[0], result)
                if why_no_view is None:
                    self.seen_through.add(movement.kernel)
                    return
            self._settle(result, Home(result, Placing.contiguous(shape_of(result))))
        reasons = [self._place(piece, self.homes[result]) for piece in movement.pieces]
        copied = [
            (piece, reason)
            for piece, reason in zip(movement.pieces, reasons, strict=True)
            if reason is not None
        ]
        if len(copied) == len(movement.pieces):
            self.kept[movement.kernel] = why_no_view or copied[0][1]
        else:
            self.placed[movement.kernel] = Placed(movement, tuple(copied))

    # The result as a view of the source.

    def _see_through(self, piece: Piece, result: SSAValue) -> str | None:
        """Make the result a view of its source; why it cannot be read as one, or None."""
        home = self._home_of(piece.source)
        found = self._views_of(result, piece.map, home)
        if found is None:
            placing = view_through(piece.map, shape_of(result), home.placing)
            if placing is None:
                return "its elements are not at regular distances in its source"
            if not _is_regular(result, placing):
                return "its rows are not in order in its source"
            return "something needs its elements next to each other"
        self.views.setdefault(piece.source, []).append((result, piece.map))
        if piece.source in self.homes:
            self.homes |= found
        return None

    def _home_of(self, value: SSAValue) -> Home:
        """The home of a tensor, or the one that it gets if nothing else is decided."""
        return self.homes.get(value) or Home(value, Placing.contiguous(shape_of(value)))

    def _views_of(self, view: SSAValue, map_: AffineMap, home: Home) -> dict[SSAValue, Home] | None:
        """The homes of a view, and of the views of it, when its source is at `home`; None when one cannot be."""
        shape = shape_of(view)
        placing = view_through(map_, shape, home.placing)
        if placing is None:
            return None
        placing = placing.normalized(shape)
        if not _can_read(view, placing):
            return None
        return self._with_views(view, Home(home.root, placing))

    def _with_views(self, value: SSAValue, home: Home) -> dict[SSAValue, Home] | None:
        """The homes of a tensor and of all views of it; None when one cannot be."""
        found = {value: home}
        for view, map_ in self.views.get(value, ()):
            more = self._views_of(view, map_, home)
            if more is None:
                return None
            found |= more
        return found

    def _settle(self, value: SSAValue, home: Home) -> None:
        """Decide where a tensor is, and so the views of it, which were found to be able to follow."""
        found = self._with_views(value, home)
        assert found is not None
        self.homes |= found

    # The source as a part of the result.

    def _place(self, piece: Piece, home: Home) -> str | None:
        """Let what computes the source write it into the result; why that cannot be, or None."""
        source = piece.source
        if not _is_computed(source):
            return "what is moved is an argument or a constant"
        if source in self.homes:
            return "what is moved has another place already"
        shape = shape_of(source)
        if prod(shape) != prod(piece.box.extents):
            return "the result does not have all that its source has"
        part = home.placing.part(piece.box.low)
        placing = view_behind(piece.map, piece.box.extents, part, shape)
        if placing is None:
            return "its elements are not at regular distances in the result"
        if not _can_write(source, placing):
            return "what computes it cannot write rows that lie apart"
        found = self._with_views(source, Home(home.root, placing))
        if found is None or not all(_can_read(value, at.placing) for value, at in found.items()):
            return "something else needs its elements next to each other"
        self.homes |= found
        return None

    # Results in place of operands.

    def _in_place(self, kernels: Sequence[te.KernelOp]) -> dict[SSAValue, SSAValue]:
        """
        For results with a buffer of their own, the operand whose buffer they take over.

        The kernel alone reads it, element for element where it writes, and it is the last that does: none of its
        views is needed later, and it is no argument, constant or result of the function.
        """
        taken: dict[SSAValue, SSAValue] = {}
        position = {op: number for number, op in enumerate(self.block.ops)}
        last_use = self._last_uses(position)
        for op in position:
            if isinstance(op, Scan | While):
                last = op.last if isinstance(op, Scan) else op.outputs
                for result, value in zip(last, op.carried, strict=True):
                    is_free = self._has_own_buffer(result) and self._has_own_buffer(value)
                    if is_free and self._is_used_once(value):
                        taken[result] = value
        for kernel in kernels:
            for result, yielded in zip(kernel.outputs, kernel.yielded, strict=True):
                for arg, value in zip(kernel.body.block.args, kernel.inputs, strict=True):
                    if (
                        value.type == result.type
                        and self._has_own_buffer(result)
                        and self._has_own_buffer(value)
                        and value not in taken.values()
                        and last_use[value] == position[kernel]
                        and not self._is_seen_otherwise(kernel, value)
                        and updates_in_place(yielded, arg)
                    ):
                        taken[result] = value
                        break
        return taken

    def _is_used_once(self, value: SSAValue) -> bool:
        """Whether one operand is all that needs a tensor or a view of it."""
        views = [other for other, home in self.homes.items() if home.root is value]
        return views == [value] and value.has_one_use()

    def _last_uses(self, position: Mapping[Operation, int]) -> dict[SSAValue | int, int]:
        """The position of the last operation of the block that uses what is in a buffer, or has it used inside."""
        last: dict[SSAValue | int, int] = {}
        for value, home in self.homes.items():
            users = (self.block.find_ancestor_op_in_block(use.operation) for use in value.uses)
            ends = (position[user] for user in users if user is not None)
            last[home.root] = max(last.get(home.root, -1), *ends, -1)
        return last

    def _may_overwrite(self, number: int, other: int) -> bool:
        """
        Whether what computes the next state of a number may write it over a state, this or another one: nothing needs that
        afterwards, and the kernel reads it element for element where it writes, if it does at all.
        """
        state, value = self.around.state[other], self._returned_tensors()[number]
        home = self.homes[value]
        if home.root != number or state.type != value.type:
            return False
        kernel = value.owner
        if not isinstance(kernel, te.KernelOp):
            return False
        if any(at.root == number for v, at in self.homes.items() if v is not value):
            return False
        position = {op: n for n, op in enumerate(self.block.ops)}
        if self._last_uses(position).get(state, -1) > position[kernel]:
            return False
        readers = [v for v in kernel.inputs if is_tensor(v) and self.homes[v].root is state]
        if readers and (readers != [state] or home.placing != self.homes[state].placing):
            return False
        yielded = kernel.yielded[kernel.outputs.index(value)]
        inside = zip(kernel.body.block.args, kernel.inputs, strict=True)
        return all(updates_in_place(yielded, arg) for arg, given in inside if given is state)

    def _has_own_buffer(self, value: SSAValue) -> bool:
        return (
            _is_computed(value)
            and value not in self.around.entering
            and self.homes[value] == Home(value, Placing.contiguous(shape_of(value)))
        )

    def _is_seen_otherwise(self, kernel: te.KernelOp, value: SSAValue) -> bool:
        """Whether the kernel also has a view of an operand, or has it twice."""
        inputs = [other for other in kernel.inputs if is_tensor(other)]
        return sum(self.homes[other].root is value for other in inputs) > 1


def updates_in_place(result: SSAValue, arg: BlockArgument) -> bool:
    """
    Whether what a kernel yields can overwrite an operand: one compute without a reduction makes it, reads the operand
    at its own point only, and nothing else in the kernel reads it; or loops that start with it, and alone have it.
    """
    compute = result.owner
    if isinstance(compute, te.LoopsOp):
        number = compute.outputs.index(result)
        return number < len(compute.inits) and compute.inits[number] is arg and arg.has_one_use()
    if not isinstance(compute, te.ComputeOp) or compute.combining is not None:
        return False
    identity = AffineMap.identity(len(compute.extents))
    return all(
        use.operation is compute
        and use.index < len(compute.sources)
        and compute.reads[use.index].map == identity
        and compute.reads[use.index].pad is None
        for use in arg.uses
    )


def _straightened(arg: BlockArgument, home: Home) -> Straightened | None:
    """How an operand can be read without divisions; None when it is not read with any, or cannot."""
    found: set[tuple[AffineMap, tuple[int, ...]]] = set()
    for use in arg.uses:
        compute = use.operation
        if not isinstance(compute, te.ComputeOp) or use.index >= len(compute.sources):
            return None
        read = compute.reads[use.index]
        if read.map is None or read.pad is not None:
            return None
        found.add((read.map, compute.static_extents))
    if len(found) != 1:
        return None
    ((map_, extents),) = found
    if 0 in extents:
        return None  # the place of nothing may be the end of its buffer
    if all(linear_form(expr, map_.num_dims) is not None for expr in map_.results):
        return None
    placing = view_through(map_, extents, home.placing)
    if placing is None:
        return None
    axes = [n for n, stride in enumerate(placing.strides) if stride and extents[n] > 1]
    shape = tuple(extents[n] for n in axes)
    placing = Placing(placing.offset, tuple(placing.strides[n] for n in axes))
    if not axes or not placing.has_unit_rows(shape) or min(placing.strides, default=0) < 0:
        return None
    dims = tuple(AffineExpr.dimension(n) for n in axes)
    return Straightened(shape, Home(home.root, placing), AffineMap(len(extents), 0, dims))


def _is_computed(value: SSAValue) -> bool:
    return isinstance(value.owner, te.KernelOp | func.CallOp | ControlFlow)


def _can_write(value: SSAValue, placing: Placing) -> bool:
    """Whether what computes a tensor can write it there: a call only to a contiguous array."""
    if placing.is_contiguous(shape_of(value)):
        return True
    is_whole = isinstance(value.owner, func.CallOp) or _is_state(value)
    return not is_whole and _is_regular(value, placing)


def _is_state(value: SSAValue) -> bool:
    """Whether the value is the last state of a loop, whose steps may exchange its buffer for another."""
    op = value.owner
    return isinstance(op, While) or (isinstance(op, Scan) and value in op.last)


def _can_read(value: SSAValue, placing: Placing) -> bool:
    """Whether all that reads a tensor can read it there: a call only a contiguous array."""
    if placing.is_contiguous(shape_of(value)):
        return True
    readers: Sequence[Operation] = [use.operation for use in value.uses]
    return _is_regular(value, placing) and not any(
        isinstance(reader, func.CallOp) for reader in readers
    )


def _is_regular(value: SSAValue, placing: Placing) -> bool:
    """Whether vectors of neighbours can be read and written: along the innermost axis, and forwards."""
    return placing.has_unit_rows(shape_of(value)) and min(placing.strides, default=0) >= 0
