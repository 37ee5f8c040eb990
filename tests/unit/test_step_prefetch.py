"""prefetch: hints for what later iterations use, which change nothing, at many extents."""

from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.analysis.dependence import Dependences
from stepwell.dialects.loop import PrefetchOp
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import Prefetch, Split, Stage, Unroll, Vectorize
from stepwell.frontend.text import parse_text
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import apply

from .loop_nests import RandomNest, applied, check, check_extents, reason
from .producer_texts import function

EXTENTS = (1, 2, 3, 5, 7, 17, 31, 33)
SQUARE = "memref<{n}x{n}xi32>"


def rows(bounds: str = "0 to {n}", element: str = "i32") -> str:
    """`C[j, i] = A[i, j] - C[j, i]`, for the columns of `A` that `bounds` says."""
    return function(
        [("A", SQUARE), ("C", SQUARE)],
        f"""
  loop.for parallel "i" %i = 0 to {{n}} {{
    loop.for parallel "j" %j = {bounds} {{
      %a = loop.load %A[%i, %j] : {SQUARE}
      %c = loop.load %C[%j, %i] : {SQUARE}
      %s = arith.subi %a, %c : i32
      loop.store %s, %C[%j, %i] : {SQUARE}
    }}
  }}""",
    ).replace("i32", element)


def hints(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if "loop.prefetch" in line]


def test_accesses_stay_when_hints_are_added() -> None:
    """And when they run is found anew: hints have come between them."""
    nests = Nests(parse_text(rows().replace("{n}", "8"), "<text>"))
    nest, _ = nests.resolve("f/")
    before, found = nest.dependences, nest.scop
    apply(Prefetch("f/A", "i"), nests)
    apply(Prefetch("f/C", "j", 2), nests)
    assert nest.scop is found
    assert nest.dependences is not before
    anew = Dependences(nest.function)
    for name in "ij":
        assert nest.dependences.kind_of(nest.loop(name)) is anew.kind_of(nest.loop(name))
    assert [d.describe() for d in nest.dependences.all] == [d.describe() for d in anew.all]
    found = nest.scop
    apply(Split("f/i", 4), nests)
    assert nest.scop is not found


STEPS: dict[str, list[Step]] = {
    "an element": [Prefetch("f/A", "j", 4)],
    "a row": [Prefetch("f/A", "i")],
    "a column, which is written too": [Prefetch("f/C", "i", 2)],
    "in blocks": [Split("f/i", 4), Split("f/j", 4), Prefetch("f/A", "i.outer", 2)],
    "and split after": [
        Prefetch("f/A", "i"),
        Prefetch("f/A", "j"),
        Split("f/i", 4),
        Unroll("f/j", 2),
    ],
    "of a staged region": [Stage("f/A", "i", scope="register"), Prefetch("f/A.staged", "j")],
    "at a loop around lanes": [Vectorize("f/j", 4), Prefetch("f/C", "i")],
    "a part in each iteration inside": [Prefetch("f/A", "i", inside="j")],
    "a part in each iteration of two loops": [
        Split("f/j", 4, tail="guard"),
        Prefetch("f/A", "i", inside="j.inner"),
    ],
    "a part of a column in each iteration inside": [Prefetch("f/C", "i", 2, inside="j")],
    "that goes on in the next row": [Prefetch("f/A", "j", then="i")],
    "where nothing runs": [Split("f/i", 40, tail="peel"), Prefetch("f/A", "i.inner")],
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS.keys())
def test_results_stay(steps: list[Step]) -> None:
    check_extents(rows(), *steps, extents=EXTENTS)


@pytest.mark.parametrize(
    "bounds", ["%i to {n}", "0 to %i step 3", "{n} - 1 to {n}", "0 to min(%i + 4, {n})"]
)
def test_bounds(bounds: str) -> None:
    for at in "ij":
        check_extents(rows(bounds), Prefetch("f/A", at, 3), extents=EXTENTS)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(2, 30), st.sampled_from((1, 2, 3)), st.integers(-4, 4))
