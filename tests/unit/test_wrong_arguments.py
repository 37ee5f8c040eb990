"""What Python functions and the command line are given that they cannot take: one line for each."""

import functools
import inspect
import operator
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import stepwell as sw
from stepwell import StepwellError
from stepwell.frontend.array_memory import check_memory
from stepwell.tools import cli, opt
from stepwell.tools.shape_text import parse_shape

X = np.ones((2, 3), np.float32)


class Model:
    def __call__(self, x):
        return x + 1


@pytest.mark.parametrize(
    "path", [None, 3, True, b"in.mlir", bytearray(b"x"), ["in.mlir"], 1.5, sys.stdin, X]
)
def test_what_is_no_path(path: object) -> None:
    with pytest.raises(
        StepwellError, match=f"found a {type(path).__name__}, expected the path of a file"
    ):
        sw.load(path)


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    for folder in (str(tmp_path), tmp_path, "."):
        with pytest.raises(StepwellError, match="found a directory, expected a file"):
            sw.load(folder)
    with pytest.raises(StepwellError, match=r"a\\x00b.mlir: cannot read the file"):
        sw.load("a\0b.mlir")
    with pytest.raises(StepwellError, match=r"cannot read the file|found no such file"):
        sw.load("x" * 5000 + ".mlir")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (np.exp, r"found NumPy's 'exp', which cannot be traced.*; write jit\(stepwell.exp\)"),
        (np.sum, r"found NumPy's 'sum'.*; write jit\(stepwell.sum\)"),
        (np.isnat, "found NumPy's 'isnat'.*; write a function"),
        (max, "found 'max', whose parameters Python does not know, expected a function"),
        (operator.itemgetter(0), "found 'itemgetter', whose parameters"),
        (int, "found the class 'int', expected a function"),
        (Model, "found the class 'Model', expected a function"),
        (3, "found a int, expected a function"),
        (np, "found a module, expected a function"),
        (property(len), "found a property, expected a function"),
    ],
)  # fmt: skip
def test_what_cannot_be_compiled(function: object, message: str) -> None:
    line = inspect.currentframe().f_lineno + 2
    with pytest.raises(StepwellError, match=message) as caught:
        sw.jit(function)
    assert str(caught.value).startswith(f"{__file__}:{line}:")
    with pytest.raises(StepwellError, match=message):
        sw.jit(threads=1)(function)


def test_a_text_is_no_function():
    """Numba's decorator takes the types of arguments so."""
    with pytest.raises(StepwellError, match="found types of arguments in jit, expected a function"):
        sw.jit("float64(float64)")
    with pytest.raises(StepwellError, match="found a str, expected a function"):
        sw.jit(threads=1)("f")


@pytest.mark.parametrize("function", [abs, Model(), functools.partial(operator.mul, 2), sw.exp])
def test_what_can_be_compiled_without_being_a_function(function: Callable) -> None:
    np.testing.assert_allclose(sw.jit(function)(X), function(X), rtol=1e-6)


@pytest.mark.parametrize("target", [3, None, b"host"])
def test_what_is_no_target(target: object) -> None:
    with pytest.raises(StepwellError, match=f"found a {type(target).__name__} as the target"):
        sw.jit(lambda x: x + 1, target=target)(X)


def test_a_masked_array_is_not_taken_without_its_mask() -> None:
    executable = sw.jit(lambda x: x + 1).lower(X).compile()
    with pytest.raises(StepwellError, match="is a masked array, expected an array without a mask"):
        executable(np.ma.masked_array(X, X > 0))


def test_a_masked_array_is_not_written_to_with_its_mask_left_as_it_was() -> None:
    executable = sw.jit(lambda x: x + 1).lower(X).compile()
    with pytest.raises(StepwellError, match="out array 'add' of 'main' is a masked array"):
        executable(X, out=np.ma.masked_array(np.zeros_like(X), X > 0))


def test_a_masked_number_is_no_number() -> None:
    text = "func.func @f(%x: memref<1xf32>, %n: f32) {\n  func.return\n}\n"
    with pytest.raises(StepwellError, match="argument 'n' of 'f' is a masked array"):
        sw.load(text).compile()(np.zeros(1, np.float32), np.ma.masked)


# NumPy's promotion in sums and products


