"""`loop` from Python, and loop programs run before and after their lowering, and natively."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from stepwell.analysis.verify import verify
from stepwell.dialects import loop
from stepwell.dialects.loop.control import is_surely_run
from stepwell.driver.pass_manager import PassManager
from stepwell.driver.pipeline_spec import parse_passes
from stepwell.errors import StepwellError
from stepwell.frontend.text import make_context, parse_text
from stepwell.interpreters.harness import interpret
from stepwell.runtime.jit import compile_module
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FloatAttr, IndexType, MemRefType, ModuleOp, f32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr, AffineMap

d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)


def indices(*names: str) -> list[SSAValue]:
    block = Block(arg_types=[IndexType()] * len(names))
    for arg, name in zip(block.args, names, strict=True):
        arg.name_hint = name
    return list(block.args)


def memref(*shape: int) -> SSAValue:
    argument = Block(arg_types=[MemRefType(f32, shape)]).args[0]
    argument.name_hint = "A"
    return argument


# Operations from Python


def test_a_loop_is_named_and_ends_with_a_yield():
    op = loop.ForOp("k.outer", 0, 8)
    op.verify()
    assert op.induction_variable.name_hint == "k_outer"
    assert isinstance(op.body.block.last_op, loop.YieldOp)
    assert op.kind.data is loop.LoopKind.SERIAL and op.mode is None
    assert op.constant_trip_count() == 8


@pytest.mark.parametrize(
    ("lower", "upper", "step", "count"),
    [(0, 8, 1, 8), (0, 8, 3, 3), (2, 8, 3, 2), (8, 8, 1, 0), (9, 8, 1, 0), (-3, 3, 2, 3)],
)
def test_trip_count(lower: int, upper: int, step: int, count: int):
    op = loop.ForOp("i", lower, upper, step=step)
    assert op.constant_trip_count() == count == len(range(lower, upper, step))


def test_trip_count_of_several_bounds_and_of_values():
    (n,) = indices("n")
    numbers = [AffineExpr.constant(c) for c in (2, 5)]
    bounds = AffineMap(0, 0, tuple(numbers))
    assert loop.ForOp("i", (bounds, []), (bounds, [])).constant_trip_count() == 0
    assert loop.ForOp("i", 0, (bounds, [])).constant_trip_count() == 2
    assert loop.ForOp("i", 0, n).constant_trip_count() is None


def test_a_bound_keeps_each_operand_it_uses_once():
    n, m, k = indices("n", "m", "k")
    op = loop.ForOp("i", 0, (AffineMap(4, 0, (d1 + d0, d1 * 2)), [n, k, n, m]))
    assert tuple(op.upper_operands) == (k, n)
    assert op.upper_map.data == AffineMap(2, 0, (d0 + d1, d0 * 2))


def test_subscripts_are_numbers_values_or_a_map():
    i, j = indices("i", "j")
    load = loop.LoadOp(memref(4, 4, 4), [i, 3, i])
    assert tuple(load.operands_) == (i,)
    assert load.map.data == AffineMap(1, 0, (d0, AffineExpr.constant(3), d0))
    load = loop.LoadOp(memref(9), AffineMap(2, 0, (d0 + d1,)), [i, j])
    assert tuple(load.operands_) == (i, j)
    with pytest.raises(TypeError, match="needs its operands"):
        loop.LoadOp(memref(9), [d0])


def test_a_condition_is_kept_as_a_comparison_with_0():
    i, n = indices("i", "n")
    constraint = AffineConstraintExpr(AffineConstraintKind.ge, d0, d1 + 2, canonicalize=False)
    op = loop.IfOp([constraint], [i, n], Region(Block([loop.YieldOp()])))
    op.verify()
    (kept,) = op.condition.data.constraints
    assert kept.rhs == AffineExpr.constant(0)
    assert [kept.lhs.eval(point, ()) for point in ((5, 1), (0, 0))] == [2, -2]


def nested(*operations: Operation) -> Operation:
    """Each operation in the body of the one before; the last."""
    for outer, inner in pairwise(operations):
        block = outer.regions[0].block
        last = block.last_op
        assert last is not None
        block.insert_op_before(inner, last)
    return operations[-1]


def test_what_surely_runs():
    (n,) = indices("n")

    def load() -> Operation:
        return loop.LoadOp(memref(4), [0])

    assert is_surely_run(load())
    assert is_surely_run(nested(loop.ForOp("i", 0, 4), loop.ForOp("j", 1, 2), load()))
    assert not is_surely_run(nested(loop.ForOp("i", 0, 4), loop.ForOp("j", 1, 1), load()))
    assert not is_surely_run(nested(loop.ForOp("i", 0, n), load()))
    condition = loop.IfOp([loop.at_least_zero(d0)], [n], Region(Block([loop.YieldOp()])))
    assert not is_surely_run(nested(condition, load()))


def test_an_alloc_shows_its_scope():
    (n,) = indices("n")
    op = loop.AllocOp(loop.Scope.THREAD, MemRefType(f32, (-1, 4)), [n])
    assert op.scope.data is loop.Scope.THREAD and tuple(op.dynamic_sizes) == (n,)


def test_a_nest_from_python_runs():
    block = Block(arg_types=[MemRefType(f32, (3, 4))])
    value = arith.ConstantOp(FloatAttr(2.5, f32))
    outer, inner = loop.ForOp("i", 0, 3), loop.ForOp("j", 0, 4)
    variables = [outer.induction_variable, inner.induction_variable]
    block.add_ops([value, outer, func.ReturnOp()])
    nested(outer, inner, loop.StoreOp(value.result, block.args[0], variables))
    function = func.FuncOp("main", ([MemRefType(f32, (3, 4))], []), Region(block))
    module = ModuleOp([function])
    verify(module)
    assert np.array_equal(
        interpret(module, [np.zeros((3, 4), np.float32)])[0], np.full((3, 4), 2.5)
    )


# Programs


PROGRAMS: dict[str, tuple[str, list[tuple[int, ...]], Callable[..., np.ndarray]]] = {
    "tiles that do not divide": (
        """
        func.func @main(%a: memref<7x5xf32>, %b: memref<5x9xf32>, %c: memref<7x9xf32> {stepwell.result}) {
          %z = arith.constant 0.0 : f32
          loop.for parallel "i.o" %io = 0 to 7 step 4 {
            loop.for parallel "j.o" %jo = 0 to 9 step 4 {
              %t = loop.alloc stack : memref<4x4xf32>
              loop.for parallel "i.z" %i = 0 to 4 {
                loop.for parallel "j.z" %j = 0 to 4 {
                  loop.store %z, %t[%i, %j] : memref<4x4xf32>
                }
              }
              loop.for reduction "k" %k = 0 to 5 {
                loop.for parallel "i" %i = %io to min(%io + 4, 7) {
                  loop.for parallel "j" %j = %jo to min(%jo + 4, 9) {
                    %x = loop.load %a[%i, %k] : memref<7x5xf32>
                    %y = loop.load %b[%k, %j] : memref<5x9xf32>
                    %p = arith.mulf %x, %y : f32
                    %old = loop.load %t[%i mod 4, %j - %jo] : memref<4x4xf32>
                    %new = arith.addf %old, %p : f32
                    loop.store %new, %t[%i - %io, %j mod 4] : memref<4x4xf32>
                  }
                }
              }
              loop.for parallel "i.s" %i = 0 to min(4, 7 - %io) {
                loop.for parallel "j.s" %j = 0 to min(4, 9 - %jo) {
                  %v = loop.load %t[%i, %j] : memref<4x4xf32>
                  loop.store %v, %c[%io + %i, %jo + %j] : memref<7x9xf32>
                }
              }
            }
          }
          func.return
        }""",
        [(7, 5), (5, 9)],
        lambda a, b: a @ b,
    ),
    "a triangle": (
        """
        func.func @main(%x: memref<6xf32>, %y: memref<6xf32> {stepwell.result}) {
          %z = arith.constant 0.0 : f32
          loop.for parallel "i" %i = 0 to 6 {
            loop.store %z, %y[%i] : memref<6xf32>
            loop.for reduction "k" %k = 0 to %i + 1 {
              %a = loop.load %x[%k] : memref<6xf32>
              %b = loop.load %y[%i] : memref<6xf32>
              %c = arith.addf %a, %b : f32
              loop.store %c, %y[%i] : memref<6xf32>
            }
          }
          func.return
        }""",
        [(6,)],
        np.cumsum,
    ),
    "a skewed stencil with guards": (
        """
        func.func @main(%x: memref<8xf32>, %y: memref<3x8xf32> {stepwell.result}) {
          loop.for serial "i" %i = 0 to 8 {
            %a = loop.load %x[%i] : memref<8xf32>
            loop.store %a, %y[0, %i] : memref<3x8xf32>
          }
          loop.for serial "t" %t = 1 to 3 {
            loop.for serial "s" %s = %t to %t + 8 {
              %l = loop.if (%s - %t >= 1) -> (f32) {
                %v = loop.load %y[%t - 1, %s - %t - 1] : memref<3x8xf32>
                loop.yield %v : f32
              } else {
                %v = arith.constant 0.0 : f32
                loop.yield %v : f32
              }
              %m = loop.load %y[%t - 1, %s - %t] : memref<3x8xf32>
              %n = arith.addf %l, %m : f32
              loop.store %n, %y[%t, %s - %t] : memref<3x8xf32>
            }
          }
          func.return
        }""",
        [(8,)],
        lambda x: np.stack([x, x + shifted(x), x + shifted(x) + shifted(x + shifted(x))]),
    ),
    "upstream's loops and branches around ours": (
        """
        func.func @main(%x: memref<6xf32>, %y: memref<6xf32> {stepwell.result}) {
          %c0 = arith.constant 0 : index
          %c6 = arith.constant 6 : index
          %c2 = arith.constant 2 : index
          scf.for %i = %c0 to %c6 step %c2 {
            %buffer = loop.alloc arena : memref<2xf32>
            loop.for serial "j" %j = 0 to 2 {
              %v = loop.load %x[%i + %j] : memref<6xf32>
              loop.store %v, %buffer[1 - %j] : memref<2xf32>
            }
            %first = arith.cmpi eq, %i, %c0 : index
            scf.if %first {
              loop.for serial "k" %k = 0 to 2 {
                %v = loop.load %buffer[%k] : memref<2xf32>
                loop.store %v, %y[%i + %k] : memref<6xf32>
              }
            } else {
              loop.for serial "k" %k = 0 to 2 {
                %v = loop.load %buffer[%k] : memref<2xf32>
                %n = arith.negf %v : f32
                loop.store %n, %y[%i + %k] : memref<6xf32>
              }
            }
          }
          func.return
        }""",
        [(6,)],
        lambda x: (x.reshape(3, 2)[:, ::-1] * np.array([[1], [-1], [-1]], np.float32)).reshape(6),
    ),
    "blocks, with a loop in one": (
        """
        func.func @main(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}) {
          %c0 = arith.constant 0 : index
          %zero = arith.constant 0.0 : f32
          %first = memref.load %x[%c0] : memref<4xf32>
          %positive = arith.cmpf ogt, %first, %zero : f32
          cf.cond_br %positive, ^copy(%zero : f32), ^other
        ^other:
          cf.br ^copy(%first : f32)
        ^copy(%bias: f32):
          loop.for parallel "i" %i = 0 to 4 {
            %v = loop.load %x[%i] : memref<4xf32>
            %w = arith.subf %v, %bias : f32
            loop.store %w, %y[%i] : memref<4xf32>
          }
          func.return
        }""",
        [(4,)],
        lambda x: x - min(x[0], np.float32(0)),
    ),
}


def shifted(x: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, x.dtype), x[:-1]])


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str):
    text, shapes, function = PROGRAMS[name]
    rng = np.random.default_rng(0)
    inputs = [rng.integers(-4, 5, shape).astype(np.float32) for shape in shapes]
    expected = function(*inputs)
    ctx = make_context()
    module = parse_text(text, ctx=ctx)
    assert np.array_equal(interpret(module, inputs)[0], expected)
    for passes in ("loop-plan-memory,convert-loop-to-core", "canonicalize,cse,licm"):
        PassManager(parse_passes(passes)).run(ctx, module)
        assert np.array_equal(interpret(module, inputs)[0], expected), passes
    assert np.array_equal(compile_module(module)(*inputs), expected)


def test_subscripts_that_leave_the_buffer_are_found_when_run():
    module = parse_text("""
      func.func @main(%x: memref<4xf32>, %n: index) {
        loop.for serial "i" %i = 0 to %n {
          %v = loop.load %x[%i] : memref<4xf32>
        }
        func.return
      }""")
    interpret(module, [np.zeros(4, np.float32), np.array(4, np.int64)])
    with pytest.raises(StepwellError, match=r"index \[4\] of a buffer of shape \[4\]"):
        interpret(module, [np.zeros(4, np.float32), np.array(5, np.int64)])


def test_lowering_twice_changes_nothing():
    text, _, _ = PROGRAMS["a triangle"]
    module = parse_text(text)
    (lower,) = parse_passes("convert-loop-to-core")
    lower.apply(Context(), module)
    once = str(module)
    lower.apply(Context(), module)
    assert str(module) == once
