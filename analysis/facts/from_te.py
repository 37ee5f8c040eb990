"""The facts of a kernel from its tensor expressions, before there are loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from math import prod

from xdsl.dialects import arith, func, memref, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects import loop, te
from ...dialects.affine_bounds import bounds, box, linear_form
from ...dialects.combiner import Combiner
from ...dialects.dtypes import is_float
from ...dialects.finite import is_constant_finite
from ...dialects.shaped import is_tensor, tensor_type
from ..constants import is_finite_argument
from ..signature import is_argument_of_program
from .kernel import (
    Access,
    Axis,
    BufferFacts,
    Extension,
    Extent,
    Home,
    KernelFacts,
    Role,
    Statement,
    Subscript,
    Symbol,
    entries_held,
    number_of,
    program_constants,
    sort_key,
    widest_number,
)


def facts_of_kernel(kernel: te.KernelOp, *, reassociates: bool = True) -> KernelFacts:
    """
    The facts of the function that te → loop makes of a kernel whose computes are nests of their own.

    `reassociates` says whether the numerical contract lets sums of floats be reordered. Arg-reductions are one
    updating statement here; as loops they are several, through scratch registers.
    """
    return _Reader(kernel, reassociates).read()


class _Reader:
    def __init__(self, kernel: te.KernelOp, reassociates: bool):
        self.kernel = kernel
        self.reassociates = reassociates
        self.numbers: dict[SSAValue, int] = {}
        self.buffers: list[BufferFacts] = []
        self.statements: list[Statement] = []
        self.is_complete = True
        self.reads_padding = te.reads_padding(kernel.body.block)

    def read(self) -> KernelFacts:
        for inner, outer in zip(self.kernel.body.block.args, self.kernel.inputs, strict=True):
            if is_tensor(inner):
                is_constant = isinstance(outer.owner, arith.ConstantOp) or _is_marked(outer)
                home = Home.CONSTANT if is_constant else Home.ARGUMENT
                is_callers = not is_constant and is_argument_of_program(outer)
                self._add(inner, home, is_callers=is_callers, is_finite=self._is_finite(outer))
        for constant in te.tensor_constants(self.kernel.body.block):
            is_finite = self._is_finite(constant.result)
            self._add(constant.result, Home.CONSTANT, is_finite=is_finite)
        for value, result in zip(self.kernel.yielded, self.kernel.results, strict=True):
            if value not in self.numbers:
                uses = [use.operation for use in result.uses]
                is_passed_on = bool(uses) and not any(isinstance(op, func.ReturnOp) for op in uses)
                self._add(value, Home.RESULT, is_passed_on)
        for op in self.kernel.body.block.ops:
            if isinstance(op, te.ComputeOp):
                self._compute(op)
            elif not isinstance(op, te.YieldOp | arith.ConstantOp):
                self.is_complete = False
        buffers, statements = tuple(self.buffers), tuple(self.statements)
        constants = program_constants(self.kernel, buffers)
        return KernelFacts(buffers, statements, self.is_complete, constants)

    def _add(
        self,
        value: SSAValue,
        home: Home,
        is_passed_on: bool = False,
        *,
        is_callers: bool = False,
        is_finite: bool = False,
    ) -> int:
        type_ = tensor_type(value)
        sizes = type_.get_shape()
        shape: tuple[Extent, ...] = tuple(None if n == DYNAMIC_INDEX else n for n in sizes)
        strides = tuple(
            None if DYNAMIC_INDEX in sizes[n + 1 :] else prod(sizes[n + 1 :])
            for n in range(len(sizes))
        )
        self.numbers[value] = len(self.buffers)
        element = type_.get_element_type()
        in_part = home is Home.RESULT and loop.NEEDED in self.kernel.attributes
        self.buffers.append(
            BufferFacts(
                shape, strides, element, home, is_passed_on, 0, in_part, is_callers, is_finite
            )
        )
        return self.numbers[value]

    def _is_finite(self, value: SSAValue) -> bool:
        """Whether a constant's elements are known to be finite; a stand-in that has no bytes is one for such."""
        if not self.reads_padding:
            return False
        if isinstance(value.owner, arith.ConstantOp):
            return is_constant_finite(value.owner.value) is not False
        return is_finite_argument(value)

    def _number(self, value: SSAValue) -> int:
        if value not in self.numbers:
            self._add(value, Home.SCRATCH)
        return self.numbers[value]

    def _compute(self, op: te.ComputeOp) -> None:
        parallel, extents = len(op.parallel), [_extent(it.extent) for it in op.iterators]
        # A result's axis of one element has no loop.
        every = [n for n, extent in enumerate(extents) if n >= parallel or extent != 1]
        outer = [n for n in every if n < parallel]
        results = [self._number(result) for result in op.outputs]
        if op.combiners:
            axes = _axes(extents, outer, parallel)
            for n, result in enumerate(results):
                write = _write(result, parallel, outer)
                self.statements.append(
                    Statement(axes, n and len(outer), (), write, None, False, ())
                )
        counted: set[Operation] = set()
        for n, (result, terms) in enumerate(zip(results, op.terms, strict=True)):
            behind = _behind(terms)
            reads = self._reads(op, every, behind)
            operations = _operations(behind, counted)
            made_by = dict.fromkeys(value.owner for value in behind)
            owners = [op for op in made_by if isinstance(op, Operation)]
            combiner = op.combiners[n] if op.combiners else None
            is_free = combiner is not None and (
                self.reassociates or not _is_sum_of_floats(op.outputs[n], combiner)
            )
            self.statements.append(
                Statement(
                    _axes(extents, every, parallel),
                    n and len(every),
                    reads,
                    _write(result, parallel, every),
                    combiner and combiner.value,
                    is_free,
                    operations,
                    widest_number(owners),
                    entries_held(owners),
                )
            )

    def _reads(
        self, op: te.ComputeOp, axes: Sequence[int], behind: Collection[SSAValue]
    ) -> tuple[Access, ...]:
        pairs = zip(op.reads, op.read_args, strict=True)
        found = [self._read(op, read, arg, axes) for read, arg in pairs if arg in behind]
        return tuple(sorted(found, key=sort_key))

    def _read(self, op: te.ComputeOp, read: te.Read, arg: SSAValue, axes: Sequence[int]) -> Access:
        number = self._number(read.source)
        if read.map is None:
            rank = len(tensor_type(read.source).get_shape())
            return Access(number, (None,) * rank)
        subscripts = tuple(_subscript(read.map, n, axes) for n in range(len(read.map.results)))
        is_guarded = read.pad is not None and _leaves(op, read, read.map)
        extension = None if is_guarded else Extension.of(arg)
        outside = number_of(read.pad) if is_guarded and read.pad is not None else None
        return Access(number, subscripts, is_guarded, extension, outside)


