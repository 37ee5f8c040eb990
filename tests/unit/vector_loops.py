"""Vector loops run at three levels, and by NumPy-like order: each operation for all lanes before the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from stepwell.analysis.levels import Level
from stepwell.analysis.signature import entry_function
from stepwell.analysis.verify import verify
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret, random_inputs
from stepwell.runtime.jit import compile_module
from xdsl.dialects.builtin import ModuleOp

from .loop_nests import as_tuple


def at_core(text: str) -> ModuleOp:
    """The program at level core, which must be valid and print as it parses."""
    module = parse_text(text, "vector.mlir")
    lower_to(module, Level.CORE)
    verify(module)
    printed = str(module)
    assert str(parse_text(printed, "core.mlir")) == printed
    return module


def check_lanes(
    text: str,
    *runs: Sequence[np.ndarray],
    tolerance: float = 0.0,
    in_lanes: bool = True,
) -> ModuleOp:
    """
    With the inputs of each run, random ones where none are given, the program gives the same in order, as vectors by the
    interpreter, and natively; the core module.

    `in_lanes` says whether its vector loops are expected to become vectors; of conditions that hold in no lane nothing is left.
    """
    module = parse_text(text, "vector.mlir")
    core = at_core(text)
    printed = str(core)
    is_empty = not any(word in printed for word in ("load", "store", "scf.for"))
    assert ("vector<" in printed) == in_lanes or is_empty, printed
    assert ("stepwell.mode" in printed) != in_lanes, printed
    native = parse_text(printed, "core.mlir")
    lower_to(native, Level.LLVM)
    executable = compile_module(native)
    for given in runs or [random_inputs(entry_function(module), 1)]:
        expected = interpret(module, given)
        _agree(interpret(core, given), expected, tolerance, f"at core\n{printed}")
        arrays = [np.array(value) for value in given]
        found = as_tuple(executable(*arrays)) or [value for value in arrays if value.ndim]
        _agree(found, expected, tolerance, f"natively\n{printed}")
    return core


def _agree(
    found: Sequence[np.ndarray], expected: Sequence[np.ndarray], tolerance: float, message: str
) -> None:
    for value, want in zip(found, expected, strict=True):
        if tolerance:
            np.testing.assert_allclose(value, want, rtol=tolerance, atol=tolerance, err_msg=message)
        else:
            np.testing.assert_array_equal(value, want, err_msg=message)


def loop_program(
    body: str, count: int, *, element: str = "i32", lower: int = 0, step: int = 1
) -> str:
    """
    `f` with buffers %A and %B of 400 elements and %S of four, and one vector loop over %i of `count` lanes.

    In `body`, `T` stands for the element type, `M` for the type of %A and %B.
    """
    upper = lower + (count - 1) * step + 1
    body = body.replace(": M", f": memref<400x{element}>").replace(": T", f": {element}")
    return f"""
func.func @f(%A: memref<400x{element}>, %B: memref<400x{element}>, %S: memref<4x{element}>, %n: index)
    attributes {{stepwell.noalias}} {{
  loop.for parallel vector "i" %i = {lower} to {upper} step {step} {{
{body}
  }}
  func.return
}}"""
