"""double_buffer: two copies in turn, for staged regions and hand-written fills, at many extents."""

import pytest
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import (
    DoubleBuffer,
    Parallel,
    Prefetch,
    Split,
    Stage,
    StorageAlign,
    Unroll,
)

from .loop_nests import applied, check_extents, reason
from .producer_texts import function

EXTENTS = (1, 2, 3, 5, 7, 17, 31, 33)
SQUARE = "memref<{n}x{n}xi32>"

# Each row is read three times; later rows are shorter.
ROWS = function(
    [("A", SQUARE), ("C", SQUARE)],
    f"""
  loop.for parallel "i" %i = 0 to {{n}} {{
    loop.for serial "k" %k = 0 to 3 {{
      loop.for parallel "j" %j = %i to {{n}} {{
        %a = loop.load %A[%i, %j] : {SQUARE}
        %c = loop.load %C[%j, %i] : {SQUARE}
        %s = arith.muli %a, %c : i32
        %t = arith.subi %s, %a : i32
        loop.store %t, %C[%j, %i] : {SQUARE}
      }}
    }}
  }}""",
)


def filled(statements: str, bounds: str = "0 to {n}", size: str = "80") -> str:
    """In each iteration `T` is filled, something is done to A, and T is used, as `statements` say."""
    return function(
        [("A", f"memref<{size}xi32>"), ("C", f"memref<{size}xi32>")],
        f"""
  loop.for serial "i" %i = {bounds} {{
    %T = loop.alloc stack : memref<2xi32>
    {statements}
  }}""",
    ).replace("$A", f"memref<{size}xi32>")


def fill(element: int, subscript: str) -> str:
    return f"""%a{element} = loop.load %A[{subscript}] : $A
    loop.store %a{element}, %T[{element}] : memref<2xi32>
    """


def change(subscript: str) -> str:
    return f"""%v = arith.constant 7 : i32
    loop.store %v, %A[{subscript}] : $A
    """


USE = """%x = loop.load %T[0] : memref<2xi32>
    %y = loop.load %T[1] : memref<2xi32>
    %z = arith.subi %x, %y : i32
    loop.store %z, %C[%i + 4] : $A"""

STAGED: dict[str, list[Step]] = {
    "each row": [Stage("f/A", "i"), DoubleBuffer("f/A.staged", "i")],
    "in registers": [Stage("f/A", "j", scope="register"), DoubleBuffer("f/A.staged", "j")],
    "in blocks": [Split("f/i", 4), Stage("f/A", "i.outer"), DoubleBuffer("f/A.staged", "i.outer")],
    "inside blocks": [
        Split("f/i", 4),
        Stage("f/A", "i.inner", scope="arena"),
        DoubleBuffer("f/A.staged", "i.inner"),
    ],
    "at a loop of one iteration": [
        Split("f/i", 40),
        Stage("f/A", "i.outer"),
        DoubleBuffer("f/A.staged", "i.outer"),
    ],
    "of shorter rows": [Stage("f/A", "k"), DoubleBuffer("f/A.staged", "k")],
    "padded": [
        Stage("f/A", "i", order=(1, 0), pad=4),
        StorageAlign("f/A.staged", 1, 16, 1),
        DoubleBuffer("f/A.staged", "i"),
    ],
    "and unrolled": [
        Stage("f/A", "i"),
        DoubleBuffer("f/A.staged", "i"),
        Unroll("f/i", 2),
    ],
    "with prefetches, which go": [
        Stage("f/A", "i"),
        Prefetch("f/A.staged", "j"),
        DoubleBuffer("f/A.staged", "i"),
    ],
}


@pytest.mark.parametrize("steps", STAGED.values(), ids=STAGED.keys())
def test_staged_regions(steps: list[Step]) -> None:
    check_extents(ROWS, *steps, extents=EXTENTS)


@pytest.mark.parametrize(
    "bounds", ["0 to {n}", "-3 to {n} - 3", "-4 to {n} step 3", "2 to {n} + 2 step 2"]
)
def test_bounds(bounds: str) -> None:
    program = filled(fill(0, "%i + 5") + fill(1, "%i * 2 + 10") + USE, bounds)
    check_extents(program, DoubleBuffer("f/T", "i"), extents=EXTENTS)


def test_a_symbol_for_a_bound() -> None:
    # The loop may not run at all, and then nothing may be filled.
    program = filled(fill(0, "%i") + fill(1, "%i + 1") + USE, "0 to %n").replace(
        "noalias})", "noalias}, %n: index)"
    )
    text = applied(program, DoubleBuffer("f/T", "i"))
    assert text.index("loop.if (%n - 1 >= 0)") < text.index("loop.for")
    check_extents(
        program.replace("0 to %n", "0 to min(%n - 2, {n} - 2)"),
        DoubleBuffer("f/T", "i"),
        extents=EXTENTS,
    )


