"""tensorize: a nest replaced by a call of a function of the module that computes the same."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

import islpy as isl
from xdsl.builder import Builder
from xdsl.dialects import affine, func, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    MemRefType,
    StridedLayoutAttr,
)
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...analysis.affine_isl import constant, pw_aff, variable
from ...analysis.alias import Aliases
from ...dialects import loop
from ...dialects.affine_bounds import simplified
from ...dialects.affine_text import compact
from ...dialects.loop import RunMode
from ...dialects.schedule.steps import Tensorize
from ...dialects.shaped import Buffer, memref_type
from ...frozen import frozen
from ...spelling import did_you_mean, few_names
from ..step_support.made import Nothing
from ..step_support.modes import check_marks_around
from ..step_support.nest import Nest, Nests, loops_around
from ..step_support.order import check_structured
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.rewrite import BoundExprs, added_up, shifted_to
from ..step_support.trip_count import TripCount
from ..step_support.unify import Accessor, Mismatch, Unifier


@frozen
class View:
    """The part of a buffer that stands for an argument of the kernel."""

    source: SSAValue
    type: Buffer
    """the kernel's argument"""
    axes: tuple[int, ...]
    """of the buffer, those that the argument has too"""
    offsets: tuple[AffineExpr, ...]
    """of all axes of the buffer"""
    strides: tuple[int, ...]
    values: tuple[SSAValue, ...]
    """what the offsets are over"""
    name: str

    def make(self, builder: Builder) -> SSAValue:
        """Insert what makes the argument of the call."""
        view, result_type = self.source, self.result_type()
        if result_type != self._source_type():
            sizes = [1] * len(self.offsets)
            for size, axis in zip(self.type.get_shape(), self.axes, strict=True):
                sizes[axis] = size
            offsets = [self._index(builder, expr) for expr in self.offsets]
            view = builder.insert(
                memref.SubviewOp.get(self.source, offsets, sizes, self.strides, result_type)
            ).result
        if result_type != self.type:
            view = builder.insert(memref.CastOp.get(view, self.type)).dest
        if view is not self.source:
            loop.set_buffer_name(view, self.name)
        return view

    def _source_type(self) -> Buffer:
        return memref_type(self.source)

    def _index(self, builder: Builder, expr: AffineExpr) -> SSAValue | int:
        if isinstance(expr, AffineConstantExpr):
            return expr.value
        (used,), values = compact([expr], self.values)
        if used == AffineExpr.dimension(0):
            return values[0]
        map_ = AffineMapAttr(AffineMap(len(values), 0, (used,)))
        return builder.insert(affine.ApplyOp(values, map_)).result

    def result_type(self) -> Buffer:
        """The type of the subview: sizes of the argument, strides of the buffer."""
        source = self._source_type()
        strides = source.get_strides() or [None] * len(self.offsets)
        start = source.layout.get_offset() if isinstance(source.layout, StridedLayoutAttr) else 0
        offset: int | None = start
        for expr, stride in zip(self.offsets, strides, strict=True):
            if not isinstance(expr, AffineConstantExpr) or (stride is None and expr.value):
                offset = None
            elif offset is not None and stride is not None:
                offset += expr.value * stride
        kept = [
            None if (stride := strides[axis]) is None else stride * self.strides[axis]
            for axis in self.axes
        ]
        is_all = (
            source.get_shape() == self.type.get_shape()
            and all(s == 1 for s in self.strides)
            and offset == start
        )
        if is_all:
            return source
        shape, element = self.type.get_shape(), source.get_element_type()
        return MemRefType(element, shape, StridedLayoutAttr(kept, offset))

    def why_not(self) -> str | None:
        """Why the part cannot be passed as an argument of the type; None when it can."""
        have, want = self.result_type(), self.type
        have_strides, want_strides = have.get_strides(), want.get_strides()
        have_offset, want_offset = _offset(have), _offset(want)
        if have_strides is None or want_strides is None:
            return f"{have} and {want} have no strides"
        fits = all(w is None or w == h for h, w in zip(have_strides, want_strides, strict=True))
        if fits and (want_offset is None or want_offset == have_offset):
            return None
        return (
            f"the part of '%{loop.buffer_name(self.source)}' is a {have}, which is no {want}; declare the "
            "kernel's argument with strided<[?, …, 1], offset: ?>"
        )


def _offset(type_: Buffer) -> int | None:
    layout = type_.layout
    return layout.get_offset() if isinstance(layout, StridedLayoutAttr) else 0