def test_hints_go_on_in_the_next_iteration_around(
    distance: int, terms: int, step: int, first: int
) -> None:
    """So many iterations later is what is asked for, also beyond the last one of a loop."""
    distance, end = min(distance, terms), first + step * terms
    program = function(
        [("A", "memref<9x200xi32>"), ("C", "memref<9xi32>")],
        f"""
  loop.for parallel "t" %t = 2 to 9 step 2 {{
    loop.for serial "u" %u = 3 to 4 {{
      loop.for serial "k" %k = {first} to {end} step {step} {{
        %a = loop.load %A[%t, %k + %u + 17] : memref<9x200xi32>
        loop.store %a, %C[%t] : memref<9xi32>
      }}
    }}
  }}""",
    )
    nests = Nests(parse_text(program, "<text>"))
    apply(Prefetch("f/A", "k", distance, then="t"), nests)
    nest, _ = nests.resolve("f/")
    (hint,) = (op for op in nest.function.walk() if isinstance(op, PrefetchOp))
    places = [(t, 3, k) for t in (2, 4, 6, 8) for k in range(first, end, step)]
    loops = [nest.loop(name).induction_variable for name in "tuk"]
    for place, later in zip(places, places[distance:], strict=False):
        values = [dict(zip(loops, place, strict=True))[value] for value in hint.operands_]
        assert hint.map.data.eval(values, []) == (later[0], later[2] + 20)


def test_negative_bounds_and_a_step() -> None:
    program = rows("-3 to {n} - 3 step 2").replace("%j]", "%j + 3]").replace("[%j", "[%j + 3")
    check_extents(program, Prefetch("f/A", "j", 3), extents=EXTENTS)
    text = applied(program.replace("{n}", "9"), Prefetch("f/A", "j", 3))
    assert hints(text) == ["loop.prefetch %A[%i, %j + 9], read, locality<3> : memref<9x9xi32>"]


def test_one_hint_for_each_cache_line() -> None:
    """Of a caller's array, which begins anywhere in a line, and of a buffer of the program's own."""
    for element, end, step, own in (("i8", 99, 49, 64), ("i32", 99, 14, 16), ("i64", 105, 8, 8)):
        text = applied(rows(element=element).replace("{n}", "99"), Prefetch("f/A", "i"))
        assert f'"A.prefetch0" %A_prefetch0 = 0 to {end} step {step}' in text
        assert hints(text)[0].startswith("loop.prefetch %A[%i + 1, %A_prefetch0], read")
        program = rows(element=element).replace("{n}", "128")
        given = program.replace("{stepwell.noalias}", "{stepwell.noalias, stepwell.own}", 1)
        assert given != program
        assert f"= 0 to 129 step {own}" in applied(program, Prefetch("f/A", "i"))
        assert f"= 0 to 128 step {own}" in applied(given, Prefetch("f/A", "i"))


def test_each_element_of_a_column_has_a_line_of_its_own() -> None:
    columns = "memref<99x99xi32, strided<[1, 99]>>"
    program = rows().replace("{n}", "99").replace("memref<99x99xi32>", columns)
    assert '"A.prefetch0" %A_prefetch0 = 0 to 99 {' in applied(program, Prefetch("f/A", "i"))


def places_asked(text: str, values: dict[str, int]) -> list[tuple[int, ...]]:
    """What the hint for `C` in a text asks for in one iteration of the loops around."""
    (hint,) = hints(text)
    place = (
        hint[hint.index("[") : hint.index("]") + 1].replace("floordiv", "//").replace("mod", "%")
    )
    place = place.replace("%C_prefetch0", "hint")
    for name in values:
        place = place.replace(f"%{name}", name)
    steps = [line for line in text.splitlines() if '"C.prefetch0"' in line]
    last = int(steps[0].split(" to ")[1].split()[0]) if steps else 1
    return [tuple(eval(place, {**values, "hint": hint})) for hint in range(0, last, 16)]


@pytest.mark.parametrize(("parts", "each"), [(6, 4), (7, 4), (8, 3), (13, 2)])
def test_rows_are_asked_for_as_a_whole(parts: int, each: int) -> None:
    """Where several are no more lines than a part of all lines has; 3 of 24 are no whole rows of two, and 2 are one alone."""
    program = function(
        [("C", "memref<12x64xi32>")],
        f"""
  loop.for parallel "n" %n = 0 to 2 {{
    loop.for serial "k" %k = 0 to {parts} {{
      loop.for parallel "i" %i = 0 to 12 {{
        loop.for parallel "j" %j = 0 to 32 {{
          %c = loop.load %C[%i, %n * 32 + %j] : memref<12x64xi32>
          loop.store %c, %C[%i, %n * 32 + %j] : memref<12x64xi32>
        }}
      }}
    }}
  }}""",
    ).replace("{stepwell.noalias}", "{stepwell.noalias, stepwell.own}", 1)
    text = applied(program, Prefetch("f/C", "n", inside="k"))
    every = [places_asked(text, {"n": 0, "k": k}) for k in range(parts)]
    assert {len(asked) for asked in every} == {each}
    assert {place for asked in every for place in asked} == set(product(range(12), (32, 48)))
    are_whole = [
        [row for row, _ in asked[::2]] == [row for row, _ in asked[1::2]] for asked in every
    ]
    assert all(are_whole) == (each == 4)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 7), st.integers(1, 70), st.integers(1, 40), st.sampled_from((1, 3)))
