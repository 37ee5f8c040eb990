"""scan, while_loop, fori_loop and cond: traced and compiled, and run by Python on arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

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
    agree(lambda x, xs: sw.scan(lambda s, v: (s + v, s * v), x, xs), floats(4), floats(0, 4))


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


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 4, 9])
def test_switch(index: int):
    def program(i: Any, x: Any) -> Any:
        branches = [lambda x, n=n: x * n for n in range(1, 5)]
        return sw.switch(i, [*branches, lambda x: x - 1], x)

    agree(program, np.int32(index), floats(3))


def test_map_over_nested_rows():
    def program(xs: Any, ys: Any) -> Any:
        mapped = sw.map(lambda row: {"sum": row[0].sum(), "of": (row[1] * 2, None)}, (xs, ys))
        return mapped["sum"], mapped["of"][0]

    agree(program, floats(4, 3), floats(4))


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass(frozen=True)
class Body:
    place: Point
    mass: Any
    name: None = None


def test_states_are_dataclasses_and_named_tuples():
    def program(body: Body) -> Body:
        def step(i: Any, body: Body) -> Body:
            return Body(Point(body.place.y, body.place.x + body.mass), body.mass * 0.5)

        return sw.fori_loop(0, 3, step, body)

    start = Body(Point(floats(3), floats(3) + 1), np.float32(2))
    found, wanted = sw.jit(program, opt="quick")(start), program(start)
    assert type(found) is Body
    for got, expected in zip((*found.place, found.mass), (*wanted.place, wanted.mass), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_a_registered_class_is_a_state():
    class Pair:
        def __init__(self, a: Any, b: Any):
            self.a, self.b = a, b

    sw.register_pytree_node(Pair, lambda p: ((p.a, p.b), None), lambda _, parts: Pair(*parts))
    run = sw.jit(lambda p: sw.fori_loop(0, 3, lambda i, p: Pair(p.b, p.a + 1), p), opt="quick")
    found = run(Pair(np.zeros(2), np.ones(2)))
    np.testing.assert_array_equal([found.a, found.b], [[2, 2], [2, 2]])


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "a counter takes the dtype of what it meets": lambda x: sw.fori_loop(
        0, 9, lambda i, s: s + i * 0.5 + i // 2, x
    ),
    "a sum starts at 0": lambda x: sw.fori_loop(0, 9, lambda i, s: s + x[1], 0),
    "a whole number becomes a fraction": lambda x: sw.while_loop(
        lambda s: s[0] < 9, lambda s: (s[0] * 1.5, s[1] + x[1]), (1, 0)
    ),
    "a scan starts at 0": lambda x: sw.scan(lambda s, v: (s + v, s * 2), 0, x)[0],
    "one branch is a number": lambda x: sw.cond(x.sum() > 1e9, lambda: x[0], lambda: 0),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_python_numbers_take_the_dtype_of_arrays(name: str):
    found, wanted = sw.jit(NUMBERS[name], opt="quick")(floats(4)), NUMBERS[name](floats(4))
    for got, expected in zip(
        *(one if isinstance(one, tuple) else (one,) for one in (found, wanted)), strict=True
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-5)
        assert got.dtype == (
            np.float32 if name == "one branch is a number" else np.asarray(expected).dtype
        )


def test_branches_may_list_their_results_in_other_orders():
    def program(x: Any) -> Any:
        return sw.cond(x.sum() > 0, lambda: {"a": x, "b": 1.5}, lambda: {"b": 2, "a": -x})

    found = sw.jit(program, opt="quick")(-np.ones(2))
    assert list(found) == ["a", "b"]
    np.testing.assert_array_equal(found["b"], 2.0)


def test_loops_are_found_in_the_cache():
    from stepwell.frontend.dependencies import dependencies

    assert dependencies(lambda x: sw.fori_loop(0, 3, lambda i, s: sw.map(sw.sin, s), x))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            lambda x: sw.cond(x.sum() > 0, x, -x),
            "found Tensor(float32[4, 4]) for true_fun of cond, expected a function of 0 arguments; write lambda: value",
        ),
        (
            lambda x: sw.cond(x.sum() > 0, lambda v: v, lambda v: -v),
            "found a wrong call of true_fun of cond (missing a required argument: 'v')",
        ),
        (
            lambda x: sw.fori_loop(0, 3, lambda s: s, x),
            "found a wrong call of body_fun of fori_loop (too many positional arguments), expected <lambda>(s)",
        ),
        (
            lambda x: sw.fori_loop(0, 3.5, lambda i, s: s, x),
            "found 3.5 for upper, expected an integer",
        ),
        (
            lambda x: sw.switch(x, [sw.sin], x),
            "found Tensor(float32[4, 4]) for index, expected one integer",
        ),
        (lambda x: sw.switch(0, [], x), "found [] for branches of switch, expected a list"),
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


@pytest.mark.parametrize("shape", [(3,), (100, 33), (64, 96), (7919,)])
def test_steps_of_many_elements_apart(shape: tuple[int, ...]):
    def program(x, y):
        def step(t, state):
            a, b, n = state
            return b * 0.5 + y, sw.where(a > t, a, b), n + t

        return sw.fori_loop(0, 9, step, (x, x * 2, 0))[0]

    def expected(x, y):
        a, b = x, x * 2
        for t in range(9):
            a, b = b * 0.5 + y, np.where(a > t, a, b)
        return a

    rng = np.random.default_rng(1)
    x, y = rng.uniform(-5, 9, (2, *shape))
    np.testing.assert_allclose(sw.jit(program)(x, y), expected(x, y), rtol=1e-14)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            lambda x: sw.fori_loop(0, 3, lambda i, s: (s, s), x),
            "found a state of fori_loop that a step returns in another nesting",
        ),
        (
            lambda x: sw.while_loop(lambda s: len(s) < 9, lambda s: np.append(s, 1), x),
            "found a state of while_loop that becomes arrays of shapes [[5]], expected [[4]]",
        ),
        (
            lambda x: sw.scan(lambda s, v: ((s, s), v), 0, x),
            "found a state of scan that a step returns in another nesting",
        ),
        (lambda x: sw.scan(lambda s, v: s, 0, x), "found a step of scan that returns a int"),
    ],
)
def test_python_loops_keep_their_states_as_traced_ones_do(
    program: Callable[..., Any], message: str
):
    with pytest.raises(StepwellError) as error:
        program(np.ones(4))
    assert message in str(error.value)
