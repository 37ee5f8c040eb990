"""What each operation of level 5 is in LLVM IR: one line, as a rule."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import AnyFloat, DenseArrayBase, IntegerAttr, IntegerType
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import LLVMTranslationException
from xdsl.utils.type import get_element_type_or_self

from ..analysis.operations import operands_of, targets_of
from ..dialects.type_memo import remembered
from ..dialects.upstream.llvm import (
    AtomicRMWOp,
    ExtractElementOp,
    FenceOp,
    FPToSIOp,
    FPToUIOp,
    UIToFPOp,
    VectorFCmpOp,
    VectorLlvmSelectOp,
)
from .core_to_llvm.loop_hints import NO_UNROLL, NO_VECTORS, UNROLL
from .emit_function import FunctionWriter, Handler
from .emit_values import (
    constant_text,
    escaped,
    fast_math,
    intrinsic_suffix,
    lane_numbers,
    number_text,
    type_text,
)

# Arithmetic.

_OVERFLOW = {0: "", 1: "nsw ", 2: "nuw ", 3: "nuw nsw "}
"""The words for the bits of `overflowFlags`."""


def _binary(word: str) -> Handler:
    """`add nsw i64 %a, %b`"""

    def write(w: FunctionWriter, op: Operation) -> None:
        lhs, rhs = operands_of(op)
        w.define(op, f"{word} {_arithmetic_flags(op)}{w.operand(lhs)}, {w.reference(rhs)}")

    return write


def _arithmetic_flags(op: Operation) -> str:
    properties = op.properties
    fast = properties.get("fastmathFlags")
    if fast is not None:
        return fast_math(fast)
    overflow = properties.get("overflowFlags")
    if isinstance(overflow, IntegerAttr):
        return _OVERFLOW[overflow.value.data]
    if "isExact" in properties:
        return "exact "
    return "disjoint " if "isDisjoint" in properties else ""


def _remainder(w: FunctionWriter, op: Operation) -> None:
    """Processors have no instruction for it."""
    w.module.generated.add("fmod")
    _binary("frem")(w, op)


def _negation(w: FunctionWriter, op: Operation) -> None:
    (operand,) = operands_of(op)
    flags = fast_math(op.properties.get("fastmathFlags"))
    w.define(op, f"fneg {flags}{w.operand(operand)}")


def _cast(word: str) -> Handler:
    """`sext i32 %a to i64`"""

    def write(w: FunctionWriter, op: Operation) -> None:
        flags = ""
        overflow = op.properties.get("overflowFlags")
        if isinstance(overflow, llvm.OverflowAttr):
            flags = _OVERFLOW[overflow.to_int()]
        elif "nonNeg" in op.properties:
            flags = "nneg "
        (operand,), (result,) = operands_of(op), op.results
        w.define(op, f"{word} {flags}{w.operand(operand)} to {type_text(result.type)}")

    return write


def _integer_comparison(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, llvm.ICmpOp)
    predicate = llvm.ICmpPredicateFlag.from_int(op.predicate.value.data).value
    lhs, rhs = operands_of(op)
    w.define(op, f"icmp {predicate} {w.operand(lhs)}, {w.reference(rhs)}")


def _float_comparison(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, llvm.FCmpOp | VectorFCmpOp)
    predicate = llvm.FCmpPredicateFlag.from_int(op.predicate.value.data).value.strip("_")
    # xDSL parses the flags into the attributes.
    flags = fast_math(op.attributes.get("fastmathFlags") or op.fastmathFlags)
    lhs, rhs = operands_of(op)
    w.define(op, f"fcmp {flags}{predicate} {w.operand(lhs)}, {w.reference(rhs)}")


def _selection(w: FunctionWriter, op: Operation) -> None:
    (result,) = op.results
    is_float = isinstance(get_element_type_or_self(result.type), AnyFloat)
    flags = fast_math(op.properties.get("fastmathFlags")) if is_float else ""
    w.define(op, f"select {flags}{', '.join(w.operands(op))}")


# Constants.


def _constant(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, llvm.ConstantOp)
    (result,), value = op.results, op.value
    if type(value) is IntegerAttr:  # as most are: an attribute takes longer to hash than to write
        w.constant(result, number_text(type_text(result.type), value.value.data))
    else:
        w.constant(result, constant_text(result.type, value))


def _undefined(w: FunctionWriter, op: Operation) -> None:
    w.constant(op.results[0], "undef")


def _zero(w: FunctionWriter, op: Operation) -> None:
    w.constant(op.results[0], "zeroinitializer")


def _address(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, llvm.AddressOfOp)
    name = op.global_name.string_value()
    w.module.addressed.setdefault(name, set()).add(w.op.sym_name.data)
    w.constant(op.results[0], w.module.symbol(name))


# Memory.


def _aligned(op: Operation) -> str:
    alignment = op.properties.get("alignment")
    return f", align {alignment.value.data}" if isinstance(alignment, IntegerAttr) else ""


def _stack(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, llvm.AllocaOp)
    (size,), element = operands_of(op), type_text(op.elem_type)
    w.define(op, f"alloca {element}, {w.operand(size)}{_aligned(op)}")


def _load(w: FunctionWriter, op: Operation) -> None:
    (pointer,), (result,) = operands_of(op), op.results
    w.define(op, f"load {type_text(result.type)}, {w.operand(pointer)}{_aligned(op)}")


def _store(w: FunctionWriter, op: Operation) -> None:
    value, pointer = operands_of(op)
    hint = f", !nontemporal {w.module.node('!{i32 1}')}" if "nontemporal" in op.properties else ""
    w.line(f"store {w.operand(value)}, {w.operand(pointer)}{_aligned(op)}{hint}")


def _masked_store(w: FunctionWriter, op: Operation) -> None:
    """LLVM's own name has the alignment as an argument."""
    assert isinstance(op, llvm.MaskedStoreOp)
    value, pointer, mask = operands_of(op)
    name = f"llvm.masked.store.{intrinsic_suffix(value.type)}.p0"
    types = f"{type_text(value.type)}, ptr, i32, {type_text(mask.type)}"
    w.module.intrinsics[name] = f"declare void @{name}({types})"
    alignment = f"i32 {op.alignment.value.data}"
    arguments = (w.operand(value), w.operand(pointer), alignment, w.operand(mask))
    w.line(f"call void @{name}({', '.join(arguments)})")


