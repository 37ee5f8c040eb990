"""What is right and slow is said once, at the user's line."""

import inspect
import warnings

import numpy as np
import pytest
import stepwell as sw

X = np.ones(4, np.float32)


def caught(run):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return [one for one in found if issubclass(one.category, sw.PerformanceWarning)]


def test_a_long_python_loop_suggests_a_real_one():
    def program(x):
        for i in range(250):
            x = x * 0.5 + i
        return x

    (warning,) = caught(lambda: sw.jit(program).lower(X))
    assert "expected a loop that is compiled as one" in str(warning.message)
    assert "write stepwell.fori_loop, or stepwell.scan" in str(warning.message)
    assert warning.filename == __file__
    lines = range(first := inspect.getsourcelines(program)[1], first + 4)
    assert warning.lineno in lines


def test_one_call_of_many_operations_is_no_loop():
    lengths = [1] * 150
    assert not caught(lambda: sw.jit(lambda x: [x * n for n in lengths]).lower(X))
    assert not caught(
        lambda: sw.jit(lambda x: sw.fori_loop(0, 500, lambda i, s: s + i, x)).lower(X)
    )


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (
            [(X, number) for number in range(11)],
            "found 'program' compiled 10 times, for 10 values of 'n', expected few times; pass it as an array, "
            "numpy.asarray(n), unless shapes depend on it",
        ),
        (
            [(np.ones(number), 1) for number in range(1, 12)],
            "found 'program' compiled 10 times, for 10 shapes and dtypes of 'x', expected few times; pad it to few "
            "shapes, or loop over pieces of one shape",
        ),
    ],
)
def test_a_function_that_is_compiled_again_and_again_is_warned_of_once(calls, message):
    def program(x, n):
        return x * n

    jitted = sw.jit(program, opt="quick", cache=False)
    (warning,) = caught(lambda: [jitted(*call) for call in calls])
    assert str(warning.message) == message
    assert warning.filename == __file__
