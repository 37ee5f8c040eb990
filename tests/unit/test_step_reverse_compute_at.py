"""reverse_compute_at: a consumer in a loop of its producer, as soon as what it reads is complete."""

from random import Random

import pytest
import stepwell as sw
from stepwell.dialects import loop
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import Parallel, Peel, ReverseComputeAt, Split, Vectorize
from stepwell.errors import StepwellError
from xdsl.dialects.builtin import ModuleOp

from .producer_nests import RandomProducer, check_step, loops_of
from .producer_texts import check_refused, function, pair, product, same
from .step_agreement import check_extents, check_steps

EXTENTS = (1, 2, 3, 5, 7, 17, 31, 33)


def test_extents() -> None:
    check_extents(pair, [ReverseComputeAt("f/C", "i")])


@pytest.mark.parametrize("factor", [2, 8])
def test_ragged_tiles_of_both(factor: int) -> None:
    steps: list[Step] = [Split("f/i", factor), Split("f/j", 3)]
    check_extents(same, [*steps, ReverseComputeAt("f/C", "i.outer")])


def test_peeled_consumer() -> None:
    """The peeled iteration runs behind the one block that makes what it reads."""
    steps = [Split("f/i", 8), Split("f/j", 4, tail="peel"), ReverseComputeAt("f/C", "i.outer")]
    module = check_steps(same(17), steps)
    assert "loop.if (%i_outer - 16 == 0) {" in str(module)


@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_last_iteration_of_a_reduction(n: int) -> None:
    module = check_steps(product(n), [ReverseComputeAt("f/D", "k")], native=n == 5)
    guards = [op for op in module.walk() if isinstance(op, loop.IfOp)]
    assert len(guards) == (n > 1)
    assert kinds(module)["k"] == ("reduction" if n == 1 else "serial")


def test_last_block_of_a_reduction() -> None:
    for n in (4, 5, 7):
        module = check_steps(product(n), [Split("f/k", 3), ReverseComputeAt("f/D", "k.outer")])
        assert kinds(module)["k.inner"] == "reduction"


def kinds(module: ModuleOp) -> dict[str, str]:
    return {op.loop_name.data: op.kind.data.value for op in loops_of(module)}


def symbolic(bound: str) -> str:
    """The extents of producer and consumer are up to a symbol; `n` may be negative."""
    type_ = "memref<40xi32>"
    return f"""func.func @f(%A: {type_} {{stepwell.noalias}}, %C: {type_} {{stepwell.noalias}}, %n: index) {{
  %B = loop.alloc stack : {type_}
  loop.for parallel "i" %i = -3 to min(%n, 30) step 2 {{
    %a = loop.load %A[%i + 3] : {type_}
    loop.store %a, %B[%i + 3] : {type_}
  }}
  loop.for parallel "j" %j = -3 to {bound} step 2 {{
    loop.for parallel "t" %t = 0 to %j + 3 {{
      %x = loop.load %B[%j + 3] : {type_}
      loop.store %x, %C[%j - %t + 3] : {type_}
    }}
  }}
  func.return
}}"""


def test_symbol_negative_start_step_and_triangle() -> None:
    text = symbolic("min(%n, 30)")
    check_steps(text, [ReverseComputeAt("f/C", "i")])
    check_steps(text, [Split("f/i", 3), ReverseComputeAt("f/C", "i.outer")])


def test_symbol_that_leaves_no_iteration() -> None:
    """With n = -3 nothing is produced, and nothing would run the consumer."""
    check_refused(symbolic("20"), [ReverseComputeAt("f/C", "i")], "'%.*' in iteration .*never run")


@pytest.mark.parametrize("bounds", ["0 to 0", "5 to 3", "4 to 5"])
def test_hardly_any_iteration(bounds: str) -> None:
    text = same(9).replace("%j = 0 to 9", f"%j = {bounds}")
    check_steps(text, [ReverseComputeAt("f/C", "i")], native=False)


def test_no_iteration_to_run_in() -> None:
    text = same(9).replace("%i = 0 to 9", "%i = 0 to 0")
    message = r"the load of '%B' in iteration \(j=0\) would never run, as loop 'i' has no iteration"
    check_refused(text, [ReverseComputeAt("f/C", "i")], message)


def test_consumer_larger_than_what_is_produced() -> None:
    """The rest, which reads what the caller put there, goes with the last iteration."""
    for n in EXTENTS:
        text = same(n, scratch=False).replace(f"%i = 0 to {n}", f"%i = 0 to {n // 2 + 1}")
        check_steps(text, [ReverseComputeAt("f/C", "i")], native=n == 5)


def test_update_in_place() -> None:
    """What the consumer writes must have been read: in the same order that is so, backwards at the end."""
    type_ = "memref<9xi32>"
    for at, guarded in (("%j", False), ("-%j + 8", True), ("(%j + 8) mod 9", True)):
        text = function(
            [("A", type_)],
            f"""  %B = loop.alloc stack : {type_}
  loop.for serial "i" %i = 0 to 9 {{
    %a = loop.load %A[%i] : {type_}
    loop.store %a, %B[%i] : {type_}
  }}
  loop.for serial "j" %j = 0 to 9 {{
    %x = loop.load %B[{at}] : {type_}
    loop.store %x, %A[%j] : {type_}
  }}""",
        )
        module = check_steps(text, [ReverseComputeAt("f/A", "i")])
        assert ("loop.if (%i - 8 == 0)" in str(module)) == guarded


