"""scan, while_loop, fori_loop and cond: traced and compiled, and run by Python on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell import StepwellError


def agree(function: Callable[..., Any], *arrays: Any) -> None:
    """Compiled code gives what Python does."""
    found, wanted = sw.jit(function)(*arrays), function(*arrays)
    found, wanted = (one if isinstance(one, tuple) else (one,) for one in (found, wanted))
    for got, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(reverse: bool):
    """A state in a dictionary, a captured weight, two sequences."""
    weight = floats(5, 5)

    def program(xs: Any, ys: Any, start: Any) -> Any:
        def step(state: Any, given: Any) -> Any:
            x, y = given
            h = sw.tanh(x + state["h"] @ weight)
            return {"h": h, "n": state["n"] + y}, (h * y, h)

        init = {"h": start, "n": np.float32(0)}
        last, (products, hs) = sw.scan(step, init, (xs, ys), reverse=reverse)
        return last["h"], last["n"], products, hs

    agree(program, floats(7, 3, 5), floats(7), floats(3, 5))


def test_scan_without_sequences():
    agree(lambda x: sw.scan(lambda s, _: (s * 2 + 1, None), x, length=5)[0], floats(4))


def test_scan_of_no_steps():
    agree(lambda x, xs: sw.scan(lambda s, v: (s + v, None), x, xs)[0], floats(4), floats(0, 4))


def test_while_loop():
    def program(x: Any) -> Any:
        return sw.while_loop(lambda s: s[0] < 100, lambda s: (s[0] * 2, s[1] + 1), (x, 0))

    agree(program, np.float32(3))
    agree(program, np.float32(300))


@pytest.mark.parametrize("upper", [0, 1, 10_000])
def test_fori_loop(upper: int):
    def program(x: Any) -> Any:
        return sw.fori_loop(0, upper, lambda i, s: s * 0.5 + i, x)

    agree(program, np.ones(3))


def test_fori_loop_to_a_traced_number():
    def program(x: Any, n: Any) -> Any:
        return sw.fori_loop(2, n, lambda i, s: s + i, x)

    agree(program, np.ones(3), np.int64(9))
    agree(program, np.ones(3), np.int64(1))


def test_cond():
    def program(x: Any, y: Any) -> Any:
        return sw.cond(x.sum() > 0, lambda a: (a @ y, a), lambda a: (a - y, a + 1), x)

    agree(program, floats(4, 4), floats(4, 4))
    agree(program, -np.abs(floats(4, 4)), floats(4, 4))


def test_cond_in_a_loop_in_a_scan():
    def program(xs: Any) -> Any:
        def step(total: Any, x: Any) -> Any:
            grown = sw.while_loop(lambda v: v < 10, lambda v: v * 2 + 1, abs(x))
            part = sw.cond(x > 0, lambda: grown, lambda: -grown)
            return total + part, part

        return sw.scan(step, np.float32(0), xs)

    agree(program, floats(9))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            lambda x: sw.scan(lambda s, v: (s.sum(), None), x, x)[0],
            "found a state of scan that becomes float32",
        ),
        (lambda x: sw.scan(lambda s, v: s, x, x)[0], "found a step of scan that returns a Tensor"),
        (lambda x: sw.scan(lambda s, v: (s, v), x)[0], "expected one number of steps"),
        (lambda x: sw.while_loop(lambda s: s < 0, lambda s: s, x), "found a condition of shape"),
        (
            lambda x: sw.cond(x.sum() > 0, lambda: x, lambda: x.sum()),
            "found branches of cond that return float32[4, 4] and float32[]",
        ),
    ],
)
def test_what_does_not_fit_is_one_line(program: Callable[..., Any], message: str):
    with pytest.raises(StepwellError) as error:
        sw.jit(program)(floats(4, 4))
    assert message in str(error.value)
