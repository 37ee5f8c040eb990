"""
Level 2, `te`: tensors defined element by element.

    %r = te.compute [%i = 8, %j = 10] add [%k = 64] (%a = %x[%i, %k], %b = %w[%k, %j])
        : (tensor<8x64xf32>, tensor<64x10xf32>) -> tensor<8x10xf32> {
      %p = arith.mulf %a, %b : f32
      te.yield %p : f32
    }

reads: for all i, j: r[i, j] = sum over k of x[i, k] * w[k, j]. What has no such definition, as a sort, is `te.loops`.
"""

from xdsl.ir import Dialect

from ..combiner import Combiner
from .builder import Access, TeBuilder
from .compute import CombinerAttr, ComputeOp
from .control_flow import IfOp, ScanOp, WhileOp
from .kernel import KernelOp, reads_padding, tensor_constants
from .loop_builder import LoopBuilder
from .loops import LoopsOp
from .reads import Iterator, Read, compute_block
from .terms import YieldOp

Te = Dialect(
    "te",
    [ComputeOp, IfOp, KernelOp, LoopsOp, ScanOp, WhileOp, YieldOp],
    [CombinerAttr],
)

__all__ = [
    "Access",
    "Combiner",
    "ComputeOp",
    "IfOp",
    "Iterator",
    "KernelOp",
    "LoopBuilder",
    "LoopsOp",
    "Read",
    "ScanOp",
    "Te",
    "TeBuilder",
    "WhileOp",
    "YieldOp",
    "compute_block",
    "reads_padding",
    "tensor_constants",
]
