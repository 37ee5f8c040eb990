"""
MLIR's own tools, `mlir-opt` and `mlir-runner` 22, as a second opinion on the text of levels 4 and 5.

They are found on the PATH, which `make test-mlir` sets together with the loader's path.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stepwell.analysis.signature import ArgSpec, entry_function, signature_of
from stepwell.dialects.dtypes import element_type, signless
from stepwell.driver.pass_manager import module_text
from stepwell.frontend.text import make_context
from xdsl.dialects.builtin import ModuleOp

Array = np.ndarray[Any, Any]

_OPT = shutil.which("mlir-opt")
_RUNNER = shutil.which("mlir-runner")

needs_tools = pytest.mark.skipif(
    _OPT is None or _RUNNER is None,
    reason="mlir-opt and mlir-runner are not on the PATH; `make test-mlir` installs and finds them",
)

TO_LLVM = (
    "--convert-vector-to-scf",
    "--convert-scf-to-cf",
    "--convert-vector-to-llvm",
    "--convert-math-to-llvm",
    "--convert-math-to-libm",
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-arith-to-llvm",
    "--finalize-memref-to-llvm",
    "--convert-func-to-llvm",
    "--convert-cf-to-llvm",
    "--reconcile-unrealized-casts",
)
"""Upstream's own way down from level 4."""


def text_of(module: ModuleOp) -> str:
    """The module as a file of its own, resources included."""
    ctx = make_context()
    ctx.get_dialect("builtin")
    return module_text(module, ctx)


def mlir_opt(text: str, *options: str) -> str:
    """What mlir-opt makes of a text, which it parses and verifies. Fails the test when it refuses."""
    assert _OPT is not None
    return _run([_OPT, *options], text)


def _run(command: Sequence[str], text: str) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"{Path(command[0]).name}: {done.stderr[:2000]}", pytrace=False)
    return done.stdout


def run_upstream(module: ModuleOp, inputs: Sequence[Array]) -> list[Array]:
    """The results of a level-4 module, lowered, compiled and run by upstream's tools alone."""
    function = entry_function(module)
    driver, results = _driver(signature_of(function).name, module, inputs)
    printed = _run_lowered(mlir_opt(_with_driver(text_of(module), driver), *TO_LLVM))
    return _parse(printed, results)


def _with_driver(body: str, driver: str) -> str:
    """The text of a module with more functions at its end."""
    start, end = body.index("{") + 1, body.rindex("}", 0, body.find("{-#") % (len(body) + 1))
    return f"module {{{body[start:end]}{driver}}}{body[end + 1 :]}"


def _run_lowered(lowered: str) -> str:
    """What function @check of a module at level 5 prints."""
    assert _RUNNER is not None
    libraries = [
        str(Path(_RUNNER).parents[1] / "lib" / f"lib{name}.so")
        for name in ("mlir_runner_utils", "mlir_c_runner_utils")
    ]
    options = ["--entry-point-result=void", "--shared-libs=" + ",".join(libraries)]
    return _run([_RUNNER, "-e", "check", *options], lowered)


TENSORS_TO_LOOPS = (
    "--one-shot-bufferize=bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map",
    "--convert-linalg-to-loops",
    "--expand-strided-metadata",
    "--lower-affine",
)
"""Upstream's own way from linalg on tensors to loops over buffers."""


def run_upstream_on_tensors(module: ModuleOp, inputs: Sequence[Array]) -> list[Array]:
    """The results of a module of linalg on tensors, bufferized, lowered and run by upstream's tools alone."""
    function = entry_function(module)
    signature = signature_of(function)
    types = [str(type_) for type_ in function.function_type.inputs]
    buffers = [
        type_.replace("tensor<", "memref<") if type_.startswith("tensor<") else f"memref<{type_}>"
        for type_ in types
    ]
    globals_, lines = _inputs(inputs, buffers)
    lines += [
        f"%t{number} = bufferization.to_tensor %a{number} restrict : {buffer} to {type_}"
        if type_.startswith("tensor<")
        else f"%t{number} = memref.load %a{number}[] : {buffer}"
        for number, (type_, buffer) in enumerate(zip(types, buffers, strict=True))
    ]
    results = [str(type_) for type_ in function.function_type.outputs]
    given = ", ".join(f"%t{number}" for number in range(len(types)))
    lines.append(
        f"%r:{len(results)} = func.call @{signature.name}({given}) : {function.function_type}"
    )
    for number, (spec, type_) in enumerate(zip(signature.results, results, strict=True)):
        buffer = type_.replace("tensor<", "memref<")
        lines.append(f"%b{number} = bufferization.to_buffer %r#{number} : {type_} to {buffer}")
        lines += _print_bits(f"%b{number}", buffer, spec, f"r{number}")
    text = _with_driver(text_of(module), _check_function(globals_, lines))
    printed = _run_lowered(mlir_opt(mlir_opt(text, *TENSORS_TO_LOOPS), *TO_LLVM))
    return _parse(printed, list(signature.results))


