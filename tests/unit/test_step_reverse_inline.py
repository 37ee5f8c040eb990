"""reverse_inline: element-wise consumers computed where their operand is produced, without the buffer."""

from random import Random

import pytest
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import (
    IndexSetSplit,
    Parallel,
    Peel,
    ReverseInline,
    Split,
    Unroll,
    Vectorize,
)
from xdsl.dialects.builtin import ModuleOp

from .producer_nests import RandomProducer, check_step
from .producer_texts import check_refused, function, pair, product, same
from .step_agreement import check_extents, check_steps


def loops(module: ModuleOp) -> str:
    return "".join(line for line in str(module).splitlines() if "loop.for" in line)


def test_extents() -> None:
    check_extents(same, [ReverseInline("f/B")])


@pytest.mark.parametrize("loop", ["f/i", "f/j"])
def test_ragged_tiles(loop: str) -> None:
    check_extents(same, [Split(loop, 4), ReverseInline("f/B")])


@pytest.mark.parametrize("loop", ["f/i", "f/j"])
def test_tiles_with_a_peeled_tail(loop: str) -> None:
    """Two producers for one consumer, or one producer for two consumers."""
    for n in (5, 8, 17, 33):
        module = check_steps(
            same(n), [Split(loop, 4, tail="peel"), ReverseInline("f/B")], native=n == 17
        )
        assert "alloc" not in str(module)


def test_peeled_consumer_is_guarded() -> None:
    module = check_steps(same(9), [Peel("f/j", 2), ReverseInline("f/B")])
    assert "loop.if (-%i + 1 >= 0)" in str(module) and "loop.if (%i - 2 >= 0)" in str(module)
    assert '"j' not in loops(module)


def test_consumer_cut_in_two() -> None:
    check_steps(same(9), [IndexSetSplit("f/j", "5"), ReverseInline("f/B")])


def scalar() -> str:
    """A scalar that is set and read in each iteration, and in no order that loops could change."""
    return function(
        [("A", "memref<9xi32>"), ("C", "memref<9xi32>")],
        """  %t = loop.alloc stack : memref<i32>
  loop.for serial "i" %i = 0 to 9 {
    %a = loop.load %A[%i] : memref<9xi32>
    loop.store %a, %t[] : memref<i32>
    %b = loop.load %t[] : memref<i32>
    loop.store %b, %C[-%i + 8] : memref<9xi32>
  }""",
    )


@pytest.mark.parametrize("first", [Peel("f/i", 1), Unroll("f/i", 3), Split("f/i", 4, tail="peel")])
def test_scalar_with_several_stores(first: Step) -> None:
    """Each load has the store in front of it."""
    assert "%t" not in str(check_steps(scalar(), [first, ReverseInline("f/t")]))


TWO = function(
    [("A", "memref<9xi32>"), ("C", "memref<9xi32>"), ("D", "memref<9xi32>")],
    """  %B = loop.alloc stack : memref<9xi32>
  loop.for parallel "i" %i = 0 to 9 {
    %a = loop.load %A[%i] : memref<9xi32>
    loop.store %a, %B[%i] : memref<9xi32>
  }
  loop.for parallel "j" %j = 0 to 9 {
    %x = loop.load %B[-%j + 8] : memref<9xi32>
    loop.store %x, %C[%j] : memref<9xi32>
  }
  loop.for parallel "k" %k = 0 to 9 {
    %y = loop.load %B[%k] : memref<9xi32>
    %z = arith.addi %y, %y : i32
    loop.store %z, %D[%k] : memref<9xi32>
  }""",
)


def test_two_consumers() -> None:
    assert loops(check_steps(TWO, [ReverseInline("f/B")])).count("loop.for") == 1


def test_two_consumers_that_meet() -> None:
    """Both write D: the second has to win, and does, unless they run backwards to each other."""
    forwards = TWO.replace("%B[-%j + 8]", "%B[%j]").replace("store %x, %C[%j]", "store %x, %D[%j]")
    check_steps(forwards, [ReverseInline("f/B")])
    backwards = TWO.replace("store %x, %C[%j]", "store %x, %D[%j]")
    message = r"output dependence through '%D'.*\(j=0\) and \(k=0\) would be swapped"
    check_refused(backwards, [ReverseInline("f/B")], message)


