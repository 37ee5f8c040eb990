"""What a contraction is: `C[i, j] += A[i, k] * B[k, j]`, with outer batch loops and any order of axes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from ..dialects import loop
from ..dialects.affine_bounds import linear_form
from .facts import Access, PerfectNest, stride_along


@dataclass(frozen=True)
class Contraction:
    """An update nest and what its loops are: the axes of the result, and the one summed over."""

    nest: PerfectNest
    left: loop.LoadOp
    right: loop.LoadOp
    store: loop.StoreOp
    batch: tuple[loop.ForOp, ...]
    rows: loop.ForOp
    columns: loop.ForOp
    reduced: loop.ForOp

    @property
    def extents(self) -> tuple[int, int, int]:
        """Of the rows, the columns and the summed axis."""
        rows, columns, reduced = (
            f.constant_trip_count() or 0 for f in (self.rows, self.columns, self.reduced)
        )
        return rows, columns, reduced

    def transposed(self) -> Contraction:
        """The same with rows and columns exchanged: `Cᵀ = Bᵀ Aᵀ`."""
        return replace(self, left=self.right, right=self.left, rows=self.columns, columns=self.rows)


def recognise(nest: PerfectNest, *, shared: bool = False) -> Contraction | None:
    """
    The nest as a contraction, None when it is none, or not one of two axes and one sum. With `shared` an
    operand may be the same for all of a batch.
    """
    if not nest.is_flat or nest.extents is None or len(nest.stores) != 1:
        return None
    (store,) = nest.stores
    own = [op for op in nest.loads if op.buffer is store.buffer]
    others = [op for op in nest.loads if op.buffer is not store.buffer]
    if len(own) != 1 or len(others) != 2:
        return None
    accesses: tuple[Access, ...] = (others[0], others[1], store)
    if not all(_is_permutation(access) for access in accesses):
        return None
    parts: dict[tuple[bool, ...], list[loop.ForOp]] = {}
    for for_op in nest.loops:
        uses = tuple(bool(stride_along(access, for_op)) for access in accesses)
        parts.setdefault(uses, []).append(for_op)
    rows = parts.pop((True, False, True), [])
    columns = parts.pop((False, True, True), [])
    reduced = parts.pop((True, True, False), [])
    batch = parts.pop((True, True, True), [])
    if shared:
        batch = [f for f in nest.loops if f in batch or f in rows[:-1] or f in columns[:-1]]
        rows, columns = rows[-1:], columns[-1:]
    if parts or len(rows) != 1 or len(columns) != 1 or len(reduced) != 1:
        return None
    left, right = others
    if stride_along(store, columns[0]) != 1:
        left, right, rows, columns = right, left, columns, rows
    if stride_along(store, columns[0]) != 1 or nest.loops[: len(batch)] != tuple(batch):
        return None
    return Contraction(nest, left, right, store, tuple(batch), rows[0], columns[0], reduced[0])


def _is_permutation(access: Access) -> bool:
    """Whether each subscript is a loop's variable of its own, or a constant."""
    seen: list[SSAValue] = []
    for expr in access.map.data.results:
        linear = linear_form(expr, len(access.operands_))
        if linear is None:
            return False
        coefficients, constant = linear
        moves = [c for c in coefficients if c]
        if moves and (constant or moves != [1]):
            return False
        if moves:
            seen.append(list(access.operands_)[coefficients.index(1)])
    return len(seen) == len(set(seen))


def axis_of(access: Access, for_op: loop.ForOp) -> int:
    """The axis of the buffer that the loop's variable is the subscript of."""
    operands = list(access.operands_)
    for axis, expr in enumerate(access.map.data.results):
        if any(operands[n] is for_op.induction_variable for n in expr.used_dims()):
            return axis
    raise ValueError("the access does not move along the loop")


def operand_order(update: Contraction, access: Access, last: loop.ForOp) -> tuple[int, ...]:
    """
    The axes of an operand as it is packed: those of constant subscripts, then batch, the summed one, then
    rows or columns.
    """
    batch = [for_op for for_op in update.batch if stride_along(access, for_op)]
    moving = [axis_of(access, for_op) for for_op in (*batch, update.reduced, last)]
    constant = [axis for axis in range(len(access.map.data.results)) if axis not in moving]
    return (*constant, *moving)
