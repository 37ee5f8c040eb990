"""Object code put into memory without LLVM: it does what LLVM's linker makes of it, and what it does not know is refused."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from stepwell.errors import StepwellError
from stepwell.lowering.llvm_text import LLVMText
from stepwell.runtime import elf_linker, llvm_linker
from stepwell.runtime.codegen import CodeGenerator
from stepwell.runtime.elf_objects import UnsupportedObjectError, read_object
from stepwell.runtime.engine import NativeCode
from stepwell.runtime.process_symbols import process_address
from stepwell.targets import llvm_host as host_module
from stepwell.targets.cpuid import cpuid_digest

pytestmark = pytest.mark.skipif(not elf_linker.can_link(), reason="it links for Linux on x86-64")

CALLER = """
@table = external global [4 x float], align 64
@counter = internal global i64 40, align 4096
@zeros = internal global [9 x i64] zeroinitializer
@places = internal global ptr @counter
declare float @expf(float)
declare float @other(float)
define float @main(float %x) {
  %first = load float, ptr @table
  %e = call float @expf(float %x)
  %o = call float @other(float %e)
  %sum = fadd float %first, %o
  %third = fadd float %sum, 0x3FD5555560000000
  ret float %third
}
define i64 @count() {
  %place = load ptr, ptr @places
  %old = load i64, ptr %place
  %zero = load i64, ptr getelementptr (i64, ptr @zeros, i64 8)
  %new = add i64 %old, 1
  store i64 %new, ptr @counter
  %sum = add i64 %new, %zero
  ret i64 %sum
}
"""
OTHER = "define float @other(float %x) {\n  %y = fmul float %x, 3.0\n  ret float %y\n}\n"


def objects(*texts: str, quick: bool = False) -> list[bytes]:
    return [CodeGenerator.of("host", quick=quick).object_code(text) for text in texts]


@pytest.mark.parametrize("quick", [False, True])
def test_code_does_the_same_as_linked_by_llvm(quick: bool):
    table = np.array([5, 6, 7, 8], np.float32)
    code = objects(CALLER, OTHER, quick=quick)
    imported, exported = {"table": table.ctypes.data}, ("main", "count")
    results: list[tuple[float, int, int]] = []
    for linker in (elf_linker, llvm_linker):
        linked = linker.link(code, imported, exported)
        main = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(linked.addresses["main"])
        count = ctypes.CFUNCTYPE(ctypes.c_int64)(linked.addresses["count"])
        results.append((main(0.5), count(), count()))
    assert results[0] == results[1]
    assert results[0][1:] == (41, 42)
    np.testing.assert_allclose(results[0][0], 5 + 3 * np.exp(0.5) + 1 / 3, rtol=1e-6)


def test_nothing_writes_to_code():
    linked = elf_linker.link(objects(OTHER), {}, ("other",))
    with open("/proc/self/maps") as maps:
        ranges = [line.split()[:2] for line in maps]
    (rights,) = [
        rights
        for where, rights in ranges
        if int(where.split("-")[0], 16) <= linked.addresses["other"] < int(where.split("-")[1], 16)
    ]
    assert rights == "r-xp"


def test_symbols_that_nobody_defines_are_refused():
    text = "declare void @nobody_has_this()\ndefine void @f() {\n  call void @nobody_has_this()\n  ret void\n}\n"
    with pytest.raises(UnsupportedObjectError, match="nobody_has_this"):
        elf_linker.link(objects(text), {}, ("f",))
    with pytest.raises(StepwellError, match="expected every symbol in it to be defined"):
        NativeCode(LLVMText(text), "host").load(("f",))


@pytest.mark.parametrize(
    "text",
    [
        "@own = thread_local global i32 1\ndefine ptr @f() {\n  ret ptr @own\n}\n",
        '@start = global i32 1, section ".init_array"\ndefine ptr @f() {\n  ret ptr @start\n}\n',
        "@large = global i32 1, align 8192\ndefine ptr @f() {\n  ret ptr @large\n}\n",
    ],
)
def test_sections_of_other_kinds_are_left_to_llvm(text: str):
    with pytest.raises(UnsupportedObjectError, match="section"):
        elf_linker.link(objects(text), {}, ("f",))


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"MZ" + bytes(100), bytes(1000)])
def test_other_files_are_refused(data: bytes):
    with pytest.raises(UnsupportedObjectError, match="no relocatable object"):
        read_object(data)


def test_functions_of_the_process_are_found():
    assert process_address("expf") and process_address("nobody_has_this") is None


def test_what_llvm_says_of_the_host_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path))
    asked = host_module.llvm_host.__wrapped__()
    monkeypatch.setattr(host_module, "_asked", lambda: pytest.fail("asked again"))
    assert cpuid_digest() is not None
    assert host_module.llvm_host.__wrapped__() == asked
    monkeypatch.setattr(host_module, "cpuid_digest", lambda: "another processor")
    with pytest.raises(pytest.fail.Exception, match="asked again"):
        host_module.llvm_host.__wrapped__()


PROGRAM = """
import sys
import numpy as np
import stepwell as sw
f = sw.jit(lambda x: sw.tanh(x) * 2 + x.sum())
f(np.arange(16, dtype=np.float32))
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"xdsl", "llvmlite", "islpy"}))
"""


def test_a_cached_function_runs_without_llvm(tmp_path: Path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    environment = {**os.environ, "STEPWELL_CACHE": str(tmp_path / "cache")}
    shown = [
        subprocess.run(
            [sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert shown == ["islpy llvmlite xdsl", ""]
