"""What rules do is a script of ordinary steps: applied by hand it gives the same loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import stepwell as sw

PROGRAMS: dict[str, tuple[Callable[..., object], tuple[tuple[int, ...], ...]]] = {
    "contraction": (lambda a, b: a @ b, ((33, 40), (40, 50))),
    "epilogue": (lambda x, w, b: sw.relu(x @ w + b), ((20, 30), (30, 40), (40,))),
    "rows": (lambda x: sw.softmax(x, axis=-1), ((7, 100),)),
    "sum": (lambda x: sw.sum(x, axis=0), ((50, 70),)),
    "attention": (
        lambda q, k, v: sw.softmax(q @ sw.swapaxes(k, -1, -2), axis=-1) @ v,
        ((2, 20, 8), (2, 30, 8), (2, 30, 8)),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_script_leads_to_the_same_loops(name: str):
    function, shapes = PROGRAMS[name]
    low = sw.jit(function).lower(*(np.ones(shape, np.float32) for shape in shapes))
    script = low.script()
    assert script.startswith("schedule.script {")
    s = sw.Schedule(low, script=script).run()
    assert str(s.module).strip() == low.as_text("loop").strip()


def test_a_program_without_loops_has_an_empty_script():
    low = sw.jit(lambda: sw.exp(np.zeros(3, np.float32))).lower()
    s = sw.Schedule(low, script=low.script())
    assert s.steps == ()
    assert np.array_equal(s.run().compile()(), np.ones(3, np.float32))


def test_mistake():
    low = sw.jit(lambda x: sw.exp(x)).lower(np.ones(3, np.float32))
    below = sw.Schedule(low).lowered()
    with pytest.raises(
        sw.StepwellError, match="found a program at level 'loop', expected one at 'te'"
    ):
        below.script()
