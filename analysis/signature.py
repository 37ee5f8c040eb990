"""
What a caller passes to a function and gets back: names, shapes, dtypes and the calling convention.

Three conventions, told apart by the function's type and marks:

- `tensor`: takes and returns tensors (graph, te);
- `marked`: takes memrefs; the trailing ones marked `stepwell.result` are written by the function, and
  an optional last `memref<Nxi8>` marked `stepwell.arena` is scratch memory;
- `inout`: takes memrefs without marks (hand-written text), each read and written in place.

An `llvm.func` has only pointers left; `core -> llvm` keeps the signature of the function it lowers in
its `stepwell.signature` attribute, made by `signature_attribute`, or the reason why no array can be passed in
`stepwell.not_callable`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ..dialects.dtypes import ELEMENT_TYPES, element_type, numpy_dtype, signless
from ..dialects.loop import ARENA, NAME, OWN, RESULT, UNSIGNED
from ..dialects.shaped import row_major
from ..errors import StepwellError
from ..spelling import did_you_mean, few_names
from .call_signature import ArgSpec, FunctionSignature
from .calls import calls_in_program

SIGNATURE_ATTRIBUTE = "stepwell.signature"
NOT_CALLABLE_ATTRIBUTE = "stepwell.not_callable"

FunctionLike: TypeAlias = func.FuncOp | llvm.FuncOp


def functions_with_body(module: ModuleOp) -> Iterator[FunctionLike]:
    """Every function of the module that is defined in it, in order."""
    for op in module.ops:
        if isinstance(op, func.FuncOp | llvm.FuncOp) and op.body.blocks:
            yield op


def is_public(function: FunctionLike) -> bool:
    """Whether a caller outside the module may call it."""
    if function.sym_visibility is not None:
        return function.sym_visibility.data == "public"
    return not (
        isinstance(function, llvm.FuncOp)
        and function.linkage.linkage.data in ("internal", "private")
    )


def is_argument_of_program(value: SSAValue) -> bool:
    """Whether it is an argument of a function that a caller outside the module may call, and is not marked `OWN`."""
    function = value.owner.parent_op() if isinstance(value.owner, Block) else None
    is_public_function = isinstance(function, func.FuncOp | llvm.FuncOp) and is_public(function)
    return is_public_function and not is_own(value)


def calls_by_programs(function: func.FuncOp) -> list[func.CallOp]:
    """The calls of a kernel by programs of its module."""
    module = function.parent_op()
    if module is None:
        return []
    calls = (call for program in _functions_in(module) for call in calls_in_program(program))
    name = function.sym_name.data
    return [call for call in calls if call.callee.string_value() == name]


def values_given(
    argument: BlockArgument, calls: Iterable[func.CallOp] | None = None
) -> list[SSAValue]:
    """What programs of the module give a kernel for an argument, in `calls` of it, which are looked for where they are not known."""
    function = argument.owner.parent_op()
    if not isinstance(function, func.FuncOp):
        return []
    known = calls_by_programs(function) if calls is None else calls
    return [call.arguments[argument.index] for call in known]


def is_of_caller(value: SSAValue, calls: Iterable[func.CallOp] | None = None) -> bool:
    """
    Whether an array of who calls the program stands here, which may begin anywhere: an argument of the program, or of a kernel that
    it is given to, in `calls` of it. Buffers of the program, and results, begin with a line of the cache.
    """
    if not isinstance(value, BlockArgument) or not isinstance(
        function := value.owner.parent_op(), func.FuncOp
    ):
        return False
    if function.arg_attrs is not None and RESULT in function.arg_attrs.data[value.index].data:
        return False
    return any(map(is_argument_of_program, (value, *values_given(value, calls))))


def _functions_in(module: Operation) -> Iterator[func.FuncOp]:
    for region in module.regions:
        for block in region.blocks:
            yield from (op for op in block.ops if isinstance(op, func.FuncOp))


def is_own(value: SSAValue) -> bool:
    """Whether a buffer is one of the program's own: no argument of a function or a loop, unless it is marked so."""
    if not isinstance(value, BlockArgument):
        return True
    function = value.owner.parent_op()
    if not isinstance(function, func.FuncOp) or function.arg_attrs is None:
        return False
    return OWN in function.arg_attrs.data[value.index].data


