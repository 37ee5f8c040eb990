"""`stepwell bench --layers`: which kernels of two runtimes compute the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper, save
from stepwell.tools.bench_layers import Timed, matched
from stepwell.tools.cli import main


def block() -> ModelProto:
    """A residual block: `relu(b(relu(a(x))) + c(x))`."""

    def conv(name: str, source: str) -> object:
        return helper.make_node("Conv", [source, f"w{name}"], [name], name=f"conv_{name}")

    nodes = [
        conv("a", "x"),
        helper.make_node("Relu", ["a"], ["ra"], name="relu_a"),
        conv("b", "ra"),
        conv("c", "x"),
        helper.make_node("Add", ["b", "c"], ["sum"], name="add"),
        helper.make_node("Relu", ["sum"], ["y"], name="relu"),
    ]
    weights = [
        numpy_helper.from_array(np.ones((4, 4, 1, 1), np.float32), f"w{name}") for name in "abc"
    ]
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 4, 6, 6))] for name in "xy"
    )
    graph = helper.make_graph(nodes, "block", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def pairs(ours: list[str], theirs: list[str]) -> list[tuple[list[str], list[str]]]:
    found = matched(block(), *([Timed(end, end, 1.0) for end in ends] for ends in (ours, theirs)))
    return [([t.end for t in layer.ours], [t.end for t in layer.theirs]) for layer in found]


def test_what_ours_fuses_is_one_row_with_all_that_it_is_made_of():
    ours, theirs = ["relu_a", "conv_c", "relu"], ["ra", "c", "b", "add", "y"]
    assert pairs(ours, theirs) == [
        (["relu_a"], ["ra"]),
        (["conv_c"], ["c"]),
        (["relu"], ["b", "add", "y"]),
    ]


def test_what_theirs_fuses_is_one_row_with_our_kernels():
    assert pairs(["conv_a", "relu_a", "relu"], ["fused relu_a", "y"]) == [
        (["conv_a", "relu_a"], ["fused relu_a"]),
        (["relu"], ["y"]),
    ]


def test_a_kernel_without_a_name_of_the_model_goes_with_the_one_before():
    assert pairs(["relu_a", "relu"], ["ra", "ReorderOutput", "y"]) == [
        (["relu_a"], ["ra", "ReorderOutput"]),
        (["relu"], ["y"]),
    ]


def test_a_program_that_is_no_model_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("onnxruntime")
    path = tmp_path / "f.mlir"
    path.write_text(
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { func.return %x : tensor<4xf32> }"
    )
    assert main(["bench", str(path), "--layers"]) == 1
    assert "found a program that is no ONNX model" in capsys.readouterr().err


def test_layers_need_a_program(capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "--layers"]) == 1
    assert "found --layers without a program, expected a model; name one" in capsys.readouterr().err


def test_the_command_prints_both_sides(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("onnxruntime")
    path = tmp_path / "block.onnx"
    save(block(), path)
    assert main(["bench", str(path), "--layers", "--seconds", "0.01"]) == 0
    printed = capsys.readouterr().out
    assert "relu_a" in printed and "total" in printed and "Conv" in printed


def test_models_of_a_suite_have_layers_and_other_cases_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """A suite says the shapes of the inputs."""
    pytest.importorskip("onnxruntime")
    save(block(), tmp_path / "block.onnx")
    inputs = {one.name: "1x4x6x6xf32" for one in block().graph.input}
    suite = tmp_path / "cases.py"
    suite.write_text(
        "from pathlib import Path\n"
        "from stepwell.tools.bench_case import Case\n"
        "from stepwell.tools.bench_models import ModelFile\n"
        f"model = ModelFile(Path({str(tmp_path / 'block.onnx')!r}))\n"
        f"CASES = [Case('block', model, {inputs}), Case('add', lambda x: x + x, {{'x': '4xf32'}})]\n"
    )
    command = ["bench", "--suite", str(suite), "--layers", "--seconds", "0.01"]
    assert main([*command, "block"]) == 0
    assert "relu_a" in capsys.readouterr().out
    assert main([*command, "add"]) == 1
    assert (
        "found 'add', which is no ONNX model, expected one for --layers" in capsys.readouterr().err
    )
