"""Programs that mostly move elements: what they compute, and where in memory they do it."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw
from fuzz import Setting, failure_of
from stepwell.analysis.levels import Level
from stepwell.analysis.memory_plan import memory_plans
from stepwell.dialects import te
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.transforms.remarks import Remark, listening
from xdsl.dialects.builtin import ModuleOp

from .addresses import check_addresses, check_plan
from .agreement import QUICK, descend

SEED = 5000
CHUNK = 10
VIEWS = Setting(views=True, quick=True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("start", range(0, 100, CHUNK))
def test_programs_of_views_agree(start: int):
    for index in range(start, start + CHUNK):
        failure = failure_of(VIEWS.program(SEED, index), VIEWS)
        assert failure is None, f"fuzz.py --views --quick --seed {SEED} --only {index}: {failure}"


def test_scheduled_programs_of_views_agree():
    setting = Setting(levels=(Level.LLVM,), views=True)
    for index in range(200, 206):
        failure = failure_of(setting.program(SEED, index), setting)
        assert failure is None, f"fuzz.py --views --seed {SEED} --only {index}: {failure}"


def test_nothing_is_overwritten_while_it_is_needed():
    calls = 0
    for index in range(300, 340):
        program = VIEWS.program(SEED, index)
        ((_, module),) = descend(program.module, (Level.CORE,), QUICK)
        calls += check_addresses(module)
        for plan in memory_plans(module):
            check_plan(plan)
    assert calls > 50


OVERLAP = """
func.func private @k(%a: memref<4xf32>, %b: memref<4xf32> {{stepwell.result}}) {{ func.return }}
func.func @main(%x: memref<4xf32>, %y: memref<4xf32> {{stepwell.result}}, %arena: memref<64xi8> {{stepwell.arena}}) {{
  %zero = arith.constant 0 : index
  %next = arith.constant {offset} : index
  %s = memref.view %arena[%zero][] : memref<64xi8> to memref<4xf32>
  %t = memref.view %arena[%next][] : memref<64xi8> to memref<4xf32>
  func.call @k(%x, %s) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @k(%s, %t) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @k(%{last}, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}}
"""


@pytest.mark.parametrize("offset", [16, 12])
def test_the_checker_finds_buffers_that_overlap(offset: int):
    module = parse_text(OVERLAP.format(offset=offset, last="t"))
    if offset == 16:
        assert check_addresses(module) == 3
        return
    with pytest.raises(AssertionError, match="writes what it has twice"):
        check_addresses(module)
    with pytest.raises(AssertionError):
        check_plan(next(memory_plans(module)))


# Kernels that copy.


def copies(function: object, *shapes: tuple[int, ...]) -> list[str]:
    """The remarks about what is copied, of a function of float32 arrays; results are compared with NumPy's."""
    arrays = [
        np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 7 - 3 for shape in shapes
    ]
    found: list[Remark] = []
    with listening(found.append):
        low = sw.jit(function, opt="quick").lower(*arrays)
        low.module("loop")
    results = low.compile()(*arrays)
    expected = function(*arrays)
    pairs = [(results, expected)]
    if isinstance(results, tuple):
        pairs = list(zip(results, expected, strict=True))
    for result, value in pairs:
        np.testing.assert_allclose(result, value, rtol=1e-5)
    return [
        r.message for r in found if r.missed and ("copies" in r.message or "copied" in r.message)
    ]


def test_no_reshape_of_what_is_computed_copies():
    assert copies(lambda a, b: (a @ b).reshape(3, -1), (4, 6), (6, 9)) == []
    assert copies(lambda a, b: (a @ b).reshape(-1), (4, 6), (6, 9)) == []
    assert copies(lambda a, b: (a @ b).reshape(2, 2, 3, 3) @ a[:3, :4], (4, 3), (3, 9)) == []


def test_heads_are_split_and_merged_without_copies():
    def attention(x, w):
        heads = (x @ w).reshape(5, 3, 4).transpose(1, 0, 2)
        scores = heads @ heads.transpose(0, 2, 1)
        return (scores @ heads).transpose(1, 0, 2).reshape(5, 12)

    assert copies(attention, (5, 6), (6, 12)) == []


def parse(text: str) -> ModuleOp:
    module = parse_text(text)
    assert isinstance(module, ModuleOp)
    return module


def test_the_text_after_bufferization_has_no_tensors_between_kernels():
    low = sw.jit(lambda a, b: (a @ b).reshape(-1), opt="quick").lower(
        np.zeros((4, 6), np.float32), np.zeros((6, 9), np.float32)
    )
    from stepwell.transforms.te.bufferize import TeBufferizePass, has_tensors
    from xdsl.context import Context

    module = low.module("te")
    TeBufferizePass().apply(Context(), module)
    again = parse(str(module))
    assert str(again) == str(module)
    assert not any(has_tensors(op) for op in again.ops)
    assert any(isinstance(op, te.KernelOp) for op in again.walk())


def test_no_view_of_nothing_leaves_its_buffer():
    """The last part is empty, and begins where the buffer ends."""
    module = parse_text("""
    func.func @main(%x: tensor<2x5x7xf32>) -> tensor<0x35xf32> {
      %r = graph.reshape %x : tensor<2x5x7xf32> -> tensor<2x35xf32>
      %a, %b = graph.split %r axis = 0 sizes = [2, 0] : tensor<2x35xf32> -> tensor<2x35xf32>, tensor<0x35xf32>
      func.return %b : tensor<0x35xf32>
    }""")
    lower_to(module, Level.LOOP)
    (found,) = interpret(module, [np.ones((2, 5, 7), np.float32)])
    assert found.shape == (0, 35)
