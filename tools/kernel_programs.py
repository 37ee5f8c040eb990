"""The kernels of a program as programs of their own, with inputs that the program gives them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.ir import Block, Region, SSAValue

from ..analysis.signature import FunctionLike, entry_function
from ..analysis.structure import Structure, kernel_structure
from ..dialects import te
from ..frozen import frozen
from .execute import execute_interpreted, random_inputs

Array = npt.NDArray[Any]


@frozen
class KernelProgram:
    """A kernel over tensors as the public function `name` of `module`, and arrays to call it with."""

    name: str
    module: ModuleOp
    inputs: tuple[Array, ...]


def kernel_programs(
    module: ModuleOp, entry: str, inputs: Sequence[Array], seed: int
) -> list[KernelProgram]:
    """
    Each distinct kernel that the entry function calls, which stands at te after `te-fuse`.

    Kernels are distinct when they differ in more than names and the elements of their constants. Each gets what
    the program gives its first one for `inputs`; kernels inside of control flow get random numbers.
    """
    function = entry_function(module, entry)
    distinct: dict[Structure, te.KernelOp] = {}
    for op in function.body.walk():
        if isinstance(op, te.KernelOp) and op.outputs and op.inline is None:
            distinct.setdefault(kernel_structure(op, contents=False), op)
    kernels = list(distinct.values())
    top = [op for op in kernels if op.parent is function.body.block]
    values = list(dict.fromkeys(value for op in top for value in op.inputs))
    known = dict(zip(values, values_of(module, function, values, inputs), strict=True))
    names: dict[str, int] = {}
    return [_program(op, entry, known if op in top else None, names, seed) for op in kernels]


def points(module: ModuleOp) -> int:
    """How many elements the computes of the module's kernels go through, reductions counted; `?` is one."""
    return sum(
        prod(extent for extent in op.extents.get_values() if extent > 0)
        for op in module.walk()
        if isinstance(op, te.ComputeOp)
    )


def values_of(
    module: ModuleOp, function: FunctionLike, values: Sequence[SSAValue], inputs: Sequence[Array]
) -> list[Array]:
    """What tensors of a function's own block are when it is interpreted on `inputs`."""
    if not values:
        return []
    copy = module.clone()
    mirrored = dict(zip(_values_in(module), _values_in(copy), strict=True))
    name = function.sym_name.data
    probe = entry_function(copy, name)
    assert isinstance(probe, func.FuncOp)
    end = probe.body.block.last_op
    assert end is not None
    end.operands = [mirrored[value] for value in values]
    types = [value.type for value in values]
    probe.function_type = FunctionType.from_lists(probe.function_type.inputs.data, types)
    probe.res_attrs = None
    return execute_interpreted(copy, [np.array(value) for value in inputs], name)


def _values_in(module: ModuleOp) -> list[SSAValue]:
    return [
        value
        for op in module.walk()
        for value in (
            *op.results,
            *(arg for region in op.regions for b in region.blocks for arg in b.args),
        )
    ]


def _program(
    op: te.KernelOp,
    entry: str,
    known: dict[SSAValue, Array] | None,
    names: dict[str, int],
    seed: int,
) -> KernelProgram:
    wanted = f"{entry}.{op.kernel_name.data}"  # as in loops, and no name of the C library
    number = names[wanted] = names.get(wanted, -1) + 1
    name = f"{wanted}_{number}" if number else wanted
    passed = list(dict.fromkeys(op.inputs))
    types = [value.type for value in passed]
    assert all(isinstance(type_, TensorType) for type_ in types)
    block = Block(arg_types=types)
    for old, new in zip(passed, block.args, strict=True):
        new.name_hint = old.name_hint
    kernel = op.clone(dict(zip(passed, block.args, strict=True)))
    block.add_ops([kernel, func.ReturnOp(*kernel.results)])
    results = [result.type for result in kernel.results]
    function = func.FuncOp(name, FunctionType.from_lists(types, results), Region(block))
    function.location = op.location
    inputs = random_inputs(function, seed) if known is None else [known[value] for value in passed]
    return KernelProgram(name, ModuleOp([function]), tuple(inputs))
