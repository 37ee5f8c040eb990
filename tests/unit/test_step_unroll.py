"""Writing a loop out, wholly or in part."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.dialects.schedule.steps import Split, Step, Unroll, UnrollAndJam

from .loop_nests import applied, check_extents, check_random_nest, reason
from .nest_texts import LINE, MATMUL, TRIANGLE


@pytest.mark.parametrize("tail", ["guard", "peel"])
@pytest.mark.parametrize("factor", [1, 2, 3, 8])
def test_extents(factor: int, tail: str) -> None:
    check_extents(LINE, Unroll("f/i", factor, tail), extents=(1, 2, 3, 5, 7, 8, 9, 33))


def test_wholly() -> None:
    check_extents(LINE, Unroll("f/i"), extents=range(1, 12))
    check_extents(TRIANGLE, Split("f/i", 1, tail="perfect"), Unroll("f/i.inner"), extents=(1, 5, 7))


def test_a_trip_count_the_bounds_do_not_show() -> None:
    program = LINE.replace("{n}", "13")
    text = applied(program, Split("f/i", 4), Unroll("f/i.inner"))
    assert "i.inner" not in text and "loop.if" not in text


def test_copies_have_loops_and_buffers_of_their_own() -> None:
    program = """
    func.func @f(%A: memref<9xi32>, %v: i32) {
      loop.for serial "i" %i = 0 to 3 {
        %T_u = loop.alloc stack : memref<2xi32>
        loop.for serial "j" %j = 0 to 2 {
          loop.store %v, %T_u[%j] : memref<2xi32>
        }
        %t = loop.load %T_u[1] : memref<2xi32>
        loop.store %t, %A[%i] : memref<9xi32>
      }
      func.return
    }
    """
    text = applied(program, Unroll("f/i"))
    assert all(f'"{name}"' in text for name in ("j", "j.u1", "j.u2"))
    assert all(f"%{name} = loop.alloc" in text for name in ("T_u", "T_u_u1", "T_u_u2"))


def test_a_trip_count_that_varies_or_is_too_large() -> None:
    assert "loop 'j' has 0 to 8 iterations, so it cannot be written out" in reason(
        TRIANGLE.replace("{n}", "9"), Unroll("f/j")
    )
    assert "are more than 16384" in reason(
        LINE.replace("{n}", "70").replace("80", "999999").replace("70", "99999"), Unroll("f/i")
    )


def marked(*names: str) -> list[Step]:
    return [Unroll(f"f/{name}", mark=True) for name in names]


def test_marked_loops_count_as_what_they_are_written_out_to() -> None:
    program = MATMUL.replace("{n}", "20")  # 20 x 20 x 9 iterations of 7 operations
    inside = applied(program, *marked("k", "j"))
    size = 20 * (9 * 7 + 2) + 2
    for step, copies in (
        (Unroll("f/i", mark=True), 20),
        (Unroll("f/i"), 20),
        (UnrollAndJam("f/i", factor=16), 16),
    ):
        assert f"{copies} copies of {size} operations are more than 16384" in reason(inside, step)
    around = applied(program, *marked("i", "j"))
    for step in (Unroll("f/k"), Unroll("f/k", mark=True), Unroll("f/k", factor=9)):
        assert (
            "9 copies of 7 operations in each of the 400 iterations of 'i' and 'j', which are marked 'unroll', "
            "are more than 16384; mark fewer loops"
        ) in reason(around, step)
        applied(program, *marked("j"), step)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_nests(seed: int) -> None:
    tails = ("guard", "peel", "pad", "perfect")
    check_random_nest(
        seed,
        lambda random, name: [Unroll(f"f/{name}", random.randint(0, 4), random.choice(tails))],
    )
