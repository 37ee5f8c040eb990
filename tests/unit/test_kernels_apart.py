"""Kernels that are compiled each by itself, here or in other processes, are those of the program as a whole."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import facts_of_loops
from stepwell.analysis.levels import Level
from stepwell.cache.store import Store
from stepwell.dialects import loop
from stepwell.driver.kernel_units import passed_numbers, units_of
from stepwell.driver.options import Options
from stepwell.driver.pipelines import lower_to
from stepwell.frontend import tracing
from stepwell.frontend.lowered import Lowered
from stepwell.frontend.text import parse_text
from stepwell.lowering.emit import emit_llvm
from stepwell.runtime import kernel_processes, kernels, side_by_side
from stepwell.runtime.codegen import CodeGenerator
from stepwell.runtime.kernels import CompiledKernels, compile_kernels
from stepwell.runtime.side_by_side import Workers
from stepwell.targets.target import Target
from xdsl.dialects import func

TARGET = Target.host()
OPTIONS = Options(threads=2)
GENERATOR = CodeGenerator.of(TARGET)


def layers() -> Lowered:
    """Two equal layers, a constant that is packed, scratch memory in a kernel, and one more kernel."""
    rng = np.random.default_rng(0)
    first, second = (rng.random((70, 70), np.float32) for _ in range(2))

    @sw.jit(cache=False)
    def program(x: Any) -> Any:
        for weights in (first, second):
            x = sw.relu(x @ weights)
        return sw.cumsum(sw.softmax(x), axis=0)

    return program.lower(np.ones((50, 70), np.float32))


def loops(low: Lowered) -> Any:
    return low.unscheduled()


def test_kernels_are_those_of_the_whole_program():
    whole, module = loops(layers()), loops(layers())
    lower_to(whole, Level.LLVM, OPTIONS, unscheduled=True)
    expected = emit_llvm(whole, triple=TARGET.triple, constants="external", kernels_apart=True)

    found = compile_kernels(module, OPTIONS, GENERATOR, None, Workers())
    assert len(found.kernels) == 3
    found.declare(module)
    lower_to(module, Level.LLVM, OPTIONS, unscheduled=True)
    text = emit_llvm(
        module,
        triple=TARGET.triple,
        constants="external",
        kernels_apart=True,
        compiled=found.emitted,
    )
    assert text.kernels == expected.kernels
    assert text.imports == expected.imports and text.load == expected.load
    assert text.buffers == expected.buffers and text.until_loaded == expected.until_loaded
    assert text.external.keys() == expected.external.keys()
    assert _without_declarations(text.text) == _without_declarations(expected.text)
    assert found.objects.keys() == set(expected.kernels.values())


def _without_declarations(text: str) -> list[str]:
    return sorted(line for line in text.splitlines() if not line.startswith("declare"))


def test_processes_make_the_same_kernels(monkeypatch: pytest.MonkeyPatch):
    here = compile_kernels(loops(layers()), OPTIONS, GENERATOR, None, Workers())
    monkeypatch.setattr(kernel_processes, "process_count", lambda _, started=0: 1 - started)
    module = loops(layers())
    monkeypatch.setattr(side_by_side._Work, "do_here", lambda *_, **__: None)
    with kernel_processes.kernel_workers(module) as processes:
        there = compile_kernels(module, OPTIONS, GENERATOR, None, processes)
    assert list(there.kernels.values()) == list(here.kernels.values())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """For how many operations processes are started ahead, and 0 for each time that they are taken; none starts."""
    found: list[int] = []

    class Ahead:
        def taken(self) -> list[object]:
            found.append(0)
            return []

    monkeypatch.setattr(kernel_processes, "process_count", lambda _, started=0: 0)
    monkeypatch.setattr(
        kernel_processes, "kernel_workers_ahead", lambda n: found.append(n) or Ahead()
    )
    return found


def test_processes_start_while_a_long_function_is_traced(
    asked: list[int], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tracing, "LONG", 3)
    x = np.ones(3, np.float32)
    sw.jit(lambda x: sw.exp(x) + x).lower(x).compile()
    sw.jit(lambda x: sw.exp(x) + x * x, opt="quick").lower(x).compile()
    assert asked == []
    low = sw.jit(lambda x: sw.exp(x) + x * x).lower(x)
    assert asked == [3]
    low.compile()
    low.compile()
    assert asked == [3, 0]


def test_processes_start_while_a_model_is_imported(asked: list[int], tmp_path: Path):
    onnx = pytest.importorskip("onnx")
    value = partial(onnx.helper.make_tensor_value_info, elem_type=onnx.TensorProto.FLOAT, shape=[3])
    nodes = [onnx.helper.make_node("Exp", ["x"], ["y"]), onnx.helper.make_node("Neg", ["y"], ["z"])]
    graph = onnx.helper.make_graph(nodes, "two", [value("x")], [value("z")])
    path = tmp_path / "two.onnx"
    onnx.save(onnx.helper.make_model(graph), path)
    sw.load(path, opt="quick", cache=False)
    assert asked == []
    low = sw.load(path, cache=False)
    assert asked == [2]
    low.compile()
    assert asked == [2, 0]


def test_kernels_are_found_in_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = Store(tmp_path)
    first = compile_kernels(loops(layers()), OPTIONS, GENERATOR, store, Workers())
    assert {entry.kind for entry in store.entries()} == {"kernels", "objects"}
    monkeypatch.setattr(kernels, "compile_kernel", None)
    again = compile_kernels(loops(layers()), OPTIONS, GENERATOR, store, Workers())
    assert list(again.kernels.values()) == list(first.kernels.values())
    other = Options(threads=1)
    with pytest.raises(TypeError, match="not callable"):
        compile_kernels(loops(layers()), other, GENERATOR, store, Workers())


CALLED_ON_THREADS = """
func.func private @k(%x: memref<4xf32>) {
  loop.for parallel "i" %i = 0 to 4 {
    %v = loop.load %x[%i] : memref<4xf32>
    loop.store %v, %x[%i] : memref<4xf32>
  }
  func.return
}
func.func @main(%x: memref<4xf32>) {
  loop.for parallel threads "t" %t = 0 to 2 {
    func.call @k(%x) : (memref<4xf32>) -> ()
  }
  func.return
}
"""


def test_what_has_to_stay_in_its_program():
    module = parse_text(CALLED_ON_THREADS)
    assert units_of(module) == {}
    module = parse_text(CALLED_ON_THREADS.replace(" threads ", " "))
    assert [f.sym_name.data for f in units_of(module)] == ["k"]
    reads_global = CALLED_ON_THREADS.replace(" threads ", " ").replace(
        "func.func private @k(%x: memref<4xf32>) {",
        "func.func private @k(%x: memref<4xf32>) {\n  %g = memref.get_global @g : memref<4xf32>",
    )
    assert units_of(parse_text(reads_global)) == {}


CALLED_TWICE = """
"memref.global"() <{sym_name = "g", type = memref<4xf32>, initial_value = dense<1.0> : tensor<4xf32>,
  sym_visibility = "private", constant}> : () -> ()
