"""
What a kernel is predicted to take, whichever family plans it: what fusion asks before there are loops, and rules
when they choose.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nsmallest
from math import inf
from typing import TypeAlias

from ...frozen import replaced
from ...targets.target import Target
from ..facts import (
    Contraction,
    Home,
    KernelFacts,
    distributed,
    find_contractions,
    find_convolutions,
    find_window_reduction,
    only_contraction,
)
from ..partitioning import is_shared
from . import contraction, convolution, dot_products, row_blocks, rows, windows
from .contraction_copies import CODE_TWICE
from .contraction_plan import ContractionPlan
from .convolution_plan import ConvolutionPlan
from .convolution_threads import ASKED
from .cost import Cost, cost_of
from .dot_products import DotProductPlan
from .parted_plan import (
    OnePlan,
    PartedPlan,
    columns_of_vectors,
    ends_in_tile,
    part_of,
    waiting_for_weights,
)

AnyContractionPlan: TypeAlias = ContractionPlan | DotProductPlan | ConvolutionPlan | PartedPlan


TRIED = 8
"""Plans of a part among which there is one of tiles that end with it, where others do not or are products of dots."""


def predicted(facts: KernelFacts, target: Target) -> Cost | None:
    """
    The predicted time of one call on one thread, by the plan that rules take: the first of the first family that has
    one, the cheaper one of a grouped convolution. None where none has, as for extents that are not numbers.
    """
    found = find_window_reduction(distributed(facts))
    if found is not None:
        costs = [cost for _, cost in windows.propose_with_costs(found, target)]
        if found.is_contraction:
            costs += [cost for _, cost in contraction_plans(facts, target, 1)]
        if costs:
            return min(costs, key=lambda cost: cost.rank)
    products = (cost for _, cost in contraction_plans(facts, target, 1))
    families = (products, _chains(facts, target))
    return next((cost for costs in families for cost in costs), None)


def contraction_plans(
    facts: KernelFacts, target: Target, n: int
) -> list[tuple[AnyContractionPlan, Cost]]:
    """Up to `n` plans for a kernel of one contraction, cheapest first; none for another kernel."""
    facts = distributed(facts)
    found: list[tuple[AnyContractionPlan, Cost]] = []
    product = only_contraction(facts, find_contractions(facts))
    if product is not None:
        found += contraction.propose_with_costs(product, target, n)
        slowest = found[-1][1].rank if len(found) == n else inf
        if product.finished is None and dot_products.least_seconds(product, target) < slowest:
            found += [
                (plan, dot_products.cost(plan, product, target))
                for plan in dot_products.propose(product, target, n)
            ]
    direct = only_contraction(facts, find_convolutions(facts))
    if direct is not None and not direct.computed and _may_be_direct(direct):
        enough = nsmallest(n, (cost.rank for _, cost in found))[-1] if len(found) >= n else inf
        found += _convolutions(direct, target, n, enough)
    if product is not None:
        found += _in_parts(product, target)
    return sorted(found, key=lambda pair: pair[1].rank)[:n]


def _in_parts(c: Contraction, target: Target) -> list[tuple[PartedPlan, Cost]]:
    """The plan of which the last columns, which fill no vector, are computed by themselves; none where there are none."""
    columns = columns_of_vectors(c, target)
    if columns is None:
        return []
    first = _of_part(c, columns, target, is_first=True)
    rest = first and _of_part(c, c.extent(c.n[-1:]) - columns, target, is_first=False)
    if not first or not rest:
        return []
    both = first[1] + rest[1]
    due = both.due + 2 * CODE_TWICE * both.seconds  # of tiles and of packing
    return [(PartedPlan(columns, first[0], rest[0]), replaced(both, due=due))]


def _of_part(
    c: Contraction, columns: int, target: Target, *, is_first: bool
) -> tuple[OnePlan, Cost] | None:
    """The cheapest plan of tiles for so many columns beside the other part of them; None where there is none."""
    part = part_of(c, columns)
    for plan, cost in contraction_plans(part, target, TRIED):
        if not isinstance(plan, ContractionPlan | ConvolutionPlan):
            continue
        if not (is_first and ends_in_tile(plan, columns)):
            (alone,) = find_contractions(part)
            waiting = waiting_for_weights(c, alone, cost.seconds, target)
            return plan, cost + cost_of([("weights for both parts", waiting)])
    return None


def _convolutions(
    direct: Contraction, target: Target, n: int, enough: float
) -> list[tuple[ConvolutionPlan, Cost]]:
    """
    Plans of direct convolution that take no longer than `enough`: `n`, or the best of some more where what threads wait for each other
    tells them apart.
    """
    if target.cores > 1 and is_shared(direct.facts):
        return convolution.propose_for_threads(direct, target, n, ASKED, enough)
    return convolution.propose_with_costs(direct, target, n, enough)


def _may_be_direct(c: Contraction) -> bool:
    """
    Whether a convolution's plan may be better than a product's: where the image is read through a window, a register tile
    extends along several axes, or constant weights may be in lanes though neighbours in memory are the image's, where it is
    read or where what is made of it goes.
    """
    several = [axis for axis in (*c.m, *c.n) if c.extent((axis,)) > 1]
    is_constant = c.facts.buffers[c.right.buffer].home is Home.CONSTANT
    by_rows = any(c.stride(one, axis) == 1 for one in (c.left, c.result) for axis in c.m)
    return not c.is_product or len(several) > 2 or (is_constant and by_rows)


def _chains(facts: KernelFacts, target: Target) -> Iterator[Cost]:
    """Of what is no contraction alone: row blocks first, then rows."""
    for blocks in row_blocks.propose(facts, target):
        yield row_blocks.cost(blocks, facts, target)
    for plan in rows.propose(facts, target):
        yield rows.cost(plan, facts, target)
