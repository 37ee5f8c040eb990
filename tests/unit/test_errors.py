"""
What users get for their mistakes: one line with the place, what was found, what was expected and what to do,
exit status 1, and never a traceback. Each mistake goes through the real main functions.
"""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from stepwell.tools import cli, opt

MAIN: dict[str, Callable[[list[str]], int]] = {"stepwell-opt": opt.main, "stepwell": cli.main}

IDENTITY = """func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  func.return %x : tensor<2x3xf32>
}
"""


@dataclass(frozen=True)
class Mistake:
    """
    A command line, the text of `in.mlir`, and what must be in the one line: where, then the rest in order.
    """

    name: str
    command: str
    text: str | None
    where: str
    parts: tuple[str, ...]


def function(body: str, arguments: str = "", result: str = "") -> str:
    """A function with `body` on line 2."""
    arrow = f" -> {result}" if result else ""
    return f"func.func @f({arguments}){arrow} {{\n  {body}\n}}\n"


def mistake(name: str, command: str, text: str | None, where: str, *parts: str) -> Mistake:
    return Mistake(name, command, text, where, parts)


READ = "stepwell-opt in.mlir"

TEXT_MISTAKES = [
    mistake("empty file", READ, "", "in.mlir:1:1", "empty text", "expected at least one", "write"),
    mistake(
        "unknown operation",
        READ,
        function("%y = arith.addd %x, %x : f32", "%x: f32"),
        "in.mlir:2:8",
        "unknown operation 'arith.addd'",
        "expected one of dialect 'arith'",
        "did you mean",
        "arith.addf",
    ),
    mistake(
        "unknown dialect",
        READ,
        function("tensr.dim"),
        "in.mlir:2:3",
        "the unknown dialect 'tensr'",
        "did you mean 'tensor'",
    ),
    mistake(
        "unknown type",
        READ,
        function("func.return", "%x: !llvm.pointer"),
        "in.mlir:1:19",
        "unknown type or attribute 'llvm.pointer'",
        "expected one of 'llvm'",
        "did you mean",
    ),
    mistake(
        "missing brace",
        READ,
        "func.func @f() {\n  func.return\n",
        "in.mlir:3:1",
        "found the end of the text",
        "expected an operation or '}'",
        "close the region",
    ),
    mistake(
        "missing punctuation",
        READ,
        function("%y = arith.addf %x, %x f32", "%x: f32"),
        "in.mlir:2:26",
        "found 'f32'",
        "expected ':'",
        "write ':' here",
    ),
    mistake(
        "undefined value",
        READ,
        function("func.return %valu : i32", "%value: i32", "i32"),
        "in.mlir:2:15",
        "found a use of %valu",
        "expected a value that is defined",
        "did you mean '%value'",
    ),
    mistake(
        "value defined twice",
        READ,
        function("%x = arith.constant 1 : i32", "%x: i32"),
        "in.mlir:2:3",
        "found a second definition of %x",
        "expected a new name",
        "rename",
    ),
    mistake(
        "constant of another type",
        READ,
        function("%y = arith.constant 1.5 : i32"),
        "in.mlir:3:1",
        "found a floating-point value",
        "expected an integer",
        "write an integer",
    ),
    mistake(
        "constant of another shape",
        READ,
        function("%y = arith.constant dense<[1, 2]> : tensor<3xi32>"),
        "in.mlir:3:1",
        "found shape [2]",
        "expected [3]",
        "make them agree",
    ),
    mistake(
        "bytes that are no bytes",
        READ,
        function("%y = arith.constant dense_resource<w> : tensor<1xf32>")
        + '{-# dialect_resources: { builtin: { w: "0x4" } } #-}',
        "in.mlir:4:40",
        "found '0x4' for resource 'w'",
        "expected 0x and an even number",
        "mend the bytes",
    ),
]

