"""
Level 5 to LLVM IR.

Built on xDSL's LLVM backend: `convert_op` and `convert_type` are called for whatever they handle. Added
here, and only here: blocks in reverse post-order (the backend resolves values in block order), branches
whose two targets are one block, addresses of functions, fast-math flags on intrinsics and calls,
alignment, attributes of functions, and constant data kept outside the text.
"""

# llvmlite has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias, cast

import numpy as np
from llvmlite import ir
from xdsl.backend.llvm.convert_op import convert_op, intrinsic_suffix
from xdsl.backend.llvm.convert_type import convert_type
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    I32,
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import LLVMTranslationException
from xdsl.utils.type import get_element_type_or_self

from ..analysis.dominance import reachable_order
from ..dialects.resources import INLINE_LIMIT
from ..dialects.upstream.llvm import (
    AtomicRMWOp,
    ExtractElementOp,
    FenceOp,
    VectorFCmpOp,
    VectorLlvmSelectOp,
)
from .c_names import check_names
from .core_to_llvm.scf import NO_UNROLL, NO_VECTORS
from .emit_globals import elements, initializer, type_of, untranslatable

EXTERNAL_ALIGNMENT = 64
"""Bytes; of the arrays that external constants are bound to, which runtime/engine.py sees to."""

Constants: TypeAlias = Literal["external", "embedded"]
"""
Where the bytes of large constants are: outside the text, bound to a symbol when the code is loaded (for
running in this process), or in it (for object files).
"""


@dataclass(frozen=True)
class LLVMText:
    """
    A module of LLVM IR, the arrays that its external constants must be bound to, and the functions it
    calls but does not define.
    """

    text: str
    external: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    imports: tuple[str, ...] = ()

    @property
    def has_vectors(self) -> bool:
        """Whether it works on vectors: a schedule has made them, and LLVM need not look for more."""
        return re.search(r"<\d+ x ", self.text) is not None


def emit_llvm(module: ModuleOp, *, triple: str = "", constants: Constants = "embedded") -> LLVMText:
    """
    The LLVM IR of a level-5 module.

    Raises StepwellError, naming it, for an operation that is not of level 5 or has no translation.
    """
    emission = _Emission(ir.Module(name="stepwell"), constants)
    emission.module.triple = triple
    functions: list[llvm.FuncOp] = []
    for op in module.ops:
        match op:
            case llvm.GlobalOp():
                emission.emit_global(op)
            case llvm.FuncOp():
                functions.append(op)
                _declare(op, emission.module)
            case _:
                raise untranslatable(op, "is not of level 5; run convert-core-to-llvm first")
    for function in functions:
        if function.body.blocks:
            _FunctionEmitter(function, emission).run()
    check_names(functions, emission.module, emission.generated)
    defined = {function.sym_name.data for function in functions if function.body.blocks}
    imports = tuple(sorted(emission.called - defined))
    return LLVMText(str(emission.module), emission.external, imports)


@dataclass
class _Emission:
    module: ir.Module
    constants: Constants
    external: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    called: set[str] = field(default_factory=set[str])
    generated: set[str] = field(default_factory=set[str])
    """C functions that instructions become calls of"""

    def emit_global(self, op: llvm.GlobalOp) -> None:
        """A constant is a typed list when small, raw bytes or an external symbol when large."""
        if op.body.blocks:
            raise untranslatable(op, "has an initializer region; give it a value")
        array = elements(op)
        large = array is not None and array.size > INLINE_LIMIT
        if array is not None and large and op.constant is not None and self.constants == "external":
            type_ = type_of(op, op.global_type)
            value = None
            self.external[op.sym_name.data] = array
        else:
            type_, value = initializer(op, array if large else None)
        variable = ir.GlobalVariable(self.module, type_, op.sym_name.data)
        variable.type = ir.PointerType()  # llvmlite would check it against what is stored there
        variable.linkage = "external" if value is None else op.linkage.linkage.data
        variable.initializer = value
        variable.global_constant = op.constant is not None
        if op.alignment is not None:
            outside = op.sym_name.data in self.external
            alignment = op.alignment.value.data
            variable.align = min(alignment, EXTERNAL_ALIGNMENT) if outside else alignment


# Functions.

