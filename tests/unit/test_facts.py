"""The facts of kernels: what they say, and that te and loops say the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from differential.random_kernels import Case, contractions, networks, rows
from hypothesis import given, settings
from stepwell.analysis.cost import SCHEDULED_MULTIPLY_ADDS
from stepwell.analysis.facts import (
    Home,
    Role,
    Symbol,
    canonical,
    facts_of_kernel,
    facts_of_loops,
    find_contractions,
    find_convolutions,
)
from stepwell.dialects import te
from stepwell.frontend.text import parse_text
from stepwell.tuning.rules import kernels
from stepwell.universe import make_context, multiverse
from xdsl.dialects import func


def both(function: Any, arrays: Sequence[Any]) -> list[tuple[Any, Any]]:
    """The facts of each kernel of a program, from te and from the loops that are written of it as it is."""
    module = sw.jit(function).lower(*arrays).module("te")
    passes = multiverse().all_passes
    passes["te-fuse"]()().apply(make_context(), module)
    bufferized = module.clone()
    passes["te-bufferize"]()().apply(make_context(), bufferized)
    moving = {op.kernel_name.data for op in bufferized.walk() if isinstance(op, te.KernelOp)}
    fused = [op for op in module.walk() if isinstance(op, te.KernelOp)]
    from_te = [facts_of_kernel(op) for op in fused if op.kernel_name.data in moving]  # no views
    for name in ("convert-te-to-loop", "loop-merge-kernels"):
        passes[name]()().apply(make_context(), module)
    from_loops = [facts_of_loops(kernel).facts for kernel in kernels(module)]
    assert from_loops, "a program without a kernel would agree with anything"
    return list(zip(from_te, from_loops, strict=True))


def whole(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


PROGRAMS: dict[str, tuple[Any, tuple[np.ndarray, ...]]] = {
    "layer": (lambda x, w, b: sw.relu(x @ w + b), (whole(17, 31), whole(31, 33), whole(33))),
    "batched": (lambda x, w: x @ w, (whole(3, 33, 17), whole(17, 65))),
    "transposed": (lambda x, w: x.T @ w.T, (whole(64, 33), whole(40, 64))),
    "softmax": (lambda x, w: sw.softmax(x @ w, axis=-1), (whole(33, 40), whole(40, 50))),
    "norm": (
        lambda x: sw.layer_norm(x, np.ones(31, np.float32), np.ones(31, np.float32)),
        (whole(9, 31),),
    ),
    "transpose": (lambda x: sw.transpose(x, (1, 0)) + 1, (whole(33, 17),)),
    "columns": (lambda x: sw.sum(x, axis=0), (whole(100, 33),)),
    "padded": (lambda x: sw.pad(x, ((1, 2), (0, 3))) * 2, (whole(17, 5),)),
    "computed operands": (
        lambda x, w: sw.relu(x) @ (w + w[:1]),
        (whole(65, 31), whole(31, 33)),
    ),
    "padded operand": (
        lambda x, w: sw.pad(x, ((0, 3), (1, 0))) @ w,
        (whole(62, 30), whole(31, 33)),
    ),
    "integers": (lambda x, w: x @ w, (np.zeros((33, 17), np.int32), np.zeros((17, 40), np.int32))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_te_and_loops_agree(name: str):
    for from_te, from_loops in both(*PROGRAMS[name]):
        assert canonical(from_te) == canonical(from_loops)


def test_te_and_loops_agree_on_tables_that_registers_may_hold():
    arrays = whole(33), whole(8), whole(100), np.zeros(33, np.int32)
    pairs = both(lambda x, table, more, i: table[i] * more[i] * x, arrays)
    for facts in (each for pair in pairs for each in pair):
        assert sum(statement.entries for statement in facts.statements) == 8


@settings(max_examples=25, deadline=None, derandomize=True)
@given(contractions())
def test_random_contractions_agree(case: Case):
    for from_te, from_loops in both(case.function, case.inputs):
        # What te → loop orders and fuses itself (small products, and those of a buffer with itself) has fewer nests.
        points = [found.statement.points or 0 for found in find_contractions(from_te)]
        is_apart = len(from_te.statements) == len(from_loops.statements)
        if points and min(points) >= SCHEDULED_MULTIPLY_ADDS and is_apart:
            te_facts, loop_facts_ = canonical(from_te), canonical(from_loops)
            assert te_facts.buffers == loop_facts_.buffers
            for a, b in zip(te_facts.statements, loop_facts_.statements, strict=True):
                assert a == b


def loop_facts(text: str) -> Any:
    function = next(op for op in parse_text(text).ops if isinstance(op, func.FuncOp))
    return facts_of_loops(function).facts


PRODUCT = """
func.func @f(%A: memref<{m}x{k}xf32>, %B: memref<{k}x{n}xf32>, %C: memref<{m}x{n}xf32>) {{
  loop.for parallel "a" %i = 0 to {m} {{
    loop.for parallel "b" %j = 0 to {n} {{
      loop.for reduction "c" %k = 0 to {k} {{
        %a = loop.load %A[%i, %k] : memref<{m}x{k}xf32>
        %b = loop.load %B[%k, %j] : memref<{k}x{n}xf32>
        %p = arith.mulf %a, %b fastmath<contract> : f32
        %c = loop.load %C[%i, %j] : memref<{m}x{n}xf32>
        %s = arith.addf %c, %p fastmath<reassoc,contract> : f32
        loop.store %s, %C[%i, %j] : memref<{m}x{n}xf32>
      }}
    }}
  }}
  func.return
}}
"""


def test_a_product_and_the_roles_of_its_axes():
    facts = loop_facts(PRODUCT.format(m=7, n=5, k=3))
    (statement,) = facts.statements
    assert [(axis.extent, axis.role) for axis in statement.axes] == [
        (7, Role.PARALLEL),
        (5, Role.PARALLEL),
        (3, Role.REDUCTION),
    ]
    assert statement.combiner == "add" and statement.reassociates
    assert statement.operations == (("arith.mulf", 1),)
    (found,) = find_contractions(facts)
    assert (found.batch, found.m, found.n, found.k) == ((), (0,), (1,), (2,))
    assert found.stride(found.left, 0) == 3 and found.stride(found.right, 2) == 5
    assert found.turned().m == (1,)


def test_names_and_locations_are_no_facts():
    text = PRODUCT.format(m=7, n=5, k=3)
    renamed = text.replace("%i", "%zz").replace('"a"', '"outer.tile.back"').replace("%A", "%left")
    assert loop_facts(text) == loop_facts(renamed)


def test_what_is_not_known_is_never_zero():
    facts = loop_facts(
        """
    func.func @f(%n: index, %A: memref<?x4xf32>, %z: index) {
      loop.for parallel "i" %i = 0 to %n {
        loop.for parallel "j" %j = 0 to affine_map<(d0) -> (d0 + 1)>(%i) {
          %0 = loop.load %A[%i, %j] : memref<?x4xf32>
          loop.store %0, %A[%z, %j] : memref<?x4xf32>
        }
      }
      func.return
    }""".replace("affine_map<(d0) -> (d0 + 1)>(%i)", "%i + 1")
    )
    (statement,) = facts.statements
    assert statement.axes[0].extent == Symbol(0) and statement.axes[1].extent is None
    assert facts.buffers[0].shape == (None, 4) and facts.buffers[0].bytes is None
    assert statement.write.subscripts[0] is None and statement.write.subscripts[1] is not None
    assert facts.stride(statement.write, 1) is None
    assert facts.stride(statement.reads[0], 0) == 4
    assert find_contractions(facts) == []


def test_loops_with_starts_and_steps_are_described_by_their_iterations():
    facts = loop_facts("""
    func.func @f(%A: memref<64xf32>, %B: memref<64xf32>) {
      loop.for parallel "o" %o = 0 to 64 step 8 {
        loop.for parallel "i" %i = %o to %o + 8 {
          %0 = loop.load %A[%i] : memref<64xf32>
          loop.store %0, %B[-%i + 63] : memref<64xf32>
        }
      }
      func.return
    }""")
    (statement,) = facts.statements
    assert statement.reads[0].subscripts[0].coefficients == (8, 1)
    assert statement.write.subscripts[0].coefficients == (-8, -1)
    assert statement.write.subscripts[0].constant == 63


def test_homes_of_buffers():
    weights = np.ones((31, 33), np.float32)
    for from_te, from_loops in both(lambda x: sw.relu(x @ weights + 1), (whole(17, 31),)):
        assert from_te.buffers == from_loops.buffers
        homes = [buffer.home for buffer in from_loops.buffers]
        assert Home.RESULT in homes and Home.SCRATCH in homes


def test_arrays_of_callers_may_begin_anywhere():
    a, b, c = whole(40, 50), whole(50, 60), whole(70, 40)
    first, second = both(lambda a, b, c: c @ sw.exp(a @ b), [a, b, c])
    for facts in first:
        assert [one.is_callers for one in facts.buffers if one.home is Home.ARGUMENT] == [
            True,
            True,
        ]
    for facts in second:  # what the first kernel passes on begins with a cache line
        given = {one.shape: one.is_callers for one in facts.buffers if one.home is Home.ARGUMENT}
        assert given == {(70, 40): True, (40, 60): False}


@settings(max_examples=10, deadline=None, derandomize=True)
@given(networks() | rows())
def test_facts_of_any_program_can_be_made(case: Case):
    for from_te, from_loops in both(case.function, case.inputs):
        assert len(from_te.buffers) and len(from_loops.buffers)


def test_how_many_bytes_of_constants_a_program_has():
    """Of te and of loops alike, about, by kernels that read some."""
    weights = whole(700, 700)
    found = both(lambda x: sw.exp(x @ weights) @ weights[:, :300] + x[:, :1], (whole(9, 700),))
    for from_te, from_loops in found:
        reads_some = any(buffer.home is Home.CONSTANT for buffer in from_loops.buffers)
        assert from_te.constants == from_loops.constants == (4 << 20) * reads_some
    few = whole(70, 70)
    assert both(lambda x: x @ few, (whole(9, 70),))[0][0].constants == 0


CONVOLUTION = """
func.func @conv(%x: tensor<2x5x9x12xf32>, %w: tensor<7x5x3x2xf32>) -> tensor<2x7x5x11xf32> {
  %y = te.compute [%n = 2, %f = 7, %i = 5, %j = 11] add [%c = 5, %k = 3, %l = 2] (%a = %x[%n, %c, %i * 2 + %k - 1, %j + %l - 1] else 0.0 : f32, %b = %w[%f, %c, %k, %l]) : (tensor<2x5x9x12xf32>, tensor<7x5x3x2xf32>) -> tensor<2x7x5x11xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<2x7x5x11xf32>
}
"""


def test_a_convolution_and_the_roles_of_its_axes():
    """Whether the facts are of te or of loops: the image is the left operand, and rows of M share its subscripts."""
    low = sw.Lowered(parse_text(CONVOLUTION))
    module = low.module("te")
    multiverse().all_passes["te-fuse"]()().apply(make_context(), module)
    (kernel,) = (op for op in module.walk() if isinstance(op, te.KernelOp))
    (function,) = kernels(low.unscheduled())
    from_te, from_loops = facts_of_kernel(kernel), facts_of_loops(function).facts
    assert canonical(from_te) == canonical(from_loops)
    for facts in (from_te, from_loops):
        (found,) = find_convolutions(facts)
        assert find_contractions(facts) == []
        assert (found.batch, found.m, found.n, found.k) == ((), (0, 2, 3), (1,), (4, 5, 6))
        assert found.window == (5, 6) and found.left.is_guarded and not found.is_product
        assert found.stride(found.left, 2) == 24 and found.initialised is not None


def test_a_depthwise_convolution_has_channels_for_its_batch():
    text = CONVOLUTION.replace("%w[%f, %c, %k, %l]", "%w[%c, %k, %l]").replace("7x5x3x2", "5x3x2")
    text = text.replace(", %c = 5", "").replace("add [%c = 5, ", "add [").replace("%f", "%c")
    text = text.replace("%c = 7", "%c = 5").replace("2x7x5x11", "2x5x5x11")
    (function,) = kernels(sw.Lowered(parse_text(text)).unscheduled())
    (found,) = find_convolutions(facts_of_loops(function).facts)
    assert (found.batch, found.m, found.n, found.k) == ((1,), (0, 2, 3), (), (4, 5))
    assert found.window == found.k


def test_groups_and_their_outputs_may_share_a_dimension():
    text = CONVOLUTION.replace("5x9x12", "10x9x12").replace("%x[%n, %c,", "%x[%n, %g * 5 + %c,")
    text = text.replace("%w[%f,", "%w[%g * 7 + %f,").replace("7x5x3x2", "14x5x3x2")
    text = text.replace("%f = 7", "%g = 2, %f = 7").replace("2x7x5x11", "2x2x7x5x11")
    (function,) = kernels(sw.Lowered(parse_text(text)).unscheduled())
    (found,) = find_convolutions(facts_of_loops(function).facts)
    assert (found.batch, found.m, found.n, found.k) == ((1,), (0, 3, 4), (2,), (5, 6, 7))
    assert found.window == (6, 7)