def test_changes_that_do_not_matter() -> None:
    # What is written is not what the next iteration reads.
    for statements in (
        fill(0, "%i + 1") + change("%i") + fill(1, "%i + 30") + USE,
        fill(0, "%i") + fill(1, "%i + 30") + change("%i") + USE,
    ):
        check_extents(filled(statements), DoubleBuffer("f/T", "i"), extents=EXTENTS)


@pytest.mark.parametrize(
    "statements",
    [
        # The next iteration reads what this one writes after its fill.
        fill(0, "%i") + fill(1, "%i + 30") + change("%i + 1") + USE,
        # The same for the second part only: all of the fill moves to where its first part stands.
        fill(0, "%i + 35") + change("%i + 21") + fill(1, "%i + 20") + USE,
    ],
)
def test_changes_that_matter_are_refused(statements: str) -> None:
    message = reason(filled(statements).replace("{n}", "9"), DoubleBuffer("f/T", "i"))
    assert "the load of '%A'" in message
    assert "must come after the store to '%A'" in message
    assert "iterations (i=0) and (i=1) would be swapped; leave this buffer single" in message


def test_a_fill_that_reads_what_is_written_before_it_is_refused() -> None:
    statements = change("%i") + fill(0, "%i") + fill(1, "%i + 30") + USE
    message = reason(filled(statements).replace("{n}", "9"), DoubleBuffer("f/T", "i"))
    assert "iterations (i=0) and (i=0) would be swapped" in message


def test_refusals() -> None:
    step = DoubleBuffer("f/T", "i")
    good = filled(fill(0, "%i") + fill(1, "%i + 1") + USE).replace("{n}", "9")
    message = "'%A' is not made in the body of loop 'i'; stage a buffer at 'i' first"
    assert message in reason(good, DoubleBuffer("f/A", "i"))
    marked = good.replace('serial "i"', 'parallel threads "i"')
    assert "loop 'i' is marked 'threads'" in reason(marked, step)
    early = filled(fill(0, "%i") + USE + "\n" + fill(1, "%i + 1")).replace("{n}", "9")
    assert "'%T' is read before it is filled completely" in reason(early, step)
    unused = filled(fill(0, "%i")).replace("{n}", "9")
    assert "'%T' is not both filled and used in loop 'i'" in reason(unused, step)
    starts = good.replace("0 to 9", "max(%n, %n * 2) to 9").replace(
        "noalias})", "noalias}, %n: index)"
    )
    assert "where loop 'i' starts is no single affine expression" in reason(starts, step)
    sized = good.replace(
        "%T = loop.alloc stack : memref<2xi32>", "%T = loop.alloc arena(%i) : memref<?xi32>"
    )
    assert "the size of '%T' is not constant" in reason(
        sized.replace("memref<2xi32>", "memref<?xi32>"), step
    )
    viewed = good.replace(
        "%x = ", '%w = "memref.cast"(%T) : (memref<2xi32>) -> memref<?xi32>\n%x = '
    )
    assert "'memref.cast' uses the whole of '%T'" in reason(viewed, step)
    also = filled(
        """loop.for serial "j" %j = 0 to 2 {
      %a = loop.load %A[%i + %j] : $A
      loop.store %a, %T[%j] : memref<2xi32>
      loop.store %a, %C[%j + 40] : $A
    }
    """
        + USE
    ).replace("{n}", "9")
    assert "what fills '%T' also writes '%C'; fission it first" in reason(also, step)


def test_a_parallel_loop_becomes_serial() -> None:
    text = applied(ROWS.replace("{n}", "5"), *STAGED["each row"])
    assert 'loop.for serial "i"' in text
    message = reason(text, Parallel("f/i"))
    assert "'%A.staged'" in message
    assert "would be raced" in message


OVER_DIAGONAL = """
func.func @f(%B: memref<1x1xi32> {stepwell.noalias}, %T: memref<40xi32> {stepwell.noalias}) {
  loop.for serial "i" %i = -1 to {n} - 1 {
    %v = arith.constant 1 : i32
    loop.store %v, %T[%i + 1] : memref<40xi32>
    loop.for serial "j" %j = max(0, %i) to %i + 1 {
      %S = loop.alloc stack : memref<1xi32>
      loop.for parallel "fill" %c = 0 to 1 {
        %x = loop.load %T[%i + %c] : memref<40xi32>
        loop.store %x, %S[%c] : memref<1xi32>
      }
      %y = loop.load %S[0] : memref<1xi32>
      loop.store %y, %B[0, 0] : memref<1x1xi32>
    }
  }
  func.return
}
"""


def test_a_loop_that_does_not_run_fills_nothing() -> None:
    # With i = -1 the loop over j goes from max(0, -1) to 0.
    check_extents(OVER_DIAGONAL, DoubleBuffer("f/S", "j"), extents=EXTENTS)
