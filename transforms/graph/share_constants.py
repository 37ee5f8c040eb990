"""Large constants with the same elements, which are one constant."""

from __future__ import annotations

from collections import defaultdict
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp
from xdsl.ir import Attribute, Block
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...dialects.graph import ConstantOp
from ...dialects.interfaces import Array
from ..remarks import remark
from ..stepwell_pass import StepwellPass

_SAMPLE = 64
"""Bytes at both ends by which constants are told apart before they are compared."""

_Key = tuple[Attribute, bytes, bytes]


def _key(type_: Attribute, elements: Array) -> _Key:
    return type_, elements[:_SAMPLE].tobytes(), elements[-_SAMPLE:].tobytes()


def share_constants(block: Block) -> None:
    """
    Replace each constant of a block by an earlier one with the same bytes.

    Constants whose ends differ, as nearly all do, are not read. Small ones stand in the text, where `cse` sees them.
    """
    known: defaultdict[_Key, list[tuple[ConstantOp, Array]]] = defaultdict(list)
    for op in list(block.ops):
        if not isinstance(op, ConstantOp) or not isinstance(op.value, DenseResourceAttr):
            continue
        elements = op.array().reshape(-1).view(np.uint8)
        candidates = known[_key(op.result.type, elements)]
        same = [first for first, other in candidates if np.array_equal(elements, other)]
        if same:
            remark(op, f"shares the elements of {same[0].result.name_hint or 'another constant'}")
            Rewriter.replace_op(op, [], [same[0].result])
        else:
            candidates.append((op, elements))


class GraphShareConstantsPass(StepwellPass):
    """Keep one of several large constants with the same elements, such as weights that an exporter wrote twice."""

    name = "graph-share-constants"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            for region in inner.regions:
                for block in region.blocks:
                    share_constants(block)