@frozen
class TensorizePlan:
    """The nest's loop, the function to call, and its arguments: views of buffers, or other values."""

    for_op: loop.ForOp
    kernel: str
    arguments: tuple[View | SSAValue, ...]

    def apply(self) -> Nothing:
        """`for i: for j: …` → `func.call @kernel(subviews)`."""
        builder = Builder(InsertPoint.before(self.for_op))
        values = [arg.make(builder) if isinstance(arg, View) else arg for arg in self.arguments]
        builder.insert(func.CallOp(self.kernel, values, []))
        self.for_op.detach()
        self.for_op.erase()
        return Nothing()


@planner(Tensorize)
def plan_tensorize(step: Tensorize, nests: Nests) -> TensorizePlan:
    """
    Legal when the nest is the kernel's body with parts of buffers in place of its arguments.

    The refusal names the first difference.
    """
    nest, name = nests.resolve(step.loop)
    root = nest.loop(name)
    check_structured(step, root)
    check_marks_around(step, root, (RunMode.VECTOR,))
    kernel = _kernel(step, nests, nest)
    unifier = Unifier(kernel, nest, root)
    try:
        unifier.run()
        arguments = tuple(_arguments(kernel, unifier))
        _check_aliases(kernel.function, unifier)
    except Mismatch as difference:
        raise refuse(step, f"the nest is not the kernel '{step.kernel}': {difference}") from None
    _check_views(step, nest, root, arguments)
    return TensorizePlan(root, step.kernel, arguments)


def _check_views(
    step: Tensorize, nest: Nest, root: loop.ForOp, arguments: Sequence[View | SSAValue]
) -> None:
    """The parts are passed also where no loop of the nest runs: they must exist there too."""
    block = root.parent
    assert block is not None
    around = nest.frames.of(block)
    for view in arguments:
        if not isinstance(view, View):
            continue
        starts = around.values(view.offsets, list(view.values))
        sizes = [1] * len(view.offsets)
        for size, axis in zip(view.type.get_shape(), view.axes, strict=True):
            sizes[axis] = size
        shape = memref_type(view.source).get_shape()
        for axis, start in enumerate(starts or ()):
            if shape[axis] == DYNAMIC_INDEX:
                continue
            span = constant(around.space, (sizes[axis] - 1) * view.strides[axis])
            inside = start.ge_set(constant(around.space, 0)).intersect(
                start.add(span).lt_set(constant(around.space, shape[axis]))
            )
            if not around.domain.is_subset(inside):
                raise refuse(
                    step,
                    f"where no iteration of it runs, the part of '%{loop.buffer_name(view.source)}' that the "
                    "kernel is given would reach beyond the buffer",
                    remedy="simplify first, or peel those iterations off",
                )


def _kernel(step: Tensorize, nests: Nests, nest: Nest) -> Nest:
    functions = [op for op in nests.module.ops if isinstance(op, func.FuncOp) and op.body.blocks]
    for function in functions:
        if function.sym_name.data != step.kernel:
            continue
        if function is nest.function:
            raise refuse(step, "a function cannot call itself as a kernel")
        if function.function_type.outputs.data or len(function.body.blocks) != 1:
            raise refuse(
                step, f"'{step.kernel}' has results or branches, expected loops on buffers"
            )
        return Nest(function)
    names = [f.sym_name.data for f in functions if f is not nest.function]
    listed = few_names("it has", names, "name one of the others") if names else ""
    remedy = did_you_mean(step.kernel, names, listed or "add the kernel to the module")
    raise refuse(step, f"the module has no function '{step.kernel}' with a body", remedy=remedy)


def _arguments(kernel: Nest, unifier: Unifier) -> Iterator[View | SSAValue]:
    """What to call the kernel with."""
    arguments = kernel.function.body.block.args
    for buffer in unifier.buffers:
        if buffer not in arguments:
            raise Mismatch(f"'%{loop.buffer_name(buffer)}' of the kernel is no argument of it")
    names: set[str] = set()
    for arg in arguments:
        if isinstance(arg.type, MemRefType):
            view = _view(unifier, arg, names)
            names.add(view.name)
            yield view
        elif arg in unifier.values:
            yield unifier.values[arg]
        else:
            raise Mismatch(
                f"nothing in the nest stands for '%{loop.buffer_name(arg)}' of the kernel"
            )


def _check_aliases(kernel: func.FuncOp, unifier: Unifier) -> None:
    """Arguments that the kernel takes for separate must be so, where one of them is written."""
    kernel_aliases = Aliases(kernel)
    ours = unifier.nest.dependences.scop.aliases
    written = {a.buffer for a, _ in unifier.accesses if isinstance(a, loop.StoreOp)}
    for a, b in combinations(unifier.buffers, 2):
        if not (a in written or b in written) or kernel_aliases.may_alias(a, b):
            continue
        here = ours.root(unifier.buffers[a]), ours.root(unifier.buffers[b])
        if ours.may_alias(*here):
            first, second = (loop.buffer_name(buffer) for buffer in here)
            raise Mismatch(
                f"'%{loop.buffer_name(a)}' and '%{loop.buffer_name(b)}' of the kernel are separate, and "
                + (
                    f"both stand for '%{first}'"
                    if here[0] is here[1]
                    else f"'%{first}' and '%{second}' may be the same memory"
                )
            )


