"""
A process in which a library multiplies two matrices and tells which kernels it has chosen for this processor.

MKL and oneDNN tell it by themselves, at their first call, when their variables for verbose output are set; of
the others it is asked here. `bench_environment.describe` starts this, and reads what is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from .bench_case import Case, prepare_case
from .bench_environment import statement
from .bench_peers import load

_SHAPE = "256x256xf32"


def main() -> int:
    """Multiply, then tell."""
    name, threads = sys.argv[1], int(sys.argv[2])
    case = Case("product", _product, {"a": _SHAPE, "b": _SHAPE}, _product, _torch_product, _model)
    loaded = load(name, prepare_case(case), threads)
    assert loaded is not None
    loaded[0]()
    for line in _SAYING[name]():
        print(statement(line))
    return 0


def _product(a: Any, b: Any) -> Any:
    return a @ b


def _torch_product(a: Any, b: Any) -> Any:
    """With a GELU, which PyTorch gives to oneDNN: it tells of itself at its first call."""
    import_module("torch").nn.functional.gelu(a)
    return a @ b


def _model() -> Any:
    onnx: Any = import_module("onnx")
    helper, element = onnx.helper, onnx.TensorProto.FLOAT
    shape = [int(extent) for extent in _SHAPE.split("x")[:-1]]
    a, b, y = (helper.make_tensor_value_info(name, element, shape) for name in "aby")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["a", "b"], ["y"])], "product", [a, b], [y]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def _numpy() -> list[str]:
    """The BLAS that is loaded, by threadpoolctl, and the instructions of NumPy's own loops."""
    simd: Any = np.show_config(mode="dicts")["SIMD Extensions"]
    loops = f"loops for {(simd.get('found') or simd['baseline'])[-1]}"
    if find_spec("threadpoolctl") is None:
        return ["a BLAS whose kernels only threadpoolctl tells (pip install threadpoolctl)", loops]
    libraries: Any = import_module("threadpoolctl").threadpool_info()
    return [
        *(
            f"{_BLAS_NAMES.get(each['internal_api'], each['internal_api'])} {each['version']} "
            f"for {each.get('architecture', 'a processor it does not tell')}"
            for each in libraries
            if each["user_api"] == "blas"
        ),
        loops,
    ]


_BLAS_NAMES = {"openblas": "OpenBLAS", "mkl": "MKL", "blis": "BLIS"}


def _torch() -> list[str]:
    torch: Any = import_module("torch")
    return [f"loops for {torch.backends.cpu.get_cpu_capability()}"]


def _onnxruntime() -> list[str]:
    """Its kernels are MLAS's, which chooses them by CPUID and has no way to ask which."""
    return ["MLAS, which does not tell the instructions it has chosen"]


def _openvino() -> list[str]:
    """All of it is in what oneDNN prints."""
    return []


_SAYING: Mapping[str, Callable[[], list[str]]] = {
    "numpy": _numpy,
    "torch": _torch,
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
}


if __name__ == "__main__":
    sys.exit(main())
