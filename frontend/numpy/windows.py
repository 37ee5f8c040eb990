"""Windows of an array, as of `numpy.lib.stride_tricks`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir.affine import AffineExpr, AffineMap

from ...dialects import graph
from ...errors import StepwellError
from ..recording import as_tensor, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import AxisLike, integers, normalized


@traceable
def sliding_window_view(
    x: TensorLike, window_shape: int | Sequence[int], axis: AxisLike = None
) -> Tensor:
    """
    At each position the window that begins there: axes of the windows' extents behind those of `x`, which get shorter.

    Without `axis` there is an extent for each axis of `x`. No elements are copied before something else needs them.

    Raises StepwellError for another number of extents than axes, and for windows that are longer than their axis.

    >>> sw.sliding_window_view([1, 2, 3, 4], 3)
    array([[1, 2, 3],
           [2, 3, 4]])
    """
    x, window = as_tensor(x), integers(window_shape, "window_shape")
    axes = (
        range(x.ndim) if axis is None else [normalized(a, x.ndim) for a in integers(axis, "axis")]
    )
    if len(window) != len(axes):
        raise StepwellError(
            f"found a window of shape {tuple(window)} for {len(axes)} axes, expected an extent for each; give axis="
        )
    shape = list(x.shape)
    index: list[AffineExpr] = [AffineExpr.dimension(number) for number in range(x.ndim)]
    for number, (along, extent) in enumerate(zip(axes, window, strict=True)):
        if not 0 <= extent <= shape[along]:
            raise StepwellError(
                f"found a window of {extent} elements along axis {along}, expected 0 to the {shape[along]} that there "
                "are; make it shorter"
            )
        shape[along] -= extent - 1
        index[along] += AffineExpr.dimension(x.ndim + number)
    map_ = AffineMap(x.ndim + len(window), 0, tuple(index))
    return record(graph.AffineViewOp, x, map_, (*shape, *window))


MEMBERS = {"sliding_window_view": sliding_window_view}
MISSING = {
    "as_strided": "steps in bytes are not known here; write x[i], with arrays of the indices that you want"
}
