"""Loops whose state is a few elements: their kernels stand in them, and what they hold on to is in registers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw

STEPS = 5


def _scalar(x: Any) -> Any:
    return sw.fori_loop(0, STEPS, lambda t, s: s * 0.5 + x[0], x[1])


def _scalar_expected(x: Any) -> Any:
    state = x[1]
    for _ in range(STEPS):
        state = state * 0.5 + x[0]
    return state


def _swapped(x: Any) -> Any:
    def step(state: Any, z: Any) -> Any:
        before, now = state
        return (now, before + now * z), before

    return sw.scan(step, (x[:1], x[1:2]), x)


def _swapped_expected(x: Any) -> Any:
    before, now, seen = x[:1], x[1:2], []
    for z in x:
        seen.append(before)
        before, now = now, before + now * z
    return (before, now), np.stack(seen)


def _rotated(x: Any) -> Any:
    def step(state: Any, z: Any) -> Any:
        state = sw.roll(state, 1) * z + state[::-1]
        return state, state

    return sw.scan(step, x[:4], x)


def _rotated_expected(x: Any) -> Any:
    state, seen = x[:4], []
    for z in x:
        state = np.roll(state, 1) * z + state[::-1]
        seen.append(state)
    return state, np.stack(seen)


def _mixed(x: Any) -> Any:
    def step(t: Any, state: Any) -> Any:
        count, flags, total = state
        flags = flags ^ (total[:3] > 1)
        return count + flags.sum(dtype=sw.int32), flags, total + count.astype(sw.float64)

    return sw.fori_loop(0, STEPS, step, (sw.zeros((), sw.int32), sw.zeros(3, sw.bool), x))


def _mixed_expected(x: Any) -> Any:
    count, flags, total = np.int32(0), np.zeros(3, bool), x
    for _ in range(STEPS):
        flags = flags ^ (total[:3] > 1)
        count, total = np.int32(count + flags.sum()), total + np.float64(count)
    return count, flags, total


def _until(x: Any) -> Any:
    return sw.while_loop(lambda s: s[0].sum() < 100, lambda s: (s[0] * 2 + 1, s[1] + 1), (x, 0))


def _until_expected(x: Any) -> Any:
    count = 0
    while x.sum() < 100:
        x, count = x * 2 + 1, count + 1
    return x, count


def _nested(x: Any) -> Any:
    def outer(t: Any, state: Any) -> Any:
        m, v = state
        v = sw.fori_loop(0, t, lambda _, v: m @ v / 4, v)
        return m.T + v, v

    return sw.fori_loop(0, STEPS, outer, (x[:4].reshape(2, 2), x[4:6]))


def _nested_expected(x: Any) -> Any:
    m, v = x[:4].reshape(2, 2), x[4:6]
    for t in range(STEPS):
        for _ in range(t):
            v = m @ v / 4
        m = m.T + v
    return m, v


def _none(x: Any) -> Any:
    return sw.fori_loop(3, 3, lambda t, s: (s[1], s[0] + 1), (x[:2], x[2:4]))


def _none_expected(x: Any) -> Any:
    return x[:2], x[2:4]


CASES = [
    (_scalar, _scalar_expected),
    (_swapped, _swapped_expected),
    (_rotated, _rotated_expected),
    (_mixed, _mixed_expected),
    (_until, _until_expected),
    (_nested, _nested_expected),
    (_none, _none_expected),
]


@pytest.mark.parametrize(
    ("compiled", "expected"), CASES, ids=[case[0].__name__[1:] for case in CASES]
)
def test_small_states_are_those_of_numpy(
    compiled: Callable[..., Any], expected: Callable[..., Any]
) -> None:
    x = np.random.default_rng(3).uniform(0.5, 2, 7)
    found, wanted = sw.jit(compiled)(x), expected(x)
    found, wanted = (each if isinstance(each, tuple) else (each,) for each in (found, wanted))
    for one, other in zip(_flat(found), _flat(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def _flat(values: Any) -> list[Any]:
    if isinstance(values, tuple):
        return [inner for value in values for inner in _flat(value)]
    return [values]


def test_a_loop_over_scalars_keeps_its_state_out_of_memory() -> None:
    x = np.zeros(100)
    lowered = sw.jit(lambda x: sw.scan(lambda y, z: (y + z * z, y + z * z), 0.0, x)[1]).lower(x)
    assembly = lowered.as_text("llvm-ir")
    assert "phi double" in assembly
    assert "arena" not in assembly
    assert "call" not in assembly
