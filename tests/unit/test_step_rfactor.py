"""rfactor: partial results, for every operator, around every loop, at many extents."""

import pytest
from stepwell.dialects.schedule.steps import Parallel, Reorder, Rfactor, Split
from stepwell.transforms.loop.rfactor import LoopRfactorPass

from .loop_nests import applied, check_extents, reason
from .producer_texts import function

EXTENTS = (1, 2, 3, 5, 7, 17, 31, 33)
INTEGER_OPERATORS = ("addi", "muli", "maxsi", "minsi", "maxui", "minui", "andi", "ori", "xori")


def update(target: str, operation: str = "arith.addi") -> str:
    """`target = target ⊕ %a`, with `target` written as `C[%i] : memref<…>`."""
    return f"""
      %c = loop.load %{target}
      %s = {operation} %c, %a : i32
      loop.store %s, %{target}"""


def rows(operation: str = "arith.addi", bounds: str = "0 to {n}") -> str:
    """`C[i] = C[i] ⊕ A[i, k]`."""
    return function(
        [("A", "memref<{n}x{n}xi32>"), ("C", "memref<{n}xi32>")],
        f"""
  loop.for parallel "i" %i = 0 to {{n}} {{
    loop.for reduction "k" %k = {bounds} {{
      %a = loop.load %A[%i, %k] : memref<{{n}}x{{n}}xi32>
      {update("C[%i] : memref<{n}xi32>", operation)}
    }}
  }}""",
    )


# One element that is set, reduced into and read in each iteration.
SCALAR = function(
    [("A", "memref<{n}x{n}xi32>"), ("C", "memref<{n}xi32>")],
    f"""
  %acc = loop.alloc stack : memref<1xi32>
  %zero = arith.constant 0 : i32
  loop.for serial "i" %i = 0 to {{n}} {{
    loop.store %zero, %acc[0] : memref<1xi32>
    loop.for reduction "k" %k = 0 to {{n}} {{
      %a = loop.load %A[%i, %k] : memref<{{n}}x{{n}}xi32>
      {update("acc[0] : memref<1xi32>")}
    }}
    %r = loop.load %acc[0] : memref<1xi32>
    loop.store %r, %C[%i] : memref<{{n}}xi32>
  }}""",
)


@pytest.mark.parametrize("operation", INTEGER_OPERATORS)
def test_every_integer_operator(operation: str) -> None:
    check_extents(rows(f"arith.{operation}"), Rfactor("f/k"), extents=(1, 2, 7, 33))


@pytest.mark.parametrize("operation", ["maximumf", "minimumf"])
def test_extremes_of_floating_point_numbers(operation: str) -> None:
    program = rows(f"arith.{operation}").replace("i32", "f32")
    check_extents(program, Rfactor("f/k"), extents=(1, 5, 33))


@pytest.mark.parametrize("element", ["i1", "i8", "i64", "index"])
@pytest.mark.parametrize("operation", ["addi", "maxsi", "minui"])
def test_integers_of_every_width(element: str, operation: str) -> None:
    program = rows(f"arith.{operation}").replace("i32", element)
    check_extents(program, Rfactor("f/k"), extents=(1, 7), native=element != "index")


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_the_place_of_the_new_axis(axis: int) -> None:
    steps = Split("f/k", 4), Reorder("f/i", ("k.outer", "i", "k.inner"))
    factored = Rfactor("f/k.inner", "part", axis)
    check_extents(rows(), *steps, factored, extents=(7, 33))
    lanes_first = axis in (0, -2)
    text = applied(rows().replace("{n}", "9"), *steps, factored)
    assert ("memref<4x9xi32>" if lanes_first else "memref<9x4xi32>") in text


@pytest.mark.parametrize("name", ["k.outer", "k.inner"])
@pytest.mark.parametrize("tail", ["guard", "peel"])
def test_blocks(name: str, tail: str) -> None:
    split = Split("f/k", 4, tail=tail)
    check_extents(rows(), split, Rfactor(f"f/{name}"), extents=EXTENTS)


@pytest.mark.parametrize(
    "bounds", ["%i to {n}", "0 to %i", "%i to min(%i + 4, {n}) step 3", "1 to {n} step 2"]
)
def test_bounds(bounds: str) -> None:
    check_extents(rows(bounds=bounds), Rfactor("f/k"), extents=EXTENTS)


def test_negative_bounds_and_a_step() -> None:
    program = rows(bounds="-3 to {n} - 3 step 2").replace("%A[%i, %k]", "%A[%i, %k + 3]")
    check_extents(program, Rfactor("f/k"), extents=EXTENTS)


