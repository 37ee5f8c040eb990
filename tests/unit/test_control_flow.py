"""Scans, loops and branches: every level and native code compute what NumPy does."""

from __future__ import annotations

import numpy as np
import pytest
from stepwell.analysis.levels import Level
from stepwell.analysis.signature import entry_function
from stepwell.driver.options import Options
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.lowered import Lowered
from stepwell.interpreters.harness import interpret, random_inputs
from stepwell.universe import make_context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from .control_flow_programs import PROGRAMS, Program

EACH = pytest.mark.parametrize("name", PROGRAMS)
TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}


def parsed(program: Program) -> ModuleOp:
    module = Parser(make_context(), program.text).parse_module()
    module.verify()
    return module


def inputs_of(module: ModuleOp, seed: int) -> tuple[np.ndarray, ...]:
    return random_inputs(entry_function(module), seed)


def check(program: Program, found: object, inputs: tuple[np.ndarray, ...]) -> None:
    results = found if isinstance(found, tuple) else (found,)
    for got, wanted in zip(results, program.numpy(*inputs), strict=True):
        np.testing.assert_allclose(got, wanted, **TOLERANCE)


@pytest.mark.sampled(2, by="name")
@EACH
@pytest.mark.parametrize("level", [Level.GRAPH, Level.TE, Level.LOOP, Level.CORE])
def test_each_level_computes_what_numpy_does(name: str, level: Level):
    program = PROGRAMS[name]
    module = parsed(program)
    lower_to(module, level, Options(threads=1), verify_each=True)
    for seed in (1, 2):
        inputs = inputs_of(parsed(program), seed)
        check(program, interpret(module, inputs), inputs)


@pytest.mark.sampled(1, by="name")
@EACH
@pytest.mark.parametrize("threads", [1, 2])
def test_native_code_computes_what_numpy_does(name: str, threads: int):
    program = PROGRAMS[name]
    lowered = Lowered(parsed(program), level=Level.GRAPH, options=Options(threads=threads))
    run = lowered.compile()
    for seed in (1, 2, 3):
        inputs = inputs_of(parsed(program), seed)
        check(program, run(*inputs), inputs)
