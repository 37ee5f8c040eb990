"""ONNX models: what is computed, what is known at import, and what is refused in one line."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import stepwell as sw
from onnx import AttributeProto, TensorProto, numpy_helper
from onnx.helper import (
    make_function,
    make_graph,
    make_model,
    make_node,
    make_opsetid,
    make_tensor_value_info,
)
from stepwell import StepwellError
from stepwell.frontend.onnx.importer import operator_for
from stepwell.tools.cli import main

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64


def model_of(nodes, inputs, outputs=("y",), weights=None, opset=18, functions=(), **more):
    """A model of float inputs of these shapes; a tuple (shape, type) says another type."""
    values = []
    for name, shape in inputs.items():
        shape, element = shape if isinstance(shape, tuple) else (shape, FLOAT)
        values.append(make_tensor_value_info(name, element, shape))
    graph = make_graph(
        nodes,
        "test",
        values,
        [make_tensor_value_info(name, FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    opsets = [make_opsetid("", opset), make_opsetid("own", 1)]
    return make_model(graph, opset_imports=opsets, functions=functions, **more)


@pytest.fixture
def load(tmp_path: Path):
    """Saves a model and loads it."""

    def save_and_load(model, **kwargs):
        path = tmp_path / "m.onnx"
        path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
        return sw.load(path, opt="quick", cache=False, **kwargs)

    return save_and_load


def refused(load, model, **kwargs) -> str:
    with pytest.raises(StepwellError) as error:
        load(model, **kwargs)
    message = str(error.value)
    assert "\n" not in message
    return message


X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)


def test_a_model_runs_and_its_weights_are_constants(load):
    nodes = [make_node("MatMul", ["x", "w"], ["h"], "product"), make_node("Relu", ["h"], ["y"])]
    w = np.arange(8, dtype=np.float32).reshape(4, 2)
    low = load(model_of(nodes, {"x": [3, 4]}, weights={"w": w}))
    np.testing.assert_allclose(low.compile()(X), np.maximum(X @ w, 0), rtol=1e-6)
    assert "%w = graph.constant" in low.as_text("graph")


def test_operations_stand_at_the_names_of_their_nodes(load):
    low = load(model_of([make_node("Exp", ["x"], ["y"], "layer1/exp")], {"x": [3, 4]}))
    (function,) = low.module("graph").ops
    locations = [str(op.location) for op in function.body.block.ops]
    assert any('"layer1/exp"' in location and "m.onnx" in location for location in locations)


def test_shapes_that_are_computed_from_shapes_are_known_at_import(load):
    nodes = [
        make_node("Shape", ["x"], ["s"]),
        make_node("Gather", ["s", "zero"], ["n"]),
        make_node("Unsqueeze", ["n", "axes"], ["n1"]),
        make_node("Concat", ["n1", "minus"], ["t"], axis=0),
        make_node("Reshape", ["x", "t"], ["y"]),
    ]
    weights = {"zero": np.int64(0), "axes": np.array([0]), "minus": np.array([2, -1])}
    weights = {name: np.asarray(value) for name, value in weights.items()}
    low = load(model_of(nodes, {"x": ["n", 4]}, weights=weights), shapes={"n": 3})
    assert low.compile()(X).shape == (3, 2, 2)
    operations = [op.name for op in next(iter(low.module("graph").ops)).body.block.ops]
    assert operations == ["graph.reshape", "func.return"]


def test_a_named_dimension_is_bound_by_any_input_that_has_it(load):
    nodes = [make_node("Add", ["a", "b"], ["y"])]
    low = load(model_of(nodes, {"a": ["n"], "b": ["n"]}), shapes={"a": (5,)})
    assert low.compile()(np.ones(5, np.float32), np.ones(5, np.float32)).shape == (5,)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"a": (5.5,)}, "found (5.5,) for the shape of 'a', expected an integer"),
        ({"n": float("nan")}, "found nan for the shape of 'n', expected an integer"),
        ({"n": -2}, "found [-2] for the dimension 'n', expected one extent of at least 0"),
        ([5], "found a list as shapes, expected a dictionary"),
    ],
)
def test_shapes_that_are_none(load, shapes, message):
    model = model_of([make_node("Exp", ["a"], ["y"])], {"a": ["n"]})
    assert message in refused(load, model, shapes=shapes)


def test_functions_of_the_model_are_computed_in_place(load):
    body = [
        make_node("Exp", ["a"], ["t"]),
        make_node("LeakyRelu", ["t"], ["b"]),
    ]
    slope = AttributeProto(name="alpha", type=AttributeProto.FLOAT, ref_attr_name="slope")
    body[1].attribute.append(slope)
    own = make_function("own", "Twice", ["a"], ["b"], body, [make_opsetid("", 18)], ["slope"])
    model = model_of(
        [make_node("Twice", ["x"], ["y"], "call", domain="own", slope=0.25)],
        {"x": [3, 4]},
        functions=[own],
    )
    np.testing.assert_allclose(load(model).compile()(X), np.exp(X), rtol=1e-5)


def test_inputs_that_decide_shapes_may_be_given_as_constants(load):
    model = model_of(
        [make_node("Reshape", ["x", "t"], ["y"], "r")], {"x": [3, 4], "t": ([2], INT64)}
    )
    message = refused(load, model)
    assert "'t'" in message and "constants={'t': …}" in message
    assert load(model, constants={"t": [2, 6]}).compile()(X).shape == (2, 6)


def test_extents_that_are_called_a_question_mark_are_different_ones(load):
    low = load(model_of([make_node("Exp", ["x"], ["y"])], {"x": ["?", "?"]}), shapes={"x": (3, 4)})
    np.testing.assert_allclose(low.compile()(X), np.exp(X), rtol=1e-6)


def test_open_extents_are_named_in_one_message(load):
    message = refused(
        load, model_of([make_node("Add", ["a", "b"], ["y"])], {"a": ["n"], "b": [3, None]})
    )
    assert "'a' of shape [n] and 'b' of shape [3, ?]" in message and "--shape a=" in message


def test_all_that_is_not_supported_is_in_one_message(load):
    nodes = [
        make_node("Fancy", ["x"], ["a"], "n1", domain="own"),
        make_node("Exp", ["a"], ["b"], "n2"),
        make_node("Fancy", ["b"], ["c"], "n3", domain="own"),
        make_node("Relu", ["x"], ["d"], "n4", colour=3),
        make_node("Add", ["c", "d"], ["y"], "n5"),
    ]
    message = refused(load, model_of(nodes, {"x": [3, 4]}))
    assert "own.Fancy (node 'n1', 'n3'); Relu: attribute 'colour' (node 'n4')" in message


def test_an_attribute_of_windows_that_the_operator_does_not_have_is_refused(load):
    nodes = [make_node("MaxUnpool", ["x", "i"], ["y"], "n", kernel_shape=[2], auto_pad="VALID")]
    message = refused(load, model_of(nodes, {"x": [1, 1, 2], "i": ([1, 1, 2], INT64)}))
    assert "MaxUnpool: attribute 'auto_pad' (node 'n')" in message


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([make_node("Exp", ["z"], ["y"], "e")], "node 'e' using 'z', which no input"),
        (
            [
                make_node("Exp", ["b"], ["a"], "e"),
                make_node("Exp", ["a"], ["b"]),
                make_node("Exp", ["b"], ["y"]),
            ],
            "node 'e' using 'b' before it is computed",
        ),
        ([make_node("Exp", ["x"], ["a"])], "output of the graph using 'y'"),
        (
            [make_node("Add", ["x"], ["y"], "a")],
            "m.onnx:a: found 1 inputs of Add, expected at least 2",
        ),
        (
            [make_node("Add", ["", "x"], ["y"], "a")],
            "m.onnx:a: found input 0 of Add left out, expected it",
        ),
        ([make_node("Concat", ["x"], ["y"], "a")], "found Concat without the attribute 'axis'"),
        ([make_node("Transpose", ["x"], ["y"], "a", perm=[0, 7])], "m.onnx:a: in transpose"),
        (
            [make_node("Transpose", ["x"], ["y"], "a", perm="abc")],
            "m.onnx:a: found attribute 'perm' of type string, expected ints",
        ),
    ],
)
def test_what_is_wrong_with_a_graph(load, nodes, expected):
    assert expected in refused(load, model_of(nodes, {"x": [3, 4]}))


def test_a_model_without_the_package_names_the_extra(monkeypatch, load):
    monkeypatch.setattr("stepwell.frontend.onnx.package.find_spec", lambda name: None)
    model = model_of([make_node("Exp", ["x"], ["y"])], {"x": [2]})
    assert "pip install 'stepwell[onnx]'" in refused(load, model)


def test_inputs_and_outputs_keep_their_names(load):
    nodes = [make_node("Sub", ["x_1", "in:0"], ["out/y.1"]), make_node("Neg", ["x_1"], ["x_2"])]
    model = model_of(nodes, {"x_1": [3], "in:0": [3]}, outputs=("out/y.1", "x_2"))
    run = load(model).compile()
    assert [spec.name for spec in run.signature.inputs] == ["x_1", "in:0"]
    assert [spec.name for spec in run.signature.results] == ["out/y.1", "x_2"]
    one, two = np.ones(3, np.float32), np.full(3, 2, np.float32)
    np.testing.assert_array_equal(run(**{"in:0": two, "x_1": one})[0], -one)


def command(capsys, *words) -> tuple[int, str, str]:
    status = main([str(word) for word in words])
    return status, *capsys.readouterr()


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (AssertionError("oops"), "internal error: AssertionError: oops at m.onnx:e; this is a bug"),
        (
            ValueError("shapes"),
            "error: m.onnx:e: found operands that cannot be computed with (Value",
        ),
    ],
)
def test_a_bug_of_ours_is_no_fault_of_the_model(tmp_path, capsys, monkeypatch, raised, expected):
    def fails(x):
        raise raised

    broken = replace(operator_for("", "Exp", 18), function=fails)
    monkeypatch.setattr("stepwell.frontend.onnx.importer.operator_for", lambda *_: broken)
    monkeypatch.chdir(tmp_path)
    model = model_of([make_node("Exp", ["x"], ["y"], "e")], {"x": [3]}, ir_version=9)
    Path("m.onnx").write_bytes(model.SerializeToString())
    status, _, err = command(capsys, "run", "m.onnx", "--random", 0, "--no-cache")
    assert status == 1 and err.startswith(expected) and err.count("\n") == 1


def test_onnx_evaluator_normalizes_as_in_inference(tmp_path, capsys, monkeypatch):
    """By itself it takes a tenth of the batch's own statistics for those of the model."""
    monkeypatch.setattr("stepwell.tools.model_peers.default_peer", lambda: "reference")
    weights = {name: np.float32([1, 2, 3]) for name in "sbmv"}
    node = make_node("BatchNormalization", ["x", *"sbmv"], ["y"], "n", momentum=0.9)
    model = model_of([node], {"x": [2, 3, 5]}, weights=weights, opset=11, ir_version=9)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    status, out, _ = command(capsys, "run", path, "--random", 0, "--check", "--no-cache")
    assert status == 0 and "check: agrees with reference" in out