VERIFIER_MISTAKES = [
    mistake(
        "use before definition",
        READ,
        function("%b = arith.addi %a, %a : i32\n  %a = arith.constant 1 : i32\n  func.return"),
        "in.mlir:2:8",
        "'arith.addi' uses %a",
        "in.mlir:3:8",
        "before its definition",
        "move the definition up",
    ),
    mistake(
        "no terminator",
        READ,
        function("%a = arith.constant 1 : i32"),
        "in.mlir:2:8",
        "found 'arith.constant' at the end",
        "expected a terminator",
        "end the block with",
    ),
    mistake(
        "call of an unknown function",
        READ,
        function("func.call @g() : () -> ()\n  func.return"),
        "in.mlir:2:3",
        "@g",
        "could not be found",
    ),
    mistake(
        "graph: shapes that do not broadcast",
        READ,
        function(
            "%y = graph.add %x, %b : tensor<2x3xf32>, tensor<4xf32> -> tensor<2x3xf32>\n  func.return",
            "%x: tensor<2x3xf32>, %b: tensor<4xf32>",
        ),
        "in.mlir:2:8",
        "found shapes 2x3 and 4",
        "expected extents that are equal or 1",
        "reshape",
    ),
    mistake(
        "graph: mixed dtypes",
        READ,
        function(
            "%y = graph.add %x, %b : tensor<3xf32>, tensor<3xi32> -> tensor<3xf32>\n  func.return",
            "%x: tensor<3xf32>, %b: tensor<3xi32>",
        ),
        "in.mlir:2:8",
        "found element types f32 and i32",
        "expected equal ones",
        "cast",
    ),
    mistake(
        "graph: matmul of other extents",
        READ,
        function(
            "%y = graph.matmul %x, %b : tensor<2x3xf32>, tensor<4x5xf32> -> tensor<2x5xf32>\n"
            "  func.return",
            "%x: tensor<2x3xf32>, %b: tensor<4x5xf32>",
        ),
        "in.mlir:2:8",
        "found shapes 2x3 and 4x5",
        "expected",
        "transpose or reshape",
    ),
    mistake(
        "te: wrong rank",
        READ,
        function(
            "%y = te.compute [%i = 2] (%a = %x[%i]) : (tensor<2x3xf32>) -> tensor<2xf32> {\n"
            "    te.yield %a : f32\n  }\n  func.return",
            "%x: tensor<2x3xf32>",
        ),
        "in.mlir:2:8",
        "found 1 subscripts",
        "expected 2",
        "rank",
    ),
    mistake(
        "te: a map that is not affine",
        READ,
        function(
            "%y = te.compute [%i = 2] (%a = %x[%i * %i]) : (tensor<2xf32>) -> tensor<2xf32> {\n"
            "    te.yield %a : f32\n  }\n  func.return",
            "%x: tensor<2xf32>",
        ),
        "in.mlir:2:",
        "found a product of two variables",
        "expected an affine expression",
        "multiply by",
    ),
    mistake(
        "te: a read out of bounds",
        READ,
        function(
            "%y = te.compute [%i = 4] (%a = %x[%i + 1]) : (tensor<4xf32>) -> tensor<4xf32> {\n"
            "    te.yield %a : f32\n  }\n  func.return",
            "%x: tensor<4xf32>",
        ),
        "in.mlir:2:8",
        "found subscript 0 of operand 0 running from 1 to 4",
        "expected it inside the 4 elements",
        "add an 'else' value or mend",
    ),
    mistake(
        "loop: wrong number of subscripts",
        READ,
        function(
            'loop.for serial "i" %i = 0 to 4 {\n'
            "    %v = loop.load %x[%i, %i] : memref<4xf32>\n  }\n  func.return",
            "%x: memref<4xf32>",
        ),
        "in.mlir:3:10",
        "2 subscripts",
        "1",
    ),
]

LOWERING_MISTAKES = [
    mistake(
        "an open extent where a lowering needs a static one",
        "stepwell-opt in.mlir -p convert-graph-to-te",
        function(
            "%y = graph.relu %x : tensor<?x3xf32>\n  func.return %y : tensor<?x3xf32>",
            "%x: tensor<?x3xf32>",
            "tensor<?x3xf32>",
        ),
        "in.mlir:2:8",
        "found graph.relu on tensor<?x3xf32>",
        "expected static extents",
        "give the extents",
    ),
    mistake(
        "an operation that has no lowering",
        "stepwell-opt in.mlir -p convert-core-to-llvm",
        function('"test.op"() : () -> ()\n  func.return'),
        "in.mlir:2:3",
        "found 'test.op'",
        "expected an operation that convert-core-to-llvm lowers",
        "rewrite it",
    ),
    mistake(
        "lowering up",
        "stepwell compile in.mlir -o out.mlir --emit te",
        function("func.return", "%x: memref<4xf32>"),
        "in.mlir:1:1",
        "at level 'core' already",
        "start from a higher level",
    ),
    mistake(
        "a pass of xDSL's on what it does not support",
        "stepwell-opt in.mlir -p mlir-opt[nosuch]",
        function("func.return"),
        "in.mlir:1:1",
        "pass 'mlir-opt'",
    ),
]

