"""The innermost loops of contractions in the assembly of several targets: multiply-adds, and no spills."""

from __future__ import annotations

import re

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.plans.contraction_plan import ContractionPlan
from stepwell.targets.target import Target
from stepwell.tuning.rules import decisions, kernels

MULTIPLY_ADD = re.compile(r"\t(vfmadd|fmla)")
STACK = re.compile(r"%rsp|\[sp")
SPILLED = re.compile(r", *-?\d*\(%rsp|\tst\w+\t.*\[sp")
TARGETS = ("x86-64-v3", "x86-64-v4", "neoverse-n1", "generic")


def innermost_loops(assembly: str) -> list[str]:
    """The loops of one basic block."""
    found: list[str] = []
    for block in re.split(r"\n(?=\.LBB)", assembly):
        lines = block.splitlines()
        label = lines[0].split(":")[0]
        back = [n for n, line in enumerate(lines) if re.search(rf"\t{re.escape(label)}$", line)]
        jumps = [n for n in back if re.search(r"\t(j\w+|b\.\w+|cbn?z)\t", lines[n])]
        back += [n for n, line in enumerate(lines) if re.search(rf" {re.escape(label)}$", line)]
        last = max([*back, *jumps], default=None)
        if last is not None:
            found.append("\n".join(lines[: last + 1]))
    return found


def product(
    target: str, m: int, n: int, k: int, dtype: type, *, turned: bool = False
) -> tuple[str, ContractionPlan]:
    """The assembly of a product, and its plan."""
    a, b = np.zeros((m, k), dtype), np.zeros((n, k) if turned else (k, n), dtype)
    function = (lambda a, b: a @ sw.swapaxes(b, 0, 1)) if turned else (lambda a, b: a @ b)
    low = sw.jit(function, target=target).lower(a, b)
    module = low.unscheduled()
    (kernel,) = kernels(module)
    ((choice, refusal),) = decisions(module, kernel, Target.parse(target), 1)
    plan = choice.plan
    assert refusal is None and isinstance(plan, ContractionPlan)
    return low.as_text("asm"), plan


def check(target: str, compiled: tuple[str, ContractionPlan], bytes_: int) -> None:
    assembly, plan = compiled
    rows, vectors = plan.mr, -(-plan.nr // Target.parse(target).core.lanes(bytes_))
    loops = [text for text in innermost_loops(assembly) if MULTIPLY_ADD.search(text)]
    counts = [len(MULTIPLY_ADD.findall(text)) for text in loops]
    # Two terms of a small tile are written out.
    assert {rows * vectors, 2 * rows * vectors} & {*counts}, (counts, rows, vectors)
    # The masks of the last columns may come from the stack where the first tiles pack these; no sum is put there.
    to_avoid = SPILLED if plan.pack_in_tiles else STACK
    for text in loops:
        assert not to_avoid.search(text), text


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("m", "n", "dtype"), [(672, 672, np.float32), (500, 500, np.float64), (101, 203, np.float32)]
)
def test_tiles_stay_in_registers(target: str, m: int, n: int, dtype: type):
    check(target, product(target, m, n, 200, dtype), np.dtype(dtype).itemsize)


@pytest.mark.parametrize("target", TARGETS)
def test_a_transposed_operand(target: str):
    check(target, product(target, 512, 512, 300, np.float32, turned=True), 4)


def test_twelve_multiply_adds_with_sixteen_registers():
    haswell = Target.parse("x86-64-v3")
    for m, n, dtype in ((672, 672, np.float32), (672, 672, np.float64), (512, 512, np.float32)):
        _, plan = product("x86-64-v3", m, n, 200, dtype)
        assert plan.mr * plan.nr == 12 * haswell.core.lanes(np.dtype(dtype).itemsize)
