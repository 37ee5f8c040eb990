"""Where the values that loads read come from: the last write before each of them."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
from xdsl.ir.affine import AffineExpr

from .dependence import pairs_in_order
from .isl_affine import expression
from .scop import Access


def last_writes(writes: Sequence[Access], read: Access) -> dict[Access, isl.Map]:
    """
    For each write the iteration of it whose value iterations of `read` see, if no others write.

    Iterations that see the buffer's first contents are in none of them. Feautrier, Dataflow analysis of
    array and scalar references, 1991.
    """
    earlier = {write: _earlier(write, read) for write in writes}
    domains = [pairs.domain() for pairs in earlier.values()]
    if all(pairs.is_single_valued() for pairs in earlier.values()) and all(
        a.is_disjoint(b) for n, a in enumerate(domains) for b in domains[:n]
    ):
        return earlier
    times: isl.Map | None = None
    for write, pairs in earlier.items():
        then = pairs.apply_range(write.time)
        times = then if times is None else times.union(then)
    assert times is not None
    last = times.lexmax()
    return {write: last.apply_range(write.time.reverse()) for write in writes}


def _earlier(write: Access, read: Access) -> isl.Map:
    """From iterations of a read to the earlier ones of a write to the same element."""
    pairs = pairs_in_order(write, read)
    if pairs is None:
        return isl.Map.empty(read.element.apply_range(write.element.reverse()).get_space())
    return pairs.reverse()


def as_expressions(function: isl.Map, wider: isl.Map | None = None) -> list[AffineExpr] | None:
    """
    One expression for each output of a single-valued relation, over its inputs and then parameters.

    `wider` is a relation that holds it, in which isl may find a function that it does not see in a few points. None
    when no single quasi-affine function is found that agrees everywhere.
    """
    found = _agreeing(function, function)
    if found is not None or wider is None:
        return found
    single: list[AffineExpr] = []
    for n in range(function.dim(isl.dim_type.out)):
        one, more = _output(function, n), _output(wider, n)
        expr = _agreeing(one, one)
        if expr is None and more.is_single_valued():
            expr = _agreeing(one, more)
        if expr is None:
            return None
        single += expr
    return single


def _agreeing(function: isl.Map, wider: isl.Map) -> list[AffineExpr] | None:
    """A piece of `wider` that agrees with the function everywhere."""
    pieces: list[isl.MultiAff] = []
    simple = isl.PwMultiAff.from_map(wider.coalesce())
    simple.foreach_piece(lambda _where, value: pieces.append(value))
    for piece in pieces:
        if function.is_subset(isl.Map.from_multi_aff(piece)):
            return [expression(piece.get_at(n)) for n in range(piece.dim(isl.dim_type.out))]
    return None


def _output(function: isl.Map, n: int) -> isl.Map:
    """The relation to one of the outputs."""
    out = isl.dim_type.out
    rest = function.project_out(out, n + 1, function.dim(out) - n - 1)
    return rest.project_out(out, 0, n).set_tuple_name(out, "")


def written_between(
    moved: Access, to_time: isl.Map, write: Access, *, same_buffer: bool
) -> isl.Map:
    """
    Where a read would see another value if it ran later: pairs of an iteration and one of `write`.

    `moved` is the read with its time so far, `to_time` from (a superset of) its iterations, possibly
    one to many, to the times it would run at instead: whole vectors, or their first entries when it
    would run before everything that shares these. The write runs in between and touches the same
    element, or may.
    """
    after = moved.time.lex_lt_map(write.time)
    if same_buffer:
        after = after.intersect(moved.element.apply_range(write.element.reverse()))
    count = to_time.dim(isl.dim_type.out)
    rest = write.time.dim(isl.dim_type.out) - count
    return after.intersect(
        to_time.lex_gt_map(write.time.project_out(isl.dim_type.out, count, rest))
    )