DRIVER_MISTAKES = [
    mistake(
        "unknown pass",
        f"{READ} -p cse,canonicalise",
        IDENTITY,
        "pipeline:1:5",
        "unknown pass 'canonicalise'",
        "expected a registered one",
        "did you mean 'canonicalize'",
    ),
    mistake(
        "unknown option of a pass",
        f"{READ} -p scf-parallel-loop-tiling{{parallel-loop-tile-size=4}}",
        IDENTITY,
        "pipeline:1:1",
        "unknown option 'parallel-loop-tile-size'",
        "expected one that it has",
        "did you mean 'parallel-loop-tile-sizes'",
    ),
    mistake(
        "option of another type",
        f"{READ} -p scf-parallel-loop-tiling{{parallel-loop-tile-sizes=big}}",
        IDENTITY,
        "pipeline:1:1",
        "found parallel-loop-tile-sizes=big",
        "expected tuple[int, ...]",
        "write parallel-loop-tile-sizes=",
    ),
    mistake(
        "missing option",
        f"{READ} -p scf-parallel-loop-tiling",
        IDENTITY,
        "pipeline:1:1",
        "found no option 'parallel-loop-tile-sizes'",
        "expected tuple[int, ...]",
        "write scf-parallel-loop-tiling{parallel-loop-tile-sizes=",
    ),
    mistake(
        "malformed pipeline",
        f"{READ} -p cse{{a=",
        IDENTITY,
        "pipeline:1:",
        "found the end of the pipeline",
        "write name{option=value",
    ),
    mistake(
        "empty pass name",
        f"{READ} -p cse,,dce",
        IDENTITY,
        "pipeline:1:5",
        "found ',dce'",
        "expected pass name",
        "write name",
    ),
    mistake(
        "unknown target",
        f"{READ} -t lvm",
        IDENTITY,
        "",
        "found -t/--target 'lvm'",
        "expected one of",
        "did you mean 'llvm'",
    ),
    mistake(
        "malformed target",
        f"{READ} -t llvm{{",
        IDENTITY,
        "target:1:6",
        "found the end of the target",
        "expected argument name",
    ),
    mistake(
        "a target that cannot print this level",
        f"{READ} -t llvm",
        IDENTITY,
        "in.mlir:1:1",
        "target 'llvm' cannot print this module",
        "lower it further",
    ),
    mistake(
        "unknown argument",
        f"{READ} --print-ir-after-everything",
        IDENTITY,
        "",
        "found unknown argument(s) --print-ir-after-everything",
        "expected those of `stepwell-opt --help`",
        "mend or drop",
    ),
    mistake(
        "value of another type",
        f"{READ} --check-seed one",
        IDENTITY,
        "",
        "found --check-seed 'one'",
        "expected an integer",
        "mend the value",
    ),
    mistake(
        "missing file",
        "stepwell-opt inn.mlir",
        IDENTITY,
        "inn.mlir",
        "found no such file",
        "expected one to read",
        "did you mean 'in.mlir'",
    ),
    mistake(
        "directory",
        "stepwell-opt folder",
        None,
        "folder",
        "found a directory",
        "expected a file",
        "name a file in it",
    ),
    mistake(
        "another kind of file",
        "stepwell-opt notes.txt",
        None,
        "notes.txt",
        "does not end in '.mlir'",
        "expected one of",
        "rename it",
    ),
    mistake(
        "not text",
        "stepwell-opt binary.mlir",
        None,
        "binary.mlir:2:3",
        "found byte 0xff",
        "expected UTF-8",
        "convert",
    ),
    mistake(
        "unwritable output",
        f"{READ} -o nosuch/out.mlir",
        IDENTITY,
        "nosuch/out.mlir",
        "cannot write the output",
        "mend the path",
    ),
]

