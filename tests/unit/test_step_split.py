"""Splitting a loop: every tail, at many extents, of nests of many kinds."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from stepwell.analysis.frames import RoundedFrames
from stepwell.dialects.schedule.steps import Split
from stepwell.frontend.text import parse_text
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import apply

from .loop_nests import applied, check_extents, check_random_nest, reason
from .nest_texts import COPY, LINE, TRIANGLE


@pytest.mark.parametrize("tail", ["guard", "peel"])
@pytest.mark.parametrize("factor", [1, 3, 4, 40])
def test_extents(factor: int, tail: str) -> None:
    check_extents(LINE, Split("f/i", factor, tail=tail))


@pytest.mark.parametrize("factor", [2, 4, 8])
def test_rest_of_blocks_in_blocks(factor: int) -> None:
    """The blocks of 8 end where blocks of the factor do, so only the loop's own end leaves a rest."""
    outer = Split("f/i", 8, inner="i")
    check_extents(LINE, outer, Split("f/i", factor, tail="peel"))
    split = applied(LINE.replace("{n}", "30"), outer, Split("f/i", factor, tail="peel"))
    assert split.count("loop.for") == 4  # of 17 iterations there is always a rest


@pytest.mark.parametrize("factor", [2, 3, 4, 8])
def test_blocks_are_clipped_by_the_ends_that_may_clip_them(factor: int) -> None:
    """The blocks of 8 clip no blocks of a factor that divides 8."""
    outer, inner = Split("f/i", 8, inner="i"), Split("f/i", factor, inner="k")
    check_extents(LINE, outer, inner)
    text = applied(LINE.replace("{n}", "30"), outer, inner)
    ends = "30" if 8 % factor == 0 else "%i_outer + 16, 30"
    assert f'"k" %i = %i_outer_1 to min(%i_outer_1 + {2 * factor}, {ends}) step 2' in text


def test_blocks_of_another_size_have_no_affine_end() -> None:
    program = applied(LINE.replace("{n}", "30"), Split("f/i", 8, inner="i"))
    assert "have no affine end" in reason(program, Split("f/i", 3, tail="peel"))


@pytest.mark.parametrize("tail", ["guard", "peel"])
def test_triangular_nests(tail: str) -> None:
    check_extents(TRIANGLE, Split("f/i", 4, tail=tail))
    check_extents(TRIANGLE, Split("f/j", 3, tail=tail))


def test_a_factor_that_always_divides_needs_no_tail() -> None:
    text = applied(COPY.replace("{n}", "13"), Split("f/i", 4, tail="perfect"))
    assert "%i_outer to %i_outer + 8 step 2" in text


def test_padding_takes_the_overrun() -> None:
    padded = """
    func.func @f(%A: memref<{n}xi32> {stepwell.noalias}, %B: memref<{n}xi32> {stepwell.noalias}) {
      %T = loop.alloc stack : memref<40xi32>
      loop.for parallel "i" %i = 0 to {n} {
        %a = loop.load %A[0] : memref<{n}xi32>
        loop.store %a, %T[%i] : memref<40xi32>
      }
      loop.for parallel "j" %j = 0 to {n} {
        %t = loop.load %T[%j] : memref<40xi32>
        loop.store %t, %B[%j] : memref<{n}xi32>
      }
      func.return
    }
    """
    check_extents(padded, Split("f/i", 4, tail="pad"))


@pytest.mark.parametrize(("size", "takes"), [(5, False), (6, True)])
def test_padding_begins_where_the_greatest_of_lower_bounds_is(size: int, takes: bool) -> None:
    """From 2 to 5, by two bounds of which the first would end the overrun at 4."""
    text = f"""
    func.func @f(%A: memref<3xi32> {{stepwell.noalias}}) {{
      %T = loop.alloc stack : memref<{size}xi32>
      loop.for parallel "i" %i = max(0, 2) to 3 {{
        %v = arith.constant 1 : i32
        loop.store %v, %T[%i] : memref<{size}xi32>
      }}
      func.return
    }}
    """
    step = Split("f/i", 4, tail="pad")
    if takes:
        assert "%i_outer to %i_outer + 4" in applied(text, step)
    else:
        assert "outside of its shape" in reason(text, step)


def test_loops_are_rounded_up_beside_what_is_known_of_them() -> None:
    nest, _ = Nests(parse_text(TRIANGLE.replace("{n}", "9"), "<text>")).resolve("f/")
    outer, inner = list(nest.loops())[:2]
    block = inner.body.block
    plain = nest.frames.of(block)
    rounded = RoundedFrames(nest.frames, {outer: 4}).of(block)
    assert plain.domain.is_strict_subset(rounded.domain)
    assert nest.frames.of(block) is plain
    assert RoundedFrames(nest.frames, {}).of(block).around is plain.around


