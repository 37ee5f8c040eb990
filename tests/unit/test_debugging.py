"""debug_print, debug_callback and disable_jit."""

import numpy as np
import pytest
import stepwell as sw

X = np.arange(3, dtype=np.float32)


def test_prints_come_after_the_run_in_the_order_of_the_loops(capsys: pytest.CaptureFixture[str]):
    @sw.jit(opt="quick")
    def program(x):
        sw.debug_print("from {:.0f}", x.sum())

        def step(total, row):
            sw.debug_print("row {}", row)
            total = sw.fori_loop(0, 2, lambda i, t: (sw.debug_print("  {}", i), t + row)[1], total)
            return total, None

        total, _ = sw.scan(step, 0, x, reverse=True)
        sw.debug_print("to {total} {}", "in all", total=total)
        return total

    rows = "".join(f"row {row}.0\n  0\n  1\n" for row in (2, 1, 0))
    for _ in range(2):
        assert program(X) == 6
        assert capsys.readouterr().out == f"from 3\n{rows}to 6.0 in all\n"


def test_a_callback_is_given_nested_arrays_and_plain_values():
    seen = []
    program = sw.jit(lambda x: (sw.debug_callback(seen.append, {"x": x, "n": (1, "a")}), x)[1])
    program(X)
    ((found,),) = [seen]
    np.testing.assert_array_equal(found.pop("x"), X)
    assert found == {"n": (1, "a")}


def test_what_is_lowered_has_no_callbacks():
    program = sw.jit(lambda x: (sw.debug_print("{}", x), x * 2)[1])
    assert program.lower(X).as_text().count("tensor<3xf32>)") == 1


@pytest.mark.parametrize(
    "program",
    [
        lambda x: sw.while_loop(
            lambda s: s < 9, lambda s: (sw.debug_print("{}", s), s + 1)[1], x[2]
        ),
        lambda x: sw.cond(x[0] > 0, lambda: (sw.debug_print("{}", x), x)[1], lambda: x),
    ],
)
def test_where_values_are_not_kept_it_says_what_to_do(program):
    with pytest.raises(
        sw.StepwellError, match="use fori_loop or scan, or run the function in `with"
    ):
        sw.jit(program).lower(X)
    with sw.disable_jit():
        sw.jit(program)(X)


def test_disable_jit_runs_python(capsys: pytest.CaptureFixture[str]):
    @sw.jit
    def program(x):
        print(x)
        return sw.fori_loop(0, 3, lambda i, s: s + i if s.sum() > 4 else s * 2, sw.tanh(x * 0) + x)

    with sw.disable_jit():
        found = program(X)
    assert capsys.readouterr().out == "[0. 1. 2.]\n"
    np.testing.assert_array_equal(found, [3, 5, 7])
    assert found.dtype == X.dtype
