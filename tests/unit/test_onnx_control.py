"""If, Loop and Scan of ONNX whose conditions and trip counts are known only at run time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import parser
from stepwell.dialects import graph
from stepwell.driver.options import Options
from stepwell.errors import StepwellError
from stepwell.frontend.onnx.importer import import_model
from stepwell.frontend.onnx.model_function import ModelFunction
from stepwell.frontend.onnx.reading import checked_model
from stepwell.interpreters.harness import interpret
from xdsl.dialects.builtin import ModuleOp

HEADER = '<ir_version: 8, opset_import: ["" : 16]>\n'


def imported(text: str) -> ModuleOp:
    return import_model(checked_model(parser.parse_model(HEADER + text), "model"))


def has(module: ModuleOp, kind: type[Any]) -> bool:
    return any(isinstance(op, kind) for op in module.walk())


def test_a_branch_at_run_time():
    module = imported(
        """main (bool c, float[3] x) => (float[3] y) {
          y = If (c) <
            then_branch = then () => (float[3] a) { a = Add(x, x) },
            else_branch = otherwise () => (float[3] b) { b = Neg(x) }>
        }"""
    )
    assert has(module, graph.IfOp)
    x = np.array([1, 2, 3], np.float32)
    for flag, wanted in ((True, 2 * x), (False, -x)):
        np.testing.assert_array_equal(interpret(module, [np.array(flag), x])[0], wanted)


def test_a_known_branch_leaves_no_region():
    module = imported(
        """main (float[3] x) => (float[3] y) <bool c = {1}> {
          y = If (c) <
            then_branch = then () => (float[3] a) { a = Add(x, x) },
            else_branch = otherwise () => (float[3] b) { b = Neg(x) }>
        }"""
    )
    assert not has(module, graph.IfOp)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ("b = Add(x, w)", "as a branch does not fit the shapes"),
        ("b = Concat<axis = 0>(x, w)", "as the results of the branches differ in shape"),
    ],
)
def test_where_one_branch_alone_fits_it_is_compiled_for_the_condition(other, reason):
    text = f"""main (bool c, float[3] x) => (float[n] y) <float[2] w = {{5.0, 6.0}}> {{
          y = If (c) <
            then_branch = then () => (float[3] a) {{ a = Add(x, x) }},
            else_branch = otherwise () => (float[k] b) {{ {other} }}>
        }}"""
    with pytest.raises(StepwellError, match=f"{reason}.*give constants={{'c': …}}"):
        imported(text)
    model = checked_model(parser.parse_model(HEADER + text), "model")
    x = np.array([1, 2, 3], np.float32)
    (found,) = ModelFunction(model, Options(opt="quick", cache=False))(np.array(True), x)
    np.testing.assert_array_equal(found, 2 * x)


LOOP = """main (int64 n, float[2] x) => (float[2] y) <bool go = {1}, float limit = {100.0}> {
  y = Loop (n, go, x) <body = step (int64 i, bool c, float[2] s) => (bool again, float[2] t) {
    t = Add(s, s)
    most = ReduceMax<keepdims = 0>(t)
    again = Less(most, limit)
  }>
}"""


@pytest.mark.parametrize("count", [0, 3, 1000])
def test_a_loop_that_ends_at_run_time(count: int):
    """By its number of iterations, or by its condition."""
    module = imported(LOOP)
    assert has(module, graph.WhileOp)
    x = wanted = np.array([1, 3], np.float32)
    for _ in range(count):
        wanted = wanted + wanted
        if wanted.max() >= 100:
            break
    np.testing.assert_array_equal(interpret(module, [np.array(count), x])[0], wanted)


def test_a_long_loop_is_a_scan():
    module = imported(
        """main (float[2] x) => (float[2] y, float[200, 2] all) <int64 n = {200}, bool go = {1}> {
          y, all = Loop (n, go, x) <body = step (int64 i, bool c, float[2] s) => (bool c2, float[2] t, float[2] u) {
            c2 = Identity(c)
            number = Cast<to = 1>(i)
            t = Add(s, number)
            u = Neg(t)
          }>
        }"""
    )
    assert has(module, graph.ScanOp)
    x = np.array([1, 2], np.float32)
    sums = x + np.cumsum(np.arange(200, dtype=np.float32))[:, None]
    last, collected = interpret(module, [x])
    np.testing.assert_array_equal(last, sums[-1])
    np.testing.assert_array_equal(collected, -sums)


@pytest.mark.parametrize("known", ["int64 n = {0}, bool go = {1}", "int64 n = {5}, bool go = {0}"])
def test_a_loop_without_iterations_collects_nothing(known: str):
    module = imported(
        f"""main (float[2] x) => (float[2] y, float[N, 2, 1] all) <{known}, int64[1] axis = {{1}}> {{
          y, all = Loop (n, go, x) <body = step (int64 i, bool c, float[2] s) => (bool c2, float[2] t, float[2, 1] u) {{
            c2 = Identity(c)
            t = Neg(s)
            u = Unsqueeze(t, axis)
          }}>
        }}"""
    )
    x = np.array([1, 2], np.float32)
    last, collected = interpret(module, [x])
    np.testing.assert_array_equal(last, x)
    assert collected.shape == (0, 2, 1) and collected.dtype == np.float32


def test_scan_along_another_axis_backwards():
    module = imported(
        """main (float[3] s0, float[3, 5] x) => (float[3] s, float[3, 5] y) {
          s, y = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],
                       scan_output_axes = [1], scan_output_directions = [1],
                       body = step (float[3] a, float[3] b) => (float[3] c, float[3] d) {
                         c = Add(a, b)
                         d = Identity(c)
                       }> (s0, x)
        }"""
    )
    start = np.array([1, 2, 3], np.float32)
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    sums = start[:, None] + np.cumsum(x[:, ::-1], axis=1)
    last, ys = interpret(module, [start, x])
    np.testing.assert_array_equal(last, sums[:, -1])
    np.testing.assert_array_equal(ys, sums[:, ::-1])


def test_a_scan_along_an_axis_that_there_is_not():
    text = """main (float[3] s0, float[3, 5] x) => (float[3] s) {
      s = Scan <num_scan_inputs = 1, scan_input_axes = [3],
                body = step (float[3] a, float[5] b) => (float[3] c) { c = Identity(a) }> (s0, x)
    }"""
    with pytest.raises(StepwellError, match="found axis 3 for a tensor of 2 axes"):
        imported(text)


@pytest.mark.parametrize("count", [-1, 3, 2**62])
def test_a_scan_over_more_sequences_than_inputs_is_one_line(count: int):
    text = f"""main (float[3] s0, float[3, 5] x) => (float[3] s) {{
      s = Scan <num_scan_inputs = {count},
                body = step (float[3] a, float[5] b) => (float[3] c) {{ c = Identity(a) }}> (s0, x)
    }}"""
    reason = rf"found num_scan_inputs={count} and 2 inputs, expected at most as many"
    with pytest.raises(StepwellError, match=reason):
        imported(text)