@pytest.mark.parametrize("function", ["sum", "prod"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4", "i8", "?"])
def test_sums_have_numpys_dtype(function: str, dtype: str) -> None:
    x = np.array([[1, 1, 0], [1, 1, 1]], dtype)
    found = sw.jit(lambda x: getattr(sw, function)(x, axis=1))(x)
    expected = getattr(np, function)(x, axis=1)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("function", [sw.sum, sw.prod])
@pytest.mark.parametrize("opt", ["full", "quick"])
def test_sums_of_unsigned_integers(function: Callable, opt: str) -> None:
    """In uint64, as NumPy's are: a sum of 2 ** 63 and more stays what it is, and promotes as NumPy says."""
    reference = getattr(np, function.__name__)
    for x in (np.full((2, 9), 200, np.uint8), np.array([2**63 + 1, 2**62 + 5], np.uint64)):
        for call in (function, sw.jit(lambda x: function(x), opt=opt)):
            found = call(x)
            assert found.dtype == np.uint64
            np.testing.assert_array_equal(found, reference(x))
        ratio = sw.jit(lambda x: (function(x) // 3, function(x) / 3, function(x) > 7), opt=opt)(x)
        with np.errstate(over="ignore"):
            total = reference(x)
        for found, expected in zip(ratio, (total // 3, total / 3, total > 7), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
    x = np.full((2, 3), 200, np.uint8)
    for dtype in (np.int64, np.uint8, np.float32):
        found = sw.jit(lambda x, dtype=dtype: function(x, dtype=dtype))(x)
        expected = getattr(np, function.__name__)(x, dtype=dtype)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


# The command line

IDENTITY = (
    "func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {\n  func.return %x : tensor<?xf32>\n}\n"
)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["run", "in.mlir", "--random", "-1"], "--random: found the seed '-1', expected a whole number from 0"),
        (["run", "in.mlir", "--random", "1.5"], "found the seed '1.5'"),
        (["run", "in.mlir", "--random", "9" * 30], "found the seed '999999999999999999999999999999'"),
        (["run", "in.mlir", "--shape", "x=-1xf32"], "found the extent '-1' in --shape x=-1xf32"),
        (["run", "in.mlir", "--shape", "x=twoxf32"], "found the extent 'two' in"),
        (["run", "in.mlir", "--shape", "x=3xf33"], "found the dtype 'f33' in --shape x=3xf33, expected one of f32"),
        (["run", "in.mlir", "--shape", "x=3xi32"], "expected one that fits float32[?]"),
        (["run", "in.mlir", "--shape", "x=2x3xf32"], "expected one that fits float32[?]"),
        (["run", "in.mlir", "--shape", "x=1000000000000000xf32"], "found argument 'x' of 3.73e+06 GiB"),
        (["run", "in.mlir", "--shape", f"x={'9' * 19}x9xf32"], "found the extent '9999999999999999999'"),
        (["run", "in.mlir", "--shape", "x=²xf32"], "found the extent '²'"),
        (["run", "in.mlir", "--shape", "x="], "expected --shape NAME=2x3xf32"),
        (["compile", "f.py", "--emit", "graph", "--shape", "x=-2xf32"], "found the extent '-2' in"),
        (["compile", "f.py", "--emit", "graph", "--shape", "x=2"], "expected extents and a dtype as in 2x3xf32"),
        (["compile", "f.py", "--emit", "graph", "--shape", "x=4000000000x4000000000xf32"], "as 64 bits can"),
        (["compile", "f.py", "--emit", "graph", "--shape", "x=2xfloat32"], "found the dtype 'float32' in"),
        (["bench", "in.mlir", "--shape", "x=-1xf32", "--against", "numpy"], "found the extent '-1' in"),
    ],
)  # fmt: skip
def test_shapes_and_seeds(
    args: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.mlir").write_text(IDENTITY)
    Path("f.py").write_text("def f(x):\n    return x + 1\n")
    random = ["--random", "0"] if args[0] == "run" and "--random" not in args else []
    assert cli.main([*args, *random]) == 1
    line = capsys.readouterr().err
    assert line.startswith("error: ") and line.count("\n") == 1
    assert message in line


def test_shapes() -> None:
    assert parse_shape("2x0x3xf32", "") == ((2, 0, 3), np.float32)
    assert parse_shape("7", "") == ((7,), None)
    assert parse_shape("f64", "") == ((), np.float64)
    check_memory((2, 3), np.dtype(np.float32), "an array")


def test_a_static_argument_that_memory_cannot_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(IDENTITY.replace("?", "99999999999x99999999999"))
    assert cli.main(["run", str(path), "--random", "0"]) == 1
    assert "found argument 'x' of " in capsys.readouterr().err


def test_a_seed_of_check_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.main(["-", "--check-seed", "-1"]) == 1
    assert "--check-seed" in capsys.readouterr().err