def entry_function(module: ModuleOp, name: str | None = None) -> FunctionLike:
    """
    The function that running the module calls: the one called `name`; without a name the only
    public function with a body, or else the one called `main`.

    Raises StepwellError, with the names there are when they are few.
    """
    functions = list(functions_with_body(module))
    names = [function.sym_name.data for function in functions]
    listed = few_names("it has", names, "its text shows them")
    if name is not None:
        for function in functions:
            if function.sym_name.data == name:
                return function
        raise StepwellError(
            f"found no function '{name}' with a body, expected one of the module's; "
            f"{did_you_mean(name, names, listed)}",
            op=module,
        )
    if not functions:
        raise StepwellError(
            "found a module without functions, expected a function with a body; add one", op=module
        )
    public = [function for function in functions if is_public(function)]
    if len(public) == 1:
        return public[0]
    for function in public:
        if function.sym_name.data == "main":
            return function
    count = "no public function" if not public else f"{len(public)} public functions"
    raise StepwellError(
        f"found {count}, expected one or one called 'main'; choose the entry by name; {listed}",
        op=module,
    )


def signature_of(function: FunctionLike) -> FunctionSignature:
    """
    The signature of a function, from its type and marks, or from `stepwell.signature`.

    Raises StepwellError for a type no array can be passed for, and for misplaced marks.
    """
    if SIGNATURE_ATTRIBUTE in function.attributes:
        return _from_attribute(function)
    if isinstance(function, llvm.FuncOp):
        reason = function.attributes.get(NOT_CALLABLE_ATTRIBUTE)
        if isinstance(reason, StringAttr):
            raise StepwellError(reason.data, op=function)
        raise StepwellError(
            f"found llvm.func '{function.sym_name.data}' without '{SIGNATURE_ATTRIBUTE}', expected the "
            "attribute that convert-core-to-llvm leaves; lower from core, or call it by pointer",
            op=function,
        )
    marks = _marks_of_args(function)
    types = function.function_type.inputs.data
    if any(isinstance(type, TensorType) for type in (*types, *function.function_type.outputs.data)):
        return _tensor_signature(function, marks)
    if any(RESULT in mark.data or ARENA in mark.data for mark in marks):
        return _marked_signature(function, marks)
    return _inout_signature(function, marks)


def signature_attribute(function: func.FuncOp) -> DictionaryAttr:
    """The signature as an attribute, for an `llvm.func` to keep as `stepwell.signature`."""
    signature = signature_of(function)
    return DictionaryAttr(
        {
            "convention": StringAttr(signature.convention),
            "arena": IntegerAttr(signature.arena_bytes, i64),
            "inputs": ArrayAttr(_spec_attribute(spec) for spec in signature.inputs),
            "results": ArrayAttr(_spec_attribute(spec) for spec in signature.results),
        }
    )


def argument_names(function: FunctionLike) -> tuple[str, ...]:
    """
    The name hints of the entry block's arguments, or the names that attributes say; `argN` where there is none. All
    distinct.
    """
    block = function.body.blocks.first
    if block is None:
        return tuple(f"arg{i}" for i in range(len(function.function_type.inputs.data)))
    marks = _marks_of_args(function) if isinstance(function, func.FuncOp) else ()
    names: list[str] = []
    for i, arg in enumerate(block.args):
        name = (_said_name(marks[i]) if marks else None) or arg.name_hint or f"arg{i}"
        names.append(name if name not in names else f"{name}_{i}")
    return tuple(names)


def _said_name(mark: DictionaryAttr) -> str | None:
    """The name that an attribute says."""
    name = mark.data.get(NAME)
    return name.data if isinstance(name, StringAttr) else None


def _marks_of_args(function: func.FuncOp) -> tuple[DictionaryAttr, ...]:
    if function.arg_attrs is None:
        return (DictionaryAttr({}),) * len(function.function_type.inputs.data)
    return function.arg_attrs.data


def _marks_of_results(function: func.FuncOp) -> tuple[DictionaryAttr, ...]:
    if function.res_attrs is None:
        return (DictionaryAttr({}),) * len(function.function_type.outputs.data)
    return function.res_attrs.data


def _spec(name: str, type: Attribute, unsigned: bool, op: Operation) -> ArgSpec:
    shape: tuple[int | None, ...] = ()
    element = type
    if shaped := isinstance(type, TensorType | MemRefType):
        array_type = cast("TensorType[Attribute] | MemRefType[Attribute]", type)
        shape = tuple(
            None if extent == DYNAMIC_INDEX else extent for extent in array_type.get_shape()
        )
        element = array_type.element_type
    try:
        dtype = numpy_dtype(element)
    except KeyError:
        raise StepwellError(
            f"found '{name}' of type {type}, expected a tensor, memref or scalar of "
            f"{', '.join(map(str, ELEMENT_TYPES))}; change the element type",
            op=op,
        ) from None
    if unsigned and dtype.kind == "i":
        dtype = np.dtype(f"u{dtype.name}")
    return ArgSpec(name, shape, dtype, scalar=not shaped)


def _arg_specs(function: func.FuncOp, marks: tuple[DictionaryAttr, ...]) -> tuple[ArgSpec, ...]:
    return tuple(
        _spec(name, type, UNSIGNED in mark.data, function)
        for name, type, mark in zip(
            argument_names(function), function.function_type.inputs.data, marks, strict=True
        )
    )


