"""
Level 1, `graph`: what a model computes, with NumPy's semantics on ranked tensors.

    %h = graph.matmul %x, %w : tensor<8x64xf32>, tensor<64x10xf32> -> tensor<8x10xf32>
    %y = graph.softmax %h axis = 1 : tensor<8x10xf32>

Operands of one operation have one element type; casts are explicit. Extents may be `?`.
"""

# Each operation is named here once, by its import.
# pyright: reportUnusedImport=false

from .affine_view import AffineViewOp
from .arg_reductions import ArgmaxOp, ArgminOp, ArgReductionOp
from .base import EVERY, FLOATS, INTEGERS, NUMBERS, GraphDialect, GraphOp, graph_op
from .binary import (
    AddOp,
    AndOp,
    DivOp,
    EqOp,
    FloorDivOp,
    GeOp,
    GtOp,
    LeftShiftOp,
    LeOp,
    LtOp,
    MaximumOp,
    MinimumOp,
    ModOp,
    MulOp,
    NeOp,
    OrOp,
    PowOp,
    RightShiftOp,
    SubOp,
    XorOp,
)
from .binning import MAX_BINS, EqualBinsOp
from .blocked_convolution import BlockedConvOp, BlockedDepthwiseConvOp, BlockedWindowOp
from .channel_normalization import BatchNormOp, GroupNormOp
from .constants import ConstantOp, GraphConstantMaterialization, IotaOp
from .contraction import MatmulOp
from .control_flow import IfOp, ScanOp, WhileOp, YieldOp
from .conversion import BitcastOp, CastOp
from .convolution import ConvolutionOp, ConvOp, ConvTransposeOp
from .divisors import GcdOp
from .dynamic_slices import DynamicUpdateSliceOp
from .eigh import EighOp
from .elementary import (
    AcoshOp,
    AcosOp,
    AsinhOp,
    AsinOp,
    Atan2Op,
    AtanhOp,
    AtanOp,
    BitCountOp,
    CbrtOp,
    CopysignOp,
    CoshOp,
    ElementaryOp,
    Exp2Op,
    Expm1Op,
    Log1pOp,
    Log2Op,
    Log10Op,
    SinhOp,
    TanOp,
    TruncOp,
)
from .elementwise import BinaryElementwiseOp, ComparisonOp, ElementwiseOp, UnaryElementwiseOp
from .fft import FftOp, RealFftOp
from .gather import GatherElementsOp, GatherNdOp, GatherOp
from .indexing import ConcatOp, PadOp, SliceOp, SplitOp
from .lu import LuOp
from .means import MeanOp
from .movement import BroadcastToOp, ExpandDimsOp, ReshapeOp, SqueezeOp, TransposeOp
from .multiples import FillMultiplesOp
from .normalization import LayerNormOp, LogSoftmaxOp, RmsNormOp, SoftmaxOp
from .orthogonal_rows import OrthogonalRowsOp
from .pooling import ArgmaxPoolOp, AveragePoolOp, MaxPoolOp, PoolOp, SumPoolOp
from .qr import QrOp
from .reductions import (
    MaxOp,
    MinOp,
    ProdOp,
    ReductionOp,
    SumOp,
)
from .scans import CummaxOp, CumminOp, CumprodOp, CumsumOp, CumulativeOp
from .scatter import ScatterElementsOp, ScatterNdOp
from .sorting import SortOp
from .suppression import NonMaxSuppressionOp
from .ternary import WhereOp
from .triangular import CholeskyOp, TriangularSolveOp
from .unary import (
    AbsOp,
    CeilOp,
    ClipOp,
    CosOp,
    ErfOp,
    ExpOp,
    FloorOp,
    GeluOp,
    HardSigmoidOp,
    LeakyReluOp,
    LogOp,
    MishOp,
    NegOp,
    NotOp,
    ReciprocalOp,
    ReluOp,
    RoundOp,
    RsqrtOp,
    SigmoidOp,
    SignOp,
    SiluOp,
    SinOp,
    SqrtOp,
    TanhOp,
)
from .winograd import WinogradInputOp, WinogradOutputOp

Graph = GraphDialect(
    "graph", [IfOp, ScanOp, WhileOp, YieldOp], [], [GraphConstantMaterialization()]
)
