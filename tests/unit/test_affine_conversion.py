"""Upstream affine, scf and memref code raised to named loops, and given back."""

import numpy as np
import pytest
from stepwell.analysis.alias import NOALIAS
from stepwell.analysis.levels import Level, level_of
from stepwell.analysis.verify import verify
from stepwell.dialects import loop
from stepwell.dialects.schedule.steps import Parallel
from stepwell.driver.pipelines import lower_to
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.lowering.affine_to_loop import ConvertAffineToLoopPass
from stepwell.lowering.loop_to_affine import ConvertLoopToAffinePass
from stepwell.runtime.jit import compile_module
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import apply
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

BANDED = """
func.func @f(%A: memref<17x17xf32>, %n: index) {
  affine.for %i = 0 to %n {
    affine.for %j = max affine_map<(d0) -> (0, d0 - 3)>(%i)
        to min affine_map<(d0)[s0] -> (17, d0 + s0)>(%i)[%n] step 2 {
      %a = affine.load %A[%i, %j] : memref<17x17xf32>
      %s = affine.for %k = 0 to 4 iter_args(%x = %a) -> (f32) {
        %y = arith.addf %x, %x : f32
        affine.yield %y : f32
      }
      affine.store %s, %A[%i, %j] : memref<17x17xf32>
    }
  }
  func.return
}
"""

CONDITIONAL = """
func.func @f(%A: memref<9x9xf32>, %B: memref<9x9xf32>) {
  %z = arith.constant 0.0 : f32
  "affine.parallel"() <{reductions = [], lowerBoundsMap = affine_map<() -> (0, 1)>,
      lowerBoundsGroups = dense<1> : tensor<2xi32>, upperBoundsMap = affine_map<() -> (9, 8)>,
      upperBoundsGroups = dense<1> : tensor<2xi32>, steps = [1 : i64, 2 : i64]}> ({
  ^bb0(%p: index, %q: index):
    %r = "affine.if"(%p, %q) <{condition = affine_set<(d0, d1) : (d0 - d1 >= 0)>}> ({
      %x = affine.load %A[%p, %q + 1] : memref<9x9xf32>
      affine.yield %x : f32
    }, {
      affine.yield %z : f32
    }) : (index, index) -> f32
    affine.store %r, %B[%p, %q] : memref<9x9xf32>
    "affine.yield"() : () -> ()
  }) : () -> ()
  func.return
}
"""

SCF = """
func.func @f(%v: memref<33xf32>) -> f32 {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %t = scf.for %i = %c0 to %c16 step %c2 iter_args(%acc = %z) -> (f32) {
    %ii = arith.muli %i, %c2 : index
    %jj = arith.addi %ii, %c2 : index
    %e = memref.load %v[%jj] : memref<33xf32>
    %w = arith.addf %acc, %e : f32
    scf.yield %w : f32
  }
  func.return %t : f32
}
"""


def raised(text: str, **options: bool) -> ModuleOp:
    module = parse_text(text, "f.mlir")
    ConvertAffineToLoopPass(**options).apply(Context(), module)
    verify(module)
    return module


def round_trip(module: ModuleOp) -> ModuleOp:
    """To affine, through its text, and back."""
    given_back = module.clone()
    ConvertLoopToAffinePass().apply(Context(), given_back)
    verify(given_back)
    return raised(str(given_back))


def test_bounds_steps_symbols_and_carried_values() -> None:
    module = raised(BANDED)
    given = np.random.default_rng(0).standard_normal((17, 17)).astype(np.float32)
    expected = given.copy()
    for i in range(11):
        for j in range(max(0, i - 3), min(17, i + 11), 2):
            expected[i, j] *= 16
    for version in (module, round_trip(module)):
        found = interpret(version, [given.copy(), np.int64(11)])[0]
        np.testing.assert_array_equal(found, expected)


def test_parallel_and_conditions() -> None:
    module = raised(CONDITIONAL)
    loops = [op for op in module.walk() if isinstance(op, loop.ForOp)]
    assert [op.kind.data for op in loops] == [loop.LoopKind.PARALLEL] * 2
    a = np.random.default_rng(0).standard_normal((9, 9)).astype(np.float32)
    expected = np.full((9, 9), 7, np.float32)
    for p in range(9):
        for q in range(1, 8, 2):
            expected[p, q] = a[p, q + 1] if p >= q else 0
    for version in (module, round_trip(module)):
        found = interpret(version, [a.copy(), np.full((9, 9), 7, np.float32)])[1]
        np.testing.assert_array_equal(found, expected)


def test_scf_with_index_arithmetic() -> None:
    module = raised(SCF)
    (load,) = [
        op for op in module.walk() if isinstance(op, loop.LoadOp) and op.buffer.name_hint == "v"
    ]
    assert str(load.map.data.results[0]) == "((d0 * 2) + 2)"
    v = np.arange(33, dtype=np.float32)
    assert interpret(module, [v])[-1] == v[2:33:4].sum()
    lower_to(module, Level.LLVM)
    assert compile_module(module)(v) == v[2:33:4].sum()


def test_noalias_args_is_a_promise_kept_on_the_function() -> None:
    (function,) = raised(SCF, noalias_args=True).ops
    assert isinstance(function, func.FuncOp) and NOALIAS in function.attributes


def test_what_has_no_counterpart_stays() -> None:
    text = """
    func.func @f(%n: index, %v: memref<8xf32>) {
      %c0 = arith.constant 0 : index
      scf.for %i = %c0 to %n step %n {
        %a = memref.load %v[%i] : memref<8xf32>
        memref.store %a, %v[%c0] : memref<8xf32>
      }
      func.return
    }
    """
    module = raised(text)
    assert level_of(module) is Level.LOOP
    assert any(op.name == "scf.for" for op in module.walk())
    given = np.arange(8, dtype=np.float32)
    assert interpret(module, [np.int64(3), given])[0][0] == given[0]


REDUCING = CONDITIONAL.replace("reductions = []", 'reductions = ["addf"]').replace(
    '"affine.yield"() : () -> ()\n  }) : () -> ()',
    '"affine.yield"(%r) : (f32) -> ()\n  }) : () -> f32',
)


def test_refusals() -> None:
    with pytest.raises(StepwellError, match=r"found 'affine\.parallel' with reductions"):
        ConvertAffineToLoopPass().apply(Context(), parse_text(REDUCING, "f.mlir"))
    blocks = "func.func @f() {\n cf.br ^a\n ^a:\n func.return\n}"
    with pytest.raises(StepwellError, match="has 2 blocks, expected structured control flow"):
        ConvertAffineToLoopPass().apply(Context(), parse_text(blocks, "f.mlir"))


def test_every_operation_keeps_the_place_it_was_written_at() -> None:
    for text in (BANDED, CONDITIONAL, SCF):
        for op in raised(text).walk():
            if not isinstance(op, ModuleOp | loop.YieldOp):
                assert str(op.location) != "loc(unknown)", op


def test_a_refusal_names_the_two_accesses_where_they_are_written() -> None:
    text = """func.func @f(%A: memref<16xf32>) {
  affine.for %i = 1 to 16 {
    %a = affine.load %A[%i - 1] : memref<16xf32>
    affine.store %a, %A[%i] : memref<16xf32>
  }
  func.return
}
"""
    with pytest.raises(StepwellError) as caught:
        apply(Parallel("f/i"), Nests(raised(text)))
    assert "f.mlir:2:3: parallel" in str(caught.value)
    assert "the load of '%A' (f.mlir:3:10)" in str(caught.value)
    assert "the store to '%A' (f.mlir:4:5)" in str(caught.value)
