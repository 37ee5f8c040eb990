"""
te → loop: writes the loop nests of kernels into the buffers that `te-bufferize` gave them.

Each `te.kernel` becomes a private function and a call of it. Inside, a tensor between two computes is a scratch
buffer of the kernel. Loop order follows one rule, `choose_order` in `te_loop_order.py`: the innermost loop is the
one over which most accesses are contiguous. Kernels of several reductions and large contractions are for a
schedule to order: each compute is perfect nests of its own, in the order of its iterators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    IndexType,
    ModuleOp,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ..analysis.buffer_checks import check_kernel_buffers
from ..analysis.constants import (
    constant_global,
    globals_of,
    is_constant_argument,
    is_finite_argument,
    is_global_finite,
)
from ..analysis.levels import Level
from ..analysis.operations import operations_in
from ..analysis.structure import Numbered, Structure, kernel_structure
from ..dialects import loop, te
from ..dialects.leaf_operations import (
    append_leaf,
    copy_of,
    function_type,
    insert_leaf_before,
    inserted,
    leaf,
)
from ..dialects.scalar import ANY_ORDER
from ..dialects.shaped import is_tensor, tensor_type
from ..errors import StepwellError
from ..frozen import frozen
from ..transforms.numerics import DEFAULT_FP, FpContract, fp_contract
from ..transforms.stepwell_pass import StepwellPass
from ..transforms.te.bufferize import bufferize
from ..transforms.te.constant_globals import ConstantGlobals
from ..transforms.te.places import buffer_type
from .te_nests import COMBINE_FLAGS, EXTREME_FLAGS, NestBuilder, NestGroup


@dataclass
class _Module:
    """What the conversion of a module's functions shares."""

    op: ModuleOp
    fp: FpContract
    constants: ConstantGlobals = field(init=False)
    _globals: dict[str, memref.GlobalOp] = field(init=False)
    _kernels: dict[tuple[Structure, ArrayAttr[DictionaryAttr]], str] = field(
        default_factory=dict[tuple[Structure, ArrayAttr[DictionaryAttr]], str]
    )
    """the functions made so far, by what they compute"""

    def __post_init__(self) -> None:
        self.constants = ConstantGlobals(self.op)
        self._globals = globals_of(self.op)
        self._said = Numbered()

    def convert(self) -> None:
        for function in [op for op in self.op.ops if isinstance(op, func.FuncOp)]:
            check_kernel_buffers(function)
            for block in function.body.blocks:
                self._convert_block(function, block)

    def _convert_block(self, function: func.FuncOp, block: Block) -> None:
        """Kernels become calls, those that are inline nests."""
        nests: NestBuilder | None = None
        for op in [*block.ops]:
            if not isinstance(op, te.KernelOp):
                for inner in (inner for region in op.regions for inner in region.blocks):
                    self._convert_block(function, inner)
                continue
            if op.inline is None:
                symbol = self.add_kernel(function.sym_name.data, op, function)
                arguments = list(dict.fromkeys((*op.inputs, *op.destinations)))
                callee = {"callee": SymbolRefAttr(symbol)}
                new = leaf(func.CallOp, arguments, (), callee, location=op.location)
                insert_leaf_before(block, new, op)
            else:
                builder = Builder(InsertPoint.before(op))
                nests = nests or NestBuilder(builder, {}, self.fp)
                nests.builder = builder
                body = _KernelBody(self, function, function.sym_name.data, builder, nests)
                body.bind(op.body.block, op.inputs)
                body.convert(op.body.block, op.destinations)
            op.detach()
            op.erase()

    def add_kernel(self, prefix: str, op: te.KernelOp, before: func.FuncOp) -> str:
        """Add a kernel's function to the module, before another, if there is no equal one; its symbol."""
        outside = list(dict.fromkeys((*op.inputs, *op.destinations)))
        marks = ArrayAttr(self._argument_attributes(op, value) for value in outside)
        key = (kernel_structure(op, said=self._said), marks)
        known = self._kernels.get(key)
        if known is None:
            known = self._kernels[key] = self._new_kernel(prefix, op, outside, marks, before)
        return known

    def _new_kernel(
        self,
        prefix: str,
        op: te.KernelOp,
        outside: Sequence[SSAValue],
        marks: ArrayAttr[DictionaryAttr],
        before: func.FuncOp,
    ) -> str:
        # With a dot in it, so that it is not the name of a C function, which code may call.
        name = self.constants.unique(f"{prefix}.{op.kernel_name.data}")
        block = Block(arg_types=[value.type for value in outside])
        of = dict(zip(outside, block.args, strict=True))
        function = func.FuncOp(
            name,
            function_type([arg.type for arg in block.args], []),
            Region(block),
            visibility="private",
            arg_attrs=marks,
        )
        function.attributes |= {k: v for k, v in op.attributes.items() if k != loop.NEEDED}
        function.location = op.location
        self.op.body.block.insert_op_before(function, before)
        builder = Builder(InsertPoint.at_end(block))
        anchors = sum(
            inner.combining is not None
            for inner in op.body.block.ops
            if isinstance(inner, te.ComputeOp)
        )
        nests = NestBuilder(builder, {}, self.fp, apart=anchors > 1)
        body = _KernelBody(self, function, name, builder, nests)
        body.bind(op.body.block, [of[value] for value in op.inputs])
        body.convert(op.body.block, [of[value] for value in op.destinations])
        append_leaf(block, leaf(func.ReturnOp, ()))
        return name

    def _argument_attributes(self, op: te.KernelOp, passed: SSAValue) -> DictionaryAttr:
        """The attributes of the argument of a kernel's function for which a buffer is passed."""
        if passed in op.destinations:
            marks: dict[str, Attribute] = {loop.RESULT: loop.MARK}
            needed = op.attributes.get(loop.NEEDED)
            if isinstance(needed, ArrayAttr):
                maps = cast(ArrayAttr[AffineMapAttr], needed).data
                number = next(n for n, buffer in enumerate(op.destinations) if buffer is passed)
                marks |= {loop.NEEDED: maps[number]} if number < len(maps) else {}
            return DictionaryAttr(marks)
        if isinstance(passed.type, IndexType) and loop.NEEDED in op.attributes:
            return DictionaryAttr({loop.STEP: loop.MARK})
        known = constant_global(passed, self._globals)
        names = (
            [loop.CONSTANT] if known is not None or is_constant_argument(passed) else list[str]()
        )
        if te.reads_padding(op.body.block) and (
            is_finite_argument(passed) if known is None else is_global_finite(known)
        ):
            names.append(loop.FINITE)
        return DictionaryAttr(dict.fromkeys(names, loop.MARK))