RUN = "stepwell run in.mlir"

RUN_MISTAKES = [
    mistake("no command", "stepwell", None, "", "found no COMMAND", "add it"),
    mistake("unknown command", "stepwell rum", None, "", "'rum'", "did you mean 'run'"),
    mistake(
        "missing argument",
        RUN,
        IDENTITY,
        "in.mlir:1:1",
        "found no value for argument 'x' of 'f'",
        "expected float32[2, 3]",
        "give --input x=FILE.npy, or --random",
    ),
    mistake(
        "argument of another name",
        f"{RUN} --input y=x.npy",
        IDENTITY,
        "in.mlir:1:1",
        "found a value for 'y'",
        "expected an argument of 'f'",
        "it has x",
    ),
    mistake(
        "argument of another shape",
        f"{RUN} --input x=other_shape.npy",
        IDENTITY,
        "in.mlir:1:1",
        "argument 'x' of 'f' has shape (3, 2)",
        "expected (2, 3)",
        "reshape it",
    ),
    mistake(
        "argument of another rank",
        f"{RUN} --interpret --input x=other_rank.npy",
        IDENTITY,
        "in.mlir:1:1",
        "found float32[6] for input 'x'",
        "expected float32[2, 3]",
        "pass such an array",
    ),
    mistake(
        "argument of another dtype",
        f"{RUN} --input x=other_dtype.npy",
        IDENTITY,
        "in.mlir:1:1",
        "has dtype float64",
        "expected float32",
        "convert it",
    ),
    mistake(
        "argument file that is none",
        f"{RUN} --input x=in.mlir",
        IDENTITY,
        "in.mlir",
        "found a file that NumPy cannot read",
        "expected an array saved by numpy.save",
        "save it again",
    ),
    mistake(
        "argument file that is not there",
        f"{RUN} --input x=nosuch.npy",
        IDENTITY,
        "",
        "nosuch.npy: found no such file for input 'x'",
        "expected an .npy file",
        "mend the name",
    ),
    mistake(
        "malformed --input",
        f"{RUN} --input x",
        IDENTITY,
        "",
        "found --input x",
        "expected --input NAME=FILE.npy",
        "write it so",
    ),
    mistake(
        "open extent of a generated argument",
        f"{RUN} --random 0",
        function("func.return", "%x: memref<?xf32>"),
        "in.mlir:1:1",
        "argument 'x' of open shape",
        "expected every extent",
        "give --shape x=",
    ),
    mistake(
        "a shape that does not fit",
        f"{RUN} --random 0 --shape x=3x2xf32",
        IDENTITY,
        "in.mlir:1:1",
        "found --shape x=3x2xf32",
        "expected one that fits float32[2, 3]",
        "mend the extents",
    ),
    mistake(
        "unknown entry",
        f"{RUN} --random 0 --entry g",
        IDENTITY,
        "in.mlir:1:1",
        "found no function 'g'",
        "expected one of: 'f'",
        "name one",
    ),
    mistake(
        "several entries",
        f"{RUN} --random 0",
        IDENTITY + IDENTITY.replace("@f", "@g"),
        "in.mlir:1:1",
        "found 2 public functions",
        "expected one",
        "'f', 'g'",
    ),
    mistake(
        "no function",
        f"{RUN} --random 0",
        "func.func private @g()",
        "in.mlir:1:1",
        "found a module without functions",
        "expected a function with a body",
        "add one",
    ),
    mistake(
        "unsupported element type",
        f"{RUN} --random 0",
        IDENTITY.replace("f32", "f16"),
        "in.mlir:1:1",
        "type tensor<2x3xf16>",
        "expected a tensor, memref or scalar of f32",
        "change the element type",
    ),
    mistake(
        "no threads",
        f"{RUN} --random 0 --threads 0",
        IDENTITY,
        "",
        "found threads=0",
        "expected a number from 1",
        "choose one",
    ),
    mistake(
        "an ONNX model",
        "stepwell run model.onnx",
        None,
        "model.onnx",
        "found an ONNX model",
        "expected a .mlir or .py file",
        "convert it",
    ),
    mistake(
        "a Python file that fails",
        "stepwell run fails.py",
        None,
        "fails.py:3:",
        "found ZeroDivisionError",
        "expected the file to run",
        "mend",
    ),
    mistake(
        "a Python file that is none",
        "stepwell run wrong.py",
        None,
        "wrong.py:1:",
        "found invalid syntax",
        "expected valid Python",
        "mend the line",
    ),
    mistake(
        "a Python function without shapes",
        "stepwell run layer.py",
        None,
        "layer.py",
        "found no shape for argument 'x'",
        "expected one to trace with",
        "give --shape x=2x3xf32",
    ),
    mistake(
        "a Python function on shapes it does not take",
        "stepwell run layer.py --shape x=2x3xf32 --shape w=4x5xf32",
        None,
        "",
        "layer.py:2:",
        "found shapes 2x3 and 4x5",
        "expected",
        "reshape",
    ),
    mistake(
        "unknown CPU",
        "stepwell compile in.mlir -o out.s --target pentium",
        IDENTITY,
        "",
        "found target 'pentium'",
        "expected host or one of",
        "choose one",
    ),
    mistake(
        "an output that says no kind",
        "stepwell compile in.mlir -o out.exe",
        IDENTITY,
        "out.exe",
        "ending in '.exe'",
        "expected one of .mlir, .ll, .s, .o, .so",
        "rename it",
    ),
    mistake(
        "an output of another kind",
        "stepwell compile in.mlir -o out.ll --emit asm",
        IDENTITY,
        "out.ll",
        "found --emit asm",
        "expected one ending in '.s'",
        "rename it",
    ),
]

