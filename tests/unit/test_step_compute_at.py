"""compute_at and reverse_compute_at: producers in loops of consumers, and the other way around."""

from random import Random

import pytest
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import ComputeAt, Reorder, ReverseComputeAt, Split
from xdsl.dialects.builtin import ModuleOp

from .producer_nests import RandomProducer, check_step, loops_of
from .producer_texts import check_refused, function, pair, product, same
from .step_agreement import check_extents, check_steps


def test_compute_at_extents() -> None:
    check_extents(pair, [ComputeAt("f/B", "j")])


@pytest.mark.parametrize("factor", [2, 4, 5])
def test_ragged_tiles(factor: int) -> None:
    check_extents(pair, [Split("f/j", factor), ComputeAt("f/B", "j.outer")])
    check_extents(pair, [Split("f/i", factor), ReverseComputeAt("f/C", "i.outer")])


def test_producer_with_a_step() -> None:
    check_extents(pair, [Split("f/i", 3), Split("f/j", 4), ComputeAt("f/B", "j.outer")])


@pytest.mark.parametrize("at", ["y", "x"])
def test_reductions(at: str) -> None:
    check_steps(product(5), [ComputeAt("f/C", at)])


@pytest.mark.parametrize("at", ["i", "j"])
def test_epilogue_into_a_reduction(at: str) -> None:
    check_steps(product(5), [ReverseComputeAt("f/D", at)])


def test_epilogue_into_tiles() -> None:
    tiles = [Split("f/i", 4), Split("f/j", 3), Reorder("f/i.inner", ("j.outer", "i.inner"))]
    check_steps(product(7), [*tiles, ReverseComputeAt("f/D", "j.outer")])


def test_buffer_is_as_small_as_the_part() -> None:
    module = check_steps(pair(9), [Split("f/j", 4), ComputeAt("f/B", "j.outer")])
    assert "loop.alloc stack : memref<5xi32>" in str(module)
    assert 'parallel "j.outer"' in str(module)


def test_kept_buffer_makes_the_loop_serial() -> None:
    """The caller sees B, and neighbouring iterations compute the same element of it."""
    module = check_steps(pair(9, scratch=False), [ComputeAt("f/B", "j")])
    assert 'serial "j"' in str(module)


def test_caller_sees_more_than_is_needed() -> None:
    text = pair(9, scratch=False).replace("%j = 0 to 9", "%j = 1 to 9")
    check_refused(text, [ComputeAt("f/B", "j")], "the caller sees elements of '%B'")


def test_producer_feeds_something_else() -> None:
    """The other reader wants elements that the loop has no need of."""
    type_ = "memref<10xi32>"
    other = f"""  loop.for serial "m" %m = 0 to 10 {{
    %v = loop.load %B[%m] : {type_}
    loop.store %v, %A[%m] : {type_}
  }}
"""
    message = "flow dependence through '%B'|elsewhere reads|anti dependence"
    check_refused(pair(9, between=other), [ComputeAt("f/B", "j")], message)


def test_nest_that_writes_something_else() -> None:
    store = "loop.store %b, %B[%i] : memref<10xi32>"
    text = pair(9).replace(store, f"{store}\n    loop.store %a, %A[-%i + 9] : memref<10xi32>")
    check_refused(text, [ComputeAt("f/B", "j")], "also writes '%A'; fission it first")


def test_buffers_that_may_alias() -> None:
    text = pair(9, scratch=False, separate=False)
    check_refused(text, [ComputeAt("f/B", "j")], "may be the same memory as '%B'")


def test_operand_overwritten_between() -> None:
    zero = """  loop.for serial "m" %m = 0 to 9 {
    %zero = arith.constant 0 : i32
    loop.store %zero, %A[%m] : memref<9xi32>
  }
"""
    message = r"anti dependence through '%A'.*\(i=0\) and \(m=0\) would be swapped"
    check_refused(same(9, between=zero), [ComputeAt("f/B", "j")], message)


def test_recurrence() -> None:
    text = pair(9).replace("%a = loop.load %A[%i] : ", "%a = loop.load %B[(%i + 9) mod 10] : ")
    check_refused(text, [ComputeAt("f/B", "j")], "reads '%B' before it writes it|recurrence")


def test_reduction_over_an_outer_loop() -> None:
    """Each turn adds to what the one before has left."""
    type_ = "memref<4xi32>"
    text = function(
        [("A", type_), ("C", type_)],
        f"""  %B = loop.alloc stack : {type_}
  loop.for serial "z" %z = 0 to 4 {{
    %zero = arith.constant 0 : i32
    loop.store %zero, %B[%z] : {type_}
  }}
  loop.for serial "t" %t = 0 to 3 {{
    loop.for serial "i" %i = 0 to 4 {{
      %a = loop.load %A[%i] : {type_}
      %b = loop.load %B[%i] : {type_}
      %s = arith.addi %a, %b : i32
      loop.store %s, %B[%i] : {type_}
    }}
    loop.for serial "j" %j = 0 to 4 {{
      %v = loop.load %B[%j] : {type_}
      loop.store %v, %C[%j] : {type_}
    }}
  }}""",
    )
    check_refused(text, [ComputeAt("f/B", "j")], "several places, some inside and some outside")


def test_empty_loops() -> None:
    for bounds in ("0 to 0", "5 to 3", "3 to 4"):
        text = pair(9).replace("%j = 0 to 9", f"%j = {bounds}")
        check_steps(text, [ComputeAt("f/B", "j")], native=False)


def test_buffer_that_is_never_produced() -> None:
    """A zero-trip producer leaves what the caller gave."""
    text = pair(9, scratch=False).replace("%i = 0 to 10", "%i = 0 to 0")
    check_steps(text, [ComputeAt("f/B", "j")])


def test_random_nests() -> None:
    legal = refused = 0
    for seed in range(40):
        random = Random(seed)

        def choose(module: ModuleOp, random: Random = random) -> list[Step]:
            consumers = [
                op.loop_name.data for op in loops_of(module) if op.loop_name.data[0] == "c"
            ]
            return [ComputeAt("f/B", random.choice(consumers)) for _ in range(2)]

        counts = check_step(RandomProducer(random).text(), choose)
        legal, refused = legal + counts[0], refused + counts[1]
    assert legal > 10 and refused > 10