def test_the_command_line_takes_models(tmp_path, capsys):
    model = model_of(
        [make_node("Tanh", ["x_1"], ["a/b"], "n")], {"x_1": ["n", 4]}, ("a/b",), ir_version=9
    )
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    status, out, _ = command(
        capsys,
        "run",
        path,
        "--shape",
        "n=3",
        "--random",
        0,
        "--check",
        "--no-cache",
        "-o",
        tmp_path,
    )
    assert status == 0 and "a/b: 3x4xfloat32" in out and "check: agrees with" in out
    assert np.load(tmp_path / "a_b.npy").shape == (3, 4)
    status, out, _ = command(capsys, "compile", path, "--shape", "x_1=3x4", "--emit", "graph")
    assert status == 0 and "graph.tanh" in out
    status, _, err = command(capsys, "run", path, "--random", 0)
    assert status == 1 and "found input 'x_1' of shape [n, 4]" in err
    assert "for example --shape x_1=8x4" in err
    for option, message in (
        (("--shape", "x_1=3x4xf64"), "found --shape x_1=3x4xf64, expected one that fits float32"),
        (("--shape", "n=3", "--entry", "f"), "found --entry f for a model, expected none"),
    ):
        status, out, err = command(capsys, "run", path, "--random", 0, *option)
        assert status == 1 and not out and message in err and err.count("\n") == 1
    status, out, _ = command(
        capsys, "run", path, "--shape", "n=3", "--random", 0, "--interpret", "--check"
    )
    assert status == 0 and "check: agrees with" in out


