"""
graph → te: every operation becomes its definition element by element.

Types lose their signs here: `ui8` becomes `i8` and `ui64` `i64`, the operations carry the signedness, and arguments and
results of functions that were unsigned are marked `stepwell.unsigned`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ..analysis.constants import count_constants
from ..analysis.levels import Level
from ..analysis.operations import operations_in
from ..dialects import graph
from ..dialects import te as dialects_te
from ..dialects.control_flow import ControlFlow
from ..dialects.graph import GraphOp
from ..dialects.graph.shapes import is_static
from ..dialects.interfaces import DefinedInTe
from ..dialects.leaf_operations import function_type
from ..dialects.loop import UNSIGNED
from ..dialects.shaped import Tensor, shape_of
from ..dialects.te.builder import TeBuilder, signless_tensor
from ..errors import StepwellError
from ..transforms.graph.decompose import decompose_all
from ..transforms.stepwell_pass import StepwellPass
from .te_definitions import Definitions


class ConvertGraphToTePass(StepwellPass):
    """Define every graph operation element by element; compound ones are decomposed first."""

    name = "convert-graph-to-te"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _check(op)
        decompose_all(op)
        for function in operations_in(op):
            if isinstance(function, func.FuncOp):
                _convert_function(function)
        count_constants(op)


def _check(module: ModuleOp) -> None:
    """Refuse, before anything is changed, what has no definition here."""
    for op in operations_in(module):
        if not isinstance(op, GraphOp):
            continue
        parent = op.parent_op()
        is_straight = isinstance(parent, func.FuncOp) and len(parent.body.blocks) == 1
        if not is_straight and not isinstance(parent, ControlFlow):
            raise StepwellError(
                f"found {op.name} inside {_place(parent)}, expected it in the single block of a func.func; "
                "move it there",
                op=op,
            )
        for value in (*op.operands, *op.results):
            if not is_static(shape_of(value)):
                raise StepwellError(
                    f"found {op.name} on {value.type}, expected static extents: '?' cannot be lowered to te "
                    "yet; give the extents",
                    op=op,
                )


def _place(parent: Operation | None) -> str:
    if parent is None:
        return "nothing"
    return f"{parent.name} of several blocks" if isinstance(parent, func.FuncOp) else parent.name


def _signless(type_: Attribute) -> Attribute:
    return signless_tensor(cast(Tensor, type_)) if isinstance(type_, TensorType) else type_


def _convert_function(function: func.FuncOp) -> None:
    """Give the function signless types, marks for what was unsigned, and a body of te."""
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    function.properties["function_type"] = function_type(
        [_signless(type_) for type_ in inputs], [_signless(type_) for type_ in outputs]
    )
    _mark_unsigned(function, "arg_attrs", inputs)
    _mark_unsigned(function, "res_attrs", outputs)
    if len(function.body.blocks) != 1:
        return
    old = function.body.block
    block = Block(arg_types=[_signless(arg.type) for arg in old.args])
    te = TeBuilder(Builder(InsertPoint.at_end(block)))
    definitions = Definitions()
    for old_arg, arg in zip(old.args, block.args, strict=True):
        arg.name_hint = old_arg.name_hint
        arg.location = old_arg.location
        te.values[old_arg] = arg
    _convert_block(old, te, definitions)
    old_body = function.detach_region(function.body)
    function.add_region(Region(block))
    old_body.drop_all_references()
    _erase_unused_constants(function)


def _convert_block(old: Block, te: TeBuilder, definitions: Definitions) -> None:
    """Append what the operations of a block become."""
    for op in old.ops:
        te.source = op
        if isinstance(op, ControlFlow):
            values = _convert_control_flow(op, te, definitions)
        elif isinstance(op, DefinedInTe):
            values = definitions.of(op, te)
        else:
            values = _carry_over(op, te)
        te.values.update(zip(op.results, values, strict=True))


_OF_TE: dict[type[Operation], type[ControlFlow]] = {
    graph.IfOp: dialects_te.IfOp,
    graph.ScanOp: dialects_te.ScanOp,
    graph.WhileOp: dialects_te.WhileOp,
}


def _convert_control_flow(
    op: ControlFlow, te: TeBuilder, definitions: Definitions
) -> Sequence[SSAValue]:
    """The same control flow at te, with what is in its regions converted."""
    regions: list[Region] = []
    for region in op.regions:
        block = Block(arg_types=[_signless(arg.type) for arg in region.block.args])
        inside = TeBuilder(Builder(InsertPoint.at_end(block)), dict(te.values))
        for old_arg, arg in zip(region.block.args, block.args, strict=True):
            arg.name_hint = old_arg.name_hint
            inside.values[old_arg] = arg
        _convert_block(region.block, inside, definitions)
        regions.append(Region(block))
    new = _OF_TE[type(op)].create(
        operands=[te.values[value] for value in op.operands],
        result_types=[_signless(result.type) for result in op.results],
        properties=op.properties,
        attributes=op.attributes,
        regions=regions,
    )
    for old_result, result in zip(op.results, new.results, strict=True):
        result.name_hint = old_result.name_hint
    te.source = op
    return te.insert(new).results


def _erase_unused_constants(function: func.FuncOp) -> None:
    """Erase the constants that became numbers in bodies."""
    for op in operations_in(function):
        if isinstance(op, arith.ConstantOp) and op.result.first_use is None:
            op.detach()
            op.erase()


def _carry_over(op: Operation, te: TeBuilder) -> Sequence[SSAValue]:
    """An operation of another dialect, with the new operands and signless result types."""
    if isinstance(op, graph.YieldOp):
        return te.insert(dialects_te.YieldOp(*(te.values[v] for v in op.values))).results
    copy = op.clone(value_mapper=te.values)
    types = [_signless(result.type) for result in op.results]
    if types != [result.type for result in op.results]:
        cloned = copy
        copy = type(op).create(
            operands=cloned.operands,
            result_types=types,
            properties=cloned.properties,
            attributes=cloned.attributes,
            successors=cloned.successors,
            regions=[cloned.detach_region(region) for region in list(cloned.regions)],
        )
        cloned.erase()
    for old, new in zip(op.results, copy.results, strict=True):
        new.name_hint = old.name_hint
    te.insert(copy)
    return copy.results


def _mark_unsigned(function: func.FuncOp, key: str, types: Sequence[Attribute]) -> None:
    unsigned = [_signless(type_) != type_ for type_ in types]
    if not any(unsigned):
        return
    present = cast("ArrayAttr[DictionaryAttr] | None", function.properties.get(key))
    marks = [DictionaryAttr({})] * len(types) if present is None else present.data
    function.properties[key] = ArrayAttr(
        DictionaryAttr({**mark.data, UNSIGNED: UnitAttr()}) if flag else mark
        for mark, flag in zip(marks, unsigned, strict=True)
    )