def test_two_statements_of_one_body() -> None:
    """Independent ones, as an unrolled loop has them, each for a half of the elements."""
    body = """  loop.for parallel "j" %j = 0 to 4 {
    %x = loop.load %B[%j] : memref<9xi32>
    loop.store %x, %C[%j] : memref<9xi32>
    %y = loop.load %B[-%j + 8] : memref<9xi32>
    %z = arith.addi %y, %y : i32
    loop.store %z, %D[%j] : memref<9xi32>
  }"""
    text = TWO.split('  loop.for parallel "j"')[0] + body + "\n  func.return\n}"
    module = check_steps(text, [ReverseInline("f/B")])
    assert str(module).count("loop.if") == 2 and loops(module).count("loop.for") == 1
    # Every second element: the condition would need a division.
    check_refused(same(8), [Unroll("f/j", 2), ReverseInline("f/B")], "divisions .* not looked for")


def test_negative_start_step_and_symbol() -> None:
    type_ = "memref<40xi32>"
    text = f"""func.func @f(%A: {type_} {{stepwell.noalias}}, %C: {type_} {{stepwell.noalias}}, %n: index) {{
  %B = loop.alloc stack : {type_}
  loop.for parallel "i" %i = -3 to min(%n, 30) step 2 {{
    %a = loop.load %A[%i + 3] : {type_}
    loop.store %a, %B[%i + 3] : {type_}
  }}
  loop.for parallel "j" %j = 3 to min(%n, 30) step 2 {{
    %x = loop.load %B[%j + 3] : {type_}
    loop.store %x, %C[%j - 3] : {type_}
  }}
  func.return
}}"""
    assert "loop.if (%i - 3 >= 0)" in str(check_steps(text, [ReverseInline("f/B")]))
    # The consumer goes on behind the end of the producer.
    longer = text.replace("%j = 3 to min(%n, 30)", "%j = 3 to 30")
    check_refused(longer, [ReverseInline("f/B")], r"that nothing has written, in iteration \(j=")


def test_index_used_as_a_value() -> None:
    """The symbol is defined further down, where the consumer's copy does not see it."""
    type_ = "memref<9xi32>"
    text = function(
        [("A", type_), ("C", type_), ("N", "memref<1xindex>")],
        f"""  %B = loop.alloc stack : {type_}
  loop.for parallel "i" %i = 0 to 9 {{
    %a = loop.load %A[%i] : {type_}
    loop.store %a, %B[%i] : {type_}
  }}
  loop.for parallel "j" %j = 2 to 9 {{
    %x = loop.load %B[-%j + 9] : {type_}
    %v = arith.index_cast %j : index to i32
    %y = arith.muli %x, %v : i32
    loop.store %y, %C[%j] : {type_}
  }}
  %n = loop.load %N[0] : memref<1xindex>
  loop.for serial "m" %m = 0 to min(%n, 9) {{
    %c = loop.load %C[%m] : {type_}
    loop.store %c, %A[%m] : {type_}
  }}""",
    )
    check_steps(text, [ReverseInline("f/B")], native=False)


@pytest.mark.parametrize("bounds", ["0 to 0", "5 to 3", "4 to 5"])
def test_hardly_any_iteration(bounds: str) -> None:
    text = same(9)
    consumer = text.replace("%j = 0 to 9", f"%j = {bounds}")
    assert '"j"' not in str(check_steps(consumer, [ReverseInline("f/B")], native=False))
    if bounds != "4 to 5":
        producer = consumer.replace("%i = 0 to 9", f"%i = {bounds}")
        check_steps(producer, [ReverseInline("f/B")], native=False)


def test_reduction_into_a_scalar() -> None:
    type_ = "memref<9xi32>"
    text = function(
        [("A", type_), ("S", "memref<1xi32>")],
        f"""  %B = loop.alloc stack : {type_}
  loop.for parallel "i" %i = 0 to 9 {{
    %a = loop.load %A[%i] : {type_}
    loop.store %a, %B[-%i + 8] : {type_}
  }}
  loop.for reduction "j" %j = 0 to 9 {{
    %x = loop.load %B[%j] : {type_}
    %s = loop.load %S[0] : memref<1xi32>
    %t = arith.addi %s, %x : i32
    loop.store %t, %S[0] : memref<1xi32>
  }}""",
    )
    assert 'reduction "i"' in str(check_steps(text, [ReverseInline("f/B")]))


def test_consumer_in_a_branch() -> None:
    store = "loop.store %z, %C[%j] : memref<9xi32>"
    body = same(9).split("%j = 0 to 9 {\n")[1].split("  }")[0]
    guarded = same(9).replace(body, f"loop.if (%j - 4 >= 0) {{\n{body}}}\n")
    module = check_steps(guarded, [ReverseInline("f/B")])
    assert "loop.if (%i - 4 >= 0)" in str(module)
    inner = same(9).replace(store, f"loop.if (%j - 4 >= 0) {{\n{store}\n}}")
    check_refused(inner, [ReverseInline("f/B")], "used in a loop or branch further in")


