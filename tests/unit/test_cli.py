"""`stepwell run` and `stepwell compile` in process, on programs of every level that text can have."""

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.levels import Level, level_of
from stepwell.frontend.text import parse_file
from stepwell.tools.cli import main

TE = """func.func @main(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %y = te.compute [%i = 3, %j = 5] add [%k = 4] (%a = %x[%i, %k], %b = %w[%k, %j])
      : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<3x5xf32>
}
"""

CORE_IN_PLACE = """func.func @double(%x: memref<2x3xi32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  scf.for %i = %zero to %two step %one {
    scf.for %j = %zero to %three step %one {
      %v = memref.load %x[%i, %j] : memref<2x3xi32>
      %w = arith.addi %v, %v : i32
      memref.store %w, %x[%i, %j] : memref<2x3xi32>
    }
  }
  func.return
}
"""

OPEN = """func.func @fill(%n: index, %x: memref<?xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %v = arith.constant 2.5 : f32
  scf.for %i = %zero to %n step %one {
    memref.store %v, %x[%i] : memref<?xf32>
  }
  func.return
}
"""

PYTHON = """from stepwell.frontend.numpy.elementwise import maximum


def layer(x, w, floor=0):
    return maximum(x @ w, floor)
"""

TWO = """func.func @one(%x: i32) -> i32 {
  func.return %x : i32
}
func.func @two(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  func.return %y : i32
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs and arrays, which is the current one."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"te": TE, "inplace": CORE_IN_PLACE, "open": OPEN, "two": TWO}.items():
        (tmp_path / f"{name}.mlir").write_text(text)
    (tmp_path / "layer.py").write_text(PYTHON)
    generator = np.random.default_rng(0)
    np.save("x.npy", generator.uniform(-1, 1, (3, 4)).astype(np.float32))
    np.save("w.npy", generator.uniform(-1, 1, (4, 5)).astype(np.float32))
    np.save("i.npy", np.arange(6, dtype=np.int32).reshape(2, 3))
    return tmp_path


# run


@pytest.mark.parametrize("how", [[], ["--interpret"], ["--check"]])
def test_run_computes(how: list[str], folder: Path) -> None:
    args = ["run", "te.mlir", "--input", "x=x.npy", "--input", "w=w.npy", "-o", "out", *how]
    assert main(args) == 0
    expected = np.load("x.npy") @ np.load("w.npy")
    np.testing.assert_allclose(np.load("out/result.npy"), expected, rtol=1e-5, atol=1e-6)


def test_run_shows_every_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "te.mlir", "--random", "0", "--check"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("result: 3x5xfloat32 = [")
    assert second.startswith("check: agrees with the interpreter, largest difference ")


def test_run_prints_in_full(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "inplace.mlir", "--input", "x=i.npy", "--print"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text == "x: 2x3xint32 = [[ 0, 2, 4], [ 6, 8, 10]]"


def test_run_repeats_for_the_same_seed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs: list[str] = []
    for seed in ("7", "7", "8"):
        assert main(["run", "te.mlir", "--random", seed]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]


def test_run_reads_arrays_of_foreign_byte_order(folder: Path) -> None:
    for name in ("x", "w"):
        array = np.load(f"{name}.npy")
        np.save(f"{name}.npy", array.astype(array.dtype.newbyteorder()))
    for program in ("te.mlir", "te.mlir --interpret"):
        args = ["run", *program.split(), "--input", "x=x.npy", "--input", "w=w.npy", "-o", "out"]
        assert main(args) == 0
        expected = np.load("x.npy") @ np.load("w.npy")
        np.testing.assert_allclose(np.load("out/result.npy"), expected, rtol=1e-5, atol=1e-6)


def test_run_leaves_input_files_alone(folder: Path) -> None:
    assert main(["run", "inplace.mlir", "--input", "x=i.npy", "--check"]) == 0
    np.testing.assert_array_equal(np.load("i.npy"), np.arange(6, dtype=np.int32).reshape(2, 3))


def test_run_gives_open_shapes(folder: Path) -> None:
    np.save("n.npy", np.int64(4))
    args = ["run", "open.mlir", "--input", "n=n.npy", "--shape", "x=4xf32", "--random", "0"]
    assert main([*args, "-o", "out"]) == 0
    np.testing.assert_array_equal(np.load("out/x.npy"), np.full(4, 2.5, np.float32))


def test_run_chooses_the_entry(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("x.npy", np.int32(21))
    assert main(["run", "two.mlir", "--entry", "two", "--input", "x=x.npy"]) == 0
    assert capsys.readouterr().out == "result: int32 = [42]\n"


def test_run_reads_stdin(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "stepwell.tools.cli", "run", "-", "--random", "1"],
        input=TE,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("result: 3x5xfloat32")


def test_run_shows_the_tensors_in_what_a_function_returns(folder: Path, capsys) -> None:
    """As `jit` takes them: in order, out of dictionaries and tuples in each other."""
    Path("nested.py").write_text("def f(x):\n    return {'a': x, 'b': (x + 1, [None, x * 2])}\n")
    assert main(["run", "nested.py", "--shape", "x=2xf32", "--random", "0"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.parametrize("program", ["layer.py", "layer.py:layer"])
def test_run_traces_a_python_function(program: str, folder: Path) -> None:
    args = ["run", program, "--input", "x=x.npy", "--input", "w=w.npy", "-o", "out", "--check"]
    assert main(args) == 0
    expected = np.maximum(np.load("x.npy") @ np.load("w.npy"), 0)
    np.testing.assert_allclose(np.load("out/result.npy"), expected, rtol=1e-5, atol=1e-6)


# compile


@pytest.mark.parametrize("level", ["te", "loop", "core", "llvm"])
def test_every_level_is_written_and_runs(
    level: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", "te.mlir", "-o", "low.mlir", "--emit", level]) == 0
    assert level_of(parse_file("low.mlir")) is Level(level)
    outputs: list[str] = []
    for program in ("te.mlir", "low.mlir"):
        assert main(["run", program, "--random", "3"]) == 0
        outputs.append(capsys.readouterr().out.partition("=")[2])
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("suffix", "start"),
    [("ll", b"; ModuleID"), ("s", b"\t."), ("o", b"\x7fELF"), ("mlir", b"builtin")],
)
def test_the_output_name_says_what_to_write(suffix: str, start: bytes, folder: Path) -> None:
    assert main(["compile", "te.mlir", "-o", f"out.{suffix}"]) == 0
    assert (folder / f"out.{suffix}").read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("emit", "part"), [("asm", "main:"), ("llvm-ir", "define"), ("core", "scf.for")]
)
def test_compile_to_stdout(
    emit: str, part: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", "te.mlir", "-o", "-", "--emit", emit]) == 0
    assert part in capsys.readouterr().out


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler to link with")
def test_a_shared_library_can_be_called(folder: Path) -> None:
    assert main(["compile", "inplace.mlir", "-o", "libdouble.so"]) == 0
    array = np.arange(6, dtype=np.int32)
    ctypes.CDLL(str(folder / "libdouble.so")).double(ctypes.c_void_p(array.ctypes.data))
    np.testing.assert_array_equal(array, 2 * np.arange(6))


def test_a_shared_library_that_cannot_be_made_leaves_none(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "cc").write_text("#!/bin/sh\nexit 1\n")
    (folder / "cc").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    for output, message in (
        ("libdouble.so", "cannot link 'libdouble.so'"),
        ("nosuch/libdouble.so", "cannot write the output: No such file"),
    ):
        assert main(["compile", "inplace.mlir", "-o", output]) == 1
        assert message in capsys.readouterr().err
        assert not (folder / output).exists()


def test_compile_writes_the_bytes_of_constants(folder: Path) -> None:
    Path("weights.py").write_text(
        "import numpy as np\nW = np.arange(200, dtype=np.float32).reshape(20, 10)\n\n\ndef f(x):\n    return x @ W\n"
    )
    args = ["compile", "weights.py:f", "--shape", "x=3x20xf32", "--emit", "te", "-o", "f.mlir"]
    assert main(args) == 0
    x = np.ones((3, 20), np.float32)
    w = np.arange(200, dtype=np.float32).reshape(20, 10)
    np.testing.assert_array_equal(sw.load("f.mlir").compile()(x), x @ w)


def test_compile_traces_a_python_function(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shapes = ["--shape", "x=2x3xf32", "--shape", "w=3x1xf32"]
    assert main(["compile", "layer.py", *shapes, "-o", "-", "--emit", "graph"]) == 0
    assert "graph.matmul %x, %w" in capsys.readouterr().out


def test_another_target(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "te.mlir", "-o", "-", "--emit", "asm", "--target", "x86-64"]) == 0
    assert "ymm" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fp", "has_flags"), [("strict", False), ("contract", True), ("fast", True)]
)
def test_a_numerical_contract(
    fp: str, has_flags: bool, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", "te.mlir", "-o", "-", "--emit", "loop", "--fp", fp]) == 0
    assert ("fastmath<" in capsys.readouterr().out) == has_flags
    assert main(["compile", "te.mlir", "-o", "-", "--emit", "llvm-ir", "--fp", fp]) == 0
    text = capsys.readouterr().out
    assert ("contract " in text, "fast " in text) == (fp == "contract", fp == "fast")
    assert main(["run", "te.mlir", "--random", "3", "--check", "--fp", fp]) == 0


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert not stop.value.code
    assert capsys.readouterr().out.startswith("stepwell ")


def test_a_tensor_function_without_tensor_results_gives_no_arguments_back(tmp_path: Path, capsys):
    """Natively such a function is called in place: its arguments are outputs there, and here they are not."""
    program = tmp_path / "p.mlir"
    program.write_text("func.func @f(%a: tensor<4xf32>) {\n  func.return\n}\n")
    assert main(["run", str(program), "--random", "1", "--check"]) == 0
    assert "f gives no results" in capsys.readouterr().out
    program.write_text(
        "func.func @f(%a: tensor<4xf32>, %s: f32) -> f32 {\n  func.return %s : f32\n}\n"
    )
    assert main(["run", str(program), "--random", "1", "--check"]) == 0
    assert "a: " not in capsys.readouterr().out


def test_a_strided_argument_is_named_as_the_reason(tmp_path: Path, capsys):
    """Of a function that is lowered here, and of one whose lowered text is read."""
    program, lowered = tmp_path / "p.mlir", tmp_path / "lowered.mlir"
    program.write_text("func.func @f(%a: memref<4x4xf32, strided<[8, 1]>>) {\n  func.return\n}\n")
    assert main(["compile", str(program), "--emit", "llvm", "-o", str(lowered)]) == 0
    for file in (program, lowered):
        assert main(["run", str(file), "--random", "1"]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert (
            "found argument 'a' of type memref<4x4xf32, strided<[8, 1]>>, expected a contiguous"
            in line
        )
