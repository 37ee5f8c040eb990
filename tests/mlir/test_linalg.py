"""linalg and tensor as upstream prints them come in, and te goes out as what upstream's tools run."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from differential.te_programs import random_program
from differential.test_te_lowering import Agreement
from stepwell.analysis.signature import entry_function, signature_of
from stepwell.analysis.verify import verify
from stepwell.dialects.upstream.linalg_named import NAMED
from stepwell.driver.pass_manager import PassManager
from stepwell.driver.pipeline_spec import parse_passes
from stepwell.errors import StepwellError
from stepwell.frontend.text import make_context, parse_text
from stepwell.frontend.upstream_text import bring_in
from stepwell.interpreters.harness import interpret, random_inputs
from xdsl.dialects.builtin import ModuleOp

from .upstream import mlir_opt, needs_tools, run_upstream_on_tensors

pytestmark = needs_tools

EXTENTS = dict(zip("mnkbacfghwdzHWD", (3, 4, 5, 2, 3, 2, 3, 2, 3, 2, 3, 2, 2, 3, 2), strict=True))
STRIDE, DILATION = 2, 3


def brought_in(text: str) -> ModuleOp:
    module = parse_text(text)
    verify(module)
    bring_in(module)
    return module


def extent(operand: int, letter: str, letters: str) -> int:
    """Of an axis of an operand: an image is as large as its windows reach."""
    size = EXTENTS[letter]
    if operand > 0 or letter.upper() not in letters:
        return size
    return (size - 1) * STRIDE + (EXTENTS[letter.upper()] - 1) * DILATION + 1


def program_of(op: type) -> str:
    """A function of one named operation on operands of its subscripts, i8 with i32 results where it is quantized."""
    operands, result = op.SUBSCRIPTS.split("->")
    is_quantized = "quantized" in op.name or op.name.endswith("_q")
    is_integer = is_quantized or "unsigned" in op.name
    narrow, wide = ("i8", "i32") if is_integer else ("f32", "f32")
    axes = [*operands.split(","), result]
    types = []
    for number, names in enumerate(axes):
        sizes = "".join(f"{extent(number, letter, ''.join(axes))}x" for letter in names)
        is_result = number == len(axes) - 1
        is_zero_point = not names and not is_result and is_quantized
        types.append("i32" if is_zero_point else f"tensor<{sizes}{wide if is_result else narrow}>")
    windows = sum(letter.isupper() for letter in set("".join(axes)))
    steps = "".join(
        f"{name} = dense<{value}> : vector<{windows}xi64>{end}"
        for name, value, end in (("dilations", DILATION, ", "), ("strides", STRIDE, ""))
    )
    has_steps = windows and "_" in op.name.removeprefix(
        "linalg.conv_"
    )  # conv_2d and its kin have none
    tensors = [t for t in types if t.startswith("tensor")]
    args = ", ".join(f"%{n}: {t}" for n, t in enumerate(tensors))
    inputs = [f"%{n}" for n in range(len(tensors) - 1)] + ["%zp"] * (len(types) - len(tensors))
    return f"""
    func.func @f({args}) -> {types[-1]} {{
      %zp = arith.constant 3 : i32
      %r = {op.name} {f"{{{steps}}}" if has_steps else ""} ins({", ".join(inputs)} : {", ".join(types[:-1])})
        outs(%{len(tensors) - 1} : {types[-1]}) -> {types[-1]}
      return %r : {types[-1]}
    }}"""


SUBSCRIPTED = [op for op in NAMED if getattr(op, "SUBSCRIPTS", "")]


@pytest.mark.parametrize("op", SUBSCRIPTED, ids=[op.name for op in SUBSCRIPTED])
def test_named_operation_is_what_upstream_generalizes_it_to(op: type):
    """Ours, of the text that mlir-opt prints, against ours of the linalg.generic that mlir-opt makes of it."""
    text = program_of(op)
    named = brought_in(mlir_opt(text))
    generic = brought_in(mlir_opt(text, "--linalg-generalize-named-ops"))
    inputs = random_inputs(entry_function(named), 0)
    np.testing.assert_allclose(interpret(named, inputs)[0], interpret(generic, inputs)[0], 1e-5)
    assert prod(signature_of(entry_function(named)).results[0].shape) > 0


@pytest.mark.parametrize(
    "op", ["linalg.matmul", "linalg.conv_2d_nhwc_hwcf", "linalg.pooling_nchw_max"]
)
def test_named_operation_is_what_upstream_runs(op: str):
    text = mlir_opt(program_of(next(each for each in NAMED if each.name == op)))
    ours = brought_in(text)
    inputs = random_inputs(entry_function(ours), 1)
    theirs = run_upstream_on_tensors(parse_text(text), inputs)
    np.testing.assert_allclose(interpret(ours, inputs)[0], theirs[0], 1e-5, 1e-5)


@pytest.mark.parametrize("seed", range(30))
def test_te_goes_out_and_gives_what_numpy_gives(seed: int):
    program = random_program(seed)
    if "i1>" in program.text or "divsi" in program.text or "remsi" in program.text:
        pytest.skip(
            "upstream's lowering of i1 in memory fails (LLVM 22), and x / 0 is undefined there"
        )
    ctx = make_context()
    module = parse_text(program.text, ctx=ctx)
    try:
        PassManager(parse_passes("convert-te-to-linalg")).run(ctx, module)
    except StepwellError as error:
        pytest.skip(str(error))
    found = run_upstream_on_tensors(module, program.inputs)
    Agreement(program.is_exact, program.magnitude).check("mlir-runner", found, program.expected)