def test_a_given_input_that_decides_a_shape_is_a_constant_on_the_command_line(tmp_path, capsys):
    model = model_of(
        [make_node("Reshape", ["x", "t"], ["y"])], {"x": [3, 4], "t": ([2], INT64)}, ir_version=9
    )
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    np.save(tmp_path / "t.npy", np.array([2, -1]))
    words = ["--input", f"t={tmp_path / 't.npy'}", "--random", 0, "--check", "--no-cache"]
    status, out, _ = command(capsys, "run", tmp_path / "m.onnx", *words)
    assert status == 0 and "y: 2x6xfloat32" in out and "check: agrees with" in out


def test_what_branches_do_not_support_is_in_the_same_message(load):
    def branch(name, op):
        nodes = [make_node(op, ["x"], [name], f"in_{name}", domain="own")]
        return make_graph(nodes, name, [], [make_tensor_value_info(name, FLOAT, None)])

    nodes = [
        make_node("Fancy", ["x"], ["f"], "outside", domain="own"),
        make_node(
            "If",
            ["c"],
            ["y"],
            "i",
            then_branch=branch("a", "Fancy"),
            else_branch=branch("b", "Fancy"),
        ),
    ]
    model = model_of(nodes, {"x": [3], "c": ([], TensorProto.BOOL)})
    assert "own.Fancy (node 'outside', 'i/in_a'" in refused(load, model)


