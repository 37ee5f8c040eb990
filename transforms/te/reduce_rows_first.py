"""Reductions over blocks of rows and columns, rows first."""

from __future__ import annotations

from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import SSAValue

from ...analysis.fusion.factors import is_in_any_order
from ...analysis.interleaved import MOST_APART
from ...analysis.levels import Level
from ...analysis.operations import operations_of_kind
from ...dialects import te
from ...dialects.affine_bounds import linear_form
from ...dialects.dtypes import bit_width
from ...dialects.shaped import tensor_type
from ...frozen import frozen
from ...targets.target import Target
from ..numerics import DEFAULT_FP, NumericalEffect, fp_contract
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .rfactor import rfactor

FEW_COLUMNS = 4
"""
Columns of a block that are as quick in lanes of interleaved loads, with one result in each. A vector of every fourth
element takes three permutations of what is loaded: as much as to combine, to store and to load again.
"""

WIDE = 16
"""
Vectors to a row of a block that keep the ports busy by themselves: they are read as a stream, where rows under one another
begin a page each.
"""


@frozen
class TeReduceRowsFirstPass(StepwellPass):
    """
    Reduce blocks of an array over their rows first, where blocks side by side have many columns.

    Before: `y[i, k] = max_(j = 8, l = 16) x[i * 8 + j, k * 16 + l]`. After: `rows[i, k, l] = max_(j = 8) x[i * 8 + j, k * 16 +
    l]; y[i, k] = max_(l = 16) rows[i, k, l]`. The rows are read and combined as vectors of neighbours, and no more than an
    eighth of all is combined across lanes. Changes the order of a sum; `fp=strict` keeps that of floats.
    """

    name = "te-reduce-rows-first"
    level_in = Level.TE
    level_out = Level.TE
    numerics: ClassVar[NumericalEffect] = "reassociates"

    fp: str = DEFAULT_FP
    target: str | Target = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        any_order, target = fp_contract(self.fp) != "strict", Target.of(self.target)
        for compute in operations_of_kind(op, te.ComputeOp):
            columns = _columns_of_blocks(compute)
            if columns is None or not _is_less(compute, columns, target):
                continue
            if not is_in_any_order(compute.outputs, compute.combiners, any_order):
                remark(compute, "blocks keep the order of their elements", missed=True)
                continue
            count = len(compute.static_extents)
            rows = [n for n in range(len(compute.parallel), count) if n != columns]
            made = rfactor(compute, rows)
            remark(made.rows, "the rows of blocks are reduced before their columns")
            made.finish()


def _columns_of_blocks(compute: te.ComputeOp) -> int | None:
    """
    The axis that is the columns of blocks, of which a compute reduces each to an element; None where it reduces something
    else.

    Columns are neighbours, and so are the blocks along an axis of the result; rows are further apart than that axis reaches.
    """
    extents, first = compute.static_extents, len(compute.parallel)
    if len(compute.reads) != 1 or DYNAMIC_INDEX in extents or not first:
        return None
    strides = _strides(compute.reads[0], len(extents))
    if strides is None:
        return None
    reduced = [n for n in range(first, len(extents)) if extents[n] > 1]
    columns = next((n for n in reduced if strides[n] == 1), None)
    if columns is None:
        return None
    width = extents[columns]
    side = next((n for n in range(first) if strides[n] == width and extents[n] > 1), None)
    rows = [n for n in reduced if n != columns]
    if side is None or not rows:
        return None
    return columns if all(strides[n] >= width * extents[side] for n in rows) else None


def _is_less(compute: te.ComputeOp, columns: int, target: Target) -> bool:
    """
    Whether what is stored of the rows is at most half of what is read, and columns are too few to be read in lanes one
    row after the other. Sums that are wider than their terms take few: instructions add up narrow terms across lanes.
    """
    extents = compute.static_extents
    rows = prod(extents[len(compute.parallel) :]) // extents[columns]
    read = _bytes_read(compute.reads[0].source)
    made = max(_element_bytes(value) for value in compute.outputs)
    lanes = target.lanes(read)
    least, most = (MOST_APART, lanes) if made > read else (FEW_COLUMNS, WIDE * lanes)
    return least < extents[columns] < most and 2 * made <= rows * read


def _bytes_read(value: SSAValue) -> int:
    """Of the elements from which a tensor is computed one by one, such as those of which it is a cast."""
    least = _element_bytes(value)
    while isinstance(owner := value.owner, te.ComputeOp) and not owner.combiners:
        if len(owner.reads) != 1:
            break
        value = owner.reads[0].source
        least = min(least, _element_bytes(value))
    return least


def _element_bytes(value: SSAValue) -> int:
    return max(bit_width(tensor_type(value).get_element_type()) // 8, 1)


def _strides(read: te.Read, count: int) -> list[int] | None:
    """How many elements from one iteration of each axis to the next are apart in a tensor's order, None if unknown."""
    shape = tensor_type(read.source).get_shape()
    if read.map is None or DYNAMIC_INDEX in shape:
        return None
    strides = [0] * count
    for dimension, expr in enumerate(read.map.results):
        linear = linear_form(expr, count)
        if linear is None:
            return None
        by = prod(shape[dimension + 1 :])
        strides = [stride + by * n for stride, n in zip(strides, linear[0], strict=True)]
    return strides