def test_padding_is_not_taken_for_granted_behind_a_condition() -> None:
    # The condition holds only beyond the end, where moving the iterations there would not look for it.
    hidden = """
    func.func @f(%A: memref<16xi32>, %v: i32) {
      loop.for parallel "i" %i = 0 to 10 {
        loop.if (%i - 10 >= 0) {
          loop.store %v, %A[%i] : memref<16xi32>
        }
      }
      func.return
    }
    """
    assert "would overwrite elements of '%A'" in reason(hidden, Split("f/i", 4, tail="pad"))


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_an_overrun_is_taken_where_it_is_harmless(data: st.DataObject) -> None:
    """
    Loops run over their end exactly where all elements exist, none that is read is written by an extra iteration, and no two
    iterations of loops that are said to run in any order touch one element.
    """
    extents = {name: data.draw(st.integers(1, 5), name) for name in "ij"}
    kinds = {name: data.draw(st.sampled_from(["parallel", "serial"]), name) for name in "ij"}
    strides = {name: data.draw(st.integers(-2, 6), name) for name in "ij"}
    start, size = data.draw(st.integers(0, 8), "start"), data.draw(st.integers(4, 40), "size")
    reads, first = data.draw(st.integers(1, 4), "reads"), data.draw(st.integers(0, 20), "first")
    split, factor = data.draw(st.sampled_from("ij")), data.draw(st.integers(2, 4))

    def touched(extents: dict[str, int]) -> dict[tuple[int, int], int]:
        return {
            (i, j): strides["i"] * i + strides["j"] * j + start
            for i in range(extents["i"])
            for j in range(extents["j"])
        }

    def in_any_order(elements: dict[tuple[int, int], int]) -> bool:
        pairs = [(a, b) for a in elements for b in elements if a < b and elements[a] == elements[b]]
        apart = [0 if a[0] != b[0] else 1 for a, b in pairs]
        return not any(kinds["ij"[depth]] == "parallel" for depth in apart)

    before = touched(extents)
    assume(all(0 <= e < size for e in before.values()) and in_any_order(before))
    assume(first + reads <= size)
    after = touched(extents | {split: -(-extents[split] // factor) * factor})
    extra = {element for at, element in after.items() if at not in before}
    is_harmless = (
        all(0 <= e < size for e in extra)
        and not extra & set(range(first, first + reads))
        and in_any_order(after)
    )
    program = f"""
    func.func @f(%A: memref<{reads}xi32>, %v: i32) {{
      %T = loop.alloc stack : memref<{size}xi32>
      loop.for {kinds["i"]} "i" %i = 0 to {extents["i"]} {{
        loop.for {kinds["j"]} "j" %j = 0 to {extents["j"]} {{
          loop.store %v, %T[%i * {strides["i"]} + %j * {strides["j"]} + {start}] : memref<{size}xi32>
        }}
      }}
      loop.for serial "k" %k = 0 to {reads} {{
        %t = loop.load %T[%k + {first}] : memref<{size}xi32>
        loop.store %t, %A[%k] : memref<{reads}xi32>
      }}
      func.return
    }}
    """
    step = Split(f"f/{split}", factor, tail="pad")
    if is_harmless:
        applied(program, step)
    else:
        assert "the iterations beyond the end" in reason(program, step)


def test_the_size_of_a_dynamic_buffer_is_not_guessed() -> None:
    dynamic = """
    func.func @f(%n: index, %v: i32) {
      %T = loop.alloc arena(%n) : memref<?xi32>
      loop.for parallel "i" %i = 0 to %n {
        loop.store %v, %T[%i] : memref<?xi32>
      }
      func.return
    }
    """
    assert "outside of its shape" in reason(dynamic, Split("f/i", 4, tail="pad"))


def test_notes_and_names_stay() -> None:
    text = applied(
        'func.func @f() { loop.for serial "i" %i = 0 to 8 attributes {stepwell.pragma.x} { } func.return }',
        Split("f/i", 4, outer="i", inner="lane"),
        Split("f/lane", 2),
    )
    assert 'loop.for serial "i"' in text
    assert text.count("stepwell.pragma.x") == 1


def test_names_that_are_taken_are_refused() -> None:
    program = COPY.replace("{n}", "9").replace(
        "func.return", 'loop.for serial "x" %x = 0 to 1 { } func.return'
    )
    assert "there is a loop 'x' already" in reason(program, Split("f/i", 4, outer="x"))
    assert "there is a loop 'y' already" in reason(program, Split("f/i", 4, outer="y", inner="y"))


@settings(max_examples=24, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_nests(seed: int) -> None:
    check_random_nest(
        seed,
        lambda random, name: [
            Split(
                f"f/{name}",
                random.randint(1, 5),
                tail=random.choice(("guard", "peel", "pad", "perfect")),
            )
        ],
    )


def test_the_inner_loop_has_the_body_of_the_loop() -> None:
    """Nothing in it is made anew: blocks, operations and the variable are the ones that were there."""
    nests = Nests(parse_text(COPY.replace("{n}", "13")))
    nest, _ = nests.resolve("f/i")
    block = nest.loop("i").body.block
    inside, variable = list(block.ops), block.args[0]
    apply(Split("f/i", 4), nests)
    inner = nest.loop("i.inner")
    assert inner.body.block is block and list(block.ops) == inside
    assert inner.induction_variable is variable
