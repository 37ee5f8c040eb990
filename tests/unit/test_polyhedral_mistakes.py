"""Programs with which the schedule fuzzer found mistakes of `loop-polyhedral`."""

import islpy as isl
import numpy as np
import pytest
from differential.iteration_trace import racing, trace
from stepwell.analysis.statements import Statement
from stepwell.analysis.verify import verify
from stepwell.dialects import loop
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.transforms.loop.polyhedral import LoopPolyhedralPass
from stepwell.transforms.step_support import isl_scheduler
from xdsl.context import Context
from xdsl.dialects import func

from .kernel_oracles import copies


def test_loops_without_statements_stay() -> None:
    module = parse_text(
        """
        func.func @f() {
          loop.for serial "i" %i = 0 to 3 {
          }
          func.return
        }
        """,
        "f.mlir",
    )
    before = str(module)
    LoopPolyhedralPass().apply(Context(), module)
    assert str(module) == before


def test_statements_that_depend_on_each_other_both_ways_in_one_iteration() -> None:
    """`x` is loaded before the store of 1, and stored after it."""
    module = parse_text(
        """
        func.func @f(%A: memref<5xi32>, %B: memref<5xi32>) {
          loop.for serial "i" %i = 0 to 5 {
            %x = loop.load %A[%i] : memref<5xi32>
            %one = arith.constant 1 : i32
            loop.store %one, %A[%i] : memref<5xi32>
            loop.store %x, %A[%i] : memref<5xi32>
          }
          func.return
        }
        """,
        "f.mlir",
    )
    before = str(module)
    with pytest.raises(StepwellError, match="no schedule of 'f' that keeps all dependences"):
        LoopPolyhedralPass().apply(Context(), module)
    assert str(module) == before


def test_a_schedule_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepwell.transforms.loop.polyhedral.OPERATIONS", 50)
    module = parse_text(
        """
        func.func @f(%A: memref<5x5xi32>) {
          loop.for serial "i" %i = 0 to 5 {
            loop.for serial "j" %j = 0 to 4 {
              %x = loop.load %A[%i, %j] : memref<5x5xi32>
              loop.store %x, %A[%i, %j + 1] : memref<5x5xi32>
            }
          }
          func.return
        }
        """,
        "f.mlir",
    )
    before = str(module)
    with pytest.raises(
        StepwellError, match="no schedule of 'f' in 50 operations of isl; use single"
    ):
        LoopPolyhedralPass().apply(Context(), module)
    assert str(module) == before
    monkeypatch.undo()
    LoopPolyhedralPass().apply(Context(), module)


def test_a_mark_says_nothing_of_loops_after_what_it_is_around() -> None:
    """isl has a parallel loop of one value here, which it leaves out, in front of a serial one."""
    module = parse_text(
        """
        func.func @f(%A: memref<5x4xi32>, %C: memref<6x3xi32>, %n: index) attributes {stepwell.noalias} {
          loop.for serial "i0" %i0 = 0 to %n step 3 {
            %v1x = arith.constant 1 : i32
            loop.store %v1x, %A[1, %i0] : memref<5x4xi32>
            loop.for serial "i1" %i1 = %n - 4 to %n + 1 step 2 {
              loop.for serial "i2" %i2 = 1 to 4 {
                %v2x = loop.if (%i2 mod 2 == 0) -> (i32) {
                  %v3x = loop.load %C[%i1 + 1, %i2 - 1] : memref<6x3xi32>
                  loop.yield %v3x : i32
                } else {
                  %v4x = arith.constant 1 : i32
                  loop.yield %v4x : i32
                }
                loop.store %v2x, %C[%i2 + 2, %i0] : memref<6x3xi32>
                %v5x = loop.load %A[%i1 + 1, %i2] : memref<5x4xi32>
                loop.store %v5x, %C[%i1 + 2, %i2 - 1] : memref<6x3xi32>
              }
            }
          }
          func.return
        }
        """,
        "f.mlir",
    )
    LoopPolyhedralPass(tile=0).apply(Context(), module)
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    touches = trace(function, {"n": 3})
    for op in function.walk():
        if isinstance(op, loop.ForOp) and op.kind.data is loop.LoopKind.PARALLEL:
            assert not list(racing(touches, op, reductions=True)), op.loop_name.data