@dataclass
class _KernelBody:
    """Converts the computes of a kernel, which are over tensors, into nests over buffers."""

    module: _Module
    function: func.FuncOp
    symbol: str
    builder: Builder
    nests: NestBuilder

    @property
    def values(self) -> dict[SSAValue, SSAValue]:
        return self.nests.values

    def bind(self, block: Block, arguments: Sequence[SSAValue]) -> None:
        """Say what the kernel's arguments are."""
        for old, new in zip(block.args, arguments, strict=True):
            if self.function.body.blocks and new.owner is self.function.body.block:
                new.name_hint = new.name_hint or old.name_hint
            self.values[old] = new

    def convert(self, block: Block, outputs: Sequence[SSAValue]) -> None:
        """Append all computes; the tensors that the kernel yields end up in `outputs`."""
        terminator = block.last_op
        assert isinstance(terminator, te.YieldOp)
        self._place_results(terminator, outputs)
        pending: list[te.ComputeOp] = []
        for op in block.ops:
            if isinstance(op, te.ComputeOp):
                pending.append(op)
                continue
            self._flush(pending)
            if op is not terminator:
                self._convert_op(op)
        for value, output in zip(terminator.values, outputs, strict=True):
            if self.values[value] is not output:
                inserted(self.builder, memref.CopyOp(self.values[value], output))

    def _place_results(self, terminator: te.YieldOp, outputs: Sequence[SSAValue]) -> None:
        """Let what defines a yielded tensor write straight into its buffer."""
        for value, output in zip(terminator.values, outputs, strict=True):
            output.name_hint = output.name_hint or value.name_hint or "result"
            computed = isinstance(value.owner, te.ComputeOp | te.LoopsOp | te.KernelOp)
            if computed and value not in self.values:
                self.values[value] = output

    def _flush(self, pending: list[te.ComputeOp]) -> None:
        groups = self.nests.plan(pending)
        if any(group.is_apart for group in groups):
            self._prepare(groups)
        for group in groups:
            self._add_buffers(group)
            self.nests.build(group)
        pending.clear()

    def _prepare(self, groups: Sequence[NestGroup]) -> None:
        """
        Buffers first, so that nests follow one another; of several, loops are named after their buffer.
        """
        for group in groups:
            self._add_buffers(group)
        if len(groups) == 1:
            return
        names = _printed_names(self.builder.insertion_point.block)
        for group in groups:
            buffer = self.values.get(group.anchor.result)
            name = names.get(buffer) if buffer is not None else group.anchor.result.name_hint
            self.nests.prefixes[group.anchor] = f"{name}." if name else ""

    def _add_buffers(self, group: NestGroup) -> None:
        for compute in group.materialized:
            for result in compute.results:
                self._buffer_for(result)

    def _buffer_for(self, value: SSAValue) -> SSAValue:
        if value not in self.values:
            type_ = buffer_type(tensor_type(value))
            alloc = inserted(self.builder, loop.AllocOp(loop.Scope.ARENA, type_))
            alloc.buffer.name_hint = value.name_hint
            self.values[value] = alloc.buffer
        return self.values[value]

    def _convert_op(self, op: Operation) -> None:
        if isinstance(op, te.KernelOp):
            self._convert_nested(op)
        elif isinstance(op, te.LoopsOp):
            self._convert_loops(op)
        elif isinstance(op, arith.ConstantOp) and is_tensor(op.result):
            value = op.value
            assert isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr)
            name = self.module.constants.name_of(value, op.result.name_hint or "")
            get = memref.GetGlobalOp(name, buffer_type(tensor_type(op.result)))
            self._set(op.result, inserted(self.builder, get).memref)
        elif isinstance(op, tensor.DimOp):
            size = memref.DimOp(self.values[op.source], self.values[op.index])
            self._set(op.result, inserted(self.builder, size).result)
        elif any(
            is_tensor(v)
            for inner in (op, *operations_in(op))
            for v in (*inner.operands, *inner.results)
        ):
            raise StepwellError(
                f"found '{op.name}' on tensors, which convert-te-to-loop has no lowering for; "
                "express it with te.compute",
                op=op,
            )
        else:
            inserted(self.builder, copy_of(op, self.values))

    def _set(self, old: SSAValue, new: SSAValue) -> None:
        new.name_hint = old.name_hint
        self.values[old] = new

    def _convert_loops(self, op: te.LoopsOp) -> None:
        """Loops are written out over the buffers, the results' with what they start with in them."""
        outputs = [self._buffer_for(value) for value in op.outputs]
        for start, output in zip(op.inits, outputs, strict=False):
            if self.values[start] is not output:
                inserted(self.builder, memref.CopyOp(self.values[start], output))
        buffers = [*(self.values[value] for value in op.sources), *outputs]
        mapping: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, buffers, strict=True))
        for inner in op.body.block.ops:
            if not isinstance(inner, te.YieldOp):
                self._let_reassociate(inserted(self.builder, copy_of(inner, mapping)))

    def _let_reassociate(self, outer: Operation) -> None:
        """What joins values in any order gets the flags that say so under this contract."""
        fp = self.nests.fp
        for op in (outer, *operations_in(outer)):
            if op.attributes.pop(ANY_ORDER, None) is None:
                continue
            is_extreme = isinstance(op, arith.MaximumfOp | arith.MinimumfOp | arith.MaxnumfOp)
            flags = EXTREME_FLAGS[fp] if is_extreme else COMBINE_FLAGS[fp]
            if flags and isinstance(op, arith.FloatingPointLikeBinaryOperation):
                op.fastmath = flags

    def _convert_nested(self, op: te.KernelOp) -> None:
        """A kernel in a kernel is a function that this one calls."""
        outputs = [self._buffer_for(value) for value in op.outputs]
        inputs = [self.values[value] for value in op.inputs]
        over_buffers = te.KernelOp(
            op.kernel_name.data, inputs, (), op.detach_region(op.body), destinations=outputs
        )
        over_buffers.attributes |= op.attributes
        over_buffers.location = op.location
        symbol = self.module.add_kernel(self.symbol, over_buffers, self.function)
        over_buffers.erase()
        call = func.CallOp(symbol, list(dict.fromkeys((*inputs, *outputs))), [])
        call.location = op.location
        inserted(self.builder, call)


def _printed_names(block: Block) -> dict[SSAValue, str]:
    """The names with which the values that the block defines are printed: all but the first get a number."""
    count: Counter[str] = Counter()
    names: dict[SSAValue, str] = {}
    for value in (*block.args, *(result for op in block.ops for result in op.results)):
        hint = value.name_hint
        if hint:
            names[value] = f"{hint}_{count[hint]}" if count[hint] else hint
            count[hint] += 1
    return names


@frozen
class ConvertTeToLoopPass(StepwellPass):
    """
    Write the loop nests of kernels; a function that is over tensors still is bufferized first.

    `fp` is the numerical contract: `strict` keeps the order of every sum; `contract` (default) lets
    reductions be reassociated and multiply-adds be fused; `fast` allows all of LLVM's fast-math flags.
    """

    name = "convert-te-to-loop"
    level_in = Level.TE
    level_out = Level.LOOP
    numerics = "reassociates"

    fp: str = DEFAULT_FP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bufferize(op)
        _Module(op, fp_contract(self.fp)).convert()
        for function in op.ops:
            if isinstance(function, func.FuncOp) and function.body.blocks:
                loop.name_apart(function, operations_in(function))
