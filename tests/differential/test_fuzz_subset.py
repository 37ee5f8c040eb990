"""Some of the programs of `make fuzz`, programs that hypothesis chooses, and the fuzzer itself."""

from __future__ import annotations

import os
import signal
from random import Random

import numpy as np
import pytest
from differential import monte_carlo
from differential.minimize import minimize
from differential.monte_carlo import Value, disagreement
from differential.random_programs import SMALL, Program, Size, program_of_seed, random_program
from fuzz import Report, campaign, coverage, failure_of
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from stepwell.dialects import graph
from stepwell.frontend.text import parse_text
from xdsl.dialects.builtin import ModuleOp

SEED = 2024
CHUNK = 5

TINY = Size(elements=40, steps=300, by_element=True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("start", range(0, 200, CHUNK))
def test_programs_agree(start: int):
    for index in range(start, start + CHUNK):
        program = program_of_seed(SEED, index)
        failure = failure_of(program)
        assert failure is None, f"fuzz.py --seed {SEED} --only {index}: {failure}"


@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.randoms(use_true_random=False))
def test_programs_of_hypothesis_agree(rng: Random):
    program = random_program(rng, TINY)
    note(str(program.module))
    assert failure_of(program) is None


# The fuzzer itself.


def program_of(body: str, *inputs: np.ndarray) -> Program:
    module = parse_text(body)
    assert isinstance(module, ModuleOp)
    return Program(module, list(inputs), SMALL)


def test_a_program_is_the_same_for_the_same_seed():
    one, other = program_of_seed(3, 7), program_of_seed(3, 7)
    assert str(one.module) == str(other.module)
    assert all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(one.inputs, other.inputs, strict=True)
    )
    assert str(one.module) != str(program_of_seed(3, 8).module)


def test_a_comparison_that_rounding_decides_is_not_stable():
    x = Value.known(np.array([0.5, 0.25, 3.0], np.float32))
    generator = np.random.default_rng(0)
    (exp,) = monte_carlo.apply(graph.ExpOp(_arg()), [x], generator)
    assert exp.is_stable()
    same = Value.known(exp.array)
    (equal,) = monte_carlo.apply(graph.EqOp(_arg(), _arg()), [exp, same], generator)
    assert not equal.is_stable()
    (less,) = monte_carlo.apply(graph.LtOp(_arg(), _arg()), [exp, x], generator)
    assert less.is_stable()


def test_cancellation_widens_the_tolerance():
    x = Value.known(np.array([1.5], np.float32))
    generator = np.random.default_rng(0)
    (exp,) = monte_carlo.apply(graph.ExpOp(_arg()), [x], generator)
    other = Value.known(exp.array * np.float32(0.999))
    (difference,) = monte_carlo.apply(graph.SubOp(_arg(), _arg()), [exp, other], generator)
    relative = [float(v.tolerance()[0] / abs(v.array[0])) for v in (exp, difference)]
    assert relative[0] < 3e-5 < 3e-3 < relative[1]


def test_what_does_not_round_must_be_equal():
    whole = [Value.known(np.float32([1, 2, 3])), Value.known(np.float32([4, 5, 6]))]
    (total,) = monte_carlo.apply(graph.AddOp(_arg(), _arg()), whole, np.random.default_rng(0))
    assert total.is_exact
    x = Value.known(np.float32([1, 2, np.nan]))
    assert disagreement(np.float32([1, 2, np.nan]), x) is None
    assert "1 of 3 elements differ" in str(disagreement(np.float32([1, 2.0000002, np.nan]), x))
    assert "found float64[3], expected float32[3]" in str(disagreement(x.array.astype(float), x))


def _arg():
    return program_of(
        "func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> { func.return %x : tensor<3xf32> }"
    ).function.body.block.args[0]


def has_tanh(program: Program) -> bool:
    return any(isinstance(op, graph.TanhOp) for op in program.operations())


def test_a_failing_program_is_made_small():
    programs = (program_of_seed(0, index) for index in range(200))
    program = next(p for p in programs if has_tanh(p) and len(p.operations()) > 6)
    small = minimize(program, has_tanh)
    assert [op.name for op in small.operations()] == ["graph.tanh"]
    assert len(small.inputs) == 1
    assert failure_of(small) is None


def test_a_wrong_lowering_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(graph.FloorOp, "scalar", graph.CeilOp.scalar)
    program = program_of(
        """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
          %0 = graph.floor %x : tensor<3xf32>
          func.return %0 : tensor<3xf32>
        }""",
        np.float32([0.5, 1, -2.5]),
    )
    assert str(failure_of(program)).startswith("te: result 0: 2 of 3 elements differ, first [0]")


def test_a_crash_is_a_failure_and_the_campaign_goes_on(monkeypatch: pytest.MonkeyPatch):
    def crash(program: Program, setting: object) -> None:
        if program.inputs and program.inputs[0].dtype == np.float64:
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("fuzz.failure_of", crash)
    report = campaign(0, range(30), jobs=2)
    assert report.programs == 30
    assert report.failures
    assert set(report.failures.values()) == {"the process died (SIGKILL)"}


def test_coverage_names_every_operation():
    table = coverage(Report())
    assert all(name in table for name in ("layer_norm", "where", "xor"))
