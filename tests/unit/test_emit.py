"""Level 5 to LLVM IR, object code, assembly and shared libraries."""

from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from stepwell.dialects.resources import declare
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.lowering.core_to_llvm import lowered_to_llvm
from stepwell.lowering.emit import emit_llvm
from stepwell.lowering.llvm_text import LLVMText
from stepwell.runtime.engine import NativeCode, aligned, aligned_empty
from stepwell.runtime.jit import compile_module, native_code
from stepwell.runtime.shared_library import link_shared_library
from stepwell.targets.target import Target
from xdsl.dialects.builtin import ModuleOp, StringAttr

AXPY = """
func.func @axpy(%a: f32, %x: memref<64xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<64xf32>
    %w = memref.load %y[%i] : memref<64xf32>
    %p = arith.mulf %a, %v fastmath<contract> : f32
    %s = arith.addf %p, %w fastmath<contract> : f32
    memref.store %s, %y[%i] : memref<64xf32>
  }
  func.return
}"""


def emitted(text: str, **options: str) -> str:
    return emit_llvm(parse_text(text), **options).text


def table_module(values: np.ndarray, *, constant: bool = True) -> ModuleOp:
    type_, handle = f"memref<{values.size}xf32>", declare(values)
    return parse_text(f"""
    "memref.global"() <{{sym_name = "table", sym_visibility = "private", type = {type_},
      initial_value = dense_resource<{handle.data}> : tensor<{values.size}xf32>
      {", constant" if constant else ""}}}> : () -> ()
    func.func @main(%r: {type_} {{stepwell.result}}) {{
      %t = memref.get_global @table : {type_}
      "memref.copy"(%t, %r) : ({type_}, {type_}) -> ()
      func.return
    }}""")


def test_flags_and_attributes():
    text = emitted("""
    llvm.func @f(%x: !llvm.ptr {llvm.noalias, llvm.align = 64 : i64, stepwell.result}, %a: f32, %c: i1) -> f32 {
      %b = llvm.fadd %a, %a {fastmathFlags = #llvm.fastmath<reassoc, contract>} : f32
      %s = llvm.intr.sqrt(%b) {fastmathFlags = #llvm.fastmath<nnan>} : (f32) -> f32
      %m = llvm.call_intrinsic "llvm.maximum.f32"(%s, %b) {fastmathFlags = #llvm.fastmath<nsz>} : (f32, f32) -> f32
      %d = llvm.select %c, %m, %s {fastmathFlags = #llvm.fastmath<ninf>} : i1, f32
      %o = llvm.fcmp "uno" %d, %b {fastmathFlags = #llvm.fastmath<nsz>} : f32
      %e = llvm.select %o, %d, %b : i1, f32
      llvm.store %e, %x {alignment = 4 : i64} : f32, !llvm.ptr
      llvm.return %e : f32
    }
    llvm.func internal @g() {
      llvm.return
    }""")
    assert "float @f(ptr noalias align 64 %x, float %a, i1 %c) nounwind" in text
    assert "fadd contract reassoc float" in text or "fadd reassoc contract float" in text
    assert "call nnan float @llvm.sqrt.f32" in text
    assert "call nsz float @llvm.maximum.f32" in text
    assert "select ninf  i1" in text or "select ninf i1" in text
    assert "fcmp nsz uno float" in text
    assert "define internal void @g()" in text


ONE_OPERATION = {
    "%r = llvm.add %n, %n overflow<nsw, nuw> : i64": "add nuw nsw i64 %n, %n",
    "%r = llvm.udiv exact %n, %n : i64": "udiv exact i64 %n, %n",
    "%r = llvm.or disjoint %n, %n : i64": "or disjoint i64 %n, %n",
    "%r = llvm.fneg %v : vector<4xf32>": "fneg <4 x float> %v",
    "%r = llvm.trunc %n overflow<nsw> : i64 to i32": "trunc nsw i64 %n to i32",
    "%r = llvm.zext nneg %c : i1 to i64": "zext nneg i1 %c to i64",
    '%r = llvm.icmp "uge" %n, %n : i64': "icmp uge i64 %n, %n",
    '%r = llvm.fcmp "_true" %v, %v : vector<4xf32>': "fcmp true <4 x float> %v, %v",
    "%r = llvm.load %p {alignment = 16 : i64} : !llvm.ptr -> f32": "load float, ptr %p, align 16",
    "%r = llvm.getelementptr inbounds %p[3, %n] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<8 x f32>": (
        "getelementptr inbounds [8 x float], ptr %p, i32 3, i64 %n"
    ),
    "llvm.intr.masked.store %v, %p, %m {alignment = 4 : i32} : vector<4xf32>, vector<4xi1> into !llvm.ptr": (
        "call void @llvm.masked.store.v4f32.p0(<4 x float> %v, ptr %p, i32 4, <4 x i1> %m)"
    ),
    "%r = llvm.atomicrmw add %p, %n monotonic : !llvm.ptr, i64": (
        "atomicrmw add ptr %p, i64 %n monotonic"
    ),
    "llvm.fence seq_cst": "fence seq_cst",
    "%r = llvm.shufflevector %v, %v [0, 5] : vector<4xf32>": (
        "shufflevector <4 x float> %v, <4 x float> %v, <2 x i32> <i32 0, i32 5>"
    ),
    "%r = llvm.shufflevector %v, %v [0, 0] : vector<4xf32>": "<2 x i32> zeroinitializer",
    "%r = llvm.extractvalue %s[1] : !llvm.struct<(i64, f32)>": "extractvalue {i64, float} %s, 1",
    "%r = llvm.insertvalue %n, %s[0] : !llvm.struct<(i64, f32)>": (
        "insertvalue {i64, float} %s, i64 %n, 0"
    ),
    '%r = "llvm.call"(%n) <{callee = @g, operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> i64': (
        "call i64 @g(i64 %n)"
    ),
    "%r = llvm.intr.fma(%v, %v, %v) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>": (
        "call <4 x float> @llvm.fma.v4f32(<4 x float> %v, <4 x float> %v, <4 x float> %v)"
    ),
}


