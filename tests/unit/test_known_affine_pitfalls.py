"""
Situations in which other compilers' loop transformations have gone wrong, each once where the step is
legal, and gives the same results, and once where it is not, and is refused with the reason.

The numbers are of issues and pull requests where the mistakes were reported: `llvm` is
llvm/llvm-project, mostly MLIR's affine passes and LLVM's LoopInterchange. The programs are our own.
"""

from __future__ import annotations

import re

import pytest
from stepwell.dialects.schedule.steps import (
    Parallel,
    Rfactor,
    Split,
    Stage,
    Tile,
    UnrollAndJam,
    Vectorize,
)

from .affine_pitfalls import (
    DIAGONAL,
    FORWARD,
    FUSION,
    GRID,
    GRIDS,
    LINE,
    LINES,
    PRODUCERS,
    REORDERING,
    Pitfall,
    copy,
    func,
    loop_,
    square,
)
from .loop_nests import reason
from .step_agreement import check_steps

EXTENTS = (1, 2, 3, 5, 8, 13)

JAMMING = (
    Pitfall(
        # llvm#196554, llvm#198266, llvm#84796: rows were copied before they had been written.
        "jamming against a carried dependence",
        func(GRIDS, FORWARD),
        (UnrollAndJam("f/i", 2),),
        func(GRIDS, DIAGONAL),
        UnrollAndJam("f/i", 2),
        r"distance \(1, .*-1\)",
    ),
    Pitfall(
        # llvm#196554: a dependence further than the factor does no harm.
        "jamming fewer rows than a dependence reaches",
        func(GRIDS, square(copy("A[%i - 2, %j + 1]", "A[%i, %j]", GRID), "2 to {n} + 2")),
        (UnrollAndJam("f/i", 2),),
        func(GRIDS, square(copy("A[%i - 2, %j + 1]", "A[%i, %j]", GRID), "2 to {n} + 2")),
        UnrollAndJam("f/i", 4),
        "would be swapped",
    ),
    Pitfall(
        # llvm#98887: inner bounds that vary were left to the caller.
        "jamming loops whose bounds vary",
        func(GRIDS, square(copy("B[%i, %j]", "A[%i, %j]", GRID), "0 to {n}", "0 to %i + 1")),
        (UnrollAndJam("f/i", 3),),
        func(
            GRIDS,
            square(copy("A[%i - 1, %j + 1]", "A[%i, %j]", GRID), "1 to {n}", "0 to %i + 1"),
        ),
        UnrollAndJam("f/i", 3),
        "would be swapped",
    ),
)

LANES = (
    Pitfall(
        # llvm#218120, halide/Halide#1246: the last vector went past the last iteration.
        "a rest that is not a whole vector",
        func(LINES, loop_("i", "0 to {n}", copy("A[%i]", "A[%i]", LINE))),
        (Vectorize("f/i", 4, "guard"),),
        func(LINES, loop_("i", "0 to 13", copy("A[%i]", "A[%i]", LINE))),
        Vectorize("f/i", 4, "perfect"),
        "13 iterations",
    ),
    Pitfall(
        # llvm#225247, llvm#66026: a loop that counts by 3 became lanes next to each other.
        "a step that is not 1",
        func(LINES, loop_("i", "0 to {n} + 4 step 3", copy("A[%i]", "B[%i]", LINE))),
        (Vectorize("f/i", 4),),
        func(LINES, loop_("i", "3 to 24 step 3", copy("A[%i - 3]", "A[%i]", LINE))),
        Vectorize("f/i", 4),
        "flow dependence through '%A'",
    ),
    Pitfall(
        # llvm#196973: subscripts 4 apart were stored as a whole vector.
        "subscripts that are apart",
        func(LINES, loop_("i", "0 to {n}", copy("A[%i]", "B[%i * 2]", LINE))),
        (Vectorize("f/i", 4),),
        func(LINES, loop_("i", "0 to 16", copy("A[%i]", "A[%i * 2]", LINE))),
        Vectorize("f/i", 4),
        "through '%A'",
    ),
    Pitfall(
        "lanes that need each other",
        func(LINES, loop_("i", "4 to {n} + 4", copy("A[%i - 4]", "A[%i]", LINE))),
        (Vectorize("f/i", 4),),
        func(LINES, loop_("i", "1 to 17", copy("A[%i - 1]", "A[%i]", LINE))),
        Vectorize("f/i", 4),
        "flow dependence through '%A'",
    ),
    Pitfall(
        # halide/Halide#1895, halide/Halide#7890: partial results were joined wrongly.
        "a sum in lanes",
        func(
            f"%A: {LINE}, %s: memref<1xi32>",
            loop_(
                "i",
                "0 to {n}",
                f"%a = loop.load %A[%i] : {LINE}\n%o = loop.load %s[0] : memref<1xi32>\n"
                "%n = arith.addi %o, %a : i32\nloop.store %n, %s[0] : memref<1xi32>",
            ),
        ),
        (Split("f/i", 4), Rfactor("f/i.inner")),
        func(
            "%A: memref<40xf32>, %s: memref<1xf32>",
            loop_(
                "i",
                "0 to 16",
                "%a = loop.load %A[%i] : memref<40xf32>\n%o = loop.load %s[0] : memref<1xf32>\n"
                "%n = arith.addf %o, %a : f32\nloop.store %n, %s[0] : memref<1xf32>",
            ),
        ),
        Vectorize("f/i", 4),
        "through '%s'",
    ),
)

