"""The operations of the graph level as functions of terms, for tables of equations."""

from __future__ import annotations

from ...dialects import graph
from .terms import function

absolute = function(graph.AbsOp)
clip = function(graph.ClipOp)
equal = function(graph.EqOp)
erf = function(graph.ErfOp)
exp = function(graph.ExpOp)
gelu = function(graph.GeluOp)
hard_sigmoid = function(graph.HardSigmoidOp)
leaky_relu = function(graph.LeakyReluOp)
log = function(graph.LogOp)
log_softmax = function(graph.LogSoftmaxOp)
max_of = function(graph.MaxOp)
maximum = function(graph.MaximumOp)
mean = function(graph.MeanOp)
min_of = function(graph.MinOp)
minimum = function(graph.MinimumOp)
not_equal = function(graph.NeOp)
reciprocal = function(graph.ReciprocalOp)
relu = function(graph.ReluOp)
rsqrt = function(graph.RsqrtOp)
sigmoid = function(graph.SigmoidOp)
silu = function(graph.SiluOp)
softmax = function(graph.SoftmaxOp)
sqrt = function(graph.SqrtOp)
sum_of = function(graph.SumOp)
tanh = function(graph.TanhOp)
where = function(graph.WhereOp)
