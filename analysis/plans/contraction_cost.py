"""
The predicted time of a contraction's plan.

The model follows what was found with the real tile kernel: it runs at a rate of its own where both operands are
near, and otherwise waits for the operand that streams. An element of the wide operand (B, of NR columns) takes part
in 2·MR operations when it arrives, one of the narrow operand (A, of MR rows) in 2·NR: so long it may be under way.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from operator import attrgetter

from ...targets.target import Target
from .contraction_copies import computing_ahead, copying, makes_rows, packing, worth_of_code
from .contraction_hints import lines_asked_for, panel_terms_ahead
from .contraction_least import Brought, LeastWaits
from .contraction_plan import ContractionPlan
from .contraction_problem import Problem, tiles
from .contraction_rates import Beyond
from .contraction_result import computed_part, mirroring, writing, writing_columns
from .contraction_threads import waiting_for_threads
from .cost import Cost, bytes_taken, ending_cycles, most_in_a_set, restart_seconds
from .shared_core import NEIGHBOURED, ONE_BANK
from .terms_written_out import loads_by_itself

EXTENDED_ELEMENT = 3
"""Instructions for an element of A that a tile extends itself: a load, a conversion, and a move to all lanes."""

EXTENDED_VECTOR = 2
"""The same for a vector of B: a load that widens, and a conversion."""

INTEGER_PRODUCT = 2
"""Instructions for a product of integers and the sum that it goes into, for which floats have one."""

# What the time of A's copy depends on, beside the tile, the blocks and their order.
_LEFT_COPY = attrgetter("pack_left", "left_by_rows", "left_in_rows")


class Model(LeastWaits):
    """What each plan of one problem takes on one target."""

    def __init__(self, problem: Problem, target: Target):
        super().__init__(problem, target)
        self._arithmetic: dict[Hashable, float] = {}
        """seconds of tiles, by what these depend on"""
        self.shared = 1 if problem.right.is_everybodys else problem.batch
        """how often what is done to B is done in a call: once where all of the batch has one"""

    def whole_tiles_time(self, mr: int, nr: int) -> float:
        """As `tile_time`, without the tiles at the edges that have fewer rows or columns."""
        problem = self.problem
        fetched = (problem.left.element_bytes, problem.right.element_bytes)
        return self._tiles_time([(problem.m // mr * (problem.n // nr), mr, nr)], fetched)

    def tile_time(self, mr: int, nr: int) -> float:
        """Seconds of all tiles of a size, those at the edges peeled off, with both operands coming from L2."""
        fetched = (self.problem.left.element_bytes, self.problem.right.element_bytes)
        return self._tiles_time(tiles(self.problem, mr, nr, (True, True)), fetched)

    def reads_rows(self, rows: int) -> bool:
        """Whether tiles of so many rows find them in L1 where A's rows are read as they are, however far apart."""
        left = self.problem.left
        if left.along is None or left.summed != 1:
            return False
        stride = left.along * left.stored_bytes
        return most_in_a_set(self.level_1, rows, stride) <= self.level_1.ways

    def tiles_packing_right(self, plan: ContractionPlan) -> Tiles:
        """What tiles take where edges are peeled off, and B is packed: the least of all plans with the same tile, KC and order."""
        brought = self.brought(plan, packs_right=True)
        peels = True, True
        return brought, self.tiles_of(plan.mr, plan.nr, peels, plan.mirrored, plan.sums_in, brought)

    def tiles(self, plan: ContractionPlan, brought: Brought | None = None) -> float:
        """Seconds of the tiles of one entry of the batch, with what they bring from L2, which is as of `brought`."""
        extending = (
            EXTENDED_ELEMENT if self.problem.left.is_extended and not plan.pack_left else 0,
            EXTENDED_VECTOR if self.problem.right.is_extended and not plan.pack_right else 0,
        )
        split = self.problem.right.split_part(self.core, is_packed=plan.pack_right)
        brought = brought or self.brought(plan, packs_right=plan.pack_right)
        peels, hints = (plan.peel_m, plan.peel_n), lines_asked_for(self, plan)
        return self.tiles_of(
            plan.mr, plan.nr, peels, plan.mirrored, plan.sums_in, brought, extending, split, hints
        )

    def tiles_of(
        self,
        mr: int,
        nr: int,
        peels: tuple[bool, bool],
        mirrored: bool,
        sums_in: str,
        brought: Brought,
        extending: tuple[int, int] = (0, 0),
        split: float = 0,
        hints: int = 0,
    ) -> float:
        """As of `tiles`, by all that it depends on, which many plans have in common."""
        same = (mr, nr, peels, mirrored, brought, extending, split, hints)
        seconds = self._arithmetic.get(same)
        if seconds is None:
            fetched, blocks = brought
            counted = tiles(self.problem, mr, nr, peels, mirrored=mirrored)
            seconds = self._tiles_time(counted, fetched, extending, split, blocks, hints)
            self._arithmetic[same] = seconds
        is_apart = bool(self.problem.exact_terms) and not sums_in
        return seconds * (INTEGER_PRODUCT if is_apart else 1)

    def brought(self, plan: ContractionPlan, *, packs_right: bool) -> Brought:
        """
        The bytes that tiles bring from L2 for each element of A and of B, and the blocks of terms after which they are read and written
        in turn. All plans with the same tile and blocks that pack B have them in common, and all that do not.

        With tiles of M innermost, B's panel is in L1 and A comes from L2; with tiles of N innermost A's sliver is
        in L1, and B comes from L2, unless all of its block stays in L1, too. What is used again by the next tile must stay
        while all that this tile uses goes by: both together leave one way for C. (Low et al., as of `kept_bytes`.)
        """
        left, right = self.problem.left.element_bytes, self.problem.right.element_bytes
        by_rows = plan.innermost == "m"
        is_near = plan.kc <= self.terms_in_l1(plan.mr, plan.nr)
        near_left = is_near and not by_rows
        near_right = is_near and by_rows and (packs_right or self.keeps_rows(plan, plan.nr))
        if packs_right and panel_terms_ahead(self, plan):
            right *= self.steps.asked
        if self.keeps_block(plan) and (packs_right or self.keeps_rows(plan, plan.nc)):
            right /= -(-self.problem.m // plan.mr)  # it comes to the first of the tiles of rows
        # A tile that is added to C when it is complete leaves while sums of the next one go on.
        is_added = plan.k_outside and self.problem.reassociates
        blocks = 1 if is_added else -(-self.problem.k // plan.kc)
        # A's sliver that stays in L1 comes to the first of the tiles of columns: of few columns there are no others.
        first = left / -(-self.problem.n // plan.nr)
        return (first if near_left else left, 0 if near_right else right), blocks

    def _tiles_time(
        self,
        tiles: Iterable[tuple[int, int, int]],
        fetched: tuple[float, float],
        extending: tuple[int, int] = (0, 0),
        split: float = 0,
        blocks: int = 1,
        hints: int = 0,
    ) -> float:
        """The same for so many tiles of so many rows and columns; see `_tile_cycles`."""
        cycles = 0.0
        for count, rows, columns in tiles:
            cycles += count * self._tile_cycles(
                rows, columns, fetched, extending, split, blocks, hints
            )
        return cycles / self.clock

    def _tile_cycles(
        self,
        rows: int,
        columns: int,
        fetched: tuple[float, float],
        extending: tuple[int, int],
        split: float,
        blocks: int,
        hints: int,
    ) -> float:
        """
        Cycles of a tile of so many rows and columns, which brings so many bytes from L2 for each element of A and of B, and extends each element of
        A and each vector of B by so many instructions. A part of B's vectors is `split` between lines. Each term has so many `hints`. Tiles of several `blocks`
        of terms are read and written for each, and once more when they are initialised and finished, each in a loop of its own.
        """
        vectors = -(-columns // self.lanes)
        part = self.half if 2 * columns <= self.lanes else 1.0
        extended = rows * extending[0] + vectors * extending[1]
        bytes_ = fetched[0], self.lanes * fetched[1]
        step = self.steps.cycles(rows, vectors, bytes_, split, extended, part, hints)
        ending = ending_cycles(self.core, rows, part * vectors)
        through = 0.0
        if blocks > 1:
            through = rows * part * vectors * (1 / self.core.load_ports + 1 / self.core.store_ports)
            ending += rows * part * vectors / self.core.load_ports
        return self.problem.k * step + blocks * ending + through

    def cost(self, plan: ContractionPlan) -> Cost:
        """The seconds of a plan by term, and what it has to gain; see the module's docstring for the model."""
        return Cost(tuple(self._terms(plan)), self.shared * worth_of_code(self, plan))

    def seconds(self, plan: ContractionPlan, working: float, most: float) -> float | None:
        """The seconds of a plan that works for so many (as of `OfBlocks.least`); None as soon as they are more than `most`."""
        seconds = working
        for _, term in self._waits(plan):
            seconds += term
            if seconds > most:
                return None
        return seconds

    def _terms(self, plan: ContractionPlan) -> Iterator[tuple[str, float]]:
        batch, waits = self.problem.batch, dict(self._waits(plan))
        yield "arithmetic", batch * self.tiles(plan)
        yield "streaming A", waits["streaming A"]
        yield "streaming B", waits["streaming B"]
        yield "packing A", batch * packing(self, plan, "left")
        yield "packing B", self.shared * packing(self, plan, "right")
        yield "computing A", waits["computing A"]
        yield "computing B", waits["computing B"]
        yield "writing C", batch * (writing(self, plan) + writing_columns(self, plan))
        yield "waiting for threads", waits["waiting for threads"]
        yield "mirroring C", waits["mirroring C"]

    def _waits(self, plan: ContractionPlan) -> Iterator[tuple[str, float]]:
        """The terms in which it does not work, as of `OfBlocks.least`."""
        batch = self.problem.batch
        yield "streaming A", batch * self._streaming_left(plan)
        yield "streaming B", batch * self._streaming_right(plan)
        yield "computing A", batch * computing_ahead(self, plan, "left")
        yield "computing B", self.shared * computing_ahead(self, plan, "right")
        yield "waiting for threads", waiting_for_threads(self, plan, batch * self.tiles(plan))
        yield "mirroring C", batch * mirroring(self, plan)

    def _streaming_right(self, plan: ContractionPlan) -> float:
        problem = self.problem
        bytes_ = problem.right.read_bytes(is_packed=plan.pack_right)
        elements = problem.k * problem.n
        share = self.far_share(problem.right)
        if not share:
            return 0.0
        panel, alone = self._right_panel(plan, plan.nr), 0.0
        if plan.innermost == "m":
            block = plan.mc * plan.kc * problem.left.element_bytes
            again = -(-problem.m // plan.mc)
            used = self._right_panel(plan, plan.nc) if plan.k_outside else self.right_bytes
            if used + block <= self.near_2:
                again = 1
            if panel > self.near_2:
                again = -(-problem.m // plan.mr)
        else:
            block = self._right_panel(plan, plan.nc)
            again = -(-problem.m // plan.mr)
            if block <= self.near_2:
                beside = plan.mr * (
                    plan.kc * problem.left.element_bytes + plan.nc * problem.result_bytes
                )
                kept, alone = self.coming_back(again, self.lost(block, beside))
                again = self.beside_neighbours(kept, again, block)
        is_packed_now = plan.pack_right and not problem.right.is_constant
        fetched = again - (1 if is_packed_now else 0)  # packing fetches it the first time
        if plan.pack_right and self._evicts_packed(plan):
            fetched = again
        is_dense = plan.pack_right or problem.right.summed == min(plan.nr, problem.n)
        run = (plan.kc if is_dense else 1) * plan.nr * bytes_
        uses = min(plan.mr, problem.m)
        size = (plan.kc if plan.k_outside else problem.k) * plan.nc * bytes_
        far = self.beyond_of(size) if again > 1 else self.beyond_l2
        first = self.between_calls(problem.right) if problem.right.is_constant else far
        if plan.innermost == "n":
            fetched *= computed_part(plan, problem.n)
        apart = run if is_dense else (problem.right.summed or 0) * bytes_

        def coming(times: float, far: Beyond) -> float:
            if plan.prefetch:  # all tiles that use a panel ask for the next, which comes to L2
                return self.stall(elements * times, bytes_, far.rate, min(plan.mc, problem.m))
            waiting = elements * times * bytes_ * self.waiting_right
            return self.streamed(elements * times, bytes_, uses, run, apart, far) + waiting

        once = min(fetched, 1.0)
        seconds = share * (coming(once, first) + coming(fetched - once, far))
        return seconds + self.demand_misses(elements * alone, bytes_, far.rate, uses)

    def _evicts_packed(self, plan: ContractionPlan) -> bool:
        """Whether panels of B leave L2 after they are packed and before they are used."""
        problem = self.problem
        block = plan.kc * plan.nc * problem.right.element_bytes
        if plan.innermost == "m":  # all rows of a block of A stream by, for each panel
            block += plan.mc * plan.kc * problem.left.element_bytes
        return block > self.near_2

    def _right_panel(self, plan: ContractionPlan, columns: int) -> float:
        """The bytes of L2 that KC rows of so many columns of B take: more where lines share sets."""
        right = self.problem.right
        bytes_ = right.read_bytes(is_packed=plan.pack_right)
        apart = None if plan.pack_right or right.summed is None else right.summed * bytes_
        return self._taken(plan.kc, apart, columns * bytes_)

    def _left_block(self, plan: ContractionPlan, terms: int) -> float:
        """The same of MC rows of so many terms of A."""
        left = self.problem.left
        bytes_ = left.read_bytes(is_packed=plan.pack_left)
        is_copied = plan.pack_left or makes_rows(self, plan)
        apart = None if is_copied or left.summed != 1 or left.along is None else left.along * bytes_
        return self._taken(plan.mc, apart, terms * bytes_)

    def _taken(self, pieces: int, apart: int | None, width: int) -> float:
        """The bytes of L2 that so many pieces of `width` bytes take, which are one where nothing is between them."""
        size = pieces * width
        return size if apart is None else bytes_taken(self.level_2, size, pieces, apart, width)

    def _streaming_left(self, plan: ContractionPlan) -> float:
        if plan.left_by_rows:  # tiles find their rows near: packing waits for them
            return 0.0
        problem, left = self.problem, self.problem.left
        bytes_ = left.read_bytes(is_packed=plan.pack_left)
        elements = problem.m * problem.k
        uses = min(plan.nr, problem.n)
        tiles = -(-problem.n // plan.nr)
        seconds = 0.0
        share = self.far_share(left)
        if share:
            terms = plan.kc if plan.k_outside else problem.k  # from one use of a block to the next
            alone = 0.0
            if plan.innermost == "m":
                again = tiles
                size = self._left_block(plan, terms)
                tile = plan.mr * plan.nr * problem.result_bytes
                if size + self._right_panel(plan, plan.nr) + tile <= self.near_2:
                    passing = terms + (plan.kc if plan.prefetch else 0)  # and the next panel
                    panel = plan.nr * (
                        passing * problem.right.element_bytes + plan.mc * problem.result_bytes
                    )
                    kept, alone = self.coming_back(tiles, self.lost(size, panel))
                    used = size + self._right_panel(plan, plan.nr)
                    again = self.beside_neighbours(kept, tiles, used)
            else:
                again = -(-problem.n // plan.nc)
            is_copied = plan.pack_left or makes_rows(self, plan)
            is_copied_now = is_copied and not left.is_constant
            fetched = max(again - (1 if is_copied_now else 0), 0)
            if plan.innermost == "m":
                fetched *= computed_part(plan, problem.n)
            in_rows = not is_copied and left.summed == 1
            is_dense = is_copied or (left.along == plan.kc and not in_rows)
            run = (plan.mr if is_dense else 1) * plan.kc * bytes_  # each row is a stream of its own
            # Blocks of columns are around those of terms: all of A goes by before a part of it is read again.
            size = problem.k * problem.m * bytes_
            far = self.beyond_of(size) if again > 1 else self.beyond_l2
            first = self.between_calls(left) if left.is_constant else far
            coming, at_first = elements * fetched, elements * min(fetched, 1.0)
            begun = restart_seconds(self.core.page_bytes, run, far.begun)
            waiting = coming * bytes_ * (self.waiting_left + begun)
            if not is_copied and left.summed == 1:
                waiting *= self.lost_pages(plan)
            if is_copied or left.summed != 1 or plan.prefetch_left:
                stalled = self.stall(at_first, bytes_, first.rate, uses)
                stalled += self.stall(coming - at_first, bytes_, far.rate, uses)
                seconds += share * (stalled + waiting)
            else:  # the probed tile of rows has waited for all but what comes too late
                waiting += self.late(coming, bytes_, far.rate, uses)
                waiting = max(waiting, coming * bytes_ * self.row_waiting(run, far))
                once, more = 1 / max(fetched, 1), self._lost_between_blocks(plan)
                seconds += waiting * (share * once + max(share, more) * (1 - once))
            seconds += self.demand_misses(elements * alone, bytes_, far.rate, uses)
        if plan.pack_left and not plan.left_in_rows:
            return seconds
        return seconds + elements * tiles * (self.colliding(plan, uses) + self._in_rows(plan))

    def _lost_between_blocks(self, plan: ContractionPlan) -> float:
        """
        The part of A that leaves L2 before the next block of columns uses it, with tiles of N innermost: the rest of A goes by, the block's part
        of C, and the block of B, with what it is packed from.
        """
        problem = self.problem
        if plan.innermost == "m":
            return 0.0
        right = problem.right.element_bytes
        if plan.pack_right and not problem.right.is_constant:
            right += problem.right.source_bytes
        between = self.left_bytes + problem.k * plan.nc * right
        return self.beyond_share(between + problem.m * plan.nc * problem.result_bytes)

    def _in_rows(self, plan: ContractionPlan) -> float:
        """Seconds for each element of an A that comes from L2 and whose rows, one for each of the tile's, are streams of their own."""
        left = self.problem.left
        if not (plan.left_in_rows or makes_rows(self, plan) or left.summed == 1):
            return 0.0
        (bytes_, _), _ = self.brought(plan, packs_right=plan.pack_right)
        return bytes_ * self.waiting_near

    def colliding(self, plan: ContractionPlan, uses: int) -> float:
        """
        Seconds for each element of an A that is not packed, where its rows, or its columns where they are
        what is read, evict each other from L1 before the rest of their lines is used.
        """
        left, line = self.problem.left, self.level_1.line_bytes
        along, summed = left.along, left.summed
        if plan.left_in_rows or makes_rows(self, plan):  # the copy is as the plan has made it
            along, summed = (1, plan.mc) if left.read_along == 1 else (plan.kc, 1)
        if along is None or summed is None or 1 not in (along, summed):
            return self.refetched(line, uses)
        if summed != 1:
            return self.read_across(plan.mr, plan.kc, summed * left.stored_bytes, uses)
        stride = along * left.read_bytes(is_packed=plan.pack_left)
        in_a_set, lost = most_in_a_set(self.level_1, plan.mr, stride), 0.0
        if self._has_own_loads(plan) and stride % line == 0:
            lost = NEIGHBOURED * (ONE_BANK - 1)
        slowdown = self.rates.slowdown(plan.mr)
        if stride % self.core.page_bytes == 0 and slowdown.source != "estimated":
            return (slowdown.core - 1 + lost) * self.computing(uses)
        if in_a_set < self.level_1.ways:  # one way is left for B
            return lost * self.computing(uses)
        if (
            in_a_set == self.level_1.ways
        ):  # only a line of B in their set pushes them out, each the next one
            passing = uses * self.problem.right.element_bytes
            return self.refetched(passing * line / self.level_1.way_bytes, uses)
        return self.refetched(line, uses)

    def _has_own_loads(self, plan: ContractionPlan) -> bool:
        """Whether the multiply-adds of a plan's tiles load the elements of A by themselves."""
        vectors = -(-plan.nr // self.lanes)
        return self.steps.own_loads and loads_by_itself(self.core, plan.mr, vectors)


Tiles = tuple[Brought, float]
"""What the tiles of plans that pack B bring from L2, as of `Model.brought`, and the seconds that they take with the edges peeled off."""


class OfBlocks:
    """The times that plans of one tile, with the same blocks in the same order, have in common."""

    def __init__(self, model: Model, plain: ContractionPlan, tiles: Tiles):
        """`plain` is the plan with these blocks that packs nothing."""
        self._model, self.plain = model, plain
        brought, self._tiles = tiles
        self._brought = {True: brought}
        """by whether B is packed"""
        self._waits = model.least_waits(plain, brought)
        self._writing = 0.0
        self._right: float | None = None
        self._left: dict[tuple[bool, ...], float] = {}

    def least_at_once(self) -> float:
        """Seconds that each of the plans takes at least, as far as is seen at once."""
        model, plain, (left, right) = self._model, self.plain, self._model.least_copying
        written = model.least_writing(-(-model.problem.k // plain.kc) if plain.k_outside else 1)
        seconds = model.problem.batch * (self._tiles + written + self._waits.least(left))
        return seconds + model.shared * right if model.always_packs_right(plain) else seconds

    def least_of_all(self, plain: ContractionPlan) -> float:
        """The same at a closer look; `plain` asks for what it may ask for now."""
        self.plain, model = plain, self._model
        self._writing = writing(model, plain) + writing_columns(model, plain)
        left = copying(model, plain, "left")
        if model.problem.left.is_extended:  # it may be copied as it lies
            left = model.least_copying[0]
        waits = self._waits.least(left)
        seconds = model.problem.batch * (self._tiles + self._writing + waits)
        if not model.always_packs_right(plain):
            return seconds
        self._right = copying(model, plain, "right")
        return seconds + model.shared * self._right

    def least(self, plan: ContractionPlan) -> tuple[float, float]:
        """Seconds that a plan takes at least, with what it has to gain for its code, and those of them in which it does not wait for operands."""
        model, copy = self._model, _LEFT_COPY(plan)
        brought = self._brought.get(plan.pack_right)
        if brought is None:
            brought = model.brought(plan, packs_right=plan.pack_right)
            self._brought[plan.pack_right] = brought
        tiles, left = model.tiles(plan, brought), self._left.get(copy)
        if left is None:
            left = self._left[copy] = packing(model, plan, "left")
        if self._right is None and plan.pack_right:
            self._right = copying(model, plan, "right")
        right = (self._right or 0.0) if plan.pack_right else 0.0
        right += worth_of_code(model, plan)
        batch = model.problem.batch
        working = batch * (tiles + left + self._writing) + model.shared * right
        return working + batch * self._waits.of(plan), working