SHIFTED_SUM = "\n".join(
    [
        f"%a = loop.load %A[%i] : {LINE}",
        f"%b = loop.load %A[%i + 3] : {LINE}",
        "%c = arith.addi %a, %b : i32",
        f"loop.store %c, %B[%i] : {LINE}",
    ]
)
STAGING = (
    Pitfall(
        # llvm#139016, tensorflow/mlir#88: of several accesses only some were given the copy.
        "staging what overlapping accesses touch",
        func(LINES, loop_("t", "0 to 2", loop_("i", "0 to {n}", SHIFTED_SUM))),
        (Stage("f/A", "t"),),
        func(
            LINES,
            loop_("t", "0 to 2", loop_("i", "0 to {n}", SHIFTED_SUM)),
            marks="",
        ),
        Stage("f/A", "t"),
        "'%B' may be the same memory as '%A'",
    ),
    Pitfall(
        # llvm#54994, llvm#196977: elements between those written were written back without a value.
        "staging writes with gaps",
        func(LINES, loop_("t", "0 to 2", loop_("i", "0 to {n}", copy("A[%i]", "B[%i * 2]", LINE)))),
        (Stage("f/B", "t"),),
        f"func.func private @opaque({LINE})\n"
        + func(
            LINES,
            loop_(
                "t",
                "0 to 2",
                loop_("i", "0 to {n}", copy("A[%i]", "B[%i * 2]", LINE)),
                f"func.call @opaque(%B) : ({LINE}) -> ()",
            ),
        ),
        Stage("f/B", "t"),
        "func.call",
    ),
)

PARALLEL = (
    Pitfall(
        # llvm#203693: tiles of a parallel loop whose step does not divide its extent ran over.
        "parallel tiles that do not divide",
        func(GRIDS, square(copy("B[%i, %j]", "A[%i, %j]", GRID), "0 to {n} step 3", "1 to {n}")),
        (Tile("f/i", (2, 4)), Parallel("f/i.outer")),
        func(GRIDS, square(copy("A[%i - 3, %j]", "A[%i, %j]", GRID), "3 to 18 step 3", "1 to 9")),
        Parallel("f/i"),
        "would be raced",
    ),
    Pitfall(
        # llvm#90735, llvm#225149: a buffer of each iteration was made one for all of them.
        "a scratch buffer in a parallel loop",
        func(
            LINES,
            loop_(
                "i",
                "0 to {n}",
                "%t = loop.alloc register : memref<i32>",
                f"%a = loop.load %A[%i] : {LINE}",
                "loop.store %a, %t[] : memref<i32>",
                "%b = loop.load %t[] : memref<i32>",
                f"loop.store %b, %B[%i] : {LINE}",
            ),
        ),
        (Parallel("f/i"),),
        func(
            LINES,
            "%t = loop.alloc register : memref<i32>\n"
            + loop_(
                "i",
                "0 to 9",
                f"%a = loop.load %A[%i] : {LINE}",
                "loop.store %a, %t[] : memref<i32>",
                "%b = loop.load %t[] : memref<i32>",
                f"loop.store %b, %B[%i] : {LINE}",
            ),
        ),
        Parallel("f/i"),
        "through '%t'",
    ),
    Pitfall(
        # llvm#130812: a dependence was looked for at the wrong depth.
        "the inner loop of two",
        func(GRIDS, FORWARD),
        (Parallel("f/j"),),
        func(GRIDS, FORWARD),
        Parallel("f/i"),
        r"distance \(1, 0\)",
    ),
)

ALL = (*FUSION, *PRODUCERS, *REORDERING, *JAMMING, *LANES, *STAGING, *PARALLEL)


@pytest.mark.sampled(15)
@pytest.mark.parametrize("pitfall", ALL, ids=lambda pitfall: pitfall.name)
def test_where_it_is_legal_results_stay(pitfall: Pitfall) -> None:
    """Interpreted in order, with lanes and threads as they are marked, and once natively."""
    for extent in EXTENTS:
        check_steps(
            pitfall.legal.replace("{n}", str(extent)), pitfall.steps, native=extent == EXTENTS[-1]
        )


@pytest.mark.parametrize("pitfall", ALL, ids=lambda pitfall: pitfall.name)
def test_where_it_is_not_legal_it_is_refused(pitfall: Pitfall) -> None:
    message = reason(pitfall.illegal.replace("{n}", "9"), pitfall.refused)
    assert re.search(pitfall.message, message), message
    assert "\n" not in message