MISTAKES = [
    *TEXT_MISTAKES,
    *VERIFIER_MISTAKES,
    *LOWERING_MISTAKES,
    *DRIVER_MISTAKES,
    *RUN_MISTAKES,
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with files of the wrong kinds in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "model.onnx").write_bytes(b"\x08\x07")
    (tmp_path / "binary.mlir").write_bytes(b"//\n  \xff\xfe")
    (tmp_path / "layer.py").write_text("def layer(x, w):\n    return x @ w\n")
    (tmp_path / "fails.py").write_text("def f():\n    pass\n1 / 0\n")
    (tmp_path / "wrong.py").write_text("def f(:\n")
    np.save("x.npy", np.zeros((2, 3), np.float32))
    np.save("other_shape.npy", np.zeros((3, 2), np.float32))
    np.save("other_rank.npy", np.zeros(6, np.float32))
    np.save("other_dtype.npy", np.zeros((2, 3), np.float64))
    return tmp_path


def assert_one_good_line(stderr: str, case: Mistake) -> None:
    assert stderr.count("\n") == 1 and stderr.endswith("\n"), stderr
    assert "Traceback" not in stderr
    start = (
        f"error: {case.where}:" if case.where and case.where[-1] != ":" else f"error: {case.where}"
    )
    assert stderr.startswith(start)
    position = 0
    for part in case.parts:
        found = stderr.find(part, position)
        assert found >= 0, f"{part!r} is not in, or not in order in: {stderr}"
        position = found + len(part)


@pytest.mark.parametrize("case", MISTAKES, ids=[case.name for case in MISTAKES])
def test_a_mistake_is_one_line(
    case: Mistake, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if case.text is not None:
        (folder / "in.mlir").write_text(case.text)
    program, *args = case.command.split()
    assert MAIN[program](args) == 1
    out, err = capsys.readouterr()
    assert_one_good_line(err, case)
    assert out == ""


def test_there_are_enough_and_they_are_distinct() -> None:
    assert len({(case.command, case.text) for case in MISTAKES}) == len(MISTAKES) >= 25


@pytest.mark.parametrize(
    "case",
    [case for case in MISTAKES if case.name in ("unknown operation", "malformed pipeline")],
    ids=lambda case: case.name,
)
def test_a_mistake_ends_the_process_with_status_1(case: Mistake, folder: Path) -> None:
    (folder / "in.mlir").write_text(case.text or "")
    _, *args = case.command.split()
    done = subprocess.run(
        [sys.executable, "-m", "stepwell.tools.opt", *args],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert_one_good_line(done.stderr, case)