# Which part of a buffer an argument stands for.


def _view(unifier: Unifier, arg: SSAValue, names: Collection[str]) -> View:
    """The part that stands for one argument; `names` are those of the parts for others."""
    source = unifier.buffers.get(arg)
    name = loop.buffer_name(arg)
    if source is None:
        raise Mismatch(f"nothing in the nest stands for '%{name}' of the kernel")
    type_ = memref_type(arg)
    if DYNAMIC_INDEX in type_.get_shape():
        raise Mismatch(f"'%{name}' of the kernel has no constant size")
    pairs = [
        _Subscripts(unifier, ours, theirs)
        for ours, theirs in unifier.accesses
        if ours.buffer is arg
    ]
    rank, own_rank = memref_type(source).get_num_dims(), type_.get_num_dims()
    for axes in combinations(range(rank), own_rank):
        found = _offsets(pairs, axes, rank)
        if found is not None:
            offsets, strides = found
            stem = f"{loop.buffer_name(source) or name}.part"
            part = unifier.nest.fresh_buffer_name(stem, names)
            view = View(source, type_, axes, offsets, strides, pairs[0].values, part)
            reason = view.why_not() or _outside(pairs[0], view)
            if reason is not None:
                raise Mismatch(reason)
            return view
    raise Mismatch(
        f"the subscripts of '%{loop.buffer_name(source)}' are not those of '%{name}' moved by an offset"
    )


def _offsets(
    pairs: Sequence[_Subscripts], axes: Sequence[int], rank: int
) -> tuple[tuple[AffineExpr, ...], tuple[int, ...]] | None:
    """Where the part begins and its strides, along each axis of the buffer; None when it is none."""
    offsets: list[AffineExpr] = []
    strides: list[int] = []
    for axis in range(rank):
        own = axes.index(axis) if axis in axes else None
        stride = next((s for s in pairs[0].strides(axis, own) if _agree(pairs, axis, own, s)), None)
        if stride is None:
            return None
        strides.append(stride)
        offsets.append(pairs[0].offset(axis, own, stride))
    return tuple(offsets), tuple(strides)


def _agree(pairs: Sequence[_Subscripts], axis: int, own: int | None, stride: int) -> bool:
    """Whether all accesses are moved by the same offset, which the nest's loops do not change."""
    together: isl.Map | None = None
    for pair in pairs:
        moved = pair.moved(axis, own, stride)
        together = moved if together is None else together.union(moved)
    return together is not None and together.is_single_valued()


def _outside(pair: _Subscripts, view: View) -> str | None:
    """Why a part is not inside of its buffer; None when it is, or the size is not known."""
    sizes = memref_type(view.source).get_shape()
    for axis, size in enumerate(sizes):
        own = view.axes.index(axis) if axis in view.axes else None
        extent = 1 if own is None else view.type.get_shape()[own]
        starts = pair.moved(axis, own, view.strides[axis]).range()
        if starts.is_empty() or size == DYNAMIC_INDEX:
            continue
        last = starts.dim_max_val(0)
        end = last.to_python() + (extent - 1) * view.strides[axis] if last.is_int() else size
        if starts.dim_min_val(0).is_neg() or end >= size:
            return (
                f"the part of '%{loop.buffer_name(view.source)}' that the kernel takes would not be inside of "
                f"it along axis {axis}"
            )
    return None


