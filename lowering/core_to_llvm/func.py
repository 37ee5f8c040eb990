"""`func` to `llvm`: functions, calls and returns, with the caller's promises as parameter attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue

from ...analysis.signature import (
    NOT_CALLABLE_ATTRIBUTE,
    SIGNATURE_ATTRIBUTE,
    argument_names,
    is_public,
    signature_attribute,
)
from ...dialects.leaf_operations import leaf, word_attribute
from ...dialects.loop import ARENA, MARK, RESULT
from ...errors import StepwellError
from .cf import lower_region
from .emitter import Emitter, Handler
from .properties import EXTERNAL, INTERNAL, VOID, function_type, function_without_body
from .symbols import Symbols
from .types import AnyMemRef, checked, is_memref, layout_of, static_bytes

ARENA_ALIGNMENT = 64
"""Bytes. The caller promises it; runtime/executable.py keeps the promise."""


def convert_function(
    function: func.FuncOp, handlers: Mapping[type[Operation], Handler], symbols: Symbols
) -> llvm.FuncOp:
    """
    The `llvm.func` for a `func.func`.

    Marked memref arguments (see the calling convention in analysis/signature.py) do not overlap, which
    `llvm.noalias` says. Raises StepwellError for an operation or type there is no rule for.
    """
    old_type = function.function_type
    inputs = [flat for type_ in old_type.inputs.data for flat in checked(type_, function)]
    results = [flat for type_ in old_type.outputs.data for flat in checked(type_, function)]
    public = is_public(function)
    declared_only = not function.body.blocks
    arg_attrs = _argument_attributes(function)
    new = function_without_body(
        function.sym_name.data,
        function_type(inputs, packed_type(results) or VOID),
        EXTERNAL if public or declared_only else INTERNAL,
        {} if arg_attrs is None else {"arg_attrs": arg_attrs},
        _attributes(function, public),
    )
    if declared_only:
        new.add_region(Region())
        return new
    emitter = Emitter(handlers, symbols)
    _convert_body(function, emitter, arg_attrs)
    new.add_region(emitter.finish())
    return new


def packed_type(types: Sequence[Attribute]) -> Attribute | None:
    """What a function returns for these results: nothing, the one, or a struct of all."""
    if not types:
        return None
    if len(types) == 1:
        return types[0]
    return llvm.LLVMStructType.from_type_list(types)


def _attributes(function: func.FuncOp, public: bool) -> dict[str, Attribute]:
    """
    The function's own attributes, and how it is called, which its new type no longer says.

    A function that no array can be passed to keeps the reason, as others in the module may still call it.
    """
    attributes = dict(function.attributes)
    if not public or not function.body.blocks or SIGNATURE_ATTRIBUTE in attributes:
        return attributes
    try:
        _check_contiguous(function)
        attributes[SIGNATURE_ATTRIBUTE] = signature_attribute(function)
    except StepwellError as error:
        attributes[NOT_CALLABLE_ATTRIBUTE] = StringAttr(error.message)
    return attributes


def _check_contiguous(function: func.FuncOp) -> None:
    types = function.function_type.inputs.data
    for name, type_ in zip(argument_names(function), types, strict=True):
        if is_memref(type_) and not layout_of(type_).is_identity:
            raise StepwellError(
                f"found argument '{name}' of type {type_}, expected a contiguous row-major memref, as arrays "
                "are passed without strides; take the whole buffer and make the subview inside",
                op=function,
            )


_NOTHING = DictionaryAttr({})


def _argument_attributes(function: func.FuncOp) -> ArrayAttr[DictionaryAttr] | None:
    types = function.function_type.inputs.data
    marks = function.arg_attrs.data if function.arg_attrs is not None else (_NOTHING,) * len(types)
    if not any(mark.data for mark in marks):
        return None
    marked = any(RESULT in mark.data or ARENA in mark.data for mark in marks)
    result: list[DictionaryAttr] = []
    for type_, mark in zip(types, marks, strict=True):
        data = dict(mark.data)
        if marked and is_memref(type_):
            data |= _promises(type_, mark)
        flat = checked(type_, function)
        result += [DictionaryAttr(data), *([_NOTHING] * (len(flat) - 1))]
    return ArrayAttr(result)


def _promises(type_: AnyMemRef, mark: DictionaryAttr) -> dict[str, Attribute]:
    """What the caller of a marked function promises about one memref argument."""
    promises: dict[str, Attribute] = {"llvm.noalias": MARK}
    if ARENA in mark.data:
        promises["llvm.align"] = word_attribute(ARENA_ALIGNMENT)
    size = static_bytes(type_)
    if size:
        promises["llvm.nonnull"] = MARK
        promises["llvm.dereferenceable"] = word_attribute(size)
    return promises


def _pointer_promises(
    arguments: Sequence[SSAValue], arg_attrs: ArrayAttr[DictionaryAttr] | None
) -> dict[SSAValue, DictionaryAttr]:
    """The `llvm.` attributes of each argument."""
    if arg_attrs is None:
        return dict.fromkeys(arguments, _NOTHING)
    return {
        argument: DictionaryAttr(
            {name: value for name, value in attrs.data.items() if name.startswith("llvm.")}
        )
        for argument, attrs in zip(arguments, arg_attrs, strict=True)
    }


def _convert_body(
    function: func.FuncOp, e: Emitter, arg_attrs: ArrayAttr[DictionaryAttr] | None
) -> None:
    old_entry = function.body.blocks.first
    assert old_entry is not None
    for arg in old_entry.args:
        for type_ in checked(arg.type, function):
            e.entry.insert_arg(type_, len(e.entry.args))
    e.unflatten(old_entry.args, e.entry.args)
    e.promises.update(_pointer_promises(e.entry.args, arg_attrs))
    lower_region(e, function.body, function)


def _convert_call(e: Emitter, op: Operation) -> None:
    assert isinstance(op, func.CallOp)
    types = [flat for result in op.results for flat in checked(result.type, op)]
    packed = packed_type(types)
    returned = e.call(op.callee.string_value(), e.flatten(op.operands), packed)
    if returned is None:
        return
    if len(types) == 1:
        e.unflatten(op.results, (returned,))
        return
    parts = [
        e.emit(
            llvm.ExtractValueOp,
            (returned,),
            type_,
            {"position": DenseArrayBase.from_list(i64, [i])},
        )
        for i, type_ in enumerate(types)
    ]
    e.unflatten(op.results, parts)


def _convert_return(e: Emitter, op: Operation) -> None:
    values = e.flatten(op.operands)
    if len(values) > 1:
        values = [_pack(e, values)]
    e.append(leaf(llvm.ReturnOp, values))


def _pack(e: Emitter, values: Sequence[SSAValue]) -> SSAValue:
    """The struct of several results."""
    type_ = llvm.LLVMStructType.from_type_list([value.type for value in values])
    packed = e.emit(llvm.UndefOp, (), type_)
    for i, value in enumerate(values):
        position = {"position": DenseArrayBase.from_list(i64, [i])}
        packed = e.emit(llvm.InsertValueOp, (packed, value), type_, position)
    return packed


FUNC: dict[type[Operation], Handler] = {
    func.CallOp: _convert_call,
    func.ReturnOp: _convert_return,
}
