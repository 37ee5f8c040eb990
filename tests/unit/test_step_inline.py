"""inline and reverse_inline: a scratch buffer between two nests done away with."""

import pytest
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import Inline, Peel, ReverseInline, Split, Unroll

from .producer_texts import check_refused, function, pair, product, same
from .step_agreement import check_extents, check_steps


def zero_to(buffer: str, n: int, at: str) -> str:
    return f"""    %zero = arith.constant 0 : i32
    loop.store %zero, %{buffer}[{at}] : memref<{n}xi32>
"""


def test_inline_extents() -> None:
    check_extents(pair, [Inline("f/B")])


def test_reverse_inline_extents() -> None:
    check_extents(same, [ReverseInline("f/B")])


def test_inline_into_split_loops() -> None:
    check_extents(pair, [Split("f/j", 4), Inline("f/B")])


def test_inline_out_of_a_split_producer() -> None:
    """Which block an element is made in is not asked when the last write is the only one."""
    check_extents(pair, [Split("f/i", 4), Inline("f/B")])


def test_inlined_buffer_is_gone() -> None:
    module = check_steps(pair(5), [Inline("f/B")])
    assert "alloc" not in str(module) and '"i"' not in str(module)


def test_scalar_that_is_set_in_each_iteration() -> None:
    text = function(
        [("A", "memref<9xi32>"), ("C", "memref<9xi32>")],
        """  %t = loop.alloc stack : memref<i32>
  loop.for serial "i" %i = 0 to 9 {
    %a = loop.load %A[%i] : memref<9xi32>
    loop.store %a, %t[] : memref<i32>
    %b = loop.load %t[] : memref<i32>
    loop.store %b, %C[-%i + 8] : memref<9xi32>
  }""",
    )
    assert "%t" not in str(check_steps(text, [Inline("f/t")]))
    assert "%t" not in str(check_steps(text, [ReverseInline("f/t")]))


def test_scalar_that_carries_a_value() -> None:
    """Read before it is set: the value is the one of the iteration before."""
    text = function(
        [("A", "memref<9xi32>"), ("C", "memref<9xi32>")],
        """  %t = loop.alloc stack : memref<i32>
  loop.for serial "i" %i = 0 to 9 {
    %b = loop.load %t[] : memref<i32>
    loop.store %b, %C[%i] : memref<9xi32>
    %a = loop.load %A[%i] : memref<9xi32>
    loop.store %a, %t[] : memref<i32>
  }""",
    )
    check_refused(text, [Inline("f/t")], r"nothing has written, in iteration \(i=0\)")
    check_refused(text, [ReverseInline("f/t")], r"nothing has written, in iteration \(i=0\)")


def test_operand_overwritten_between() -> None:
    between = f'  loop.for serial "m" %m = 0 to 9 {{\n{zero_to("A", 9, "%m")}  }}\n'
    message = r"anti dependence through '%A'.*iterations \(i=0\) and \(m=0\) would be swapped"
    check_refused(same(9, between=between), [Inline("f/B")], message)


def test_operand_overwritten_in_the_same_loop() -> None:
    """Behind the reader it is legal, and makes the loop serial; in front of it it is not."""
    module = check_steps(same(9, after=zero_to("A", 9, "%j")), [Inline("f/B")])
    assert 'serial "j"' in str(module)
    ahead = zero_to("A", 9, "(%j + 1) mod 9")
    check_refused(same(9, after=ahead), [Inline("f/B")], r"iterations \(i=1\) and \(j=0\)")


def test_result_reduction_and_several_writes() -> None:
    check_refused(same(5, scratch=False), [Inline("f/B")], "visible outside")
    check_refused(same(5, scratch=False), [ReverseInline("f/B")], "visible outside")
    check_refused(product(4), [Inline("f/C")], "from elements of its own")
    check_refused(product(4), [ReverseInline("f/C")], "from elements of its own")
    steps = [Peel("f/i", 1), Inline("f/B")]
    message = r"from 2 stores: in iteration \(j=0\) from one, in \(j=1\) from another"
    check_refused(same(5), steps, message)


@pytest.mark.parametrize("first", [Peel("f/j", 1), Split("f/j", 4, tail="peel")])
def test_peeled_reader(first: Step) -> None:
    for n in (5, 8, 17):
        assert "alloc" not in str(check_steps(same(n), [first, Inline("f/B")], native=n == 17))


def test_peeled_reader_of_few_elements() -> None:
    """isl sees no one function in the few points of the last iterations, but in where the subscripts lead."""
    text = function(
        [("A", "memref<40xi32>"), ("C", "memref<40xi32>")],
        """  %B = loop.alloc stack : memref<40xi32>
  loop.for serial "t" %t = 0 to 3 {
    loop.for serial "p" %p = 0 to 5 {
      loop.for serial "q" %q = 0 to 8 {
        %a = loop.load %A[%q * 5 + %p] : memref<40xi32>
        loop.store %a, %B[%p * 8 + %q] : memref<40xi32>
      }
    }
    loop.for serial "i" %i = -2 to 5 {
      loop.for serial "j" %j = 1 to %i + 3 {
        %b = loop.load %B[(%j + %i + 10) mod 40] : memref<40xi32>
        loop.store %b, %C[(%j + %i * 2 + 10) mod 40] : memref<40xi32>
      }
    }
  }""",
    )
    module = check_steps(text, [Split("f/j", 2, tail="peel"), Inline("f/B")])
    assert "alloc" not in str(module)


