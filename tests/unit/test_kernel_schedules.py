"""
The schedules written by hand in `examples/kernels`: same results at several sizes, interpreted and
natively; what they are written for is there; and Python, files and `stepwell-opt` give the same IR.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
import stepwell as sw
from stepwell.analysis.dependence import dependences
from stepwell.analysis.in_bounds import check_in_bounds
from stepwell.analysis.signature import entry_function
from stepwell.analysis.verify import verify
from stepwell.dialects import loop
from stepwell.dialects.loop import LoopKind, RunMode
from stepwell.driver.pass_manager import module_text
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.tools.opt import main
from stepwell.transforms.loop.apply_schedule import ApplySchedulePass
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from .kernel_oracles import (
    KERNELS,
    ORACLES,
    OTHER_SIZES,
    assert_close,
    check_natively,
    copies,
    inputs,
    kernel,
    kernel_text,
)

SIZES = [
    pytest.param(name, sizes, id=f"{name}-{'-'.join(map(str, sizes.values())) or 'as-written'}")
    for name in sorted(ORACLES)
    for sizes in ({}, *OTHER_SIZES[name])
]


def script_of(name: str) -> str:
    return str(KERNELS / f"{name}.schedule.mlir")


@cache
def scheduled_text(name: str, sizes: tuple[tuple[int, int], ...]) -> str:
    module = kernel(name, dict(sizes))
    ApplySchedulePass(script_of(name)).apply(Context(), module)
    verify(module)
    return module_text(module)


def scheduled(name: str, sizes: Mapping[int, int] | None = None) -> ModuleOp:
    return parse_text(scheduled_text(name, tuple((sizes or {}).items())), f"{name}.mlir")


def loops(module: ModuleOp) -> dict[str, loop.ForOp]:
    return {op.loop_name.data: op for op in module.walk() if isinstance(op, loop.ForOp)}


def test_every_kernel_has_a_schedule() -> None:
    scripts = {path.name.removesuffix(".schedule.mlir") for path in KERNELS.glob("*.schedule.mlir")}
    assert scripts == set(ORACLES)


@pytest.mark.parametrize(("name", "sizes"), SIZES)
def test_schedules_keep_results(name: str, sizes: Mapping[int, int]) -> None:
    module = scheduled(name, sizes)
    check_in_bounds(module)
    arrays = inputs(name, module)
    assert_close(interpret(module, copies(arrays)), ORACLES[name](*copies(arrays)))


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_schedules_keep_results_natively(name: str) -> None:
    module = scheduled(name)
    check_natively(name, module)


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_what_runs_on_threads_or_in_lanes_is_parallel(name: str) -> None:
    """Seen from the IR they made: the steps' own checks looked at the IR before."""
    module = scheduled(name)
    found = dependences(entry_function(module))
    marked = [op for op in loops(module).values() if op.mode is not None]
    assert marked or name == "triangular_solve"
    for op in marked:
        assert found.is_parallel(op), op.loop_name.data
    for op in loops(module).values():
        assert op.kind.data in (found.kind_of(op), LoopKind.SERIAL, LoopKind.REDUCTION)


def test_gauss_seidel_runs_skewed_tiles_in_waves() -> None:
    module = scheduled("gauss_seidel")
    by_name = loops(module)
    assert list(by_name) == ["t.outer", "j.outer", "i.outer", "t.inner", "i.inner", "j.inner"]
    assert by_name["i.outer"].mode is not None
    assert by_name["i.outer"].mode.data is RunMode.THREADS
    # Waves: which tiles of rows run depends on the number of the diagonal.
    assert by_name["j.outer"].induction_variable in by_name["i.outer"].upper_operands
    # Skewed: the rows of a tile move on with time.
    assert by_name["t.inner"].induction_variable in by_name["i.inner"].lower_operands


@pytest.mark.parametrize(
    ("step", "witness"),
    [
        ("tile(t, [2, 8, 8])", r"store to '%A'.*load of '%A'|load of '%A'.*store to '%A'"),
        ("parallel(i)", r"would be raced"),
        ("reorder(t, [i, t, j])", r"would be swapped"),
    ],
)
def test_gauss_seidel_is_not_tiled_without_skewing(step: str, witness: str) -> None:
    s = sw.Schedule(kernel_text("gauss_seidel"))
    before = module_text(s.module)
    with pytest.raises(StepwellError, match=witness):
        s.apply(step)
    assert module_text(s.module) == before


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_python_a_file_and_the_driver_give_the_same_bytes(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    s = sw.Schedule(kernel_text(name))
    for step in sw.Schedule(kernel_text(name), script=Path(script_of(name)).read_text()).remaining:
        s.apply(step)
    assert module_text(s.module) == scheduled_text(name, ())
    saved = tmp_path / "saved.mlir"
    saved.write_text(str(s))
    assert main([str(KERNELS / f"{name}.mlir"), "-p", f"apply-schedule{{file={saved}}}"]) == 0
    assert capsys.readouterr().out == module_text(s.module) + "\n\n"
