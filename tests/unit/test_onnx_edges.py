"""Operators of ONNX where their attributes are at an edge: as its specification, and ONNX Runtime where it agrees."""

import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell import StepwellError

from .onnx_node import found_of, model_of, runtime_results

LARGE = 2**63 - 1
FLOATS = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


def _loaded(path: Path, operator: str, x: Any, known: list[Any], opset: int, **attributes: Any):
    """A node of the input `x` and of weights, of which None are left out, compiled."""
    model, _ = model_of(operator, attributes, [x], known=known, domain="", opset=opset)
    path.write_bytes(model.SerializeToString())
    return sw.load(path, opt="quick", cache=False).compile(threads=1)


@pytest.mark.parametrize(
    ("operator", "x", "known", "attributes", "expected"),
    [
        # More is cut off one end than the input has: what is left is padding of the other.
        ("Pad", [[1.0, 2.0]], [[4, 0, -2, -1]], {}, np.zeros((3, 1))),
        ("Pad", [1.0, 2.0, 3.0], [[-4, 6], np.float32(7)], {}, [7.0] * 5),
        ("Pad", [1.0, 2.0, 3.0], [[-2, 1], np.float32(7)], {}, [3.0, 7.0]),
        ("Pad", [1.0, 2.0, 3.0], [[-1, -2]], {}, np.zeros(0)),
        ("Pad", [1.0, 2.0, 3.0], [[-1, 3]], {"mode": "edge"}, [2.0, 3.0, 3.0, 3.0, 3.0]),
        # A start before the first element is the first one, in both directions.
        ("Slice", [1.0, 2.0, 3.0], [[-LARGE], [-LARGE], [0], [-1]], {}, [1.0]),
        ("Slice", [1.0, 2.0, 3.0], [[-4], [-9], [0], [-2]], {}, [1.0]),
        ("Slice", [1.0, 2.0, 3.0], [[-3], [-4], [0], [-1]], {}, [1.0]),
        ("Slice", [1.0, 2.0, 3.0], [[-4], [2], [0], [1]], {}, [1.0, 2.0]),
        ("Slice", [1.0, 2.0, 3.0], [[LARGE], [-LARGE], [0], [-1]], {}, [3.0, 2.0, 1.0]),
        # The least integer has no magnitude.
        (
            "Mod",
            np.int8([-128, -128, 127]),
            [np.int8([3, 9, -5])],
            {"fmod": 1},
            np.int8([-2, -2, 2]),
        ),
        # Integers stay integers.
        ("ReduceLogSum", np.int32([[2, 20], [1, 0]]), [[1]], {"keepdims": 0}, np.int32([3, 0])),
        ("ReduceLogSumExp", np.int64([[2, 20]]), [[1]], {"keepdims": 0}, np.int64([20])),
        ("ReduceL2", np.int32([[3, 4]]), [[1]], {"keepdims": 0}, np.int32([5])),
        ("ReduceMean", np.int32([[-3, 0], [3, 0]]), [[1]], {"keepdims": 0}, np.int32([-1, 1])),
        ("ReduceMean", np.int64([-7, 0, 0, 0]), [], {}, np.int64([-1])),
    ],
)
def test_edges(
    tmp_path: Path,
    operator: str,
    x: Any,
    known: list[Any],
    attributes: dict[str, Any],
    expected: Any,
):
    values = [np.asarray(one, np.int64) if isinstance(one, list) else one for one in known]
    array = np.asarray(x, np.float32) if isinstance(x, list) else x
    found = _loaded(tmp_path / "m.onnx", operator, array, values, 18, **attributes)(array)
    wanted = np.asarray(expected, array.dtype)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_an_axis_that_is_resized_to_nothing(tmp_path: Path, mode: str):
    x = np.ones((1, 1, 1, 3), np.float32)
    scales = np.array([1, 1, 0.5, 2], np.float32)
    run = _loaded(tmp_path / "m.onnx", "Resize", x, [None, scales], 18, mode=mode)
    assert run(x).shape == (1, 1, 0, 6)


def test_more_cut_off_than_there_is(tmp_path: Path):
    for pads, attributes in (([-2, -2], {}), ([-4, 2], {"mode": "edge"})):
        with pytest.raises(StepwellError, match="cut less off") as error:
            _loaded(
                tmp_path / "m.onnx",
                "Pad",
                np.ones(3, np.float32),
                [np.int64(pads)],
                18,
                **attributes,
            )
        assert "\n" not in str(error.value)


def test_old_resizing_takes_the_element_behind_where_there_become_fewer(tmp_path: Path):
    """As ONNX Runtime and OpenVINO, and ONNX's own case of operator set 10."""
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)
    for scales, expected in (
        ([1, 1, 0.6, 0.6], [[1.0, 3.0]]),
        ([1, 1, 2, 0.6], [[1.0, 3.0], [1.0, 3.0], [5.0, 7.0], [5.0, 7.0]]),
        ([1, 1, 0.6, 1.5], [[1.0, 1.0, 2.0, 3.0, 3.0, 4.0]]),
    ):
        known = [np.asarray(scales, np.float32)]
        run = _loaded(tmp_path / "m.onnx", "Resize", x, known, 10, mode="nearest")
        np.testing.assert_array_equal(run(x)[0, 0], expected)


@pytest.mark.parametrize(("largest", "in_order", "axis"), [*product((0, 1), (0, 1), (0, -1))])
@pytest.mark.parametrize("k", [0, 1, 5])
def test_topk(k: int, largest: int, in_order: int, axis: int):
    """With ties, of which the first come first; in any order where that is not asked for, of which ours is one."""
    x = np.random.default_rng(k).integers(0, 4, (6, 5)).astype(np.float32)
    attributes = {"axis": axis, "largest": largest, "sorted": in_order}
    model, inputs = model_of(
        "TopK", attributes, [x], ("y0", "y1"), known=[np.int64([k])], domain="", opset=13
    )
    found = found_of(model, inputs)
    places = np.argsort(-x if largest else x, axis, stable=True).take(range(k), axis)
    np.testing.assert_array_equal(found[1], places)
    np.testing.assert_array_equal(found[0], np.take_along_axis(x, places, axis))
    theirs = runtime_results(model, inputs)
    if theirs is not None:
        values = [np.sort(each, axis) if not in_order else each for each in (found[0], theirs[0])]
        np.testing.assert_array_equal(*values)
        assert not in_order or np.array_equal(found[1], theirs[1])


@pytest.mark.parametrize(
    ("k", "attributes", "message"),
    [
        (6, {}, "found k = 6 for an axis of 5 elements, expected 0 to 5"),
        (-1, {}, "found k = -1 for an axis of 5 elements, expected 0 to 5"),
        (2, {"axis": 2}, "found axis 2 "),
        (2, {"largest": 2}, "found largest = 2, expected 0 or 1"),
        (2, {"sorted": -1}, "found sorted = -1, expected 0 or 1"),
    ],
)
def test_topk_of_more_than_there_is(
    tmp_path: Path, k: int, attributes: dict[str, Any], message: str
):
    x = np.zeros((3, 5), np.float32)
    with pytest.raises(StepwellError, match=re.escape(message)) as error:
        _loaded(tmp_path / "topk.onnx", "TopK", x, [np.int64([k])], 13, **attributes)
    assert "\n" not in str(error.value)
