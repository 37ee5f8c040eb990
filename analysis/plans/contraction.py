"""
Plans for contractions: register tile, cache blocks, order and packing, as BLIS and the literature name them.

The plan that `propose` finds cheapest is what the rule takes; a tuner may measure the others. What a plan is, and
the model of its time, stand in `contraction_plan.py` and `contraction_cost.py`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache, partial
from heapq import nsmallest
from itertools import islice

from ...frozen import replaced
from ...targets.target import Target
from ..facts import Contraction
from .contraction_copies import gains_by_tiles
from .contraction_cost import Model, OfBlocks, Tiles
from .contraction_hints import (
    asks_for_panels,
    asks_for_result,
    asks_for_rows,
    packed_ahead,
    panel_terms_ahead,
    rows_ahead,
)
from .contraction_plan import Blocks, ContractionPlan, Innermost
from .contraction_problem import Problem, problem_of
from .contraction_search import ROUNDED, Cheapest, Part, Planned
from .cost import Cost, balanced, round_up
from .terms_written_out import BETWEEN_HINTS, writes_out_terms
from .threads import dealt

MOST_VECTORS = 4
"""Vectors of a row of the register tile at most: wider ones leave too few registers for rows."""

LEAST_TERMS = 64
"""Of a block of K: with fewer, tiles spend much of their time on reading and writing C."""

TILES_TRIED = 5
"""Register tiles, the best ones by arithmetic alone, for which blocks and orders are worked out."""


def propose(contraction: Contraction, target: Target, n: int = 1) -> list[ContractionPlan]:
    """The `n` plans of least predicted time, cheapest first; those whose code stands there twice have to gain by that."""
    return list(_proposed(problem_of(contraction), target, n))


def propose_with_costs(
    contraction: Contraction, target: Target, n: int = 1
) -> list[tuple[ContractionPlan, Cost]]:
    """The same with their predicted times."""
    problem = problem_of(contraction)
    return [(plan, _cost(plan, problem, target)) for plan in _proposed(problem, target, n)]


def cost(plan: ContractionPlan, contraction: Contraction, target: Target) -> Cost:
    """The predicted time of one call on one thread."""
    return _cost(plan, problem_of(contraction), target)


def _cost(plan: ContractionPlan, problem: Problem, target: Target) -> Cost:
    return Model(problem.turned if plan.turned else problem, target).cost(plan)


def register_tiles(contraction: Contraction, target: Target, n: int = 1) -> list[tuple[int, int]]:
    """The `n` register tiles, MR and NR, that are best by arithmetic alone."""
    model = Model(problem_of(contraction), target)
    return nsmallest(n, _Domains(model).tiles(), key=lambda tile: model.tile_time(*tile))


@lru_cache(maxsize=1024)
def _proposed(problem: Problem, target: Target, n: int) -> tuple[ContractionPlan, ...]:
    found = Cheapest(n)
    _offer_plans(found, problem, target)
    if problem.is_symmetric:
        _offer_plans(found, problem, target, mirrored=True)
    if not problem.is_finished and problem.left.along == 1:
        _offer_plans(found, problem.turned, target, turned=True)
    return tuple(found.plans)


Tile = tuple[int, int]
"""MR and NR."""


def _offer_plans(
    found: Cheapest,
    problem: Problem,
    target: Target,
    *,
    turned: bool = False,
    mirrored: bool = False,
) -> None:
    model = Model(problem, target)
    domains = _Domains(model, mirrored=mirrored)
    parts: list[Part] = [
        partial(domains.completed, mr, nr, turned, sums_in)
        for mr, nr in domains.best_tiles()
        for sums_in in (("f32", "") if problem.exact_terms else ("",))
    ]
    found.offer(parts, model)


class _Domains:
    """The values that the parameters of one problem's plans may have."""

    def __init__(self, model: Model, *, mirrored: bool = False):
        self.model, self.problem, self.mirrored = model, model.problem, mirrored
        if mirrored:  # it is finished after that
            self.problem = replaced(model.problem, is_finished=False)

    def tiles(self) -> Iterator[tuple[int, int]]:
        """
        MR and NR of tiles whose accumulators, a row of B and a broadcast element of A fit the registers.

        Where N is less than a vector, NR is the power of two that holds it.
        """
        problem, registers = self.problem, self.model.core.vector_registers
        width = self.model.lanes
        while width > 1 and width // 2 >= problem.n:
            width //= 2
        broadcast = self.model.target.broadcast_registers
        for vectors in range(1, MOST_VECTORS + 1):
            if vectors > 1 and (vectors - 1) * width >= problem.n:
                return
            for mr in range(1, min(problem.m, registers) + 1):
                if mr * vectors + vectors + broadcast > registers:
                    break
                yield mr, vectors * width

    def best_tiles(self) -> list[tuple[int, int]]:
        """
        The best tiles by arithmetic alone, at most `TILES_TRIED`, and the best of each width below that none of these has: narrow
        panels of B stay in L1 where wide ones do not, and may need no copy. Where those are all of one width, the best of the next wider ones, which
        reads A less often. And the best of those for which A needs no packing, where all of these have more rows than L1 keeps side by side.
        """
        model = self.model
        tiles = {tile: model.whole_tiles_time(*tile) for tile in self.tiles()}
        best = _best_of(model, tiles, TILES_TRIED)
        widths = {nr for _, nr in best}
        others = sorted({nr for _, nr in tiles} - widths)
        wider = [nr for nr in others if nr > max(widths)]
        tried = len(others) - len(wider) + (len(widths) == 1)
        for width in others[:tried]:
            best += _best_of(model, {t: least for t, least in tiles.items() if t[1] == width}, 1)
        if any(model.reads_rows(mr) for mr, _ in best):
            return best
        near = {t: least for t, least in tiles.items() if model.reads_rows(t[0])}
        return best + _best_of(model, near, 1)

    def completed(
        self, mr: int, nr: int, turned: bool, sums_in: str = ""
    ) -> Iterator[tuple[float, Part]]:
        """The plans with this register tile that can be carried out, by their blocks, which are worked out from the caches."""
        problem, model = self.problem, self.model
        terms = problem.exact_terms if sums_in else problem.k
        blocks: Iterator[Blocks] = (
            (min(mc, problem.m), min(nc, problem.n), kc, innermost, k_outside)
            for mc, nc, kc, innermost, k_outside in self._blocks(mr, nr, terms)
        )
        tiles: dict[Hashable, Tiles] = {}
        for mc, nc, kc, innermost, k_outside in dict.fromkeys(blocks):
            bare = ContractionPlan(
                turned, mr, nr, mc, nc, kc, innermost, False, False, False, False,
                False, False, False, k_outside, self.mirrored, sums_in=sums_in,
            )  # fmt: skip
            same = kc, innermost, k_outside, model.keeps_block(bare)
            if same not in tiles:
                tiles[same] = model.tiles_packing_right(bare)
            shared = OfBlocks(model, bare, tiles[same])
            yield shared.least_at_once(), partial(self._shared, shared)

    def _shared(self, shared: OfBlocks) -> Iterator[tuple[float, Part]]:
        """The plans with some blocks, once these are known to be worth a closer look."""
        yield shared.least_of_all(self._asking(shared.plain)), partial(self._with_blocks, shared)

    def _with_blocks(self, shared: OfBlocks) -> Iterator[tuple[float, Planned]]:
        for plan in self._of_blocks(shared.plain):
            least, working = shared.least(plan)
            yield least, (plan, working)

    def _asking(self, bare: ContractionPlan) -> ContractionPlan:
        """The plan with the register tile and the blocks of one that packs nothing, which asks for what it may ask for."""
        mr, nr = bare.mr, bare.nr
        blocks: Blocks = bare.mc, bare.nc, bare.kc, bare.innermost, bare.k_outside
        if asks_for_result(self.model, self.problem, mr, nr, blocks, turned=bare.turned):
            bare = replaced(bare, prefetch_result=True)
        if self.mirrored or (ahead := packed_ahead(self.model, bare)) is None:
            return bare
        near = not self.model.far_share(self.problem.right)
        packing = replaced(bare, prefetch_terms=ahead, pack_in_tiles=True, packs_from_l2=near)
        return packing if not near or gains_by_tiles(self.model, bare, packing) else bare

    def _of_blocks(self, plain: ContractionPlan) -> Iterator[ContractionPlan]:
        """The plans with the register tile and the blocks of one that packs nothing."""
        problem, mr, nr, mc, nc, kc = self.problem, plain.mr, plain.nr, plain.mc, plain.nc, plain.kc
        innermost, k_outside = plain.innermost, plain.k_outside
        deep = kc < problem.k and not k_outside
        one_loop = (mc == problem.m or mc == mr) and not deep
        by_rows = deep or mc < problem.m
        far = innermost == "m" and nc == problem.n and mc // mr > 1
        asks = far and not self.mirrored and asks_for_panels(self.model, mc, nr, kc, k_outside)
        is_whole = (mc, nc, kc) == (problem.m, problem.n, problem.k)
        by_panels = innermost == "m" and is_whole and self._packs_by_panels(nr)
        in_rows = innermost == "n" and not k_outside and nc % nr == 0
        right_choices = self._right_choices(nr, nc, alone=not in_rows, deep=deep)
        if k_outside and any(peel_n for _, peel_n in right_choices):
            # Lanes that are masked in the last tiles alone are better there than in all tiles of all blocks of terms.
            right_choices = [choice for choice in right_choices if choice[1]]
        asks_rows = asks_for_rows(self.model, self.problem, plain)
        is_blocked = nc < problem.n or k_outside
        ahead = 0 if is_blocked else rows_ahead(self.model, plain)
        panel_terms = panel_terms_ahead(self.model, plain)
        for pack_left in self._left_choices(mr, peels=one_loop or deep, by_rows=by_rows):
            peel_m = bool(problem.m % mr) and (one_loop or not pack_left)
            for pack_right, peel_n in right_choices:
                if is_blocked and not pack_right:
                    continue
                if by_panels and pack_right:
                    continue
                plan = ContractionPlan(
                    plain.turned, mr, nr, mc, nc, kc, innermost, pack_left, pack_right, peel_m,
                    peel_n, asks and pack_right, plain.prefetch_result,
                    not pack_left and asks_rows, k_outside, self.mirrored,
                    prefetch_terms=plain.prefetch_terms if pack_right else ahead,
                    prefetch_panel_terms=panel_terms if pack_right else 0,
                    pack_in_tiles=plain.pack_in_tiles and pack_right,
                    packs_from_l2=plain.packs_from_l2 and pack_right, sums_in=plain.sums_in,
                )  # fmt: skip
                if not self.mirrored or self._can_mirror(plan):
                    yield plan
                    if pack_left and self.model.may_pack_by_rows(innermost):
                        yield replaced(plan, left_by_rows=True)
                    if self._may_pack_in_rows(plan):
                        yield replaced(plan, left_in_rows=True)

    def _packs_by_panels(self, nr: int) -> bool:
        """
        Whether a panel of B is packed right before all rows use it, where these are one block, and not all panels before: it is in L1 then,
        and each thread packs its own.
        """
        problem, right = self.problem, self.problem.right
        is_shared = right.is_everybodys and problem.batch > 1
        panel = problem.k * nr * right.element_bytes
        fits = problem.n > nr and panel <= self.model.near_2
        return fits and not (right.is_constant or is_shared or self.mirrored)

    def _may_pack_in_rows(self, plan: ContractionPlan) -> bool:
        """Whether all of A is packed at once for its type, and its terms are neighbours in memory."""
        left, problem = self.problem.left, self.problem
        return (
            plan.pack_left
            and left.is_extended
            and left.summed == 1
            and left.computing is None
            and not left.is_constant
            and plan.mc >= problem.m
            and plan.kc >= problem.k
            and plan.peel_m == bool(problem.m % plan.mr)
            and not plan.mirrored
        )

    def _can_mirror(self, plan: ContractionPlan) -> bool:
        """
        Whether there are tiles above the diagonal, and the loop over the innermost ones may end at the diagonal, or begin there: its last tiles cannot be
        peeled off then where more than the diagonal bounds it, or where none are left before them.
        """
        if (self.problem.n - 1) // plan.nr * plan.nr < plan.mr:
            return False
        if plan.innermost == "n":
            return not plan.peel_n
        if not plan.peel_m:
            return True
        m, n = self.problem.m, self.problem.n
        has_below = not plan.peel_n or (n - n % plan.nr) // plan.mr < m // plan.mr
        return plan.mc >= m and has_below

    def _blocks(self, mr: int, nr: int, terms: int) -> Iterator[Blocks]:
        """MC, NC and KC, which is at most `terms`, for each order."""
        is_single = self.problem.sums == 1
        fewer = balanced(self.problem.k, terms)
        for mc, nc, kc, innermost in self._whole_sums(mr, nr):
            if kc <= terms:
                yield mc, nc, kc, innermost, False
            elif is_single and innermost == "m":
                yield mc, nc, fewer, innermost, False
        if is_single and self.problem.updates_in_place:
            for mc, nc, kc, innermost in self._blocked_sums(mr, nr):
                yield mc, nc, min(kc, fewer), innermost, True
            if fewer < self.problem.k and not list(
                self._depths(nr * self.problem.right.element_bytes, 1)
            ):
                yield self.problem.m, round_up(self.problem.n, nr), fewer, "m", True

    def _blocked_sums(self, mr: int, nr: int) -> Iterator[tuple[int, int, int, Innermost]]:
        """
        The same where blocks of K are outside of the loops over rows.

        With tiles of M innermost a panel of B, KC × NR, stays in L1 or comes from L2, where the block of A stays.
        All columns are in one block: however far B is, each of its elements is used for MC rows when it comes.
        With tiles of N innermost a sliver of A, MR × KC, stays in L1 and the block of B in L2.
        """
        problem = self.problem
        left, right = problem.left.element_bytes, problem.right.element_bytes
        vectors = -(-nr // self.model.lanes)
        own_loads = self.model.rates.own_loads_are_free
        is_written_out = writes_out_terms(self.model.core, mr, vectors, own_loads=own_loads)
        unit = BETWEEN_HINTS if is_written_out else 1
        panels = list(self._depths(nr * right, unit))
        for kc in dict.fromkeys((*panels, *self._depths(mr * left, unit))):
            for part in (1, 2):
                near = self.model.near_2 // part
                tall = max((near - 2 * kc * nr * right) // (kc * left), mr)
                mc = balanced(problem.m, tall, mr)
                if mc < problem.m:
                    mc = dealt(problem.m, tall, mr, self.model.threads, mr)
                if kc in panels:
                    yield mc, round_up(problem.n, nr), kc, "m"
                wide = max((near - kc * mr * left) // (kc * right), nr)
                nc = balanced(problem.n, wide, nr)
                if nc < problem.n:
                    nc = dealt(problem.n, wide, nr, self.model.threads, 0)
                if nc >= min(2 * nr, problem.n) and problem.m > mr:
                    yield mr, nc, kc, "n"
                    for even in self._even_blocks(nr, wide):
                        yield mr, even, kc, "n"

    def _depths(self, term_bytes: int, unit: int) -> Iterator[int]:
        """
        KC for which so many bytes of each term fill what L1 keeps, or twice that.

        Blocks of one size are preferred: then the loop over a block's terms has a constant length. Where the last is shorter, the
        others are multiples of a `unit`: parts of sums with hints, all but the last of which have a constant length then.
        """
        for share in (1, 2):
            blocks = -(-self.problem.k * term_bytes // (share * self.model.near_1))
            if blocks > 1:
                even = next(
                    (n for n in range(blocks, 2 * blocks) if self.problem.k % n == 0), blocks
                )
                kc = -(-self.problem.k // even)
                yield kc if self.problem.k % even == 0 else round_up(kc, unit)

    def _whole_sums(self, mr: int, nr: int) -> Iterator[tuple[int, int, int, Innermost]]:
        """The same where K is in one block, or blocks of it are inside of the tiles of columns."""
        problem, near = self.problem, self.model.near_2
        depth = problem.k * problem.right.element_bytes
        columns = round_up(problem.n, nr)
        most_k = max(near // (nr * problem.right.element_bytes), LEAST_TERMS)
        for part in (1, 2):  # of L2, for what is used again: all that stays, or half of that
            if problem.sums == 1:
                kc = balanced(problem.k, max(most_k // part // 2, LEAST_TERMS))
            else:
                kc = problem.k
            room = near // part - 2 * nr * depth
            tall = (room if room > 0 else near // part) // (kc * problem.left.element_bytes)
            yield problem.m, columns, kc, "m"
            mc = balanced(problem.m, max(tall, mr), mr)
            if mc < problem.m:
                mc = dealt(problem.m, max(tall, mr), mr, self.model.threads, mr)
            yield mc, columns, kc, "m"
            wide = near // part // max(depth, 1)
            nc = balanced(problem.n, max(wide, nr), nr)
            if nc < problem.n:
                yield (
                    problem.m,
                    dealt(problem.n, max(wide, nr), nr, self.model.threads, 0),
                    problem.k,
                    "m",
                )
            if nc >= min(2 * nr, columns) and problem.m > mr:
                yield mr, nc, problem.k, "n"
                fewer = balanced(problem.n, max(wide * 3 // 4, nr), nr)
                if min(2 * nr, columns) <= fewer < nc:
                    yield mr, fewer, problem.k, "n"
                for even in self._even_blocks(nr, wide):
                    yield mr, even, problem.k, "n"
        if self._packs_by_panels(nr):
            yield problem.m, nr, problem.k, "m"
        if problem.sums == 1 and self.model.right_bytes > near:
            for mc, kc in self._near_panels(mr, nr):
                yield mc, columns, kc, "m"

    def _near_panels(self, mr: int, nr: int) -> Iterator[tuple[int, int]]:
        """
        MC and KC, less than K, for which L2 keeps two panels of B, one of which is asked for while the other is used, beside the rows
        of A that use them: from the fewest blocks of K that leave room for two tiles to the fewest that leave room for all rows.
        """
        problem, near = self.problem, self.model.near_2
        left, right = problem.left.element_bytes, problem.right.element_bytes
        blocks, tall = 1, 0
        while tall < problem.m and 2 * blocks * LEAST_TERMS <= problem.k:
            more = range(2 * blocks, 4 * blocks)
            blocks = next((n for n in more if problem.k % n == 0), 2 * blocks)
            kc = -(-problem.k // blocks)
            tall = (near // kc - 2 * nr * right) // left
            if tall >= 2 * mr:
                mc = balanced(problem.m, tall, mr)
                if mc < problem.m:
                    mc = dealt(problem.m, tall, mr, self.model.threads, mr)
                yield mc, kc

    def _even_blocks(self, nr: int, most: float) -> Iterator[int]:
        """The widest NC, at most so many columns, of which a number of blocks has all tiles but a last, narrower one."""
        tiles, rest = divmod(self.problem.n, nr)
        if rest:
            even = (
                count
                for count in range(min(int(most) // nr, tiles - 1), 1, -1)
                if tiles % count == 0
            )
            yield from (count * nr for count in islice(even, 1))

    def _left_choices(self, mr: int, *, peels: bool, by_rows: bool) -> list[bool]:
        """Whether A may be read as it is, or as it is computed, and whether it may be packed."""
        left = self.problem.left
        if left.is_constant or not (left.is_in_order or by_rows):
            return [True]
        is_ragged = bool(self.problem.m % mr)
        choices = [True] if self.problem.m > 1 else []
        # The last rows, where they are fewer, are peeled off, which takes one loop over tiles of rows, or one inside of all others.
        return [False, *choices] if peels or not is_ragged else choices

    def _right_choices(self, nr: int, nc: int, *, alone: bool, deep: bool) -> list[tuple[bool, bool]]:  # fmt: skip
        """Whether B is packed, with whether the last columns are peeled off, which may have to be a block `alone`."""
        right, rest = self.problem.right, self.problem.n % nr
        # Else of columns in blocks the last block is peeled off, which has to have nothing but the rest.
        is_apart = not alone or nc >= self.problem.n or self.problem.n % nc == rest
        can_peel = 0 < rest < self.problem.n and not deep and is_apart
        choices = [(True, False)] + ([(True, True)] if can_peel else [])
        if right.is_constant or right.along != 1 or (rest and not can_peel):
            return choices
        if not right.is_in_order:
            return choices
        return [(False, can_peel), *choices]


def _best_of(model: Model, tiles: Mapping[Tile, float], n: int) -> list[Tile]:
    """The best `n` of some tiles, which take so long at least: of the others no more than that is worked out."""
    found: list[tuple[float, int, Tile]] = []
    for number, (tile, least) in sorted(enumerate(tiles.items()), key=lambda each: each[1][1]):
        if len(found) == n and least > found[-1][0] * ROUNDED:
            break
        insort(found, (model.tile_time(*tile), number, tile))
        del found[n:]
    return [tile for _, _, tile in found]