def test_value_that_goes_out_of_a_branch() -> None:
    load = "%x = loop.load %B[%j] : memref<9xi32>"
    branch = f"""%x = loop.if (%j - 4 >= 0) -> (i32) {{
      %w = {load.partition(" = ")[2]}
      loop.yield %w : i32
    }} else {{
      %one = arith.constant 1 : i32
      loop.yield %one : i32
    }}"""
    text = same(9).replace(load, branch)
    check_refused(text, [ReverseInline("f/B")], "or goes out of one; fission the consumer first")


def test_marked_loops() -> None:
    check_steps(same(9), [Parallel("f/i"), ReverseInline("f/B")])
    check_steps(same(17), [Vectorize("f/i", 4), ReverseInline("f/B")])
    text = TWO.replace("%B[-%j + 8]", "%B[%j]").replace("store %x, %C[%j]", "store %x, %C[0]")
    message = r"output dependence through '%C'.* raced by 'i', which is marked 'threads'"
    check_refused(text, [Parallel("f/i"), ReverseInline("f/B")], message)


def test_element_read_more_than_once() -> None:
    again = same(9).replace("%j = 0 to 9", "%j = 0 to 18").replace("%B[%j]", "%B[%j floordiv 2]")
    again = again.replace("%A[%j]", "%A[0]").replace("%C[%j]", "%C[%j mod 9]")
    check_refused(again, [ReverseInline("f/B")], "read in more than one iteration of the consumer")
    check_refused(pair(9), [ReverseInline("f/B")], "reads more than one element of '%B'")


def test_reduction_and_recurrence() -> None:
    check_refused(product(4), [ReverseInline("f/C")], "from elements of its own")


def test_arguments_that_may_overlap() -> None:
    text = same(9).replace(" {stepwell.noalias}", "").replace("%C[%j]", "%C[-%j + 8]")
    message = r"'%C' may be the same memory.*would be swapped; mark '%C' stepwell.noalias"
    check_refused(text, [ReverseInline("f/B")], message)


def test_value_known_too_late() -> None:
    between = "  %v = loop.load %A[3] : memref<9xi32>\n"
    text = same(9, between=between).replace("arith.addi %x, %y", "arith.addi %x, %v")
    check_refused(text, [ReverseInline("f/B")], "uses the value of 'loop.load', which is not known")


def test_consumer_with_a_loop_inside() -> None:
    body = same(9).split("%x = loop.load")[1].split("}")[0]
    nested = same(9).replace(
        body, body.replace("%y =", 'loop.for serial "k" %k = 0 to 3 {\n%y =') + "}\n"
    )
    check_refused(nested, [ReverseInline("f/B")], "is used in a loop or branch further in")


def test_random_nests() -> None:
    legal = refused = 0
    for seed in range(60):
        random = Random(seed)
        text = RandomProducer(random, covers=seed % 4 > 0).text()
        first = (Peel("f/p0", 2), Split("f/p0", 3, tail="peel"), Unroll("f/p0", 2))
        steps: list[Step] = [random.choice(first)] if random.random() < 0.5 else []
        counts = check_step(text, lambda _, steps=steps: [*steps, ReverseInline("f/B")])
        legal, refused = legal + counts[0] - len(steps), refused + counts[1]
    assert legal > 10 and refused > 10


DEEPER = """
func.func @f(%B: memref<1x1xi32> {stepwell.noalias}) {
  %v = arith.constant 3 : i32
  %T = loop.alloc arena : memref<2xi32>
  loop.for parallel "p" %p = 0 to 2 {
    loop.store %v, %T[%p] : memref<2xi32>
  }
  loop.for serial "i" %i = 0 to 2 {
    loop.for serial "j" %j = %i to %i + 1 {
      %S = loop.alloc stack : memref<1xi32>
      %x = loop.load %T[%j] : memref<2xi32>
      loop.store %x, %S[0] : memref<1xi32>
      %y = loop.load %S[0] : memref<1xi32>
      loop.store %y, %B[0, 0] : memref<1x1xi32>
    }
  }
  func.return
}
"""


def test_buffer_made_in_more_loops_than_the_producer_has() -> None:
    check_refused(DEEPER, [ReverseInline("f/T")], "uses '%S', which is not there where '%T' is")
