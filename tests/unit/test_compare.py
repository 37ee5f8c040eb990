"""`stepwell compare`: a model beside the reference evaluator, and the first node that differs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from stepwell.tools.cli import main
from stepwell.tools.compare import relative_error


@pytest.fixture
def model(tmp_path: Path) -> str:
    """relu, exp, neg: the exponential is a polynomial of ours, and differs from NumPy's by an ulp here and there."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], "first"),
        helper.make_node("Exp", ["r"], ["e"], "second"),
        helper.make_node("Neg", ["e"], ["y"], "third"),
    ]
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 33])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    path = tmp_path / "chain.onnx"
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), str(path))
    return str(path)


def test_a_model_that_agrees(model: str, capsys: pytest.CaptureFixture[str]):
    assert main(["compare", model, "--against", "reference", "--shape", "x=31x33"]) == 0
    out = capsys.readouterr().out
    assert "3 results of nodes" in out
    assert "the first that differs" not in out


def test_the_first_node_that_differs_is_named(model: str, capsys: pytest.CaptureFixture[str]):
    arguments = [
        "compare",
        model,
        "--against",
        "reference",
        "--shape",
        "x=31x33",
        "--tolerance",
        "0",
    ]
    assert main(arguments) == 1
    out = capsys.readouterr().out
    assert "the first that differs by more than 0: 'e' of Exp node 'second'" in out
    assert "2 differ in all" in out


def test_inputs_are_given(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "x.npy"
    np.save(file, -np.ones((2, 33), np.float32))
    arguments = ["compare", model, "--against", "reference", "--input", f"x={file}"]
    assert main([*arguments, "--tolerance", "0"]) == 0  # exp(0) is 1 exactly
    assert "equal      3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tolerance", "-1"], "found --tolerance -1, expected at least 0"),
        ([], "'x'"),
        (["--shape", "x=2x34"], "found"),
    ],
)
def test_mistakes(
    model: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["compare", model, "--against", "reference", *arguments]) == 1
    error = capsys.readouterr().err
    assert message in error and error.startswith("error: ") and error.count("\n") == 1


def test_relative_errors():
    one = np.array([1.0, -2.0], np.float32)
    assert relative_error(one, one) == 0
    assert relative_error(one + np.float32(1e-3), one) == pytest.approx(5e-4, rel=1e-3)
    assert relative_error(one, one.astype(np.float64)) == np.inf
    assert relative_error(one[:1], one) == np.inf
    assert relative_error(np.array([np.nan, 1.0]), np.array([np.nan, 1.0])) == 0
    assert relative_error(np.array([np.inf, 1.0]), np.array([1.0, 1.0])) == np.inf
    assert relative_error(np.array([1, 2]), np.array([1, 3])) == np.inf
    assert relative_error(np.array([], np.float32), np.array([], np.float32)) == 0
