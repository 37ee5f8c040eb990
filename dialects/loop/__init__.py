"""
Level 3, `loop`: named affine loops over buffers.

    loop.for parallel "i" %i = 0 to 8 {
      loop.for reduction "k" %k = max(0, %i - 2) to min(%i + 3, 64) step 2 {
        %a = loop.load %A[%i, %k + 1] : memref<8x65xf32>
        loop.store %a, %B[%i] : memref<8xf32>
      }
    }

Bounds, subscripts and conditions are affine in the values they name: loop variables, or any other
`index` value, which is then a symbol. Other operations (`memref.load` at a computed index, a call) may
stand between them; analyses treat them as opaque.
"""

from xdsl.ir import Dialect

from .access import Index, access, at_least_zero
from .attributes import (
    ALONE,
    ARENA,
    CONSTANT,
    CONSTANT_BYTES,
    FINITE,
    LOAD,
    MARK,
    MODE,
    NAME,
    NEEDED,
    OWN,
    RESULT,
    SHARED,
    STEP,
    UNROLLED,
    UNSIGNED,
    LoopKind,
    LoopKindAttr,
    RunMode,
    RunModeAttr,
    Scope,
    ScopeAttr,
    kind_attribute,
    mode_attribute,
)
from .buffer_names import BUFFER_NAME, buffer_name, name_apart, set_buffer_name
from .control import ForOp, IfOp, YieldOp
from .memory import NONTEMPORAL, AllocOp, LoadOp, PrefetchOp, StoreOp

Loop = Dialect(
    "loop",
    [AllocOp, ForOp, IfOp, LoadOp, PrefetchOp, StoreOp, YieldOp],
    [LoopKindAttr, RunModeAttr, ScopeAttr],
)

__all__ = [
    "ALONE",
    "ARENA",
    "BUFFER_NAME",
    "CONSTANT",
    "CONSTANT_BYTES",
    "FINITE",
    "LOAD",
    "MARK",
    "MODE",
    "NAME",
    "NEEDED",
    "NONTEMPORAL",
    "OWN",
    "RESULT",
    "SHARED",
    "STEP",
    "UNROLLED",
    "UNSIGNED",
    "AllocOp",
    "ForOp",
    "IfOp",
    "Index",
    "LoadOp",
    "Loop",
    "LoopKind",
    "PrefetchOp",
    "RunMode",
    "Scope",
    "StoreOp",
    "YieldOp",
    "access",
    "at_least_zero",
    "buffer_name",
    "kind_attribute",
    "mode_attribute",
    "name_apart",
    "set_buffer_name",
]