def test_elements_inside_of_the_loop() -> None:
    # The loop of the elements stands inside of the reduction, and does not reach all of them.
    program = function(
        [("A", "memref<{n}x{n}xi32>"), ("C", "memref<{n}xi32>")],
        f"""
  loop.for reduction "k" %k = 0 to {{n}} {{
    loop.for parallel "i" %i = 0 to %k {{
      %a = loop.load %A[%i, %k] : memref<{{n}}x{{n}}xi32>
      {update("C[%i] : memref<{n}xi32>")}
    }}
  }}""",
    )
    check_extents(program, Rfactor("f/k"), extents=EXTENTS)


@pytest.mark.parametrize("name", ["k", "k.outer", "k.inner"])
def test_a_scalar_that_is_set_and_read_in_each_iteration(name: str) -> None:
    # The outer loop carries the reduction too, but only within one of its iterations is nothing in between.
    split = () if name == "k" else (Split("f/k", 4, tail="peel"),)
    check_extents(SCALAR, *split, Rfactor(f"f/{name}"), extents=EXTENTS)


def test_a_value_set_before_the_first_update_stays_there() -> None:
    program = function(
        [("A", "memref<{n}xi32>"), ("C", "memref<1xi32>")],
        f"""
  %five = arith.constant 5 : i32
  loop.for serial "k" %k = 0 to {{n}} {{
    loop.if (%k == 0) {{
      loop.store %five, %C[0] : memref<1xi32>
    }}
    %a = loop.load %A[%k] : memref<{{n}}xi32>
    {update("C[0] : memref<1xi32>")}
  }}""",
    )
    check_extents(program, Rfactor("f/k"), extents=EXTENTS)
    assert 'loop.for parallel "k"' in applied(program.replace("{n}", "9"), Rfactor("f/k"))


def test_other_updates_by_the_operator_may_stand_beside_it() -> None:
    program = function(
        [("A", "memref<{n}xi32>"), ("B", "memref<{n}x{n}xi32>"), ("C", "memref<1xi32>")],
        f"""
  loop.for reduction "o" %o = 0 to {{n}} {{
    %x = loop.load %A[%o] : memref<{{n}}xi32>
    %y = loop.load %C[0] : memref<1xi32>
    %z = arith.addi %x, %y : i32
    loop.store %z, %C[0] : memref<1xi32>
    loop.for reduction "k" %k = 0 to {{n}} {{
      %a = loop.load %B[%o, %k] : memref<{{n}}x{{n}}xi32>
      {update("C[0] : memref<1xi32>")}
    }}
  }}""",
    )
    check_extents(program, Rfactor("f/k"), extents=EXTENTS)
    # With another operator there is room within an iteration of o only.
    mixed = program.replace("arith.addi %x, %y", "arith.muli %x, %y")
    mixed = mixed.replace('reduction "o"', 'serial "o"')
    check_extents(mixed, Rfactor("f/k"), extents=EXTENTS)


def test_where_partial_results_live() -> None:
    small, large = rows().replace("{n}", "9"), rows().replace("{n}", "9000")
    assert "%sum = loop.alloc stack : memref<9xi32>" in applied(small, Rfactor("f/k", into="sum"))
    assert "%C.rf = loop.alloc arena : memref<9000xi32>" in applied(large, Rfactor("f/k"))
    # Threads do not share theirs.
    assert "%C.rf = loop.alloc thread" in applied(large, Parallel("f/i"), Rfactor("f/k"))


def test_the_factored_loop_may_be_run_by_threads() -> None:
    steps = Rfactor("f/k"), Parallel("f/k")
    check_extents(rows(), *steps, extents=(1, 5, 33))


def test_symbols() -> None:
    program = rows(bounds="%i floordiv 8 * 8 to min(%i floordiv 8 * 8 + 8, {n})")
    check_extents(program, Rfactor("f/k"), extents=EXTENTS)
    bounded = rows(bounds="0 to min(%n, 8)").replace("noalias})", "noalias}, %n: index)")
    assert "memref<8xi32>" in applied(bounded.replace("{n}", "9"), Rfactor("f/k"))
    message = reason(bounded.replace("{n}", "9").replace("min(%n, 8)", "%n"), Rfactor("f/k"))
    assert "loop 'k' has no greatest number of iterations" in message


