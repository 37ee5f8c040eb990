"""
Convolutions: the rules' schedules and any other plan agree with NumPy, natively and in the interpreter.

`make test` runs a fixed share; `STEPWELL_CONVOLUTION_CASES=1000 pytest tests/differential/test_convolutions.py` more
of them, other ones each time.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
import stepwell as sw
from differential.campaigns import campaign
from hypothesis import given
from hypothesis import strategies as st
from stepwell.driver.options import Options
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret

from .random_convolutions import Array, Convolution, convolutions
from .test_contraction_plans import TARGETS, scheduled

ASKED = int(os.environ.get("STEPWELL_CONVOLUTION_CASES", "0"))


def compare(found: Array, wanted: Array, terms: int) -> None:
    tolerance = 16 * (np.sqrt(terms) + 8) * float(np.finfo(np.float32).eps)
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


ANY_PLAN = given(
    convolutions(),
    st.sampled_from(sorted(TARGETS)),
    st.floats(0, 1, exclude_max=True),
    st.booleans(),
)
"""A convolution, a core, which of the plans proposed for it, and whether two threads run it too."""


@campaign(10, ASKED)
@ANY_PLAN
def test_any_plan_computes_the_convolution(
    case: Convolution, name: str, share: float, both: bool
) -> None:
    computes_the_convolution(case, name, share, both)


@pytest.mark.slow
@campaign(40, 0)
@ANY_PLAN
def test_many_plans_compute_the_convolution(
    case: Convolution, name: str, share: float, both: bool
) -> None:
    computes_the_convolution(case, name, share, both)


def computes_the_convolution(case: Convolution, name: str, share: float, both: bool) -> None:
    target, inputs = TARGETS[name], case.inputs(7)
    low = sw.Lowered(parse_text(case.text(), "conv.mlir"), options=Options(target))
    module = low.unscheduled()
    chosen = scheduled(module, target, share)
    wanted = case.numpy(*inputs)
    try:
        for threads in (1, 2) if both else (1,):
            made = sw.Lowered(module, options=Options(target)).compile(threads=threads)
            compare(np.asarray(made(*inputs)), wanted, case.terms)
    except Exception as error:
        error.add_note(f"{case} for {name} as {'; '.join(map(str, chosen))}")
        raise


@pytest.mark.skipif("small sapphire-rapids" not in TARGETS, reason="needs AVX-512")
def test_hints_where_sums_have_one_term() -> None:
    """There is no loop over terms in which the pieces of what is asked for could be apart."""
    sizes = ((1, 1), (1, 1), (0, 0), (0, 0))
    case = Convolution(1, 5, 1, 2, (19, 19), (1, 1), *sizes)
    computes_the_convolution(case, "small sapphire-rapids", 0.0, False)


SMALL = (
    Convolution(1, 1, 2, 17, (5, 6), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1)),
    Convolution(1, 3, 1, 1, (7, 9), (3, 3), (2, 2), (1, 1), (1, 1), (1, 1)),
    Convolution(2, 1, 3, 17, (3, 5), (1, 1), (1, 1), (1, 1), (0, 0), (0, 0)),
    Convolution(2, 2, 2, 16, (9,), (3,), (2,), (2,), (2,), (1,), 1.0, False),
    Convolution(1, 1, 3, 17, (7, 7), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), finite=True),
    Convolution(1, 1, 2, 16, (5, 31), (5, 3), (2, 1), (1, 2), (2, 2), (1, 2), finite=True),
)


@pytest.mark.parametrize("case", SMALL, ids=str)
def test_the_interpreter_agrees(case: Convolution) -> None:
    """The scheduled loops are run by the interpreter too, before native code is made of them."""
    inputs = case.inputs(3)
    low = sw.Lowered(parse_text(case.text(), "conv.mlir"), options=Options("x86-64-v4"))
    for level in ("te", "loop"):
        (found,) = interpret(low.module(level), inputs, "conv")
        compare(
            np.asarray(found).reshape(case.numpy(*inputs).shape), case.numpy(*inputs), case.terms
        )
