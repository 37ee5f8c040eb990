"""decompose_reduction: initialisations of every kind in a nest of their own, at many extents."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.dialects.schedule.steps import DecomposeReduction, Reorder, Split, Vectorize

from .loop_nests import applied, check_extents, reason
from .producer_nests import RandomProducer, check_step, loops_of
from .producer_texts import function

EXTENTS = (1, 2, 3, 5, 7, 17, 31, 33)
ROW, SQUARE = "memref<{n}xi32>", "memref<{n}x{n}xi32>"
STEP = DecomposeReduction("f/C", "i")
THREE = "%z = arith.constant 3 : i32"
SET = f"loop.store %z, %C[%i] : {ROW}"


def rows(init: str, *, after: str = "", before: str = "") -> str:
    """`C[i]` is set by `init`, which may use `D`, and the sum of a row of `A` is added."""
    return function(
        [("A", SQUARE), ("C", ROW), ("D", ROW)],
        f"""{before}
  loop.for serial "i" %i = 0 to {{n}} {{
    {init}
    loop.for reduction "k" %k = 0 to {{n}} {{
      %a = loop.load %A[%i, %k] : {SQUARE}
      %c = loop.load %C[%i] : {ROW}
      %s = arith.addi %c, %a : i32
      loop.store %s, %C[%i] : {ROW}
    }}
    {after}
  }}""",
    )


PRODUCT = function(
    [("A", SQUARE), ("B", SQUARE), ("C", SQUARE)],
    f"""
  %zero = arith.constant 0 : i32
  loop.for parallel "i" %i = 0 to {{n}} {{
    loop.for parallel "j" %j = %i to {{n}} {{
      loop.store %zero, %C[%i, %j] : {SQUARE}
      loop.for reduction "k" %k = 0 to {{n}} step 2 {{
        %a = loop.load %A[%i, %k] : {SQUARE}
        %b = loop.load %B[%k, %j] : {SQUARE}
        %p = arith.muli %a, %b : i32
        %c = loop.load %C[%i, %j] : {SQUARE}
        %s = arith.maxsi %c, %p : i32
        loop.store %s, %C[%i, %j] : {SQUARE}
      }}
    }}
  }}""",
)


@pytest.mark.parametrize("at", ["i", "j"])
def test_extents(at: str) -> None:
    check_extents(PRODUCT, DecomposeReduction("f/C", at), extents=EXTENTS)


@pytest.mark.parametrize("at", ["i.outer", "i.inner", "j"])
def test_blocks(at: str) -> None:
    check_extents(PRODUCT, Split("f/i", 4), DecomposeReduction("f/C", at), extents=EXTENTS)


def test_what_it_is_good_for() -> None:
    # Without the initialisation in between, the reduction may be the outermost loop of its nest.
    steps = DecomposeReduction("f/C", "j"), Reorder("f/j", ("k", "j"))
    check_extents(PRODUCT, *steps, extents=EXTENTS)
    text = applied(PRODUCT.replace("{n}", "5"), *steps)
    assert text.index('"j.init"') < text.index('"k"') < text.index('"j"')
    assert "loop.if" not in text


INITS = {
    "a constant": f"{THREE}\n{SET}",
    "a loaded value": f"%z = loop.load %D[%i] : {ROW}\n{SET}",
    "a computed value": f"%d = loop.load %D[-%i + {{n}} - 1] : {ROW}\n%z = arith.muli %d, %d : i32\n{SET}",
    "under a condition": f"{THREE}\nloop.if (%i - 2 >= 0) {{\n{SET}\n}}",
    "under the other condition": (
        f"{THREE}\nloop.if (%i - 2 >= 0) {{\nloop.store %z, %D[%i] : {ROW}\n}} else {{\n{SET}\n}}"
    ),
    "a chosen value": (
        f"%t = arith.constant 3 : i32\n%z = loop.if (%i - 2 >= 0) -> (i32) {{\n"
        f"%d = loop.load %A[%i, 0] : {SQUARE}\nloop.yield %d : i32\n}} else {{\n"
        f"loop.yield %t : i32\n}}\n{SET}"
    ),
    "a loop of its own": (
        f'{THREE}\nloop.for parallel "x" %x = 0 to %i + 1 step 2 {{\n'
        f"loop.store %z, %C[%x] : {ROW}\n}}"
    ),
}


@pytest.mark.parametrize("init", [v for k, v in INITS.items() if k != "a loop of its own"])
def test_initialisations(init: str) -> None:
    check_extents(rows(init), STEP, extents=EXTENTS)


def test_an_initialisation_of_what_was_reduced_before_is_refused() -> None:
    message = reason(rows(INITS["a loop of its own"]).replace("{n}", "5"), STEP)
    assert "the store to '%C'" in message
    assert "(i=0, k=0) and (i=1, x=0) would be swapped; choose a loop further in" in message


def test_a_value_that_changes_is_loaded_in_time() -> None:
    # The store to D after the reduction is for a later iteration: only a load moved across it matters.
    init = f"%z = loop.load %D[%i] : {ROW}\n{SET}"
    later = f"%y = arith.constant 3 : i32\nloop.store %y, %D[%i] : {ROW}"
    check_extents(rows(init, after=later), STEP, extents=EXTENTS)
    earlier = later.replace("%D[%i]", "%D[%i + 1]")
    message = reason(rows(init, after=earlier).replace("{n}", "5"), STEP)
    assert "the load of '%D'" in message
    assert "iterations (i=0) and (i=1) would be swapped" in message


def test_one_scalar_for_all_iterations_is_refused() -> None:
    scalar = rows(f"{THREE}\n{SET}", before=f"%acc = loop.alloc stack : {ROW}")
    scalar = scalar.replace("%C[%i]", "%acc[0]").replace("{n}", "5")
    message = reason(scalar, DecomposeReduction("f/acc", "i"))
    assert "dependence through '%acc'" in message
    assert "would be swapped" in message


def test_what_cannot_be_repeated_is_refused() -> None:
    # The store to D would run twice.
    chosen = INITS["a chosen value"].replace(
        "loop.yield %d",
        f"%e = arith.addi %d, %t : i32\nloop.store %e, %D[%i] : {ROW}\nloop.yield %d",
    )
    assert "needs what 'loop.if' gives" in reason(rows(chosen).replace("{n}", "5"), STEP)
    guarded = chosen.replace(
        SET,
        f"%q = arith.index_cast %z : i32 to index\nloop.if (%q >= 0) {{\n%w = arith.constant 1 : i32\nloop.store %w, %C[%i] : {ROW}\n}}",
    )
    assert "which cannot be repeated" in reason(rows(guarded).replace("{n}", "5"), STEP)


def test_a_condition_with_results_is_refused() -> None:
    inside = (
        f"%t = arith.constant 3 : i32\n%z = loop.if (%i - 2 >= 0) -> (i32) {{\n"
        f"loop.store %t, %C[%i] : {ROW}\n%d = loop.load %A[%i, 0] : {SQUARE}\nloop.yield %d : i32\n"
        f"}} else {{\nloop.yield %t : i32\n}}\nloop.store %z, %D[%i] : {ROW}"
    )
    assert "inside of 'loop.if' with results" in reason(rows(inside).replace("{n}", "5"), STEP)


def test_marks_and_notes_are_not_copied() -> None:
    # A loop of lanes inside; the initialisation is the first of the reduction's iterations.
    program = function(
        [("A", SQUARE), ("C", ROW)],
        f"""
  loop.for serial "k" %k = 0 to {{n}} attributes {{stepwell.pragma.keep}} {{
    loop.for parallel "j" %j = 0 to {{n}} {{
      loop.if (%k == 0) {{
        {THREE}
        loop.store %z, %C[%j] : {ROW}
      }}
      %a = loop.load %A[%k, %j] : {SQUARE}
      %c = loop.load %C[%j] : {ROW}
      %s = arith.addi %c, %a : i32
      loop.store %s, %C[%j] : {ROW}
    }}
  }}""",
    )
    steps = Vectorize("f/j"), DecomposeReduction("f/C", "k")
    check_extents(program, *steps, extents=(2, 7, 33))
    text = applied(program.replace("{n}", "8"), *steps)
    assert text.count("vector") == text.count("stepwell.pragma.keep") == 1


def test_refusals() -> None:
    five = rows(INITS["a constant"]).replace("{n}", "5")
    assert "loop 'i' has no reduction into '%A'" in reason(five, DecomposeReduction("f/A", "i"))
    message = "loop 'k' has 0 stores to '%C' that could initialise the reduction, expected one"
    assert message in reason(five, DecomposeReduction("f/C", "k"))
    twice = rows(f"{INITS['a constant']}\n{SET}").replace("{n}", "5")
    assert "has 2 stores to '%C'" in reason(twice, STEP)
    local = rows(f"%T = loop.alloc stack : {ROW}\n{INITS['a constant']}").replace("{n}", "5")
    local = local.replace("%C[%i]", "%T[0]")
    message = "'%T' is made inside of loop 'i'; choose a loop further in"
    assert message in reason(local, DecomposeReduction("f/T", "i"))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_producers(seed: int) -> None:
    random = Random(seed)
    check_step(
        RandomProducer(random).text(),
        lambda module: [
            DecomposeReduction("f/B", random.choice(loops_of(module)).loop_name.data)
            for _ in range(4)
        ],
    )