def test_refusals() -> None:
    five = rows().replace("{n}", "5")
    strict = rows("arith.addf").replace("i32", "f32").replace("{n}", "5")
    assert "iterations (i=0, k=0) and (i=0, k=1) would be computed apart" in reason(
        strict, Rfactor("f/k")
    )
    assert "need fastmath<reassoc>" in reason(strict, Rfactor("f/k"))
    assert "loop 'i' carries no reduction" in reason(five, Rfactor("f/i"))
    assert "the partial results have 1 axes, and axis is 1" in reason(five, Rfactor("f/k", axis=1))
    recurrence = rows("arith.subi").replace("{n}", "5")
    assert "flow dependence through '%C' at distance (0, <)" in reason(recurrence, Rfactor("f/k"))
    marked = five.replace('parallel "i"', 'parallel vector "i"')
    assert "which is marked 'vector'" in reason(marked, Rfactor("f/k"))
    marked = applied(five.replace('reduction "k"', 'reduction vector "k"'))
    assert "loop 'k' is marked 'vector'" in reason(marked, Rfactor("f/k"))


def test_what_keeps_one_buffer_is_said_of_that_one() -> None:
    """Not of another one, into which the loop reduces."""
    store = "loop.store %s, %C[%i] : memref<{n}xi32>"
    shift = "%b = loop.load %B[%k] : memref<64xi32>\nloop.store %b, %B[%k + 1] : memref<64xi32>"
    program = rows().replace("parallel", "serial").replace("reduction", "serial")
    program = program.replace(store, f"{store}\n{shift}").replace("{n}", "5")
    buffers = "".join(f"%{name}: memref<64xi32> {{stepwell.noalias}}, " for name in "BD")
    program = program.replace("@f(", f"@f({buffers}")
    assert "flow dependence through '%B'" in reason(program, Rfactor("f/k", of="B"))
    assert "loop 'k' carries no reduction into '%D'" in reason(program, Rfactor("f/k", of="D"))


def test_a_value_needed_before_the_end_is_refused() -> None:
    store = "loop.store %s, %C[%i] : memref<{n}xi32>"
    use = "%q = loop.load %C[%i] : memref<{n}xi32>\nloop.store %q, %A[%i, %k] : memref<{n}x{n}xi32>"
    scan = rows().replace(store, f"{store}\n{use}")
    message = reason(scan.replace("{n}", "5"), Rfactor("f/k"))
    assert (
        "iterations (i=0, k=0) and (i=0, k=0) would be swapped, since updates are combined"
        in message
    )
    assert "\n" not in message


def test_several_reductions_in_one_loop_are_refused() -> None:
    program = function(
        [("A", "memref<{n}xi32>"), ("C", "memref<1xi32>"), ("D", "memref<1xi32>")],
        f"""
  loop.for reduction "k" %k = 0 to {{n}} {{
    %a = loop.load %A[%k] : memref<{{n}}xi32>
    {update("C[0] : memref<1xi32>")}
    %d = loop.load %D[0] : memref<1xi32>
    %e = arith.maxsi %a, %d : i32
    loop.store %e, %D[0] : memref<1xi32>
  }}""",
    )
    for extent in ("1", "9"):
        message = reason(program.replace("{n}", extent), Rfactor("f/k"))
        assert (
            "loop 'k' reduces in 2 places, into '%C', '%D'; name one of them with 'of'" in message
        )


def test_updates_of_one_buffer_share_the_partial_results() -> None:
    columns = "".join(
        f"""
    %a{n} = loop.load %A[%k, {n}] : memref<{{n}}x3xi32>
    %c{n} = loop.load %C[{n % 2}] : memref<2xi32>
    %s{n} = arith.addi %c{n}, %a{n} : i32
    loop.store %s{n}, %C[{n % 2}] : memref<2xi32>"""
        for n in range(3)
    )
    program = function(
        [("A", "memref<{n}x3xi32>"), ("C", "memref<2xi32>")],
        f"""
  loop.for reduction "k" %k = 0 to {{n}} {{{columns}
  }}""",
    )
    check_extents(program, Rfactor("f/k"), extents=EXTENTS)
    check_extents(program, Split("f/k", 4), Rfactor("f/k.inner"), extents=EXTENTS)
    mixed = program.replace("%s2 = arith.addi", "%s2 = arith.maxsi").replace("{n}", "9")
    assert "loop 'k' reduces into '%C' by add and max, in turns" in reason(mixed, Rfactor("f/k"))


def test_arguments_that_may_be_the_same_memory_are_refused() -> None:
    program = rows().replace(" {stepwell.noalias}", "").replace("{n}", "5")
    assert "'%A' may be the same memory" in reason(program, Rfactor("f/k"))


def test_the_pass_says_that_it_reassociates() -> None:
    assert LoopRfactorPass.numerics == "reassociates"


def test_partial_results_of_floating_point_may_be_joined_in_any_order() -> None:
    flagged = rows("arith.addf").replace("%c, %a :", "%c, %a fastmath<reassoc> :")
    text = applied(flagged.replace("i32", "f32").replace("{n}", "5"), Rfactor("f/k"))
    assert text.count("fastmath<reassoc>") == 2