@pytest.mark.parametrize("operation", ONE_OPERATION)
def test_one_operation(operation: str):
    text = emitted(f"""
    llvm.func @g(i64) -> i64
    llvm.func @f(%p: !llvm.ptr, %n: i64, %c: i1, %v: vector<4xf32>, %m: vector<4xi1>, %s: !llvm.struct<(i64, f32)>) {{
      {operation}
      llvm.return
    }}""")
    assert ONE_OPERATION[operation] in text
    assert accepted(text)


def accepted(text: str) -> bool:
    """Whether LLVM takes it."""
    return bool(NativeCode(LLVMText(text), Target.host()).object_code())


def test_constants():
    text = emitted("""
    llvm.func @f(%p: !llvm.ptr) {
      %0 = llvm.mlir.constant(1.1 : f32) : f32
      %1 = llvm.mlir.constant(dense<-0.5> : vector<4xf16>) : vector<4xf16>
      %2 = llvm.mlir.constant(dense<[true, false]> : vector<2xi1>) : vector<2xi1>
      %3 = llvm.mlir.constant(-3 : i64) : i64
      %4 = llvm.mlir.undef : vector<4xf32>
      llvm.store %0, %p : f32, !llvm.ptr
      llvm.store %1, %p : vector<4xf16>, !llvm.ptr
      llvm.store %2, %p : vector<2xi1>, !llvm.ptr
      llvm.store %3, %p : i64, !llvm.ptr
      llvm.store %4, %p : vector<4xf32>, !llvm.ptr
      llvm.return
    }""")
    assert accepted(text)
    for stored in (
        "float 0x3FF19999A0000000",  # 1.1 rounded to f32, as a double
        "<4 x half> splat (half 0xBFE0000000000000)",
        "<2 x i1> <i1 true, i1 false>",
        "i64 -3",
        "<4 x float> undef",
    ):
        assert f"store {stored}, ptr %p" in text


def test_names():
    """Names are kept where they are free, and those that LLVM would not read are in quotes."""
    module = parse_text("""
    llvm.func @f(%x: i64, %y: i64) -> i64 {
      llvm.br ^next(%y : i64)
    ^next(%z: i64):
      %r = llvm.add %x, %z : i64
      llvm.return %r : i64
    }""")
    (function,) = module.ops
    function.properties["sym_name"] = StringAttr('a "b"\n')
    function.body.blocks[1].args[0].name_hint = "x"
    text = emit_llvm(module).text
    assert 'define i64 @"a \\22b\\22\\0A"(i64 %x, i64 %y)' in text
    assert "%x.1 = phi i64 [%y, %b0]" in text
    assert accepted(text)


def test_branch_with_one_target():
    """Two edges between the same blocks need one value for each phi."""
    module = parse_text("""
    llvm.func @f(%c: i1, %x: i32, %y: i32) -> i32 {
      llvm.cond_br %c, ^join(%x, %x : i32, i32), ^join(%y, %x : i32, i32)
    ^join(%v: i32, %w: i32):
      %r = llvm.sub %v, %w : i32
      llvm.return %r : i32
    }""")
    text = emit_llvm(module).text
    assert text.count("select") == 1 and "br i1" not in text
    address = NativeCode(emit_llvm(module), Target.host()).load(("f",))
    f = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_bool, ctypes.c_int32, ctypes.c_int32)(
        address.addresses["f"]
    )
    assert (f(True, 7, 3), f(False, 7, 3)) == (0, -4)


def test_blocks_are_emitted_after_their_dominators():
    text = emitted("""
    llvm.func @f(%x: i32) -> i32 {
      llvm.br ^first
    ^second:
      %z = llvm.add %y, %x : i32
      llvm.return %z : i32
    ^first:
      %y = llvm.mul %x, %x : i32
      llvm.br ^second
    }""")
    assert text.index("mul i32") < text.index("add i32")


