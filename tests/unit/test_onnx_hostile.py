"""Models that are not what they should be: each ends in one line, in bounded time and memory."""

import math
import resource
import time
from pathlib import Path

import numpy as np
import onnx
import onnx_models
import pytest
import stepwell as sw
from onnx import TensorProto, numpy_helper
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from stepwell import StepwellError

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


def test_functions_that_double_are_cut_off(tmp_path):
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
    assert "found more than 20000 nodes" in message_of(tmp_path / "m.onnx", model)


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


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes changed, put in or left out, or the end cut off; or some fields of the message changed."""
    if rng.random() < 0.7:
        model = onnx.ModelProto.FromString(data)
        for _ in range(int(rng.integers(1, 3))):
            change_a_field(model, rng)
        return model.SerializeToString()
    array = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        place = int(rng.integers(len(array)))
        match rng.integers(8):
            case 0:
                del array[place : place + int(rng.integers(1, 9))]
            case 1:
                array[place:place] = rng.bytes(int(rng.integers(1, 9)))
            case 2 if rng.random() < 0.2:
                del array[max(place, 1) :]
            case 3:
                array[place] ^= 1 << int(rng.integers(8))
            case _:
                array[place] = int(rng.integers(256))
        if not array:
            return b""
    return bytes(array)


NUMBERS = (0, 1, -1, 2, 3, 7, 16, 1 << 31, 1 << 62, -(1 << 62))


def change_a_field(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    """Another number or name in a field of some message, or an entry of a list left out or doubled."""
    fields = list(_fields(model))
    message, descriptor = fields[rng.integers(len(fields))]
    value = getattr(message, descriptor.name)
    names = [name for node in model.graph.node for name in (*node.input, *node.output)]
    if descriptor.is_repeated:
        position = int(rng.integers(len(value)))
        if rng.random() < 0.3:
            del value[position]
        elif rng.random() < 0.3 or descriptor.cpp_type == descriptor.CPPTYPE_MESSAGE:
            value.append(value[position])
        else:
            value[position] = _other(descriptor, names, rng, value[position])
    elif descriptor.cpp_type == descriptor.CPPTYPE_MESSAGE or rng.random() < 0.1:
        message.ClearField(descriptor.name)
    else:
        setattr(message, descriptor.name, _other(descriptor, names, rng, value))


def _fields(message):
    for descriptor, value in message.ListFields():
        yield message, descriptor
        if descriptor.cpp_type == descriptor.CPPTYPE_MESSAGE:
            for part in value if descriptor.is_repeated else [value]:
                yield from _fields(part)


def _other(descriptor, names, rng, value):
    if isinstance(value, bytes):
        return value[: int(rng.integers(len(value) + 1))]
    if isinstance(value, str):
        return names[rng.integers(len(names))]
    if isinstance(value, float):
        return float(rng.choice([0, -1, 1e30, np.nan, np.inf]))
    if descriptor.enum_type is not None:
        return int(rng.choice([one.number for one in descriptor.enum_type.values]))
    bits = 31 if descriptor.cpp_type == descriptor.CPPTYPE_INT32 else 63
    fitting = [one for one in NUMBERS if -(1 << bits) <= one < 1 << bits]
    return int(fitting[rng.integers(len(fitting))])


def outcome_of_mutation(seed: int, path: Path) -> str:
    """What becomes of a random model with some bytes changed: `runs`, or the line that it ends in."""
    rng = np.random.default_rng(seed)
    path.write_bytes(mutated(onnx_models.random_model(seed % 50).SerializeToString(), rng))
    try:
        low = sw.load(path, opt="quick", cache=False)
        run = low.compile(threads=1)
        specs = (*run.signature.inputs, *run.signature.results)
        if sum(math.prod(spec.shape) for spec in specs) < 1 << 20:
            run(*(np.zeros(spec.shape, spec.dtype) for spec in run.signature.inputs))
    except StepwellError as error:
        assert "\n" not in str(error)
        return str(error)
    return "runs"


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(0, 1000, 20))
def test_bytes_that_are_changed_end_in_a_result_or_one_line(tmp_path, seed):
    for one in range(seed, seed + 20):
        outcome_of_mutation(one, tmp_path / "m.onnx")