_FLAGS = {
    "llvm.noalias": "noalias",
    "llvm.nocapture": "captures(none)",
    "llvm.nofree": "nofree",
    "llvm.nonnull": "nonnull",
    "llvm.noundef": "noundef",
    "llvm.readonly": "readonly",
    "llvm.returned": "returned",
    "llvm.signext": "signext",
    "llvm.writeonly": "writeonly",
    "llvm.zeroext": "zeroext",
}
_NUMBERS = {
    "llvm.align": "align",
    "llvm.dereferenceable": "dereferenceable",
    "llvm.dereferenceable_or_null": "dereferenceable_or_null",
}


def _declare(op: llvm.FuncOp, module: ir.Module) -> None:
    type_ = type_of(op, op.function_type)
    function = ir.Function(module, type_, op.sym_name.data)
    if op.body.blocks:
        function.linkage = op.linkage.linkage.data
    names = op.body.blocks.first.args if op.body.blocks.first is not None else ()
    for argument, old in zip(function.args, names, strict=False):
        if old.name_hint is not None:
            argument.name = old.name_hint
    function.attributes.add("nounwind")
    attributes: ArrayAttr[DictionaryAttr] = op.arg_attrs or ArrayAttr(())
    for argument, dictionary in zip(function.args, attributes, strict=False):
        for name, value in dictionary.data.items():
            if name in _FLAGS:
                argument.add_attribute(_FLAGS[name])
            elif name in _NUMBERS and isinstance(value, IntegerAttr):
                setattr(argument.attributes, _NUMBERS[name], value.value.data)
            elif name.startswith("llvm."):
                raise untranslatable(op, f"has the parameter attribute '{name}'")


_Handler: TypeAlias = "Callable[[_FunctionEmitter, Operation], None]"


class _FunctionEmitter:
    """Emits the blocks of one function."""

    def __init__(self, op: llvm.FuncOp, emission: _Emission):
        self.op = op
        self.module = emission.module
        self.called = emission.called
        self.generated = emission.generated
        self.function = cast(ir.Function, self.module.get_global(op.sym_name.data))
        self.values: dict[SSAValue, ir.Value] = {}
        self.blocks: dict[Block, ir.Block] = {}
        self.phis: dict[Block, list[ir.PhiInstr]] = {}
        self.builder = ir.IRBuilder()

    def run(self) -> None:
        order = reachable_order(self.op.body)
        self.values.update(zip(order[0].args, self.function.args, strict=True))
        builder = self.builder
        for block in order:
            self.blocks[block] = self.function.append_basic_block(block.name_hint or "")
        for block in order[1:]:
            builder.position_at_end(self.blocks[block])
            phis = [builder.phi(convert_type(arg.type), arg.name_hint or "") for arg in block.args]
            self.phis[block] = phis
            self.values.update(zip(block.args, phis, strict=True))
        for block in order:
            builder.position_at_end(self.blocks[block])
            for op in block.ops:
                self.emit(op)

    def emit(self, op: Operation) -> None:
        handler = _HANDLERS.get(type(op))
        try:
            if handler is not None:
                handler(self, op)
            else:
                convert_op(op, self.builder, self.values, self.blocks)
        except KeyError as error:
            missing = error.args[0]
            if not isinstance(missing, SSAValue):
                raise
            raise untranslatable(op, "uses a value that is defined after it") from None
        except (NotImplementedError, LLVMTranslationException) as error:
            raise untranslatable(op, f"has no translation to LLVM IR ({error})") from None

    def operands(self, op: Operation) -> list[ir.Value]:
        values = self.values
        return [values[operand] for operand in op.operands]

    def intrinsic(self, name: str, type_: ir.FunctionType) -> ir.Function:
        known = self.module.globals.get(name)
        return known if known is not None else ir.Function(self.module, type_, name)


def _flags(attr: Attribute | None) -> tuple[str, ...]:
    return tuple(flag.value for flag in attr.data) if isinstance(attr, llvm.FastMathAttr) else ()


def _emit_alloca(e: _FunctionEmitter, op: Operation) -> None:
    assert isinstance(op, llvm.AllocaOp)
    pointer = e.builder.alloca(convert_type(op.elem_type), e.values[op.size])
    pointer.type = ir.PointerType()
    if op.alignment is not None:
        pointer.align = op.alignment.value.data
    e.values[op.res] = pointer


def _emit_address_of(e: _FunctionEmitter, op: Operation) -> None:
    """llvmlite gives functions typed pointers, which LLVM has no more."""
    assert isinstance(op, llvm.AddressOfOp)
    value = e.module.get_global(op.global_name.string_value())
    if isinstance(value, ir.Function):
        value = ir.FormattedConstant(ir.PointerType(), value.get_reference())
    e.values[op.result] = value


