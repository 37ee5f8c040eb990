"""Modules with one graph operation, and texts that are fixed points of printing and parsing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from stepwell.dialects.dtypes import element_type
from stepwell.frontend.text import parse_text
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, Region

Make = Callable[..., Operation]


def module_of(make: Make, *arrays: np.ndarray) -> ModuleOp:
    """A module whose function `main` applies the operation to its arguments."""
    types = [TensorType(element_type(a.dtype), a.shape) for a in arrays]
    block = Block(arg_types=types)
    op = make(*block.args)
    block.add_ops([op, func.ReturnOp(*op.results)])
    outputs = [result.type for result in op.results]
    return ModuleOp([func.FuncOp("main", (types, outputs), Region(block))])


def reparsed(module: ModuleOp) -> ModuleOp:
    """The module read back from its text, which must be a fixed point."""
    text = str(module)
    again = parse_text(text)
    again.verify()
    assert str(again) == text
    return again
