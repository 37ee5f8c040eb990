"""The default way down: what its passes are told of what the program is compiled for."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.levels import Level
from stepwell.driver.options import Options, make_pass
from stepwell.driver.pipelines import lower_to
from stepwell.errors import StepwellError
from stepwell.lowering.core_to_llvm.convert import ConvertCoreToLLVMPass
from stepwell.lowering.te_to_loop import ConvertTeToLoopPass
from stepwell.targets.core import Cache
from stepwell.targets.target import Target
from stepwell.transforms.loop.plan_memory import LoopPlanMemoryPass
from stepwell.transforms.te.fuse import TeFusePass
from stepwell.tuning.rules import ScheduleByRulesPass, kernels

ROWS = np.ones((64, 3000), np.float32)  # 12 kB a row, and a softmax has two of them


def kernels_with(*caches: Cache) -> list[int]:
    """How many kernels a softmax is, by `lower` and without a schedule, on a machine of these caches."""
    machine = replace(Target.host(), core=replace(Target.host().core, caches=caches))
    low = sw.jit(lambda x: sw.softmax(x, axis=-1), target=machine).lower(ROWS)
    return [len(kernels(module)) for module in (low.module("loop"), low.unscheduled())]


def test_kernels_are_formed_for_the_targets_caches():
    last = Cache(3, 8 << 20)
    assert kernels_with(Cache(1, 32 << 10), Cache(2, 512 << 10), last) == [1, 1]
    assert min(kernels_with(Cache(1, 4 << 10), Cache(2, 8 << 10), last)) > 1
    # Without a second level the first is what a block of rows may take.
    assert min(kernels_with(Cache(1, 8 << 10), last)) > 1


def test_a_target_given_as_an_object_is_what_kernels_are_scheduled_for():
    def widest_vector(bits: int) -> int:
        host = Target.host()
        machine = replace(host, core=replace(host.core, vector_bits=bits))
        text = sw.jit(lambda x: x + x, target=machine).lower(ROWS).as_text("core")
        return max(int(lanes) for lanes in re.findall(r"vector<(\d+)xf32>", text))

    assert widest_vector(256) == 2 * widest_vector(128)


def test_a_pass_reads_the_options_of_the_same_names():
    options = Options(target="x86-64-v3", fp="fast", threads=3)
    assert make_pass(ConvertTeToLoopPass, options) == ConvertTeToLoopPass(fp="fast")
    assert make_pass(ConvertCoreToLLVMPass, options) == ConvertCoreToLLVMPass(
        threads=3, vector_bits=256
    )
    assert make_pass(ScheduleByRulesPass, options) == ScheduleByRulesPass(
        target="x86-64-v3", threads=3
    )
    last_level = Target.parse("x86-64-v3").caches[-1].bytes
    assert make_pass(TeFusePass, options).cache_bytes == last_level
    assert make_pass(LoopPlanMemoryPass, options) == LoopPlanMemoryPass()


def test_a_schedule_keeps_what_its_program_is_compiled_for():
    low = sw.jit(lambda x: sw.exp(x), fp="strict").lower(ROWS)
    assert "llvm.intr.exp" in sw.Schedule(low).lowered().as_text("llvm")


def test_a_loaded_program_has_a_contract(tmp_path: Path):
    file = tmp_path / "exp.mlir"
    file.write_text(sw.jit(lambda x: sw.exp(x)).lower(ROWS).as_text("loop"))
    assert "llvm.intr.exp" in sw.load(file, fp="strict").as_text("llvm")
    assert "llvm.intr.exp" not in sw.load(file).as_text("llvm")


def test_an_unknown_target():
    module = sw.jit(lambda x: x + x).lower(ROWS).module("graph")
    with pytest.raises(StepwellError, match="found target 'abacus', expected host or a core"):
        lower_to(module, Level.LOOP, Options(target="abacus"))
