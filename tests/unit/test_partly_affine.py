"""Accesses of which only some subscripts are affine, and accesses through a cast: what is known of them is used."""

import numpy as np
import pytest
from stepwell.analysis.levels import Level
from stepwell.analysis.signature import entry_function
from stepwell.analysis.verify import verify
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import Parallel, Reorder, Stage
from stepwell.driver.options import Options
from stepwell.driver.pipelines import lower_to
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret, random_inputs
from stepwell.lowering.affine_to_loop import ConvertAffineToLoopPass
from stepwell.runtime.jit import compile_module
from stepwell.tools.execute import lower
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import apply
from stepwell.universe import make_context
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

LOOKED_UP = """
func.func @f(%A: memref<4x9x9xi32>, %z: memref<9xi32>) attributes {stepwell.noalias} {
  %three = arith.constant 3 : i32
  loop.for serial "i" %i = 0 to 9 {
    loop.for serial "j" %j = 1 to 9 {
      %v = loop.load %z[%j] : memref<9xi32>
      %m = arith.andi %v, %three : i32
      %n = arith.index_cast %m : i32 to index
      %a = loop.load %A[%n, %i, %j - 1] : memref<4x9x9xi32>
      %b = arith.addi %a, %v : i32
      loop.store %b, %A[%n, %i, %j] : memref<4x9x9xi32>
    }
  }
  func.return
}"""
"""Which plane is read and written is looked up; in a plane each row is a recurrence of its own."""

CAST = """
func.func @f(%A: memref<9x9xi32>) {
  %B = "memref.cast"(%A) : (memref<9x9xi32>) -> memref<?x?xi32>
  loop.for serial "i" %i = 0 to 9 {
    loop.for serial "j" %j = 1 to 9 {
      %a = loop.load %A[%i, %j - 1] : memref<9x9xi32>
      %b = arith.addi %a, %a : i32
      loop.store %b, %B[%i, %j] : memref<?x?xi32>
    }
  }
  func.return
}"""


def check_steps(text: str, steps: list[Step]) -> None:
    """The same results after the steps, interpreted and natively."""
    module = parse_text(text, "f.mlir")
    arrays = random_inputs(entry_function(module, "f"), 0)
    (expected, *_) = interpret(module, [np.array(array) for array in arrays], "f")
    for step in steps:
        apply(step, Nests(module))
    verify(module)
    (found, *_) = interpret(module, [np.array(array) for array in arrays], "f")
    np.testing.assert_array_equal(found, expected)
    lower_to(module, Level.LLVM)
    compile_module(module, entry="f")(*arrays)
    np.testing.assert_array_equal(arrays[0], expected)


def refusal(text: str, step: Step) -> str:
    module = parse_text(text, "f.mlir")
    before = str(module)
    with pytest.raises(StepwellError) as caught:
        apply(step, Nests(module))
    assert str(module) == before
    return str(caught.value)


@pytest.mark.parametrize("text", [LOOKED_UP, LOOKED_UP.replace("%j - 1", "%j"), CAST])
def test_the_affine_subscripts_show_that_rows_are_apart(text: str) -> None:
    check_steps(text, [Parallel("f/i")])


@pytest.mark.parametrize("text", [LOOKED_UP, CAST])
def test_rows_and_columns_change_places(text: str) -> None:
    check_steps(text, [Reorder("f/i", ("j", "i"))])


def test_a_refusal_names_a_pair_that_meets_in_the_affine_subscripts() -> None:
    found = refusal(LOOKED_UP, Parallel("f/j"))
    assert "iterations (i=0, j=1) and (i=0, j=2) would be raced" in found
    found = refusal(LOOKED_UP.replace("%i, %j - 1", "%i - %i, %j - 1"), Parallel("f/i"))
    assert "(an access is not affine)" in found
    found = refusal(CAST, Parallel("f/j"))
    assert "iterations (i=0, j=1) and (i=0, j=2) would be raced" in found


def test_one_unknown_subscript_may_be_any() -> None:
    same_column = LOOKED_UP.replace("%A[%n, %i, %j - 1]", "%A[%n, %i, 0]").replace(
        "%A[%n, %i, %j]", "%A[%i, %n, 0]"
    )
    assert "may exist" in refusal(same_column, Parallel("f/i"))


def test_memref_operations_are_compared_by_their_indices_too() -> None:
    """Of upstream's operations at the loop level, as of loop.load and loop.store."""
    text = LOOKED_UP.replace("loop.store %b, %A[%n, %i, %j]", "memref.store %b, %A[%n, %i, %j]")
    check_steps(text, [Parallel("f/i")])


def test_raised_code_is_as_exact() -> None:
    text = """
    func.func @f(%A: memref<4x9x9xf32>, %z: memref<9xindex>) {
      affine.for %i = 0 to 9 {
        affine.for %j = 0 to 9 {
          %n = affine.load %z[%j] : memref<9xindex>
          %a = memref.load %A[%n, %i, %j] : memref<4x9x9xf32>
          memref.store %a, %A[%n, %i, %j] : memref<4x9x9xf32>
        }
      }
      func.return
    }"""
    module = parse_text(text, "f.mlir")
    ConvertAffineToLoopPass().apply(Context(), module)
    apply(Parallel("f/i"), Nests(module))


@pytest.mark.parametrize("step", [Stage("f/A", "i"), Stage("f/B", "i")])
def test_steps_that_rewrite_accesses_refuse_a_cast(step: Step) -> None:
    assert "uses '%A' in a way that is not an affine access" in refusal(CAST, step)


def test_an_affine_subscript_beside_an_unknown_one_is_checked_against_the_shape() -> None:
    lowered(LOOKED_UP)
    with pytest.raises(StepwellError, match=r"subscript 2 equal to 9 in iteration \(i=0, j=8\)"):
        lowered(LOOKED_UP.replace("%j - 1", "%j + 1"))


def test_loops_with_unknown_bounds_are_not_called_out_of_bounds() -> None:
    lowered("""
    func.func @f(%A: memref<9xf32>, %n: memref<index>) {
      %m = loop.load %n[] : memref<index>
      loop.for serial "k" %k = 0 to 2 {
        %e = loop.load %n[] : memref<index>
        loop.for serial "i" %i = 0 to %e {
          %a = loop.load %A[%i] : memref<9xf32>
          loop.store %a, %A[%i] : memref<9xf32>
        }
      }
      func.return
    }""")


def lowered(text: str) -> ModuleOp:
    """As `stepwell compile` does, which checks the bounds of loops."""
    module = parse_text(text, "f.mlir")
    lower(module, Level.CORE, make_context(), Options())
    return module
