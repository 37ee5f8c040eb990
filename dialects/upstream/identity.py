"""
The hash of xDSL's values, which are equal to themselves alone: their address. xDSL says it in Python, which runs
whenever a value is looked up, and that is in every rewriting; `object` says the same without. Operations say it too,
but each class for itself.
"""

from __future__ import annotations

from xdsl.ir import Block, Region, SSAValue

for kind in (SSAValue, Block, Region):
    kind.__hash__ = object.__hash__
