"""`stepwell bench --suite networks`: its cases, and models in files as cases."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from onnx import TensorProto, helper, save
from onnx.reference import ReferenceEvaluator
from stepwell.errors import StepwellError
from stepwell.tools import bench_case, bench_peers, bench_worker
from stepwell.tools.bench_case import Case, prepare_case
from stepwell.tools.bench_models import ModelFile

SCALE = {"scale": np.array(3.0, np.float32)}


@pytest.fixture(scope="module")
def suite() -> ModuleType:
    return bench_case._module(bench_case.SUITES["networks"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A model of `relu(shift - x @ w · scale)`, with rows left open, whose second input is a number."""
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 3]),
        helper.make_tensor_value_info("scale", TensorProto.FLOAT, []),
        helper.make_tensor_value_info("shift", TensorProto.FLOAT, [2]),
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["xw"]),
        helper.make_node("Mul", ["xw", "scale"], ["scaled"]),
        helper.make_node("Sub", ["shift", "scaled"], ["shifted"]),
        helper.make_node("Relu", ["shifted"], ["y"]),
    ]
    weights = helper.make_tensor("w", TensorProto.FLOAT, [3, 2], [1.0, -2, 3, -4, 5, -6])
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 2])
    graph = helper.make_graph(nodes, "scaled", inputs, [output], [weights])
    opsets = [helper.make_opsetid("", 17)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "scaled.onnx")
    return tmp_path / "scaled.onnx"


def test_layers_agree_with_their_peers(suite: ModuleType):
    layer = suite.Layer
    cases = [
        suite.convolution(layer(4, 8, 9, 3, stride=2, groups=2)),
        suite.convolution(layer(6, 6, 7, 3, dilation=2, groups=6)),
        suite.transposed(3, 5, 4, 4, 2),
        *(suite.pooling(kind, 3, 7, 3, 2) for kind in ("Max", "Average")),
    ]
    for case in cases:
        prepared = prepare_case(case)
        ours = bench_peers.as_arrays(prepared.lowered.compile(threads=1)(*prepared.arrays))
        (expected,) = ReferenceEvaluator(case.onnx()).run(None, {"x": prepared.arrays[0]})
        np.testing.assert_allclose(ours[0], expected, rtol=1e-4, atol=1e-5, err_msg=case.name)
        for peer in ("torch", "onnxruntime", "openvino"):
            if not bench_peers.missing(peer):
                call, results = bench_peers.load(peer, prepared, 1)
                assert bench_worker.difference(results(call()), ours) is None, case.name


def test_names_are_for_one_case_each(suite: ModuleType):
    names = [case.name for case in suite.CASES]
    assert len(names) == len(set(names))
    assert {"7x7 3-64@224 s2", "max pool 3x3 64@112 s2", "resnet50", "resnet50-batch-16"} <= {
        *names
    }


def test_a_model_is_compiled_for_its_shapes_and_constants(path: Path):
    shift = np.array([1.0, 2.0], np.float32)
    case = Case(
        "scaled",
        ModelFile(path, {**SCALE, "shift": shift}),
        {"shift": "2xf32", "x": "5x3xf32"},
    )
    prepared = prepare_case(case)
    assert list(prepared.case.arguments) == ["x", "shift"], "in the order of the model"
    x, given = prepared.arrays
    np.testing.assert_array_equal(given, shift)
    run = prepared.lowered.compile(threads=1)
    assert prepared.constants == SCALE
    (expected,) = ReferenceEvaluator(prepared.case.onnx()).run(
        None, {"x": x, "shift": shift, **SCALE}
    )
    np.testing.assert_allclose(run(x, shift), expected, rtol=1e-5)
    work = bench_worker.work_of(prepared, run.signature)
    assert work.bytes_read == 4 * (5 * 3 + 2 + 3 * 2 + 1)  # and the scale


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("none.onnx", {"x": "5x3xf32"}, "found no such model.*run `make models`"),
        (
            "scaled.onnx",
            {"x": "5x3xf32"},
            "found arguments x, expected the model's inputs: x, shift",
        ),
    ],
)
def test_a_model_that_is_not_there_or_is_another(
    path: Path, name: str, arguments: dict[str, str], message: str
):
    case = Case("scaled", ModelFile(path.with_name(name), SCALE), arguments)
    with pytest.raises(StepwellError, match=message):
        prepare_case(case)