@pytest.mark.parametrize("size", [3, 100])
def test_constants_inside_and_outside_the_text(size: int):
    values = np.linspace(-1, 1, size, dtype=np.float32)
    module = lowered_to_llvm(table_module(values))
    embedded, external = emit_llvm(module), emit_llvm(module, constants="external")
    assert not embedded.external
    assert list(external.external) == (["table"] if size > 64 else [])
    assert len(external.text) < 1500
    main = compile_module(module)
    np.testing.assert_array_equal(main(), values)
    loaded = NativeCode(embedded, Target.host()).load(("main",))
    out = np.zeros(size, np.float32)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(loaded.addresses["main"])(out.ctypes.data)
    np.testing.assert_array_equal(out, values)


def test_zero_constants_take_no_text():
    text = native_code(table_module(np.zeros(100_000, np.float32))).source.text
    assert len(text) < 1500 and "zeroinitializer" in text.replace("null", "zeroinitializer")


def test_writable_data_is_not_bound_outside():
    values = np.arange(100, dtype=np.float32)
    module = table_module(values, constant=False)
    assert not native_code(module, constants="external").source.external
    np.testing.assert_array_equal(compile_module(module)(), values)


def test_alignment_of_bound_constants():
    for size in (1, 100):
        buffer = aligned_empty(size)
        assert buffer.ctypes.data % 64 == 0 and buffer.size == size
        assert aligned(buffer) is buffer
        shifted = aligned_empty(size + 4)[4:].view(np.uint8)
        copy = aligned(shifted)
        assert copy.ctypes.data % 64 == 0
        np.testing.assert_array_equal(copy, shifted)
    broadcast = np.broadcast_to(np.float32(2), (3, 4))
    assert aligned(broadcast).strides == (16, 4)


def test_vectorized_for_the_target():
    text = native_code(parse_text(AXPY), target=Target.parse("x86-64-v3")).assembly()
    assert "vfmadd" in text and "ymm" in text and "zmm" not in text
    narrow = native_code(parse_text(AXPY), target=Target.parse("x86-64")).assembly()
    assert "xmm" in narrow and "ymm" not in narrow
    arm = native_code(parse_text(AXPY), target=Target.parse("neoverse-n1")).assembly()
    assert "fmla" in arm


def test_llvm_ir_is_optimised():
    code = native_code(parse_text(AXPY))
    assert "alloca" not in code.llvm_ir() and " x float>" in code.llvm_ir()
    assert code.object_code()[:4] == b"\x7fELF" or code.object_code()
    assert code.object_code() is code.object_code()


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_shared_library(tmp_path: Path):
    path = tmp_path / "axpy.so"
    link_shared_library(native_code(parse_text(AXPY)).object_code(), path)
    library = ctypes.CDLL(str(path))
    x, y = np.arange(64, dtype=np.float32), np.ones(64, dtype=np.float32)
    library.axpy(ctypes.c_float(2), ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data))
    np.testing.assert_array_equal(y, 2 * x + 1)


def test_shared_library_needs_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StepwellError, match="found no C compiler, expected cc, gcc or clang"):
        link_shared_library(b"", tmp_path / "x.so")


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_shared_library_that_does_not_link(tmp_path: Path):
    """What was there before is as it was."""
    (tmp_path / "old.so").write_bytes(b"whole")
    for name in ("new.so", "old.so"):
        with pytest.raises(StepwellError, match="cannot link"):
            link_shared_library(b"no object code", tmp_path / name)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"old.so": b"whole"}


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_shared_library_where_there_is_no_file(tmp_path: Path):
    """A pipe, and so /dev/null, is written to and stays what it is; links that go round are told of as what cannot be written."""
    code, pipe, link = (
        native_code(parse_text(AXPY)).object_code(),
        tmp_path / "pipe",
        tmp_path / "x.so",
    )
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    link_shared_library(code, link)
    assert link.is_symlink() and pipe.is_fifo()
    assert os.read(end, 4) == b"\x7fELF"
    os.close(end)
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(OSError, match="symbolic links"):
        link_shared_library(code, link)
    assert sorted(tmp_path.iterdir()) == [pipe, link]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f() { func.return }", "cannot emit 'func.func': it is not of level 5"),
        (
            "llvm.func @f(%x: !llvm.ptr {llvm.byval = f32}) { llvm.return }",
            "cannot emit 'llvm.func': it has the parameter attribute 'llvm.byval'",
        ),
        (
            "llvm.func @f(%x: bf16) { %y = llvm.fadd %x, %x : bf16 \n llvm.return }",
            "cannot emit 'llvm.func': it has no translation",
        ),
        (
            'llvm.func @f(%x: i32) { %y = llvm.call_intrinsic "llvm.sqrt.f32"(%x) : (i32) -> i32 \n llvm.return }',
            "LLVM does not accept the emitted IR",
        ),
        (
            "llvm.func @f(%x: i32) -> i32 { %y = llvm.sdiv %x, %z : i32 \n %z = llvm.add %x, %x : i32 \n "
            "llvm.return %y : i32 }",
            "cannot emit 'llvm.sdiv': it uses a value that is defined after it",
        ),
    ],
)
def test_refusals(text: str, message: str):
    with pytest.raises(StepwellError, match=message):
        code = NativeCode(emit_llvm(parse_text(text)), Target.host())
        code.object_code()