def _element_address(w: FunctionWriter, op: Operation) -> None:
    """Some indices are numbers, the others operands."""
    properties = op.properties
    pointer, *dynamic = w.operands(op)
    rest = iter(dynamic)
    raw: Any = properties["rawConstantIndices"]
    indices = [next(rest) if text is None else text for text in _index_texts(raw)]
    inbounds = "inbounds " if "inbounds" in properties else ""
    arguments = ", ".join((type_text(properties["elem_type"]), pointer, *indices))
    w.define(op, f"getelementptr {inbounds}{arguments}")


@remembered
def _index_texts(raw: DenseArrayBase[IntegerType]) -> tuple[str | None, ...]:
    """The indices of an address that are numbers, with their type; None for each that is an operand."""
    return tuple(
        None if index == llvm.GEP_USE_SSA_VAL else f"i32 {index}" for index in raw.iter_values()
    )


def _fence(w: FunctionWriter, op: Operation) -> None:
    w.line("fence seq_cst")


def _atomic_addition(w: FunctionWriter, op: Operation) -> None:
    w.define(op, f"atomicrmw add {', '.join(w.operands(op))} monotonic")


# Vectors and structs.


def _listed(word: str) -> Handler:
    """An instruction that is its operands, each with its type: `insertelement %v, %x, %lane`."""

    def write(w: FunctionWriter, op: Operation) -> None:
        w.define(op, f"{word} {', '.join(w.operands(op))}")

    return write


def _member(word: str) -> Handler:
    """As `_listed`, then the position in a struct or array."""

    def write(w: FunctionWriter, op: Operation) -> None:
        assert isinstance(op, llvm.ExtractValueOp | llvm.InsertValueOp)
        position = map(str, op.position.iter_values())
        w.define(op, f"{word} {', '.join((*w.operands(op), *position))}")

    return write