def _driver(name: str, module: ModuleOp, inputs: Sequence[Array]) -> tuple[str, list[ArgSpec]]:
    """A function @check that fills the inputs, calls `name` and prints the bits of what it has written."""
    function = entry_function(module)
    signature = signature_of(function)
    types = [str(type_) for type_ in function.function_type.inputs]
    globals_, lines = _inputs(inputs, types)
    for number in range(len(inputs), len(types)):
        lines.append(f"%a{number} = memref.alloc() {{alignment = 64 : i64}} : {types[number]}")
    operands = ", ".join(f"%a{number}" for number in range(len(types)))
    lines.append(f"func.call @{name}({operands}) : ({', '.join(types)}) -> ()")
    results = list(signature.results)
    first = 0 if signature.convention == "inout" else len(inputs)
    for number, spec in enumerate(results, first):
        lines += _print_bits(f"%a{number}", types[number], spec, f"r{number}")
    return _check_function(globals_, lines), results


def _inputs(inputs: Sequence[Array], types: Sequence[str]) -> tuple[list[str], list[str]]:
    """Globals with the inputs, and what gets their buffers as %a0, %a1, …"""
    globals_, lines = [], []
    for number, (array, type_) in enumerate(zip(inputs, types, strict=False)):
        globals_.append(f'memref.global "private" @in{number} : {type_} = {_dense(array)}')
        lines.append(f"%a{number} = memref.get_global @in{number} : {type_}")
    return globals_, lines


def _check_function(globals_: Sequence[str], lines: Sequence[str]) -> str:
    parts = [
        "func.func private @printMemrefI64(memref<*xi64>) attributes {llvm.emit_c_interface}",
        *globals_,
        "func.func @check() attributes {llvm.emit_c_interface} {",
        "%zero = arith.constant 0 : index",
        "%one = arith.constant 1 : index",
        *lines,
        "return }",
    ]
    return "\n".join(parts) + "\n"


def _dense(array: Array) -> str:
    if array.size == 0:
        return "dense<>"
    if array.dtype == np.bool_:
        return f"dense<{np.array2string(array, separator=',', threshold=array.size + 1)}>".lower()
    return f'dense<"0x{np.ascontiguousarray(array).tobytes().hex()}">'


def _print_bits(value: str, type_: str, spec: ArgSpec, prefix: str) -> list[str]:
    """Print the elements as i64: printing floats would round them."""
    element = str(signless(element_type(spec.dtype)))
    extents = [extent for extent in spec.shape if extent is not None]
    count = int(np.prod(extents, dtype=np.int64))
    flat = f"memref<{count}x{element}, strided<[1]>>"
    integer = f"i{spec.dtype.itemsize * 8}" if spec.dtype.kind != "b" else "i1"
    p = f"%{prefix}"
    loaded = [f"{p}e = memref.load {p}f[{p}i] : {flat}"]
    if spec.dtype.kind == "f":
        loaded.append(f"{p}b = arith.bitcast {p}e : {element} to {integer}")
    bits = f"{p}b" if spec.dtype.kind == "f" else f"{p}e"
    if integer != "i64":
        loaded.append(f"{p}w = arith.extui {bits} : {integer} to i64")
        bits = f"{p}w"
    return [
        f"{p}f = memref.reinterpret_cast {value} to offset: [0], sizes: [{count}], strides: [1]"
        f" : {type_} to {flat}",
        f"{p}o = memref.alloc() : memref<{count}xi64>",
        f"{p}n = arith.constant {count} : index",
        f"scf.for {p}i = %zero to {p}n step %one {{",
        *loaded,
        f"memref.store {bits}, {p}o[{p}i] : memref<{count}xi64>",
        "}",
        f"{p}u = memref.cast {p}o : memref<{count}xi64> to memref<*xi64>",
        f"func.call @printMemrefI64({p}u) : (memref<*xi64>) -> ()",
    ]


def _parse(printed: str, results: Sequence[ArgSpec]) -> list[Array]:
    """The arrays that `_print_bits` has printed."""
    lists = re.findall(r"data =\s*\[(.*?)\]", printed, re.DOTALL)
    assert len(lists) == len(results), printed[:2000]
    arrays: list[Array] = []
    for text, spec in zip(lists, results, strict=True):
        shape = [extent for extent in spec.shape if extent is not None]
        # Of an array without elements upstream prints the one that would be there.
        bits = np.array(text.split(","), np.int64)[: int(np.prod(shape))]
        dtype = np.dtype(np.uint8) if spec.dtype.kind == "b" else spec.dtype
        narrow = bits.astype(f"u{dtype.itemsize}").view(dtype).astype(spec.dtype)
        arrays.append(narrow.reshape(shape))
    return arrays