def _emit_branch(e: _FunctionEmitter, op: Operation) -> None:
    assert isinstance(op, llvm.BrOp)
    _add_incoming(e, op.successor, [e.values[value] for value in op.arguments])
    branch = e.builder.branch(e.blocks[op.successor])
    wishes: list[ir.values.MDValue] = []
    if NO_UNROLL in op.attributes:
        wishes.append(e.module.add_metadata(["llvm.loop.unroll.disable"]))
    if NO_VECTORS in op.attributes:
        no = ir.Constant(ir.IntType(1), 0)
        wishes.append(e.module.add_metadata(["llvm.loop.vectorize.enable", no]))
    if wishes:
        # A loop's node names itself, so that it is no other loop's.
        node = ir.values.MDValue(e.module, (), name=str(len(e.module.metadata)))
        node.operands = (node, *wishes)
        branch.set_metadata("llvm.loop", node)


def _emit_conditional_branch(e: _FunctionEmitter, op: Operation) -> None:
    assert isinstance(op, llvm.CondBrOp)
    condition = e.values[op.cond]
    then = [e.values[value] for value in op.then_arguments]
    otherwise = [e.values[value] for value in op.else_arguments]
    if op.then_block is op.else_block:
        # A phi has one value for each predecessor, so two edges from this block must agree.
        chosen = [
            a if a is b else e.builder.select(condition, a, b)
            for a, b in zip(then, otherwise, strict=True)
        ]
        _add_incoming(e, op.then_block, chosen)
        e.builder.branch(e.blocks[op.then_block])
        return
    _add_incoming(e, op.then_block, then)
    _add_incoming(e, op.else_block, otherwise)
    e.builder.cbranch(condition, e.blocks[op.then_block], e.blocks[op.else_block])


def _add_incoming(e: _FunctionEmitter, to: Block, values: Sequence[ir.Value]) -> None:
    for phi, value in zip(e.phis[to], values, strict=True):
        phi.add_incoming(value, e.builder.block)


def _emit_store(e: _FunctionEmitter, op: Operation) -> None:
    """xDSL drops the hint."""
    assert isinstance(op, llvm.StoreOp)
    convert_op(op, e.builder, e.values, e.blocks)
    block = e.builder.block
    if op.nontemporal is not None and block is not None:
        node = e.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        block.instructions[-1].set_metadata("nontemporal", node)


def _emit_fence(e: _FunctionEmitter, op: Operation) -> None:
    e.builder.fence("seq_cst")


def _emit_atomic_addition(e: _FunctionEmitter, op: Operation) -> None:
    pointer, value = e.operands(op)
    e.values[op.results[0]] = e.builder.atomic_rmw("add", pointer, value, "monotonic")


def _emit_remainder(e: _FunctionEmitter, op: Operation) -> None:
    """Processors have no instruction for it."""
    e.generated.add("fmod")
    convert_op(op, e.builder, e.values, e.blocks)


def _emit_call(e: _FunctionEmitter, op: Operation) -> None:
    assert isinstance(op, llvm.CallOp)
    if op.callee is not None:
        e.called.add(op.callee.string_value())
    convert_op(op, e.builder, e.values, e.blocks)


def _emit_intrinsic_call(e: _FunctionEmitter, op: Operation) -> None:
    assert isinstance(op, llvm.CallIntrinsicOp)
    operands = e.operands(op)
    result = convert_type(op.ress.type) if op.ress is not None else ir.VoidType()
    type_ = ir.FunctionType(result, [operand.type for operand in operands])
    flags = _flags(op.fastmathFlags)
    call = e.builder.call(e.intrinsic(op.intrin.data, type_), operands, fastmath=flags)
    if op.ress is not None:
        e.values[op.ress] = call


def _overloaded(name: str) -> _Handler:
    """An operation that is one floating-point intrinsic, with its fast-math flags."""

    def emit(e: _FunctionEmitter, op: Operation) -> None:
        operands = e.operands(op)
        type_ = convert_type(op.results[0].type)
        full_name = f"{name}.{intrinsic_suffix(type_)}"
        function_type = ir.FunctionType(type_, [operand.type for operand in operands])
        flags = _flags(op.properties.get("fastmathFlags"))
        call = e.builder.call(e.intrinsic(full_name, function_type), operands, fastmath=flags)
        e.values[op.results[0]] = call

    return emit


