"""
What a kernel is, as data: its statements, their axes, how each access moves through memory.

`kernel.py` has the data, `from_loops.py` and `from_te.py` make it, `contraction.py` finds the roles of axes.
`written_out.py` says what becomes of it when short loops are.
"""

from .contraction import (
    Contraction,
    find_contractions,
    find_convolutions,
    only_contraction,
)
from .from_loops import LoopFacts, facts_of_loops
from .from_te import facts_of_kernel
from .inlining import can_inline, inlined, read_through
from .kernel import (
    Access,
    Axis,
    BufferFacts,
    Extension,
    Extent,
    Home,
    KernelFacts,
    Role,
    Statement,
    Subscript,
    Symbol,
    canonical,
    distributed,
)
from .windows import WindowReduction, find_window_reduction
from .written_out import groups_of, written_out

__all__ = [
    "Access",
    "Axis",
    "BufferFacts",
    "Contraction",
    "Extension",
    "Extent",
    "Home",
    "KernelFacts",
    "LoopFacts",
    "Role",
    "Statement",
    "Subscript",
    "Symbol",
    "WindowReduction",
    "can_inline",
    "canonical",
    "distributed",
    "facts_of_kernel",
    "facts_of_loops",
    "find_contractions",
    "find_convolutions",
    "find_window_reduction",
    "groups_of",
    "inlined",
    "only_contraction",
    "read_through",
    "written_out",
]
