"""
ONNX models as programs of the graph level.

A model is read (`reading`), its inputs get shapes (`binding`), and its nodes are run once, in order, on values
that are NumPy arrays where they are known and traced Tensors where they are not (`importer`). An operator is a
function on such values. It calls the public functions, which compute on arrays and record operations on Tensors,
so shapes that a model computes from shapes are numbers by the time they are used.

To add an operator, write what it computes where its family stands (`elementwise`, `movement`, `indexing`,
`reductions`, `contraction`, `normalization`, `pooling`, `resizing`, `generation`, `control`):

    @onnx_op("Celu")
    def celu(x: Value, *, alpha: float = 1.0) -> Value:
        return f.maximum(x, 0) + f.minimum(alpha * (f.exp(x / alpha) - 1), 0)

Parameters by position are the operator's inputs, those with a default may be missing (`None`), as may those annotated
`Maybe`, which stand before inputs that may not, and `*xs` takes any number. Keyword-only parameters are its attributes,
with ONNX's defaults; `node` is the Node itself, for the few that ask how many outputs it has. `@with_window()` below
`@onnx_op` gives a function the attributes of a window as one argument, `window`. An attribute or input that the
function does not have is refused by name. `since=13` says from which version of the operator set on a function holds:
one for an older form stands beside it. A value that decides a shape is asked for with `known(x, "the shape")`; what an
operator cannot do it refuses with `raise Unsupported("mode 'wrap'")`. An operator that is an operation of ours by
another name is a line in the table of `elementwise`. A new family is a module that is imported in `operators`.

An operator without a function here is computed by the function body that ONNX defines it with, if it has one.
"""