def _vector_reduction(name: str) -> _Handler:
    def emit(e: _FunctionEmitter, op: Operation) -> None:
        start, vector = e.operands(op)
        type_ = ir.FunctionType(start.type, [start.type, vector.type])
        function = e.intrinsic(f"{name}.{intrinsic_suffix(vector.type)}", type_)
        flags = _flags(op.properties.get("fastmathFlags"))
        e.values[op.results[0]] = e.builder.call(function, (start, vector), fastmath=flags)

    return emit


_PREDICATES = {"_false": "false", "_true": "true"}


def _emit_fcmp(e: _FunctionEmitter, op: Operation) -> None:
    assert isinstance(op, llvm.FCmpOp | VectorFCmpOp)
    predicate = llvm.FCmpPredicateFlag.from_int(op.predicate.value.data).value
    predicate = _PREDICATES.get(predicate, predicate)
    lhs, rhs = e.operands(op)
    # xDSL parses the flags into the attributes.
    flags = _flags(op.attributes.get("fastmathFlags") or op.fastmathFlags)
    instruction = ir.FCMPInstr(e.builder.block, predicate, lhs, rhs, flags=flags)
    e.builder._insert(instruction)  # pyright: ignore[reportPrivateUsage]
    e.values[op.results[0]] = instruction


def _emit_select(e: _FunctionEmitter, op: Operation) -> None:
    assert isinstance(op, llvm.SelectOp | VectorLlvmSelectOp)
    is_float = isinstance(get_element_type_or_self(op.res.type), AnyFloat)
    flags = _flags(op.fastmathFlags) if is_float else ()
    condition, if_true, if_false = e.operands(op)
    e.values[op.res] = e.builder.select(condition, if_true, if_false, flags=flags)


def _emit_shuffle(e: _FunctionEmitter, op: Operation) -> None:
    assert isinstance(op, llvm.ShuffleVectorOp)
    first, second = e.operands(op)
    e.values[op.res] = e.builder.shuffle_vector(first, second, _lane_numbers(op.mask))


@lru_cache(maxsize=1024)
def _lane_numbers(mask: DenseArrayBase[I32]) -> ir.Constant:
    """Kept with its text, which takes longest to write."""
    return ir.Constant(ir.VectorType(ir.IntType(32), len(mask)), mask.get_values())


def _emit_extract_element(e: _FunctionEmitter, op: Operation) -> None:
    assert isinstance(op, ExtractElementOp)
    vector, lane = e.operands(op)
    e.values[op.res] = e.builder.extract_element(vector, lane)


_HANDLERS: dict[type[Operation], _Handler] = {
    llvm.AddressOfOp: _emit_address_of,
    llvm.StoreOp: _emit_store,
    AtomicRMWOp: _emit_atomic_addition,
    FenceOp: _emit_fence,
    ExtractElementOp: _emit_extract_element,
    VectorFCmpOp: _emit_fcmp,
    VectorLlvmSelectOp: _emit_select,
    llvm.AllocaOp: _emit_alloca,
    llvm.BrOp: _emit_branch,
    llvm.CallOp: _emit_call,
    llvm.CallIntrinsicOp: _emit_intrinsic_call,
    llvm.CondBrOp: _emit_conditional_branch,
    llvm.FCmpOp: _emit_fcmp,
    llvm.FRemOp: _emit_remainder,
    llvm.SelectOp: _emit_select,
    llvm.ShuffleVectorOp: _emit_shuffle,
    llvm.FAbsOp: _overloaded("llvm.fabs"),
    llvm.FCeilOp: _overloaded("llvm.ceil"),
    llvm.FCopySignOp: _overloaded("llvm.copysign"),
    llvm.FCosOp: _overloaded("llvm.cos"),
    llvm.FExp2Op: _overloaded("llvm.exp2"),
    llvm.FExpOp: _overloaded("llvm.exp"),
    llvm.FFloorOp: _overloaded("llvm.floor"),
    llvm.FLog2Op: _overloaded("llvm.log2"),
    llvm.FLogOp: _overloaded("llvm.log"),
    llvm.FMAOp: _overloaded("llvm.fma"),
    llvm.FPowOp: _overloaded("llvm.pow"),
    llvm.FSinOp: _overloaded("llvm.sin"),
    llvm.FSqrtOp: _overloaded("llvm.sqrt"),
    llvm.VectorFMaxOp: _overloaded("llvm.maxnum"),
    llvm.VectorFMinOp: _overloaded("llvm.minnum"),
    llvm.VectorReduceFAddOp: _vector_reduction("llvm.vector.reduce.fadd"),
    llvm.VectorReduceFMulOp: _vector_reduction("llvm.vector.reduce.fmul"),
}