def _shuffle(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, llvm.ShuffleVectorOp)
    first, second = w.operands(op)
    w.define(op, f"shufflevector {first}, {second}, {lane_numbers(op.mask)}")


# Calls.


def _call_of(w: FunctionWriter, op: Operation, words: str, callee: str) -> None:
    """Append a call, with the result that the operation has."""
    if op.results:
        w.define(op, f"{words} {callee}")
    else:
        w.line(f"{words} {callee}")


def _call(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, llvm.CallOp)
    if op.callee is None:
        raise LLVMTranslationException("it calls a pointer")
    if op.op_bundle_operands:
        raise LLVMTranslationException("it has operand bundles")
    name = op.callee.string_value()
    w.module.called.add(name)
    function = w.module.functions.get(name)
    if function is None:
        raise LLVMTranslationException(f"'{name}' is neither defined nor declared")
    result = op.results[0].type if op.results else None
    words = ["call"] if op.TailCallKind.data == "none" else ["tail", "call"]
    if isinstance(get_element_type_or_self(result) if result else None, AnyFloat):
        words += fast_math(op.fastmathFlags).split()
    if op.CConv.cconv_name != "ccc":
        words.append(op.CConv.cconv_name)
    type_ = type_text(function.function_type)
    if not function.function_type.is_variadic:
        type_ = type_text(result) if result else "void"
    _call_of(
        w, op, " ".join(words), f"{type_} {w.module.symbol(name)}({', '.join(w.operands(op))})"
    )


def _intrinsic_call(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, llvm.CallIntrinsicOp)
    result = type_text(op.results[0].type) if op.results else "void"
    words = f"call {fast_math(op.properties.get('fastmathFlags'))}".rstrip()
    _call_of(w, op, words, w.intrinsic(op.intrin.data, operands_of(op), result))


def _overloaded(name: str, by_operand: int = 0) -> Handler:
    """An operation that is one intrinsic; the type of one operand is a part of its name."""

    def write(w: FunctionWriter, op: Operation) -> None:
        operands, (result,) = operands_of(op), op.results
        full_name = f"{name}.{intrinsic_suffix(operands[by_operand].type)}"
        flags = fast_math(op.properties.get("fastmathFlags"))
        w.define(op, f"call {flags}{w.intrinsic(full_name, operands, type_text(result.type))}")

    return write


def _assembly(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, llvm.InlineAsmOp)
    effects = "sideeffect " if op.has_side_effects is not None else ""
    result = type_text(op.results[0].type) if op.results else "void"
    text, constraints = (escaped(s.data.encode()) for s in (op.asm_string, op.constraints))
    callee = f'asm {effects}"{text}", "{constraints}"({", ".join(w.operands(op))})'
    _call_of(w, op, "call", f"{result} {callee}")


# Control flow.


def _branch(w: FunctionWriter, op: Operation) -> None:
    (to,) = targets_of(op)
    w.pass_on(to, [w.reference(value) for value in operands_of(op)])
    wishes: list[str] = []
    if UNROLL in op.attributes:
        wishes.append(w.module.node('!{!"llvm.loop.unroll.full"}'))
    if NO_UNROLL in op.attributes:
        wishes.append(w.module.node('!{!"llvm.loop.unroll.disable"}'))
    if NO_VECTORS in op.attributes:
        wishes.append(w.module.node('!{!"llvm.loop.vectorize.enable", i1 false}'))
    hint = f", !llvm.loop {w.module.loop_node(wishes)}" if wishes else ""
    w.line(f"br {w.label(to)}{hint}")


def _conditional_branch(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, llvm.CondBrOp)
    value, *passed = operands_of(op)
    condition = w.operand(value)
    then_block, else_block = targets_of(op)
    then = list(op.then_arguments) if passed else []
    otherwise = passed[len(then) :]
    if then_block is else_block:
        # A phi has one value for each predecessor, so two edges from this block must agree.
        chosen = [_chosen(w, condition, a, b) for a, b in zip(then, otherwise, strict=True)]
        w.pass_on(then_block, chosen)
        w.line(f"br {w.label(then_block)}")
        return
    for to, values in ((then_block, then), (else_block, otherwise)):
        w.pass_on(to, [w.reference(value) for value in values])
    w.line(f"br {condition}, {w.label(then_block)}, {w.label(else_block)}")


