"""Level 4 run by upstream's mlir-runner gives what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest
from differential.agreement import descend
from differential.example_programs import NAMES, example
from differential.monte_carlo import disagreement
from differential.operator_cases import element_types_of
from differential.operator_programs import operator_program
from stepwell.analysis.levels import Level
from stepwell.dialects import graph
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.text import parse_text
from xdsl.dialects.builtin import i1

from .upstream import needs_tools, run_upstream

pytestmark = needs_tools

REFUSED = {
    "attention": "upstream's lowering of stores of i1 fails an assertion (LLVM 22)",
    "image_normalize": "a negative float as an unsigned byte is 0 for Stepwell, undefined upstream",
}
EXAMPLES = [name for name in NAMES if name not in REFUSED]
OPERATIONS = (
    graph.AddOp,
    graph.ConcatOp,
    graph.GatherOp,
    graph.LayerNormOp,
    graph.MatmulOp,
    graph.MaxOp,
    graph.ModOp,
    graph.PadOp,
    graph.SliceOp,
    graph.SoftmaxOp,
    graph.TransposeOp,
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_gives_the_same(name: str):
    program = example(name)
    ((_, core),) = descend(program.module, (Level.CORE,))
    for array, value in zip(run_upstream(core, program.inputs), program.expected, strict=True):
        assert disagreement(array, value) is None


def test_loops_on_threads_give_the_same():
    text = """
    func.func @f(%A: memref<17xf32>, %B: memref<17xf32>) {
      loop.for parallel threads "i" %i = 0 to 17 step 2 {
        %T = loop.alloc stack : memref<f32>
        %a = loop.load %A[%i] : memref<17xf32>
        loop.store %a, %T[] : memref<f32>
        %t = loop.load %T[] : memref<f32>
        %b = arith.addf %a, %t : f32
        loop.store %b, %B[%i] : memref<17xf32>
      }
      func.return
    }"""
    module = parse_text(text)
    lower_to(module, Level.CORE)
    given = np.arange(17, dtype=np.float32)
    _, found = run_upstream(module, [given, np.zeros_like(given)])
    np.testing.assert_array_equal(found, np.where(given % 2 == 0, 2 * given, 0))


@pytest.mark.parametrize("op", OPERATIONS, ids=[op.name for op in OPERATIONS])
def test_operator_gives_the_same(op: type[graph.GraphOp]):
    elements = [element for element in element_types_of(op) if element != i1]
    program = operator_program(op, elements)
    ((_, core),) = descend(program.module, (Level.CORE,))
    found = run_upstream(core, program.inputs)
    for number, (array, value) in enumerate(zip(found, program.expected(), strict=True)):
        assert disagreement(array, value) is None, f"result {number}"