class _Subscripts:
    """The subscripts of an access of the nest beside those of the kernel's access."""

    def __init__(self, unifier: Unifier, ours: Accessor, theirs: Accessor):
        self._ours, self._theirs = ours, theirs
        block = theirs.parent
        assert block is not None
        self._around = unifier.nest.frames.of(block)
        self._depth = len(loops_around(unifier.root))
        self._pairs = unifier.loops
        self._nest, self._kernel = unifier.nest, unifier.kernel
        self._first: dict[SSAValue, BoundExprs] = {}
        for our_loop, their_loop in unifier.loops:
            first = TripCount(unifier.nest, their_loop).first()
            own_first = TripCount(unifier.kernel, our_loop).first()
            if first is None or own_first is None or own_first[1]:
                raise Mismatch(
                    f"where loop '{their_loop.loop_name.data}' or '{our_loop.loop_name.data}' starts is "
                    "no single expression"
                )
            self._first[their_loop.induction_variable] = first
            self._first[our_loop.induction_variable] = own_first
        values = self._around.values(theirs.map.data.results, list(theirs.operands_))
        if values is None or not unifier.nest.dependences.scop.of(theirs)[0].is_direct:
            raise Mismatch(f"the subscripts of '%{loop.buffer_name(theirs.buffer)}' are not affine")
        self._their_values = values
        self._our_values = [self._kernel_value(expr) for expr in ours.map.data.results]
        outer = (op.induction_variable for op in loops_around(unifier.root))
        self.values = (*outer, *unifier.nest.dependences.scop.parameters)

    def _kernel_value(self, expr: AffineExpr) -> isl.PwAff:
        """A subscript of the kernel as a function of the nest's iteration."""
        dims: list[isl.PwAff] = []
        for value in self._ours.operands_:
            dims.append(self._counted(value))
        return pw_aff(expr, dims, self._around.space)

    def _counted(self, value: SSAValue) -> isl.PwAff:
        """A loop variable of the kernel, from the one that stands for it in the nest."""
        for ours, theirs in self._pairs:
            if ours.induction_variable is not value:
                continue
            if theirs not in self._around.loops:
                break
            here = variable(self._around.space, self._around.loops.index(theirs))
            exprs, operands = self._first[theirs.induction_variable]
            start = self._around.values(exprs, operands)
            own_start = self._first[value][0][0]
            if start is None or not isinstance(own_start, AffineConstantExpr):
                break
            turns = here.sub(start[0]).scale_down_val(isl.Val(theirs.step.value.data))
            own = turns.scale_val(isl.Val(ours.step.value.data))
            return own.add(constant(self._around.space, own_start.value))
        raise Mismatch(
            f"a subscript of '%{self._ours.buffer.name_hint}' of the kernel uses '%{value.name_hint}'"
        )

    def moved(self, axis: int, own: int | None, stride: int) -> isl.Map:
        """The outer iterations to the nest's subscript minus the kernel's."""
        offset = self._their_values[axis]
        if own is not None:
            offset = offset.sub(self._our_values[own].scale_val(isl.Val(stride)))
        pairs = isl.Map.from_pw_aff(offset).intersect_domain(self._around.domain)
        inner = pairs.dim(isl.dim_type.in_) - self._depth
        return pairs.project_out(isl.dim_type.in_, self._depth, inner)

    def strides(self, axis: int, own: int | None) -> Iterator[int]:
        """Strides that may fit: 1, or what the subscripts differ by from one iteration to the next."""
        yield 1
        if own is None:
            return
        spread = self._spread(self._our_values[own])
        their_spread = self._spread(self._their_values[axis])
        if spread and their_spread and their_spread > spread and their_spread % spread == 0:
            yield their_spread // spread

    def _spread(self, value: isl.PwAff) -> int | None:
        """The greatest difference of two of its values in one iteration of the loops around the nest."""
        values = isl.Map.from_pw_aff(value).intersect_domain(self._around.domain)
        inner = values.dim(isl.dim_type.in_) - self._depth
        values = values.project_out(isl.dim_type.in_, self._depth, inner)
        greatest = values.reverse().apply_range(values).deltas().dim_max_val(0)
        return greatest.to_python() if greatest.is_int() else None

    def offset(self, axis: int, own: int | None, stride: int) -> AffineExpr:
        """The nest's subscript minus the kernel's in the first iteration of both, over `values`."""
        theirs = self._in_first(self._theirs.map.data.results[axis], list(self._theirs.operands_))
        if own is None:
            return theirs
        ours = self._in_first(self._ours.map.data.results[own], list(self._ours.operands_))
        return simplified(theirs - ours * stride, len(self.values))

    def _in_first(self, expr: AffineExpr, operands: list[SSAValue]) -> AffineExpr:
        """The expression with the first value of each loop of the nest, over `values`."""
        while any(operand in self._first for operand in operands):
            dims: list[AffineExpr] = []
            values: list[SSAValue] = []
            for operand in operands:
                exprs, used = self._first.get(operand, ([AffineExpr.dimension(0)], [operand]))
                dims += shifted_to(exprs, len(values))
                values += used
            expr, operands = expr.replace_dims_and_symbols(dims, ()), values
        (collected,), operands = added_up([expr], operands)
        positions = [
            AffineExpr.dimension(self.values.index(operand)) if operand in self.values else None
            for operand in operands
        ]
        used = set(collected.used_dims())
        if any(positions[n] is None for n in used):
            raise Mismatch("a subscript of the nest uses a value made inside of a loop around it")
        zero = AffineExpr.constant(0)
        placed = [zero if p is None else p for p in positions]
        return simplified(collected.replace_dims_and_symbols(placed, ()), len(self.values))


LoopTensorizePass = step_pass(Tensorize)