def _behind(values: Sequence[SSAValue]) -> dict[SSAValue, None]:
    """What values of a body are made from, inner regions included, and these themselves."""
    found: dict[SSAValue, None] = {}
    pending = list(values)
    while pending:
        value = pending.pop()
        if value in found:
            continue
        found[value] = None
        if isinstance(value.owner, Operation):
            pending += (operand for inner in value.owner.walk() for operand in inner.operands)
    return found


def _extent(extent: int | SSAValue) -> Extent:
    if isinstance(extent, int):
        return extent
    if isinstance(extent, BlockArgument) and isinstance(extent.type, IndexType):
        return Symbol(extent.index)
    return None


def _axes(extents: Sequence[Extent], chosen: Iterable[int], parallel: int) -> tuple[Axis, ...]:
    return tuple(
        Axis(extents[n], Role.PARALLEL if n < parallel else Role.REDUCTION) for n in chosen
    )


def _write(buffer: int, rank: int, axes: Sequence[int]) -> Access:
    """The result's element of the iteration; an axis without a loop has the subscript 0."""
    return Access(
        buffer,
        tuple(
            Subscript(tuple(int(axis == dimension) for axis in axes)) for dimension in range(rank)
        ),
    )


def _subscript(map_: AffineMap, dimension: int, axes: Sequence[int]) -> Subscript | None:
    linear = linear_form(map_.results[dimension], map_.num_dims)
    if linear is None:
        return None
    return Subscript(tuple(linear[0][axis] for axis in axes), linear[1])


def _leaves(op: te.ComputeOp, read: te.Read, map_: AffineMap) -> bool:
    """Whether some iteration of the compute reads outside of the tensor."""
    ranges = box(op.static_extents)
    for expr, size in zip(map_.results, tensor_type(read.source).get_shape(), strict=True):
        low, high = bounds(expr, ranges)
        if low is None or low < 0 or high is None or high >= size:
            return True
    return False


def _operations(
    behind: Collection[SSAValue], counted: set[Operation]
) -> tuple[tuple[str, int], ...]:
    """The scalar operations behind an element, as loops have them, that no element before was made by."""
    free = te.YieldOp | arith.ConstantOp
    names = {tensor.ExtractOp.name: memref.LoadOp.name}
    owners = dict.fromkeys(value.owner for value in behind)
    new = [op for op in owners if isinstance(op, Operation) and op not in counted]
    counted.update(new)
    found = Counter(
        names.get(inner.name, inner.name)
        for op in new
        for inner in ([op] if not op.regions else op.walk())
        if not isinstance(inner, free) and _is_used(inner)
    )
    return tuple(sorted(found.items()))


def _is_used(op: Operation) -> bool:
    return any(result.uses for result in op.results)


def _is_sum_of_floats(result: SSAValue, combiner: Combiner) -> bool:
    type_ = tensor_type(result).get_element_type()
    return combiner in (Combiner.ADD, Combiner.MUL) and is_float(type_)


def _is_marked(value: SSAValue) -> bool:
    """Whether it is an argument that is the same in each call of the program."""
    if not isinstance(value, BlockArgument):
        return False
    function = value.block.parent_op()
    if not isinstance(function, func.FuncOp) or function.arg_attrs is None:
        return False
    return loop.CONSTANT in function.arg_attrs.data[value.index].data