def test_loops_of_isl_that_leave_iterations_out_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where isl tiles this schedule, the loop over tiles of `j` in steps of two stands for `j` itself."""
    module = parse_text(
        """
        func.func @f(%A: memref<6x6x4xi32> {stepwell.noalias}, %n: index) {
          loop.for serial "i" %i = 0 to 6 {
            loop.for serial "j" %j = 0 to min(6, %n + 1) {
              loop.for serial "k" %k = 0 to 4 {
                loop.if ((-%j + %k + 1) mod 3 == 0) {
                  %v = arith.constant 1 : i32
                  loop.store %v, %A[%i, %j, %k] : memref<6x6x4xi32>
                }
              }
            }
          }
          func.return
        }
        """,
        "f.mlir",
    )

    def scaled(found: object, statements: list[Statement], fuse: str) -> isl.Schedule:
        domain = statements[0].domain.to_union_set()
        times = isl.UnionMap("{ S0[i, j, k] -> [3 + 3i, j, -3i + 3k] }").intersect_domain(domain)
        functions = isl.MultiUnionPwAff.from_union_map(times)
        band = isl.Schedule.from_domain(domain).insert_partial_schedule(functions)
        return band.get_root().child(0).band_set_permutable(1).get_schedule()

    monkeypatch.setattr("stepwell.transforms.loop.polyhedral.compute_schedule", scaled)
    before = str(module)
    with pytest.raises(
        StepwellError, match=r"f.mlir:8:.* do not run the store to '%A' of \(i, j, k\) once"
    ):
        LoopPolyhedralPass(tile=2).apply(Context(), module)
    assert str(module) == before
    verify(module)
    LoopPolyhedralPass(tile=0).apply(Context(), module)


def test_many_statements_are_scheduled_in_a_process_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It gives what is computed here too, says the same of limits, and is ended when it takes too long."""
    module = parse_text(_many_statements(), "f.mlir")
    apart, here = module.clone(), module.clone()
    LoopPolyhedralPass(tile=2).apply(Context(), apart)
    monkeypatch.setattr(isl_scheduler, "STATEMENTS", 100)
    LoopPolyhedralPass(tile=2).apply(Context(), here)
    arrays = [np.arange(9 * 8, dtype=np.int32).reshape(9, 8)]
    expected = interpret(module, copies(arrays))
    for scheduled in (apart, here):
        assert np.array_equal(interpret(scheduled, copies(arrays)), expected)
    monkeypatch.undo()
    before = str(module)
    monkeypatch.setattr("stepwell.transforms.loop.polyhedral.OPERATIONS", 50)
    with pytest.raises(StepwellError, match="no schedule of 'f' in 50 operations of isl"):
        LoopPolyhedralPass().apply(Context(), module)
    monkeypatch.undo()
    monkeypatch.setattr(isl_scheduler, "SECONDS", 0)
    with pytest.raises(StepwellError, match="no schedule of 'f' in 20 seconds; use single steps"):
        LoopPolyhedralPass().apply(Context(), module)
    assert str(module) == before
    monkeypatch.undo()
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    LoopPolyhedralPass(tile=2).apply(Context(), module)
    assert np.array_equal(interpret(module, copies(arrays)), expected)


def _many_statements() -> str:
    """Nine rows, each computed from the one before."""
    rows = "".join(
        f"""
        %x{n} = loop.load %A[{n}, %i] : memref<9x8xi32>
        %y{n} = arith.addi %x{n}, %x{n} : i32
        loop.store %y{n}, %A[{(n + 1) % 9}, %i] : memref<9x8xi32>"""
        for n in range(9)
    )
    return f"""
    func.func @f(%A: memref<9x8xi32>) {{
      loop.for serial "i" %i = 0 to 8 {{{rows}
      }}
      func.return
    }}
    """
