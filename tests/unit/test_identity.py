"""xDSL's values and blocks are looked up by address, without a call of Python."""

from __future__ import annotations

import inspect

import pytest
import stepwell.dialects  # noqa: F401
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, BlockArgument, OpResult, Region


def test_hashes_are_of_object() -> None:
    block = Block(arg_types=[i32])
    operation = arith.AddiOp(block.args[0], block.args[0])
    found = [block.args[0], operation.result, block, Region(block)]
    assert {type(value).__hash__ for value in found} == {object.__hash__}


@pytest.mark.parametrize("kind", [Block, Region, BlockArgument, OpResult])
def test_equality_is_identity_still(kind: type) -> None:
    """Else a hash by address would be wrong."""
    assert "return self is other" in inspect.getsource(kind.__eq__)
