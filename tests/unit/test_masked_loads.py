"""Masked loads of several registers, whose masks are put together from constants and conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from stepwell.analysis.masks import lanes_that_may_hold
from stepwell.frontend.text import parse_text
from stepwell.runtime.jit import compile_module
from stepwell.targets.target import Target
from xdsl.dialects import vector

LANES = 16
"""Two registers of AVX2."""

CONDITIONS = 2

NUMBERS = count()

Truth = Callable[[tuple[bool, ...], int], np.ndarray]


@dataclass(frozen=True)
class Mask:
    """A mask as IR, the last line its value, and where it holds for the conditions and the number that the function is given."""

    lines: tuple[str, ...]
    holds: Truth

    @property
    def value(self) -> str:
        return self.lines[-1].split(" = ")[0]


def named(line: str, *parts: Mask) -> tuple[str, ...]:
    """The lines of the parts, each once, and one more that has a name of its own."""
    before = dict.fromkeys(each for part in parts for each in part.lines)
    return (*before, f"%v{next(NUMBERS)} = {line}")


def constant(lanes: list[bool]) -> Mask:
    text = ", ".join(str(lane).lower() for lane in lanes)
    lines = named(f"arith.constant dense<[{text}]> : vector<{LANES}xi1>")
    return Mask(lines, lambda c, n: np.array(lanes))


def condition(number: int) -> Mask:
    lines = named(f"vector.broadcast %c{number} : i1 to vector<{LANES}xi1>")
    return Mask(lines, lambda c, n: np.full(LANES, c[number]))


def prefix() -> Mask:
    lines = named(f"vector.create_mask %n : vector<{LANES}xi1>")
    return Mask(lines, lambda c, n: np.arange(LANES) < n)


def both(a: Mask, b: Mask) -> Mask:
    lines = named(f"arith.andi {a.value}, {b.value} : vector<{LANES}xi1>", a, b)
    return Mask(lines, lambda c, n: a.holds(c, n) & b.holds(c, n))


def either(a: Mask, b: Mask) -> Mask:
    lines = named(f"arith.ori {a.value}, {b.value} : vector<{LANES}xi1>", a, b)
    return Mask(lines, lambda c, n: a.holds(c, n) | b.holds(c, n))


def chosen(number: int, a: Mask, b: Mask) -> Mask:
    lines = named(f"arith.select %c{number}, {a.value}, {b.value} : vector<{LANES}xi1>", a, b)
    return Mask(lines, lambda c, n: a.holds(c, n) if c[number] else b.holds(c, n))


def chosen_lanes(mask: Mask, a: Mask, b: Mask) -> Mask:
    type_ = f"vector<{LANES}xi1>"
    text = f"arith.select {mask.value}, {a.value}, {b.value} : {type_}, {type_}"
    return Mask(
        named(text, mask, a, b),
        lambda c, n: np.where(mask.holds(c, n), a.holds(c, n), b.holds(c, n)),
    )


def shuffled(lanes: list[int], a: Mask, b: Mask) -> Mask:
    text = f"vector.shuffle {a.value}, {b.value} [{', '.join(map(str, lanes))}]"
    type_ = f"vector<{LANES}xi1>"
    return Mask(
        named(f"{text} : {type_}, {type_}", a, b),
        lambda c, n: np.concatenate([a.holds(c, n), b.holds(c, n)])[lanes],
    )


def runs() -> st.SearchStrategy[list[bool]]:
    """Lanes from one to another: what borders leave."""
    ends = st.integers(0, LANES)
    return st.builds(lambda a, b: [a <= lane < b for lane in range(LANES)], ends, ends)


def masks() -> st.SearchStrategy[Mask]:
    numbers = st.integers(0, CONDITIONS - 1)
    lanes = st.lists(st.integers(0, 2 * LANES - 1), min_size=LANES, max_size=LANES)
    leaves = st.one_of(runs().map(constant), numbers.map(condition), st.builds(prefix))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(both, inner, inner),
            st.builds(either, inner, inner),
            st.builds(chosen, numbers, inner, inner),
            st.builds(chosen_lanes, inner, inner, inner),
            st.builds(shuffled, lanes, inner, inner),
        ),
        max_leaves=4,
    )


def function_of(mask: Mask) -> str:
    lines = "\n  ".join(mask.lines)
    return f"""
func.func @main(%x: memref<?xf32>, %c0: i1, %c1: i1, %n: index, %o: memref<{LANES}xf32> {{stepwell.result}}) {{
  %zero = arith.constant 0 : index
  %rest = arith.constant dense<-1.0> : vector<{LANES}xf32>
  {lines}
  %v = vector.maskedload %x[%zero], {mask.value}, %rest : memref<?xf32>, vector<{LANES}xi1>, vector<{LANES}xf32> into vector<{LANES}xf32>
  vector.store %v, %o[%zero] : memref<{LANES}xf32>, vector<{LANES}xf32>
  func.return
}}
"""


CASES = [((a, b), n) for a in (False, True) for b in (False, True) for n in (0, 5, 8, 13, LANES)]


NONE = constant([False] * LANES)
FIRST_REGISTER = constant([lane < 8 for lane in range(LANES)])


@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
@settings(max_examples=15, deadline=None)
@given(masks())
@example(chosen(0, FIRST_REGISTER, NONE))
@example(both(condition(0), FIRST_REGISTER))
def test_lanes_that_are_not_asked_for_keep_what_they_had(target: str, mask: Mask) -> None:
    x = np.arange(LANES, dtype=np.float32)
    main = compile_module(parse_text(function_of(mask)), target=Target.of(target), cache=False)
    for conditions, n in CASES:
        got = main(x, *conditions, n)
        np.testing.assert_array_equal(got, np.where(mask.holds(conditions, n), x, -1.0))


@settings(max_examples=50, deadline=None)
@given(masks())
def test_a_lane_said_to_hold_never_does_not(mask: Mask) -> None:
    module = parse_text(function_of(mask))
    (load,) = (op for op in module.walk() if isinstance(op, vector.MaskedLoadOp))
    may_hold = np.array(lanes_that_may_hold(load.mask, LANES))
    for conditions, n in CASES:
        assert not (mask.holds(conditions, n) & ~may_hold).any()


def test_a_border_and_a_condition_of_all_lanes() -> None:
    mask = both(constant([lane < 5 for lane in range(LANES)]), condition(0))
    module = parse_text(function_of(mask))
    (load,) = (op for op in module.walk() if isinstance(op, vector.MaskedLoadOp))
    assert lanes_that_may_hold(load.mask, LANES) == tuple(lane < 5 for lane in range(LANES))