def _chosen(w: FunctionWriter, condition: str, a: SSAValue, b: SSAValue) -> str:
    if a is b:
        return w.reference(a)
    return w.unnamed(f"select {condition}, {w.operand(a)}, {w.operand(b)}")


def _return(w: FunctionWriter, op: Operation) -> None:
    values = w.operands(op)
    w.line(f"ret {values[0]}" if values else "ret void")


def _unreachable(w: FunctionWriter, op: Operation) -> None:
    w.line("unreachable")


HANDLERS: dict[type[Operation], Handler] = {
    llvm.AddOp: _binary("add"),
    llvm.AndOp: _binary("and"),
    llvm.AShrOp: _binary("ashr"),
    llvm.FAddOp: _binary("fadd"),
    llvm.FDivOp: _binary("fdiv"),
    llvm.FMulOp: _binary("fmul"),
    llvm.FNegOp: _negation,
    llvm.FRemOp: _remainder,
    llvm.FSubOp: _binary("fsub"),
    llvm.LShrOp: _binary("lshr"),
    llvm.MulOp: _binary("mul"),
    llvm.OrOp: _binary("or"),
    llvm.SDivOp: _binary("sdiv"),
    llvm.ShlOp: _binary("shl"),
    llvm.SRemOp: _binary("srem"),
    llvm.SubOp: _binary("sub"),
    llvm.UDivOp: _binary("udiv"),
    llvm.URemOp: _binary("urem"),
    llvm.XOrOp: _binary("xor"),
    llvm.FCmpOp: _float_comparison,
    VectorFCmpOp: _float_comparison,
    llvm.ICmpOp: _integer_comparison,
    llvm.SelectOp: _selection,
    VectorLlvmSelectOp: _selection,
    llvm.BitcastOp: _cast("bitcast"),
    llvm.FPExtOp: _cast("fpext"),
    llvm.FPTruncOp: _cast("fptrunc"),
    llvm.IntToPtrOp: _cast("inttoptr"),
    llvm.PtrToIntOp: _cast("ptrtoint"),
    llvm.SExtOp: _cast("sext"),
    llvm.SIToFPOp: _cast("sitofp"),
    FPToSIOp: _cast("fptosi"),
    FPToUIOp: _cast("fptoui"),
    UIToFPOp: _cast("uitofp"),
    llvm.TruncOp: _cast("trunc"),
    llvm.ZExtOp: _cast("zext"),
    llvm.AddressOfOp: _address,
    llvm.ConstantOp: _constant,
    llvm.UndefOp: _undefined,
    llvm.ZeroOp: _zero,
    llvm.AllocaOp: _stack,
    AtomicRMWOp: _atomic_addition,
    FenceOp: _fence,
    llvm.GEPOp: _element_address,
    llvm.LoadOp: _load,
    llvm.MaskedStoreOp: _masked_store,
    llvm.StoreOp: _store,
    ExtractElementOp: _listed("extractelement"),
    llvm.ExtractValueOp: _member("extractvalue"),
    llvm.InsertElementOp: _listed("insertelement"),
    llvm.InsertValueOp: _member("insertvalue"),
    llvm.ShuffleVectorOp: _shuffle,
    llvm.CallOp: _call,
    llvm.CallIntrinsicOp: _intrinsic_call,
    llvm.InlineAsmOp: _assembly,
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
    llvm.VectorReduceFAddOp: _overloaded("llvm.vector.reduce.fadd", by_operand=1),
    llvm.VectorReduceFMulOp: _overloaded("llvm.vector.reduce.fmul", by_operand=1),
    llvm.BrOp: _branch,
    llvm.CondBrOp: _conditional_branch,
    llvm.ReturnOp: _return,
    llvm.UnreachableOp: _unreachable,
}