def test_each_load_with_its_own_store() -> None:
    """A loop that writes and reads the buffer is peeled, or unrolled."""
    text = function(
        [("A", "memref<9xi32>"), ("C", "memref<9xi32>")],
        """  %t = loop.alloc stack : memref<i32>
  loop.for serial "i" %i = 0 to 9 {
    %a = loop.load %A[%i] : memref<9xi32>
    loop.store %a, %t[] : memref<i32>
    %b = loop.load %t[] : memref<i32>
    loop.store %b, %C[-%i + 8] : memref<9xi32>
  }""",
    )
    for first in (Peel("f/i", 2), Unroll("f/i", 3), Unroll("f/i", 4)):
        assert "%t" not in str(check_steps(text, [first, Inline("f/t")]))


@pytest.mark.parametrize("bounds", ["0 to 0", "5 to 3", "4 to 5"])
def test_hardly_any_iteration(bounds: str) -> None:
    text = pair(9).replace("%j = 0 to 9", f"%j = {bounds}")
    assert "alloc" not in str(check_steps(text, [Inline("f/B")], native=False))


def test_loads_of_which_nothing_comes() -> None:
    """The loop is gone with the first of them."""
    store = "    loop.store %z, %C[%j] : memref<9xi32>\n"
    assert "loop.for" not in str(check_steps(pair(9).replace(store, ""), [Inline("f/B")]))


def test_index_used_as_a_value() -> None:
    """A parameter that is defined further down is no part of what is inlined."""
    text = function(
        [("A", "memref<9xi32>"), ("C", "memref<9xi32>"), ("N", "memref<1xindex>")],
        """  %B = loop.alloc stack : memref<9xi32>
  loop.for parallel "i" %i = 0 to 9 {
    %v = arith.index_cast %i : index to i32
    loop.store %v, %B[%i] : memref<9xi32>
  }
  loop.for parallel "j" %j = 0 to 9 {
    %b = loop.load %B[-%j + 8] : memref<9xi32>
    loop.store %b, %C[%j] : memref<9xi32>
  }
  %n = loop.load %N[0] : memref<1xindex>
  loop.for serial "m" %m = 0 to min(%n, 9) {
    %c = loop.load %C[%m] : memref<9xi32>
    loop.store %c, %A[%m] : memref<9xi32>
  }""",
    )
    check_steps(text, [Inline("f/B")], native=False)


def test_recurrence() -> None:
    text = function(
        [("C", "memref<9xi32>")],
        """  %B = loop.alloc stack : memref<10xi32>
  loop.for serial "i" %i = 0 to 9 {
    %a = loop.load %B[%i] : memref<10xi32>
    loop.store %a, %B[%i + 1] : memref<10xi32>
  }
  loop.for serial "j" %j = 0 to 9 {
    %b = loop.load %B[%j + 1] : memref<10xi32>
    loop.store %b, %C[%j] : memref<9xi32>
  }""",
    )
    check_refused(text, [Inline("f/B")], "elements of its own")


def test_unknown_condition() -> None:
    """Whether an element is set depends on data: nothing is known of what is read."""
    text = function(
        [("N", "memref<1xindex>"), ("A", "memref<9xi32>"), ("C", "memref<9xi32>")],
        """  %B = loop.alloc stack : memref<9xi32>
  loop.for serial "t" %t = 0 to 1 {
    %n = loop.load %N[0] : memref<1xindex>
    loop.for serial "i" %i = 0 to %n {
      %a = loop.load %A[%i] : memref<9xi32>
      loop.store %a, %B[%i] : memref<9xi32>
    }
  }
  loop.for serial "j" %j = 0 to 9 {
    %b = loop.load %B[%j] : memref<9xi32>
    loop.store %b, %C[%j] : memref<9xi32>
  }""",
    )
    check_refused(text, [Inline("f/B")], "is not affine, so it is unknown when it is made")


def test_reverse_inline_guards_what_is_not_read() -> None:
    module = check_steps(
        pair(6).replace("%y = loop.load %B[%j + 1]", "%y = loop.load %B[%j]"),
        [ReverseInline("f/B")],
    )
    assert "loop.if" in str(module)


def test_reverse_inline_of_a_stencil() -> None:
    check_refused(pair(6), [ReverseInline("f/B")], "reads more than one element")


def test_reverse_inline_turns_a_dependence_around() -> None:
    """The consumer writes what later iterations of the producer still read."""
    type_ = "memref<9xi32>"
    text = function(
        [("A", type_)],
        f"""  %B = loop.alloc stack : {type_}
  loop.for serial "i" %i = 1 to 9 {{
    %a = loop.load %A[%i - 1] : {type_}
    loop.store %a, %B[%i] : {type_}
  }}
  loop.for serial "j" %j = 1 to 9 {{
    %b = loop.load %B[%j] : {type_}
    loop.store %b, %A[%j] : {type_}
  }}""",
    )
    message = r"anti dependence through '%A'.*\(i=2\) and \(j=1\) would be swapped"
    check_refused(text, [ReverseInline("f/B")], message)
