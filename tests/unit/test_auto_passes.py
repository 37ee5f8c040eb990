"""The passes that choose steps by themselves: what they compute stays, and what they chose can be repeated."""

from pathlib import Path

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.levels import Level
from stepwell.analysis.locality import footprint, loop_cost, references
from stepwell.analysis.signature import entry_function
from stepwell.analysis.verify import verify
from stepwell.driver.pass_manager import module_text
from stepwell.driver.pipeline_spec import parse_passes
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.text import make_context, parse_file, parse_text
from stepwell.interpreters.harness import interpret
from stepwell.runtime.jit import compile_module
from stepwell.tools.differences import largest_differences
from stepwell.tools.execute import random_inputs
from stepwell.transforms.step_support.auto import CHOSEN, bands
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

KERNELS = sorted(
    path
    for path in (Path(__file__).parents[2] / "examples" / "kernels").glob("*.mlir")
    if not path.stem.endswith(".schedule")
)
PIPELINES = (
    "loop-auto-fission",
    "loop-auto-fuse",
    "loop-auto-fuse{keep-parallel=false}",
    "loop-auto-interchange",
    "loop-auto-parallelize{grain=10}",
    "loop-auto-tile{cache-bytes=1024}",
    "loop-auto-tile{cache-bytes=512 tail=peel}",
    "loop-auto-unroll-and-jam",
    "loop-auto-fission,loop-auto-interchange,loop-auto-tile{cache-bytes=1024},"
    "loop-auto-parallelize{grain=10}",
    "loop-auto-fission,loop-auto-interchange,loop-auto-unroll-and-jam{factor=3},loop-auto-fuse",
)


def run(module: ModuleOp, pipeline: str) -> None:
    for pass_ in parse_passes(pipeline):
        pass_.apply(make_context(), module)
        verify(module)


def chosen(module: ModuleOp) -> list[str]:
    """The calls that were noted, without their reasons."""
    return [
        entry.data.rpartition("): ")[0] + ")"
        for op in module.ops
        if isinstance(op, func.FuncOp) and CHOSEN in op.attributes
        for entry in op.attributes[CHOSEN]
    ]


def assert_same(found, expected) -> None:
    assert all(d.is_acceptable for d in largest_differences(found, expected))


@pytest.mark.sampled(30)
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_results_stay(path: Path, pipeline: str) -> None:
    module = parse_file(path)
    inputs = random_inputs(entry_function(module), 0)
    expected = interpret(module, inputs)
    run(module, pipeline)
    assert_same(interpret(module, inputs), expected)
    text = module_text(module)
    assert module_text(parse_text(text)) == text


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_results_stay_natively(path: Path) -> None:
    module = parse_file(path)
    inputs = random_inputs(entry_function(module), 0)
    expected = interpret(module, inputs)
    run(module, PIPELINES[-2])
    lower_to(module, Level.LLVM)
    arrays = [np.array(value) for value in inputs]
    found = compile_module(module)(*arrays)
    if found is None:  # in place
        found = arrays
    assert_same(found if isinstance(found, list | tuple) else (found,), expected)


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_what_was_chosen_is_a_schedule(path: Path) -> None:
    module = parse_file(path)
    run(module, PIPELINES[-2])
    s = sw.Schedule(path)
    for call in chosen(module):
        s.apply(call)
    for op in module.ops:
        op.attributes.pop(CHOSEN, None)
    assert module_text(s.module) == module_text(module)


def test_mistakes_in_options() -> None:
    module = parse_file(KERNELS[0])
    for pipeline in ("loop-auto-tile{cache-bytes=0}", "loop-auto-unroll-and-jam{factor=0}"):
        with pytest.raises(sw.StepwellError, match="expected at least 1"):
            run(module, pipeline)


# Locality.

MATMUL = """
func.func @f(%A: memref<64x32xf32>, %B: memref<32x48xf32>, %C: memref<64x48xf32>) {
  loop.for parallel "i.outer" %o = 0 to 64 step 8 {
    loop.for parallel "i.inner" %i = %o to %o + 8 {
      loop.for parallel "j" %j = 0 to 48 {
        loop.for reduction "k" %k = 0 to 32 step 2 {
          %a = loop.load %A[%i, %k] : memref<64x32xf32>
          %a1 = loop.load %A[%i, %k + 1] : memref<64x32xf32>
          %b = loop.load %B[%k, %j] : memref<32x48xf32>
          %p = arith.mulf %a, %b : f32
          loop.store %p, %C[%i, %j] : memref<64x48xf32>
        }
      }
    }
  }
  func.return
}
"""


def test_strides_and_footprints() -> None:
    (function,) = parse_text(MATMUL).ops
    (band,) = bands(function)
    outer, inner, j, k = band
    a, b, c = references(band[0])
    assert [a.stride(op) for op in band] == [8 * 32 * 4, 32 * 4, 0, 2 * 4]
    assert [b.stride(op) for op in band] == [0, 0, 4, 2 * 48 * 4]
    assert [c.stride(op) for op in band] == [8 * 48 * 4, 48 * 4, 4, 0]
    trips = {outer: 8, inner: 8, j: 48, k: 16}
    assert a.footprint(trips) == 64 * 32 * 4
    assert a.footprint({k: 16}) == 32 * 4
    assert a.footprint({inner: 8}) == 8 * 64  # whole cache lines
    assert footprint([a, b, c], trips) == 4 * (64 * 32 + 31 * 48 + 64 * 48)
    assert [op.is_reused_by(j) for op in (a, b, c)] == [True, False, False]
    assert a.is_reused_by(k)  # the elements at k + 1; not by the next one, but nearby
    costs = [loop_cost([a, b, c], op, trips) for op in band]
    assert costs[2] == min(costs) and costs[0] == max(costs)
