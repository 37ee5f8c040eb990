"""
The libraries that `stepwell bench` measures beside ours, each called as its documentation says is fastest:
on memory of the caller's, with results in memory that is used again, in f32, on as many threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..errors import StepwellError
from ..spelling import did_you_mean
from .bench_case import Prepared
from .bench_models import specialized

Array = npt.NDArray[Any]
Call = Callable[[], Any]
Results = Callable[[Any], list[Array]]
"""What a call gave, as NumPy's arrays."""

OURS = "stepwell"
BEFORE = "before"
"""Another checkout of Stepwell."""
GAUGE = "gauge"
"""No contestant: work that stays the same, which says between turns how quick the cores are."""


def peers_named(text: str) -> list[str]:
    """The peers of `--against`. Raises StepwellError for one that is not known."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in PEERS:
            raise StepwellError(
                f"found peer '{name}', expected some of {', '.join(PEERS)}; "
                f"{did_you_mean(name, list(PEERS), 'choose from these')}"
            )
    return list(dict.fromkeys(names))


def missing(name: str) -> list[str]:
    """The packages that a peer needs and that are not installed."""
    return [package for package in _PACKAGES[name] if find_spec(package) is None]


def version(name: str) -> str:
    """Without importing it, where the installed package says it: that takes a second in some."""
    try:
        text = metadata.version(name)
    except metadata.PackageNotFoundError:  # it comes from a package of another name
        text = str(getattr(import_module(name), "__version__", "unknown"))
    return text.partition("-")[0]


def settings(name: str, threads: int) -> dict[str, Any]:
    """
    What a peer is told besides the variables of its process, by the names of its own interface.

    Cores are not chosen by the libraries: the whole process is kept on as many as there are threads.
    """
    return {
        "numpy": {},
        "torch": {"set_num_threads": threads, "set_grad_enabled": False},
        "onnxruntime": {
            "intra_op_num_threads": threads,
            "inter_op_num_threads": 1,
            "graph_optimization_level": "ORT_ENABLE_ALL",
        },
        "openvino": {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",  # where the CPU has bf16, it would be bf16
            "ENABLE_CPU_PINNING": False,
        },
    }[name]


def load(name: str, prepared: Prepared, threads: int) -> tuple[Call, Results] | None:
    """What to time, and what it gave. None when the case does not say how this peer computes it."""
    return PEERS[name](prepared, threads)


def as_arrays(value: Any) -> list[Array]:
    values = cast("Sequence[Any]", value if isinstance(value, tuple | list) else (value,))
    return [np.asarray(element) for element in values]


def _numpy(prepared: Prepared, threads: int) -> tuple[Call, Results] | None:
    function, arrays = prepared.case.numpy, [*prepared.arrays, *prepared.weights]
    if function is None:
        return None
    return lambda: function(*arrays), as_arrays


def _torch(prepared: Prepared, threads: int) -> tuple[Call, Results] | None:
    function = prepared.case.torch
    if function is None:
        return None
    torch: Any = import_module("torch")
    torch.set_num_threads(settings("torch", threads)["set_num_threads"])
    torch.set_grad_enabled(settings("torch", threads)["set_grad_enabled"])
    tensors = [torch.from_numpy(array) for array in (*prepared.arrays, *prepared.weights)]

    def results(value: Any) -> list[Array]:
        values = cast("Sequence[Any]", value if isinstance(value, tuple | list) else (value,))
        return [element.numpy() for element in values]

    return lambda: function(*tensors), results


def _onnxruntime(prepared: Prepared, threads: int) -> tuple[Call, Results] | None:
    if prepared.case.onnx is None:
        return None
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.log_severity_level = 4
    for option, value in settings("onnxruntime", threads).items():
        is_level = option == "graph_optimization_level"
        setattr(options, option, getattr(ort.GraphOptimizationLevel, value) if is_level else value)
    model = prepared.case.onnx().SerializeToString()
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    arguments = dict(zip(prepared.case.arguments, prepared.arrays, strict=True))
    inputs = {
        name: ort.OrtValue.ortvalue_from_numpy(array)
        for name, array in {**arguments, **prepared.constants}.items()
    }  # alive with the binding
    for name, value in inputs.items():
        binding.bind_ortvalue_input(name, value)
    for output in session.get_outputs():
        binding.bind_output(output.name, "cpu")
    session.run_with_iobinding(binding)
    outputs = binding.get_outputs()
    for output, value in zip(session.get_outputs(), outputs, strict=True):
        binding.bind_ortvalue_output(output.name, value)

    def call() -> Any:
        session.run_with_iobinding(binding)
        return outputs

    return call, lambda values: [value.numpy() for value in values]


def _openvino(prepared: Prepared, threads: int) -> tuple[Call, Results] | None:
    if prepared.case.onnx is None:
        return None
    ov: Any = import_module("openvino")
    core = ov.Core()
    inputs = dict(zip(prepared.case.arguments, prepared.arrays, strict=True))
    proto = specialized(prepared.case.onnx(), inputs, prepared.constants)
    model = core.read_model(proto.SerializeToString())
    compiled = core.compile_model(model, "CPU", settings("openvino", threads))
    request = compiled.create_infer_request()
    for name, array in inputs.items():
        request.set_tensor(name, ov.Tensor(array, shared_memory=True))

    def call() -> Any:
        request.infer()
        return request

    return call, lambda done: [np.array(tensor.data) for tensor in done.output_tensors]


PEERS: Mapping[str, Callable[[Prepared, int], tuple[Call, Results] | None]] = {
    "numpy": _numpy,
    "torch": _torch,
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
}

_PACKAGES: Mapping[str, Sequence[str]] = {
    "numpy": ("numpy",),
    "torch": ("torch",),
    "onnxruntime": ("onnxruntime", "onnx"),
    "openvino": ("openvino", "onnx"),
}
