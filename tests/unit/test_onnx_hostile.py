"""Models that are not what they should be: each ends in one line, in bounded time and memory."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import onnx_extremes
import onnx_models
import onnx_mutations
import pytest
import stepwell as sw
from onnx import TensorProto, numpy_helper
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from stepwell import StepwellError
from stepwell.frontend.onnx import importer
from stepwell.frontend.onnx.tensors import tensor_array

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def model_of(nodes, weights=(), shape=(2, 3), opsets=(("", 18),), outputs=("y",)):
    graph = make_graph(
        nodes,
        "g",
        [make_tensor_value_info("x", FLOAT, shape)],
        [make_tensor_value_info(name, FLOAT, None) for name in outputs],
        weights,
    )
    return make_model(graph, opset_imports=[make_opsetid(*one) for one in opsets])


def integers(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def floats(name, count):
    return numpy_helper.from_array(np.ones(count, np.float32), name)


def message_of(path: Path, data: bytes | onnx.ModelProto) -> str:
    """The one line that loading ends in, within a second and 200 MiB."""
    path.write_bytes(data if isinstance(data, bytes) else data.SerializeToString())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(StepwellError) as error:
        sw.load(path, cache=False)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10
    message = str(error.value)
    assert "\n" not in message and len(message) < 2000
    return message


def _with_inputs(model: onnx.ModelProto, count: int) -> onnx.ModelProto:
    """The model, with its first input so many times."""
    model.graph.input.extend([model.graph.input[0]] * (count - 1))
    return model


def _with_attribute(node: onnx.NodeProto, **attribute: int) -> onnx.NodeProto:
    node.attribute.extend(make_node("", [], [], **attribute).attribute)
    return node


EXP = make_node("Exp", ["x"], ["y"], "e")
HUGE = 1 << 62


def _nested(depth: int):
    """Branches in branches."""
    nodes = [make_node("Exp", ["x"], ["y"])]
    for _ in range(depth):
        branch = make_graph(nodes, "b", [], [make_tensor_value_info("y", FLOAT, None)])
        nodes = [make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)]
        if depth > 12 and len(branch.SerializeToString()) > 1 << 20:
            break
    return nodes


MODELS = {
    "truncated": (lambda: model_of([EXP]).SerializeToString()[:-9], "no whole ONNX model"),
    "text": (lambda: b"builtin.module {}", "no whole ONNX model"),
    "empty": (lambda: b"", "no graph in the file"),
    "unknown domain": (
        lambda: model_of([make_node("Exp", ["x"], ["y"], "e", domain="z")]),
        "z.Exp (node 'e')",
    ),
    "future opset": (
        lambda: model_of([EXP], opsets=(("", 999),)),
        "found operator set 999, expected 1 to",
    ),
    "no opset": (lambda: model_of([EXP], opsets=()), "no version of its operators"),
    "missing weight": (
        lambda: model_of([make_node("Add", ["x", "w"], ["y"], "a")]),
        "using 'w', which no input",
    ),
    "wrong shape": (
        lambda: model_of([make_node("Add", ["x", "w"], ["y"], "a")], [integers("w", 1, 2, 3, 4)]),
        ":a: ",
    ),
    "weight without bytes": (
        lambda: model_of(
            [EXP], [TensorProto(name="w", data_type=FLOAT, dims=[HUGE], raw_data=b"1234")]
        ),
        "expected extents that memory can hold",
    ),
    "weight with too few bytes": (
        lambda: model_of(
            [EXP], [TensorProto(name="w", data_type=FLOAT, dims=[1 << 40], raw_data=b"1234")]
        ),
        "without the 1099511627776 elements",
    ),
    "huge input": (lambda: model_of([EXP], shape=(HUGE, 4)), "memory that this machine has"),
    "huge expand": (
        lambda: model_of(
            [make_node("Expand", ["x", "s"], ["y"], "e")], [integers("s", HUGE, 2, 3)]
        ),
        ":e: ",
    ),
    "huge constant": (
        lambda: model_of(
            [make_node("ConstantOfShape", ["s"], ["y"], "e")], [integers("s", HUGE, 2)]
        ),
        "64 bits can address",
    ),
    "huge pads": (
        lambda: model_of(
            [make_node("Pad", ["x", "s"], ["y"], "e")], [integers("s", 0, 0, HUGE, HUGE)]
        ),
        "64 bits can address",
    ),
    "huge edge pads": (
        lambda: model_of(
            [make_node("Pad", ["x", "s"], ["y"], "e", mode="edge")],
            [integers("s", 0, 0, 0, 1 << 40)],
        ),
        ":e: ",
    ),
    "huge tile": (
        lambda: model_of([make_node("Tile", ["x", "s"], ["y"], "e")], [integers("s", HUGE, HUGE)]),
        "64 bits can address",
    ),
    "huge depth": (
        lambda: model_of(
            [
                make_node("Cast", ["x"], ["i"], to=INT64),
                make_node("OneHot", ["i", "d", "v"], ["y"], "e"),
            ],
            [integers("d", 1 << 50), integers("v", 0, 1)],
        ),
        ":e: ",
    ),
    "huge resize": (
        lambda: model_of(
            [make_node("Resize", ["x", "", "", "s"], ["y"], "e")], [integers("s", 2, 1 << 33)]
        ),
        "found an axis of 8589934592 elements to make",
    ),
    "huge strides": (
        lambda: model_of(
            [make_node("ConvTranspose", ["x", "x"], ["y"], "e", strides=[1 << 20])],
            shape=(2, 2, 3),
        ),
        "found strides [1048576] of a transposed convolution, expected at most 1024",
    ),
    "huge number of parts": (
        lambda: model_of([make_node("Split", ["x"], ["y"], "e", num_outputs=1 << 33)]),
        "found num_outputs 8589934592 and 1 outputs of Split",
    ),
    "a cycle": (
        lambda: model_of([make_node("Exp", ["y"], ["z"], "e"), make_node("Exp", ["z"], ["y"])]),
        "node 'e' using 'y' before it is computed",
    ),
    "a value twice": (
        lambda: model_of([make_node("Exp", ["x"], ["y"]), make_node("Neg", ["x"], ["y"], "e")]),
        ":e: found 'y' given a second time",
    ),
    "an attribute twice": (
        lambda: model_of(
            [_with_attribute(make_node("Softmax", ["x"], ["y"], "e", axis=0), axis=1)]
        ),
        ":e: found the attribute 'axis' twice, expected it once",
    ),
    "more channels than the input has": (
        lambda: model_of(
            [make_node("InstanceNormalization", ["x", "w", "w"], ["y"], "e")],
            [floats("w", 5)],
            shape=(2, 1, 3),
        ),
        ":e: found 'scale' of shape [5] for an input of shape [2, 1, 3], expected [1]",
    ),
    "one element for all channels": (
        lambda: model_of(
            [make_node("BatchNormalization", ["x", "w", "w", "w", "v"], ["y"], "e")],
            [floats("w", 3), floats("v", 1)],
        ),
        ":e: found 'variance' of shape [1] for an input of shape [2, 3], expected [3]",
    ),
    "a scale for each channel where groups have one": (
        lambda: model_of(
            [make_node("GroupNormalization", ["x", "w", "w"], ["y"], "e", num_groups=2)],
            [floats("w", 4)],
            shape=(2, 4, 3),
        ),
        ":e: found 'scale' of shape [4] for an input of shape [2, 4, 3], expected [2], an element for each group",
    ),
    "groups of no whole channels": (
        lambda: model_of(
            [make_node("GroupNormalization", ["x", "w", "w"], ["y"], "e", num_groups=2)],
            [floats("w", 2)],
            shape=(2, 5, 3),
        ),
        ":e: found num_groups=2 for an input of shape [2, 5, 3], expected a number that its 5 channels are a multiple of",
    ),
    "no groups": (
        lambda: model_of(
            [make_node("GroupNormalization", ["x", "w", "w"], ["y"], "e", num_groups=0)],
            [floats("w", 4)],
            shape=(2, 4, 3),
            opsets=(("", 21),),
        ),
        ":e: found num_groups=0 for an input of shape [2, 4, 3]",
    ),
    "an input twice": (
        lambda: _with_inputs(model_of([EXP]), 2),
        "found 'x' given a second time",
    ),
    "an initializer by a node": (
        lambda: model_of([EXP], [integers("y", 1)]),
        ":e: found 'y' given a second time",
    ),
    "an input by a node": (
        lambda: model_of([make_node("Exp", ["x"], ["x"], "e"), make_node("Neg", ["x"], ["y"])]),
        ":e: found 'x' given a second time",
    ),
    "no version of operators": (
        lambda: model_of([EXP], opsets=(("z", 1),)),
        ":e: found Exp of ONNX's own operators, expected an opset_import",
    ),
    "huge range": (
        lambda: model_of(
            [make_node("Range", ["a", "b", "c"], ["y"], "e")],
            [
                numpy_helper.from_array(np.int64(one), name)
                for one, name in ((0, "a"), (HUGE, "b"), (1, "c"))
            ],
        ),
        ":e: ",
    ),
    "huge triangle": (
        lambda: model_of([make_node("EyeLike", ["x"], ["y"], "e")], shape=(1 << 30, 1 << 30)),
        "memory that this machine has",
    ),
    "step of zero": (
        lambda: model_of(
            [make_node("Range", ["a", "a", "a"], ["y"], "e")],
            [numpy_helper.from_array(np.int64(0), "a")],
        ),
        ":e: ",
    ),
    "deep branches": (lambda: model_of(_nested(40)), ""),
    "a long name": (
        lambda: model_of([make_node("Exp", ["n" * 10_000_000], ["y"], "m" * 10_000_000)]),
        "…",
    ),
    "a name of lines": (
        lambda: model_of([make_node("Exp", ["a\nb"], ["y"], "e\nf")]),
        "using 'a b'",
    ),
    "a long operator": (lambda: model_of([make_node("E" * 10_000_000, ["x"], ["y"], "e")]), "…"),
    "an endless loop": (
        lambda: model_of(
            [
                make_node(
                    "Loop",
                    ["t", "", "x"],
                    ["y"],
                    "l",
                    body=make_graph(
                        [make_node("Identity", ["c"], ["d"]), make_node("Identity", ["a"], ["b"])],
                        "body",
                        [
                            make_tensor_value_info(*one)
                            for one in (("i", INT64, []), ("c", 9, []), ("a", FLOAT, None))
                        ],
                        [
                            make_tensor_value_info(*one)
                            for one in (("d", 9, []), ("b", FLOAT, None))
                        ],
                    ),
                )
            ],
            [numpy_helper.from_array(np.int64(HUGE), "t")],
        ),
        f"a loop of {HUGE} iterations",
    ),
}


@pytest.mark.parametrize("case", MODELS)
def test_a_model_that_is_wrong_is_refused_in_one_line(tmp_path, case):
    make, expected = MODELS[case]
    data = make()
    start = time.perf_counter()
    assert expected in message_of(tmp_path / "m.onnx", data)
    assert time.perf_counter() - start < 30


def test_functions_that_double_are_cut_off(tmp_path, monkeypatch):
    monkeypatch.setattr(importer, "MAX_EXPANDED", 1_000)
    functions = []
    for level in range(40):
        inner = [f"F{level + 1}"] * 2 if level < 39 else ["Exp", "Exp"]
        domain = "own" if level < 39 else ""
        body = [
            make_node(inner[0], ["a"], ["t"], domain=domain),
            make_node(inner[1], ["t"], ["b"], domain=domain),
        ]
        opsets = [make_opsetid("", 18), make_opsetid("own", 1)]
        functions.append(onnx.helper.make_function("own", f"F{level}", ["a"], ["b"], body, opsets))
    model = model_of([make_node("F0", ["x"], ["y"], domain="own")], opsets=(("", 18), ("own", 1)))
    model.functions.extend(functions)
    assert "found more than 1000 nodes" in message_of(tmp_path / "m.onnx", model)


# External data.


def external(location: str, **more: str) -> onnx.ModelProto:
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=value)
    return model_of([make_node("Add", ["x", "w"], ["y"], "a")], [tensor])


def test_external_data_is_mapped_from_the_folder_of_the_model(tmp_path):
    data = np.arange(16, dtype=np.float32)
    (tmp_path / "sub").mkdir()
    data.tofile(tmp_path / "sub" / "w.bin")
    (tmp_path / "m.onnx").write_bytes(external("sub/w.bin", offset="16").SerializeToString())
    run = sw.load(tmp_path / "m.onnx", opt="quick", cache=False).compile()
    np.testing.assert_array_equal(run(np.zeros((2, 3), np.float32))[1], data[4:7])


def test_external_data_of_an_attribute_is_mapped(tmp_path):
    """As `onnx.save` writes it with `convert_attribute=True`."""
    data = np.arange(3, dtype=np.float32)
    data.tofile(tmp_path / "w.bin")
    tensor = external("w.bin").graph.initializer[0]
    nodes = [make_node("Constant", [], ["w"], value=tensor), make_node("Add", ["x", "w"], ["y"])]
    (tmp_path / "m.onnx").write_bytes(model_of(nodes).SerializeToString())
    run = sw.load(tmp_path / "m.onnx", opt="quick", cache=False).compile()
    np.testing.assert_array_equal(run(np.zeros((2, 3), np.float32))[1], data)


def test_memory_that_there_is_not_is_not_blamed_on_the_bytes(monkeypatch):
    def fail(_: object) -> np.ndarray:
        raise MemoryError

    monkeypatch.setattr(numpy_helper, "to_array", fail)
    with pytest.raises(MemoryError):
        tensor_array(integers("k", 1, 2), None)


@pytest.mark.parametrize(
    ("location", "more", "expected"),
    [
        ("absent.bin", {}, "found no file 'absent.bin'"),
        ("../w.bin", {}, "expected a file inside of the model's folder"),
        ("/etc/passwd", {}, "expected a file inside of the model's folder"),
        ("link.bin", {}, "behind a symbolic link"),
        ("linked/w.bin", {}, "behind a symbolic link"),
        ("w.bin", {"offset": "8"}, "expected 12 bytes there, of the 16 it has"),
        ("w.bin", {"offset": "-4"}, "expected 12 bytes there"),
        ("w.bin", {"length": "99999999999999999999"}, "expected 12 bytes there"),
        ("w.bin", {"offset": "x"}, "expected 12 bytes there"),
        (".", {}, "found no file"),
        ("n" * 5000, {}, "found no file"),
    ],
)
def test_external_data_that_is_elsewhere_is_refused(tmp_path, location, more, expected):
    folder = tmp_path / "model"
    folder.mkdir()
    for where in (folder, tmp_path):
        (where / "w.bin").write_bytes(bytes(16))
    (folder / "link.bin").symlink_to(tmp_path / "w.bin")
    (folder / "linked").symlink_to(tmp_path)
    assert expected in message_of(folder / "m.onnx", external(location, **more))


# Bytes.


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(0, 1000, 20))
def test_random_models_of_other_bytes_end_in_a_result_or_one_line(tmp_path, seed):
    for one in range(seed, seed + 20):
        data = onnx_models.random_model(one % 50).SerializeToString()
        assert onnx_mutations.failure_of(data, one, tmp_path / "m.onnx") is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 1000, 100))
def test_a_real_model_of_other_bytes_ends_in_a_result_or_one_line(tmp_path, seed):
    """In a process of its own, which bounds its memory, and whose crash is seen."""
    command = [sys.executable, onnx_mutations.__file__, "--mutations", "100", "--seed", str(seed)]
    environment = {**os.environ, "STEPWELL_CACHE": str(tmp_path)}  # most kernels stay the same
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-1500:]}"


@pytest.mark.slow
def test_numbers_that_no_model_has_end_in_a_program_or_one_line():
    """
    In place of every integer of ONNX's own cases, each number in three cases of each operation, which are drawn of some seven; in a
    process of its own, which bounds its memory.
    """
    command = [sys.executable, onnx_extremes.__file__, "--each", "3"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-1500:]}"
