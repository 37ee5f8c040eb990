"""Large constants with the same elements, which are one constant."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import ClassVar, TypeVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp
from xdsl.ir import Attribute, Block
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...analysis.operations import blocks_in, operations_of
from ...dialects.graph import ConstantOp
from ...dialects.interfaces import Array
from ..remarks import remark
from ..stepwell_pass import StepwellPass

_SAMPLE = 64
"""Bytes at both ends by which constants are told apart before they are read."""


def _bytes(op: ConstantOp) -> Array:
    return op.array().reshape(-1).view(np.uint8)


def _ends(op: ConstantOp) -> tuple[Attribute, bytes, bytes]:
    elements = _bytes(op)
    return op.result.type, elements[:_SAMPLE].tobytes(), elements[-_SAMPLE:].tobytes()


def _digest(op: ConstantOp) -> bytes:
    return hashlib.blake2b(_bytes(op).data).digest()


_Key = TypeVar("_Key", bound=Hashable)


def _groups(
    ops: Iterable[ConstantOp], key: Callable[[ConstantOp], _Key]
) -> Iterator[list[ConstantOp]]:
    """The constants with an equal key, where there are several, in the order of the first ones."""
    groups: defaultdict[_Key, list[ConstantOp]] = defaultdict(list)
    for op in ops:
        groups[key(op)].append(op)
    return (group for group in groups.values() if len(group) > 1)


def share_constants(block: Block) -> None:
    """
    Replace each constant of a block by an earlier one with the same bytes.

    Constants whose ends differ, as nearly all do, are not read, and the others once: weights with a border of zeros
    have the same ends. Small constants stand in the text, where `cse` sees them.
    """
    large = (
        op
        for op in operations_of(block)
        if isinstance(op, ConstantOp) and isinstance(op.value, DenseResourceAttr)
    )
    for similar in _groups(large, _ends):
        for first, *others in _groups(similar, _digest):
            for other in others:
                remark(
                    other, f"shares the elements of {first.result.name_hint or 'another constant'}"
                )
                Rewriter.replace_op(other, [], [first.result])


class GraphShareConstantsPass(StepwellPass):
    """Keep one of several large constants with the same elements, such as weights that an exporter wrote twice."""

    name = "graph-share-constants"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in blocks_in(op):
            share_constants(block)