def test_a_branch_is_chosen_at_import_or_when_it_runs(load):
    def branch(name, op):
        nodes = [make_node(op, ["x"], [name])]
        return make_graph(nodes, name, [], [make_tensor_value_info(name, FLOAT, None)])

    nodes = [
        make_node(
            "If", ["c"], ["y"], then_branch=branch("a", "Exp"), else_branch=branch("b", "Neg")
        )
    ]
    model = model_of(nodes, {"x": [4], "c": ([], TensorProto.BOOL)})
    run = load(model).compile()
    for holds, expected in ((True, np.exp(X[0])), (False, -X[0])):
        np.testing.assert_allclose(run(X[0], np.array(holds)), expected, rtol=1e-5)
    chosen = load(model, constants={"c": False})
    assert "graph.neg" in chosen.as_text() and "graph.exp" not in chosen.as_text()


def test_a_loop_whose_iterations_are_known(load):
    body = make_graph(
        [
            make_node("Add", ["a", "x"], ["b"]),
            make_node("Identity", ["go"], ["on"]),
            make_node("Neg", ["b"], ["seen"]),
        ],
        "body",
        [
            make_tensor_value_info("i", INT64, []),
            make_tensor_value_info("go", TensorProto.BOOL, []),
            make_tensor_value_info("a", FLOAT, None),
        ],
        [
            make_tensor_value_info("on", TensorProto.BOOL, []),
            make_tensor_value_info("b", FLOAT, None),
            make_tensor_value_info("seen", FLOAT, None),
        ],
    )
    nodes = [make_node("Loop", ["n", "", "x"], ["y", "z"], body=body)]
    model = model_of(nodes, {"x": [4]}, ("y", "z"), weights={"n": np.array(3)})
    last, seen = load(model).compile()(X[0])
    np.testing.assert_allclose(last, 4 * X[0], rtol=1e-6)
    np.testing.assert_allclose(seen, -np.outer([2, 3, 4], X[0]), rtol=1e-6)


def test_a_function_of_onnx_passes_its_attributes_on(load):
    """The body of SoftmaxCrossEntropyLoss calls another function of ONNX with `reduction`."""
    node = make_node("SoftmaxCrossEntropyLoss", ["x", "t"], ["y"], reduction="none")
    run = load(model_of([node], {"x": [3, 4], "t": ([3], INT64)})).compile()
    targets = np.array([0, 3, 1])
    logarithms = X - np.log(np.exp(X).sum(1, keepdims=True))
    np.testing.assert_allclose(run(X, targets), -logarithms[np.arange(3), targets], rtol=1e-5)