def test_arguments_that_may_overlap() -> None:
    """C may be A, of which everything has been read in the last iteration only."""
    text = same(9).replace(" {stepwell.noalias}", "")
    module = check_steps(text, [ReverseComputeAt("f/C", "i")])
    assert "loop.if (%i - 8 == 0)" in str(module)


def test_imperfect_producer() -> None:
    """What is set in front of an inner loop and added to behind it."""
    type_ = "memref<9xi32>"
    text = function(
        [("A", type_), ("C", type_)],
        f"""  %B = loop.alloc stack : {type_}
  loop.for serial "i" %i = 0 to 9 {{
    %a = loop.load %A[%i] : {type_}
    loop.store %a, %B[%i] : {type_}
    loop.for serial "k" %k = 0 to %i {{
      %b = loop.load %B[%i] : {type_}
      %c = loop.load %A[%k] : {type_}
      %s = arith.addi %b, %c : i32
      loop.store %s, %B[%i] : {type_}
    }}
  }}
  loop.for parallel "j" %j = 0 to 9 {{
    %x = loop.load %B[%j] : {type_}
    loop.store %x, %C[%j] : {type_}
  }}""",
    )
    check_steps(text, [ReverseComputeAt("f/C", "i")])
    # The triangular loop has no iteration for i = 0: all is done in the last one of all.
    module = check_steps(text, [ReverseComputeAt("f/C", "k")])
    assert "loop.if (%k - 7 == 0, %i - 8 == 0)" in str(module)


def test_buffers_of_the_consumer_are_made_in_time() -> None:
    between = "  %T = loop.alloc stack : memref<9xi32>\n"
    text = same(9, between=between).replace("%C[%j]", "%T[%j]")
    text = text.replace(
        "  func.return",
        """  loop.for serial "z" %z = 0 to 9 {
    %t = loop.load %T[%z] : memref<9xi32>
    loop.store %t, %C[%z] : memref<9xi32>
  }
  func.return""",
    )
    module = check_steps(text, [ReverseComputeAt("f/T", "i")])
    assert str(module).index("%T = loop.alloc") < str(module).index('"i"')


def test_another_reader_in_between() -> None:
    between = """  loop.for serial "m" %m = 0 to 9 {
    %c = loop.load %C[%m] : memref<9xi32>
    loop.store %c, %A[-%m + 8] : memref<9xi32>
  }
"""
    message = r"dependence through '%[AC]'.*iterations \([im]=\d\) and \([jm]=\d\) would be swapped"
    check_refused(same(9, between=between), [ReverseComputeAt("f/C", "i")], message)


def test_value_computed_too_late() -> None:
    between = "  %v = loop.load %A[3] : memref<9xi32>\n"
    text = same(9, between=between).replace("arith.addi %x, %y", "arith.addi %x, %v")
    check_refused(text, [ReverseComputeAt("f/C", "i")], "uses the value of 'loop.load', which is")


def test_marked_loops() -> None:
    check_steps(same(9), [Parallel("f/i"), ReverseComputeAt("f/C", "i")])
    check_steps(
        same(17), [Vectorize("f/j", 4), Split("f/i", 8), ReverseComputeAt("f/C", "i.outer")]
    )
    message = r"flow dependence .* would be raced by 'i', which is marked 'threads'"
    check_refused(pair(9), [Parallel("f/i"), ReverseComputeAt("f/C", "i")], message)
    check_refused(
        same(16), [Vectorize("f/i", 4), ReverseComputeAt("f/C", "i.inner")], "runs in vector lanes"
    )


def test_wrong_places() -> None:
    check_refused(same(9), [ReverseComputeAt("f/A", "i")], "nothing computes '%A'")
    check_refused(same(9), [ReverseComputeAt("f/B", "i")], "is inside of loop 'i' already")
    check_refused(same(9), [ReverseComputeAt("f/B", "j")], "before loop 'j'; use compute_at")
    steps = [Peel("f/i", 1), ReverseComputeAt("f/B", "i.front")]
    check_refused(same(9), steps, "several places|inside of loop")


def test_random_nests() -> None:
    legal = refused = 0
    for seed in range(60):
        random = Random(seed)

        def choose(module: ModuleOp, random: Random = random) -> list[Step]:
            names = [op.loop_name.data for op in loops_of(module)]
            return [
                ReverseComputeAt(f"f/{random.choice('CD')}", random.choice(names)) for _ in range(2)
            ]

        counts = check_step(RandomProducer(random).text(), choose)
        legal, refused = legal + counts[0], refused + counts[1]
    assert legal > 10 and refused > 10


def test_refused_where_isl_finds_no_first_iteration() -> None:
    """The message names any then: isl's lexmin fails for sets with divisions and symbols such as this one."""
    schedule = sw.Schedule(
        sw.load("""
func.func @f(%A: memref<1x1xi32> {stepwell.noalias}, %n: index) {
  %B = loop.alloc stack : memref<1x4xi32>
  loop.for serial "m" %m = 0 to 1 {
    loop.for serial "o" %o = 0 to 4 {
      %c = arith.constant 3 : i32
      loop.store %c, %B[%m, %o] : memref<1x4xi32>
    }
  }
  loop.for serial "i" %i = %n - 5 to %n step 3 {
    loop.for serial "j" %j = %i + 1 to %i + 6 {
      %b = loop.load %B[0, %i + 4] : memref<1x4xi32>
      loop.store %b, %A[0, 0] : memref<1x1xi32>
    }
  }
  func.return
}
""")
    )
    schedule.stage("f/B", at="m", pad=2)
    with pytest.raises(StepwellError, match=r"in iteration \(i=.*\) would never run"):
        schedule.reverse_compute_at("f/A", at="B.staged.out1")