def _returned_specs(function: func.FuncOp) -> tuple[ArgSpec, ...]:
    types = function.function_type.outputs.data
    names = ("result",) if len(types) == 1 else tuple(f"result{i}" for i in range(len(types)))
    return tuple(
        _spec(_said_name(mark) or name, type, UNSIGNED in mark.data, function)
        for name, type, mark in zip(names, types, _marks_of_results(function), strict=True)
    )


def _tensor_signature(
    function: func.FuncOp, marks: tuple[DictionaryAttr, ...]
) -> FunctionSignature:
    inputs = _arg_specs(function, marks)
    return FunctionSignature(function.sym_name.data, inputs, _returned_specs(function), "tensor")


def _inout_signature(function: func.FuncOp, marks: tuple[DictionaryAttr, ...]) -> FunctionSignature:
    inputs = _arg_specs(function, marks)
    written = tuple(spec for spec in inputs if not spec.scalar)
    results = written + _returned_specs(function)
    return FunctionSignature(function.sym_name.data, inputs, results, "inout")


def _marked_signature(
    function: func.FuncOp, marks: tuple[DictionaryAttr, ...]
) -> FunctionSignature:
    """Inputs first, then results, then at most one arena: anything else is refused."""
    specs = _arg_specs(function, marks)
    ranks = [2 if ARENA in mark.data else int(RESULT in mark.data) for mark in marks]
    if ranks != sorted(ranks) or ranks.count(2) > 1:
        raise StepwellError(
            f"found the marked arguments of '{function.sym_name.data}' out of order, expected inputs, then "
            f"'{RESULT}' arguments, then at most one '{ARENA}'; reorder them",
            op=function,
        )
    if function.function_type.outputs.data:
        raise StepwellError(
            f"found '{function.sym_name.data}' with '{RESULT}' or '{ARENA}' arguments and returned "
            "values, expected no returned values; pass every result as an argument",
            op=function,
        )
    for spec, rank in zip(specs, ranks, strict=True):
        if rank and (
            spec.scalar or (rank == 2 and (spec.dtype.itemsize != 1 or len(spec.shape) != 1))
        ):
            raise StepwellError(
                f"found marked argument '{spec.name}' of type {spec}, expected a memref "
                "(memref<Nxi8> for the arena); change its type",
                op=function,
            )
    arena = next((spec.shape[0] for spec, rank in zip(specs, ranks, strict=True) if rank == 2), 0)
    if arena is None:
        raise StepwellError(
            f"found an arena of unknown size in '{function.sym_name.data}', expected memref<Nxi8>; give N",
            op=function,
        )
    return FunctionSignature(
        function.sym_name.data,
        tuple(spec for spec, rank in zip(specs, ranks, strict=True) if rank == 0),
        tuple(spec for spec, rank in zip(specs, ranks, strict=True) if rank == 1),
        "marked",
        arena,
    )


def _spec_attribute(spec: ArgSpec) -> DictionaryAttr:
    element = signless(element_type(spec.dtype))
    shape = [DYNAMIC_INDEX if extent is None else extent for extent in spec.shape]
    data: dict[str, Attribute] = {
        "name": StringAttr(spec.name),
        "type": element if spec.scalar else row_major(element, shape),
    }
    if spec.dtype.kind == "u":
        data["unsigned"] = UnitAttr()
    return DictionaryAttr(data)


def _from_attribute(function: FunctionLike) -> FunctionSignature:
    attribute = function.attributes[SIGNATURE_ATTRIBUTE]
    match attribute:
        case DictionaryAttr(
            data={
                "convention": StringAttr(data="tensor" | "marked" | "inout" as convention),
                "arena": IntegerAttr() as arena,
                "inputs": ArrayAttr() as inputs,
                "results": ArrayAttr() as results,
            }
        ):
            return FunctionSignature(
                function.sym_name.data,
                tuple(_spec_from_attribute(attr, function) for attr in inputs),
                tuple(_spec_from_attribute(attr, function) for attr in results),
                convention,
                arena.value.data,
            )
        case _:
            raise _bad_signature(function)


def _spec_from_attribute(attribute: Attribute, function: FunctionLike) -> ArgSpec:
    match attribute:
        case DictionaryAttr(data={"name": StringAttr(data=name), "type": type}):
            return _spec(name, type, "unsigned" in attribute.data, function)
        case _:
            raise _bad_signature(function)


def _bad_signature(function: FunctionLike) -> StepwellError:
    return StepwellError(
        f"found a malformed '{SIGNATURE_ATTRIBUTE}' on '{function.sym_name.data}', expected the dictionary "
        "that convert-core-to-llvm writes; lower from core again",
        op=function,
    )
