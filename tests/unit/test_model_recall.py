"""A model that another process has compiled is not imported again, unless anything it is made from is another."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import stepwell as sw
from onnx import TensorProto, numpy_helper
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from stepwell import StepwellError
from stepwell.analysis.level import Level
from stepwell.cache import folder
from stepwell.cache.store import Store
from stepwell.tools.cli import main

X = np.linspace(-1, 1, 60, dtype=np.float32).reshape(3, 20)
WEIGHT = np.random.default_rng(0).standard_normal((20, 100)).astype(np.float32)
BIAS = np.random.default_rng(1).standard_normal(100).astype(np.float32)


def saved(path: Path, weights: Mapping[str, np.ndarray], **kwargs: Any) -> Path:
    """A model of one layer, with external data where `kwargs` say so."""
    graph = make_graph(
        [make_node("MatMul", ["x", "w"], ["p"]), make_node("Add", ["p", "b"], ["y"])],
        "layer",
        [make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 20])],
        [make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    onnx.save(make_model(graph, opset_imports=[make_opsetid("", 18)]), path, **kwargs)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(tmp_path / "layer.onnx", {"w": WEIGHT, "b": BIAS})


def result(path: Path, x: np.ndarray = X, **options: Any) -> tuple[bool, Any]:
    """Whether the model is imported when it is loaded and called on `x`, and what it gives."""
    low = sw.load(path, shapes={"x": x.shape}, **{"opt": "quick", **options})
    run = low.compile(threads=options.pop("threads", 1))
    return low.timings[-1][0] != "cache", run(x)


def test_a_model_is_imported_by_the_first_process_alone(store: Store, model: Path):
    (imported, first), (again, second) = result(model), result(model)
    assert imported and not again
    np.testing.assert_allclose(first, X @ WEIGHT + BIAS, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(first, second)
    assert result(model, X[:2])[0]
    assert result(model, fp="strict")[0]
    assert result(model, target="x86-64-v2")[0]
    assert result(model, opt="full")[0] and not result(model, opt="full")[0]
    assert result(model, cache=False)[0]
    low = sw.load(model, shapes={"x": X.shape}, opt="quick")
    low.compile(threads=2)
    assert low.timings[-1][0] != "cache"


def test_a_model_of_other_contents_is_another(store: Store, model: Path):
    result(model)
    saved(model, {"w": 2 * WEIGHT, "b": BIAS})
    imported, found = result(model)
    assert imported
    np.testing.assert_allclose(found, X @ (2 * WEIGHT) + BIAS, rtol=1e-4, atol=1e-5)


def test_weights_are_read_from_the_models_file(store: Store, model: Path):
    result(model)
    constants = sum(entry.bytes for entry in store.entries() if entry.kind == "constants")
    assert constants < WEIGHT.nbytes
    low = sw.load(model, shapes={"x": X.shape}, opt="quick")
    run = low.compile(threads=1)
    expected = run(X)
    model.write_bytes(b"\0" * model.stat().st_size)  # what is kept of it is a copy
    np.testing.assert_array_equal(run(X), expected)


def test_the_ir_of_a_known_model_is_imported_when_it_is_asked_for(store: Store, model: Path):
    low = sw.load(model, shapes={"x": X.shape}, opt="quick")
    low.compile(threads=1)
    known = sw.load(model, shapes={"x": X.shape}, opt="quick")
    assert known.level is Level.GRAPH
    assert known.as_text("te") == low.as_text("te")
    other = known.compile(threads=1, opt="full")
    np.testing.assert_allclose(other(X), X @ WEIGHT + BIAS, rtol=1e-4, atol=1e-5)


def test_a_file_that_changes_after_it_was_loaded_is_refused(store: Store, model: Path):
    result(model)
    low = sw.load(model, shapes={"x": X.shape}, opt="quick")
    with model.open("r+b") as file:
        file.write(b"torn")
    os.utime(model, (1, 1))
    with pytest.raises(StepwellError, match="found the file changed since it was loaded, expected"):
        low.as_text("graph")


def test_a_file_that_is_gone_is_still_loaded(store: Store, model: Path):
    _, expected = result(model)
    low = sw.load(model, shapes={"x": X.shape}, opt="quick")
    model.unlink()
    np.testing.assert_array_equal(low.compile(threads=1)(X), expected)
    assert "matmul" in low.as_text("graph")


def external(path: Path, weight: np.ndarray) -> Path:
    return saved(
        path,
        {"w": weight, "b": BIAS},
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )


def test_external_data_is_part_of_a_model(store: Store, tmp_path: Path):
    path, weights = tmp_path / "m.onnx", tmp_path / "weights.bin"
    external(path, WEIGHT)
    assert result(path)[0] and not result(path)[0]
    weights.write_bytes(
        np.concatenate([BIAS, WEIGHT.ravel()]).tobytes()
    )  # the same in another order
    imported, found = result(path)
    contents = np.fromfile(weights, np.float32)
    weight, bias = contents[:2000].reshape(20, 100), contents[2000:]
    assert imported
    for values in (found, result(path)[1]):
        np.testing.assert_allclose(values, X @ weight + bias, rtol=1e-4, atol=1e-5)
    assert not result(path)[0]
    weights.unlink()
    with pytest.raises(
        StepwellError, match=r"found no file 'weights\.bin', which tensor 'w' is in"
    ):
        result(path)


def test_external_data_of_branches_and_attributes_is_part_of_a_model(store: Store, tmp_path: Path):
    """Where the initializers of the graph have none."""

    def run(factor: float, term: float) -> tuple[bool, Any]:
        np.full(20, factor, np.float32).tofile(tmp_path / "factor.bin")
        np.full(20, term, np.float32).tofile(tmp_path / "term.bin")
        return result(branching(tmp_path / "branches.onnx"))

    for factor, term in ((2, 1), (3, 1), (3, 5)):
        imported, found = run(factor, term)
        assert imported
        np.testing.assert_allclose(found, X * factor + term, rtol=1e-6)
    assert not run(3, 5)[0]


def branching(path: Path) -> Path:
    """A model with a factor in a branch and a term in a node, which are in files."""

    def external(name: str) -> TensorProto:
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[20])
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=f"{name}.bin")
        return tensor

    product = make_tensor_value_info("p", TensorProto.FLOAT, None)
    nodes = [make_node("Mul", ["x", "factor"], ["p"])]
    branches = [
        make_graph(nodes, "then", [], [product], [external("factor")]),
        make_graph([make_node("Neg", ["x"], ["p"])], "else", [], [product]),
    ]
    graph = make_graph(
        [
            make_node("ReduceMax", ["x"], ["most"], keepdims=0),
            make_node("Cast", ["most"], ["c"], to=TensorProto.BOOL),
            make_node("If", ["c"], ["q"], then_branch=branches[0], else_branch=branches[1]),
            make_node("Constant", [], ["term"], value=external("term")),
            make_node("Add", ["q", "term"], ["y"]),
        ],
        "branches",
        [make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 20])],
        [make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    onnx.save(make_model(graph, opset_imports=[make_opsetid("", 18)]), path)
    return path


@pytest.mark.parametrize("kind", ["models", "programs", "constants", "objects"])
def test_a_torn_entry_is_made_again(store: Store, model: Path, kind: str):
    _, expected = result(model)
    torn = [entry for entry in store.entries() if entry.kind == kind]
    assert torn
    for entry in torn:
        entry.path.write_bytes(entry.path.read_bytes()[:-1])
    np.testing.assert_array_equal(result(model)[1], expected)
    assert not result(model)[0]


def test_shapes_that_are_none_are_refused_as_ever(store: Store, model: Path):
    for _ in range(2):
        with pytest.raises(StepwellError, match="found shape"):
            sw.load(model, shapes={"x": (3, 21)})
        with pytest.raises(StepwellError, match="rows"):
            sw.load(model)


def test_a_second_process_loads_nothing_of_the_compiler(store: Store, model: Path):
    program = (
        "import sys, numpy as np, stepwell as sw\n"
        f"low = sw.load({str(model)!r}, shapes={{'x': (3, 20)}}, opt='quick')\n"
        "print(low.compile(threads=1)(np.ones((3, 20), np.float32)).sum())\n"
        "print('xdsl' in sys.modules, 'onnx' in sys.modules)\n"
    )
    environment = {**os.environ, folder.VARIABLE: str(store.folder)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    )
    assert first[0] == second[0]
    assert (first[1:], second[1:]) == (["True", "True"], ["False", "False"])


def test_run_takes_a_known_model_from_the_cache(
    store: Store, model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    command = ["run", str(model), "--shape", "x=3x20", "--random", "0", "--opt", "quick"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert first.startswith("y: 3x100xfloat32 = [")
    monkeypatch.setattr("stepwell.frontend.onnx.importer.import_model", None)
    assert main(command) == 0
    assert capsys.readouterr().out == first
