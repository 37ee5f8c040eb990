"""
What upstream MLIR's dialects have and xDSL's lack, in upstream's syntax: a file for each dialect.

`universe.py` registers these dialects in the place of xDSL's.
"""

from xdsl.dialects.arith import ExtSIOp
from xdsl.traits import Pure

from .identity import compare_as_objects

compare_as_objects()

# xDSL says so of `extui` and `trunci` only, and what may have effects is neither moved nor run in lanes.
ExtSIOp.traits.add_trait(Pure())
