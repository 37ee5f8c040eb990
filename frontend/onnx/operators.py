"""Every family of operators: importing one enters its functions."""

from . import contraction as contraction
from . import control as control
from . import convolutions as convolutions
from . import detection as detection
from . import elementwise as elementwise
from . import fourier as fourier
from . import fused_layers as fused_layers
from . import generation as generation
from . import grouped_attention as grouped_attention
from . import indexing as indexing
from . import microsoft as microsoft
from . import movement as movement
from . import normalization as normalization
from . import ordering as ordering
from . import pooling as pooling
from . import quantization as quantization
from . import quantized_layers as quantized_layers
from . import randomness as randomness
from . import recurrent as recurrent
from . import reductions as reductions
from . import resizing as resizing
from . import sampling as sampling
