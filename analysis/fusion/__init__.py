"""
Fusion: which computes are evaluated in one nest of loops, and which nests are one kernel.

`nests.py` has the nests, `inlining.py` the rules by which they grow, `grouping.py` and `kernels.py` make the plan,
`rows.py` weighs what a kernel over common rows saves.
"""

from .epilogues import is_epilogue_of
from .kernels import plan_fusion
from .nests import Nest, Point, as_stored, identity
from .plan import Boundary, FusionPlan, KernelPlan
from .rows import DEFAULT_CACHES, Caches

__all__ = [
    "DEFAULT_CACHES",
    "Boundary",
    "Caches",
    "FusionPlan",
    "KernelPlan",
    "Nest",
    "Point",
    "as_stored",
    "identity",
    "is_epilogue_of",
    "plan_fusion",
]
