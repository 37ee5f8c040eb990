"""loop-outline-packing: weights packed when a program is loaded, at ragged sizes and in every element type."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.verify import verify
from stepwell.dialects import loop
from stepwell.dialects.dtypes import element_type
from stepwell.dialects.resources import constant_global_op, tensor_elements
from stepwell.dialects.schedule.steps import Stage
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.lowering.llvm_text import LLVMText
from stepwell.runtime.engine import NativeCode
from stepwell.runtime.jit import native_code
from stepwell.runtime.shared_library import link_shared_library
from stepwell.transforms.loop.outline_packing import outline_packing
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import apply
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp

SIZES = (1, 2, 3, 5, 7, 17, 33)
DTYPES = (np.float32, np.float64, np.int8, np.int32, np.int64, np.bool_)

LAYOUTS = {
    "as it is": Stage("f/w", into="packed"),
    "transposed": Stage("f/w", into="packed", order=(1, 0)),
    "panels of columns": Stage("f/w", into="packed", panel=4, pad=4),
    "panels of rows": Stage("f/w", into="packed", order=(1, 0), panel=3, pad=6),
    "padded": Stage("f/w", into="packed", pads=(2, 8)),
    "in a loop": Stage("f/w", "again", into="packed", panel=8),
}


def values(shape: tuple[int, ...], dtype: type[np.generic], seed: int = 0) -> np.ndarray:
    """Small whole numbers: every order of summation gives the same."""
    numbers = np.random.default_rng(seed).integers(-4, 5, shape)
    return numbers > 0 if dtype is np.bool_ else numbers.astype(dtype)


def transposition(w: np.ndarray) -> ModuleOp:
    """`y = w.T` of a constant, twice, at the loop level."""
    (rows, columns), type_ = w.shape, element_type(w.dtype)
    source, result = f"memref<{rows}x{columns}x{type_}>", f"memref<{columns}x{rows}x{type_}>"
    module = parse_text(f"""func.func @f(%y: {result} {{stepwell.result}}) {{
  %w = memref.get_global @w : {source}
  loop.for serial "again" %again = 0 to 2 {{
    loop.for parallel "i" %i = 0 to {rows} {{
      loop.for parallel "j" %j = 0 to {columns} {{
        %e = loop.load %w[%i, %j] : {source}
        loop.store %e, %y[%j, %i] : {result}
      }}
    }}
  }}
  func.return
}}""")
    body = module.body.block
    assert body.first_op is not None
    body.insert_op_before(constant_global_op("w", tensor_elements(w)), body.first_op)
    verify(module)
    return module


def allocations(module: ModuleOp) -> list[loop.AllocOp]:
    return [op for op in module.walk() if isinstance(op, loop.AllocOp)]


def global_names(module: ModuleOp) -> set[str]:
    return {op.sym_name.data for op in module.ops if isinstance(op, memref.GlobalOp)}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_copy_is_made_at_load(layout: str, dtype: type[np.generic]):
    for rows in SIZES if dtype is np.float32 else (1, 7):
        for columns in (1, 3, 31, 33):
            w = values((rows, columns), dtype)
            module = transposition(w)
            apply(LAYOUTS[layout], Nests(module))
            packed = allocations(module)
            assert len(packed) == 1
            count = np.prod(packed[0].buffer.type.get_shape())
            outline_packing(module)
            verify(module)
            (found,) = interpret(module, [])
            np.testing.assert_array_equal(found, w.T)
            if w.size > 1 and count <= max(2 * w.size, 64):
                assert not allocations(module)
                assert global_names(module) == {"w", "w_packed"}


PRODUCTS: dict[str, tuple[Callable[[np.ndarray], Callable[..., object]], bool]] = {
    "x @ w": (lambda w: lambda x: x @ w, False),
    "x @ w.T": (lambda w: lambda x: x @ np.ascontiguousarray(w.T).T, False),
    "w @ x": (lambda w: lambda x: w @ x, True),
}
"""Functions of x for a constant w; and whether w is the left operand."""


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int64])
@pytest.mark.parametrize(("m", "k", "n"), [(1, 17, 33), (5, 2, 7), (31, 100, 3), (33, 31, 100)])
def test_products_with_constants(name: str, dtype: type[np.generic], m: int, k: int, n: int):
    make, is_left = PRODUCTS[name]
    x, w = values((m, k), dtype, 1), values((k, n), dtype)
    if is_left:
        x, w = w, x
    found = sw.jit(make(w))(x)
    np.testing.assert_array_equal(found, w @ x if is_left else x @ w)


def layer(w: np.ndarray, b: np.ndarray) -> Callable[..., object]:
    return lambda x: sw.relu(x @ w + b)


def test_weights_are_packed_at_load():
    x, w, b = (values(shape, np.float32) for shape in ((40, 50), (50, 70), (70,)))
    low = sw.jit(layer(w, b)).lower(x)
    module = low.module("core")
    # The bias is used as it is.
    assert global_names(module) == {"constant_w", "constant_w_right", "constant_b"}
    exe = low.compile()
    np.testing.assert_array_equal(exe(x), np.maximum(x @ w + b, 0))
    np.testing.assert_array_equal(interpret(module, [x])[0], np.maximum(x @ w + b, 0))
    # The weights as they were given are let go.
    assert set(exe.native.source.external) == {"constant_b"}


def test_a_constant_that_is_also_used_otherwise_stays():
    x, w = values((50, 50), np.float32, 1), values((50, 50), np.float32)
    exe = sw.jit(lambda x: (x @ w, x + w)).lower(x).compile()
    assert set(exe.native.source.external) == {"constant_w"}
    product, total = exe(x)
    np.testing.assert_array_equal(product, x @ w)
    np.testing.assert_array_equal(total, x + w)


def test_equal_copies_are_one_buffer():
    x, w = values((40, 50), np.float32), values((50, 50), np.float32)
    low = sw.jit(lambda x: sw.relu(sw.relu(x @ w) @ w)).lower(x)
    assert global_names(low.module("core")) == {"constant_w", "constant_w_right"}
    np.testing.assert_array_equal(low.compile()(x), np.maximum(np.maximum(x @ w, 0) @ w, 0))


def test_executables_of_one_program_pack_for_themselves():
    x, w, b = (values(shape, np.float32) for shape in ((40, 50), (50, 70), (70,)))
    low = sw.jit(layer(w, b)).lower(x)
    for threads in (1, 2, 1):
        np.testing.assert_array_equal(low.compile(threads=threads)(x), np.maximum(x @ w + b, 0))


@pytest.mark.parametrize("batch", [(), (3,)])
def test_keys_and_values_of_attention(batch: tuple[int, ...]):
    """The operands of contractions inside of a block of rows, of each batch its own."""
    q, k, v = (
        np.random.default_rng(seed).standard_normal((*batch, rows, width), np.float32)
        for seed, (rows, width) in enumerate(((29, 17), (45, 17), (45, 19)))
    )
    low = sw.jit(lambda q: sw.softmax(q @ sw.swapaxes(k, -1, -2), axis=-1) @ v).lower(q)
    assert sum(name.endswith(".right") for name in global_names(low.module("core"))) == 2
    scores = np.exp(q @ np.swapaxes(k, -1, -2))
    expected = scores / scores.sum(axis=-1, keepdims=True) @ v
    np.testing.assert_allclose(low.compile()(q), expected, rtol=1e-4, atol=1e-5)


def test_scripts_pack_constants_too():
    x, w, b = (values(shape, np.float32) for shape in ((40, 50), (50, 70), (70,)))
    low = sw.jit(layer(w, b)).lower(x)
    scripted = sw.Schedule(low, script=low.script()).run().lowered()
    assert scripted.as_text("loop") == low.as_text("loop")
    assert scripted.as_text("core") == low.as_text("core")
    np.testing.assert_array_equal(scripted.compile()(x), np.maximum(x @ w + b, 0))


@pytest.mark.parametrize("level", ["loop", "core", "llvm"])
def test_printed_programs_pack_their_constants(level: str):
    x, w, b = (values(shape, np.float32) for shape in ((33, 50), (50, 71), (71,)))
    low = sw.jit(layer(w, b)).lower(x)
    again = sw.Lowered(parse_text(low.as_text(level)))
    np.testing.assert_array_equal(again.compile()(x), np.maximum(x @ w + b, 0))


SUFFIXES = (".so", ".o", ".ll")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_libraries_pack_when_they_are_loaded(suffix: str, tmp_path: Path):
    """A C caller calls the function and nothing else: the loader of the system runs what packs."""
    x, w, b = (values(shape, np.float32) for shape in ((33, 50), (50, 71), (71,)))
    low = sw.jit(layer(w, b)).lower(x)
    native = native_code(low.module("llvm"), threads=1)
    library = tmp_path / "layer.so"
    if suffix == ".ll":
        text = LLVMText(native.llvm_ir())
        native = NativeCode(text, native.target)
    code = native.object_code()
    if suffix == ".so":
        link_shared_library(code, library)
    else:
        (tmp_path / "layer.o").write_bytes(code)
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("no C compiler")
        command = [compiler, "-shared", "-o", str(library), str(tmp_path / "layer.o"), "-lm"]
        subprocess.run(command, check=True)
    y = np.empty((33, 71), np.float32)
    arena = np.empty(low.compile(threads=1).signature.arena_bytes + 64, np.uint8)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, y, arena)]
    ctypes.CDLL(str(library)).main(*pointers)
    np.testing.assert_array_equal(y, np.maximum(x @ w + b, 0))