func.func private @k(%w: memref<4xf32> {stepwell.constant}, %y: memref<4xf32> {stepwell.result}) {
  func.return
}
func.func @main(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}) {
  %g = memref.get_global @g : memref<4xf32>
  func.call @k(%g, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @k(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
"""


def test_what_is_not_constant_in_every_call_is_passed():
    (unit,) = units_of(parse_text(CALLED_TWICE)).values()
    assert passed_numbers(unit) == [0, 1]
    (unit,) = units_of(parse_text(CALLED_TWICE.replace("@k(%x", "@k(%g"))).values()
    assert passed_numbers(unit) == [1]


GIVEN = """
func.func private @k(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 4 {
    %v = loop.load %x[%i] : memref<4xf32>
    loop.store %v, %y[%i] : memref<4xf32>
  }
  func.return
}
func.func @main(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}) {
  %a = loop.alloc arena : memref<4xf32>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %t = %zero to %one step %one {
    %b = loop.alloc arena : memref<4xf32>
    CALLS
  }
  func.return
}
"""


@pytest.mark.parametrize(
    ("given", "is_callers", "is_passed_on"),
    [
        (["%x, %y"], True, False),
        (["%x, %a"], True, True),
        (["%b, %y"], False, False),
        (["%a, %b", "%b, %a"], False, True),
        (["%a, %b", "%x, %y"], True, True),
    ],
)
def test_what_a_program_gives_is_known_of_a_kernel_by_itself(
    given: list[str], is_callers: bool, is_passed_on: bool
):
    """Whose buffers a kernel reads, and whether another reads its result: in loops between kernels, too."""
    calls = (f"func.call @k({pair}) : (memref<4xf32>, memref<4xf32>) -> ()" for pair in given)
    module = parse_text(GIVEN.replace("CALLS", "\n".join(calls)))
    kernel = next(op for op in module.ops if isinstance(op, func.FuncOp))
    whole = facts_of_loops(kernel).facts
    read, written = whole.buffers
    assert (read.is_callers, written.is_passed_on) == (is_callers, is_passed_on)
    (unit,) = units_of(module).values()
    apart = parse_text(str(unit))
    alone = next(op for op in apart.ops if isinstance(op, func.FuncOp))
    assert facts_of_loops(alone).facts == whole


def test_how_many_constants_its_program_has_is_known_of_a_kernel_by_itself():
    weights = np.zeros((600, 600), np.float32)

    @sw.jit(cache=False)
    def program(x: Any) -> Any:
        return sw.cumsum(sw.relu(x @ weights), axis=0)

    units = units_of(loops(program.lower(np.ones((9, 600), np.float32))))
    counts = {name.sym_name.data: unit.attributes for name, unit in units.items()}
    known = [loop.CONSTANT_BYTES in attributes for attributes in counts.values()]
    assert sorted(known) == [False, True]


def test_nothing_compiled_leaves_the_program():
    module = loops(layers())
    before = str(module)
    CompiledKernels().declare(module)
    assert str(module) == before