def test_all_lines_of_a_tile_are_asked_for(tall: int, wide: int, sums: int, panels: int) -> None:
    """However many iterations share a tile out, no element is a line or more behind one that is asked for."""
    columns = 3 * wide
    program = function(
        [("A", f"memref<40x{columns}xi32>"), ("C", f"memref<7x{columns}xi32>")],
        f"""
  loop.for parallel "n" %n = 0 to 3 {{
    loop.for serial "m" %m = 0 to {panels} {{
      loop.for serial "k" %k = 0 to {sums} {{
        loop.for parallel "i" %i = 0 to {tall} {{
          loop.for parallel "j" %j = 0 to {wide} {{
            %a = loop.load %A[%k, %n * {wide} + %j] : memref<40x{columns}xi32>
            loop.store %a, %C[%i, %n * {wide} + %j] : memref<7x{columns}xi32>
          }}
        }}
      }}
    }}
  }}""",
    )
    text = applied(program, Prefetch("f/C", "n", inside="k"))
    asked = {
        place
        for m, k in product(range(panels), range(sums))
        for place in places_asked(text, {"n": 1, "m": m, "k": k})
    }
    for row, column in product(range(tall), range(2 * wide, 3 * wide)):
        assert any((row, column - back) in asked for back in range(16))
    assert all(row < tall for row, _ in asked)


def test_hints_say_what_is_only_written() -> None:
    program = rows().replace("%c = loop.load %C[%j, %i]", "%c = loop.load %A[%j, %i]")
    assert ", write," in hints(applied(program.replace("{n}", "9"), Prefetch("f/C", "j")))[0]
    assert ", read," in hints(applied(rows().replace("{n}", "9"), Prefetch("f/C", "j")))[0]


def test_locality() -> None:
    text = applied(rows().replace("{n}", "9"), Prefetch("f/A", "j", 4, locality=2))
    assert hints(text) == ["loop.prefetch %A[%i, %j + 4], read, locality<2> : memref<9x9xi32>"]


def test_a_value_made_later_is_not_used() -> None:
    # `%m` stands behind the loop, so nothing in it can be given in terms of it.
    program = function(
        [("A", "memref<9xi32>")],
        """
  loop.for serial "i" %i = 0 to 9 {
    %a = loop.load %A[%i] : memref<9xi32>
    loop.store %a, %A[%i] : memref<9xi32>
  }
  %x = loop.load %A[0] : memref<9xi32>
  %m = arith.index_cast %x : i32 to index
  loop.for serial "z" %z = 0 to %m { }""",
    )
    assert "loop.prefetch %A[%i + 1]" in applied(program, Prefetch("f/A", "i"))


def test_refusals() -> None:
    five = rows().replace("{n}", "5")
    message = reason(five, Prefetch("f/A", "j", -1))
    assert "distance is -1, expected at least 0" in message
    message = reason(five, Prefetch("f/A", "j", locality=4))
    assert "locality is 4, expected 0 (used once) to 3 (used often)" in message
    assert "loop 'k' does not use '%D'" in reason(
        five.replace(
            "func.return",
            '%D = loop.alloc stack : memref<1xi32>\nloop.for serial "k" %k = 0 to 3 { }\nfunc.return',
        ),
        Prefetch("f/D", "k"),
    )
    lanes = five.replace('parallel "j"', 'parallel vector "j"')
    message = reason(lanes, Prefetch("f/A", "j"))
    assert "loop 'j' runs in vector lanes; prefetch at a loop around it" in message
    staged = applied(five, Stage("f/A", "i"))
    message = reason(staged, Prefetch("f/A.staged", "i"))
    assert "'%A.staged' is made anew in each iteration of 'i'" in message
    opened = rows("0 to %n").replace("noalias})", "noalias}, %n: index)")
    opened = opened.replace("memref<{n}x{n}xi32>", "memref<?x?xi32>").replace("{n}", "5")
    message = reason(opened, Prefetch("f/A", "i"))
    assert "the part of '%A' that one iteration of 'i' uses has no constant size" in message


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_nests(seed: int) -> None:
    random = Random(seed)
    nest = RandomNest(random, depth=2)
    text = nest.text()
    check(
        text,
        [
            Prefetch(f"f/{random.choice('AB')}", random.choice(nest.loops), random.randint(1, 4))
            for _ in range(2)
        ],
    )
