"""
Every pass of the graph level keeps the values of random ONNX models, as far as its numeric class says.

The passes are those of the default pipeline, so one that is new there is covered, with the equations of its table. The
models have what exporters write for one operation, and what nearly is it. `tests/unit/test_equations.py` is about single
equations, bit by bit, and `tests/unit/test_movement_rewrites.py` about those that move elements.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx_models
import pytest
from stepwell.analysis.levels import Level
from stepwell.analysis.verify import verify
from stepwell.driver.options import Options, make_pass
from stepwell.driver.pipelines import DEFAULT_STAGES
from stepwell.frontend.onnx.importer import import_model
from stepwell.frontend.onnx.reading import checked_model
from stepwell.interpreters.harness import interpret
from stepwell.transforms.stepwell_pass import StepwellPass
from stepwell.universe import make_context, multiverse
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

BLOCK = 20
OF_ALL_PASSES = 400
"""How many models have something for nearly every pass, and are not checked once more by themselves."""

TOLERANCE = {"exact": 2.0**-20, "reassociates": 2e-5, "approximates": 1e-4}
"""
Of the largest element of a result, or of 1. Equal bits are no measure of exact passes here: NumPy, which the interpreter
multiplies matrices with, sums up in an order that depends on their shapes.
"""


def passes_of_graphs() -> list[ModulePass]:
    """The passes of the default pipeline that stay on the graph level."""
    (names,) = (stage.passes for stage in DEFAULT_STAGES if stage.level_in is Level.GRAPH)
    made = [make_pass(multiverse().all_passes[name](), Options()) for name in names]
    return [
        one for one in made if not isinstance(one, StepwellPass) or one.level_out is Level.GRAPH
    ]


def numerics(pass_: ModulePass) -> str:
    return pass_.numerics if isinstance(pass_, StepwellPass) else "exact"


def model_of_seed(seed: int) -> tuple[ModuleOp, list[np.ndarray]]:
    proto = onnx_models.random_model(seed)
    inputs = list(onnx_models.inputs_of(proto, seed).values())
    return import_model(checked_model(proto, f"seed{seed}")), inputs


def used_passes(seed: int) -> set[str]:
    """The passes that change the model of a seed, each of which keeps its values."""
    module, inputs = model_of_seed(seed)
    used: set[str] = set()
    old, before = module.clone(), interpret(module, inputs)
    for pass_ in passes_of_graphs():
        pass_.apply(make_context(), module)
        if module.is_structurally_equivalent(old):
            continue
        verify(module)
        used.add(pass_.name)
        after = interpret(module, inputs)
        for number, (found, expected) in enumerate(zip(after, before, strict=True)):
            check_close(found, expected, numerics(pass_), f"seed {seed}, {pass_.name}, {number}")
        old, before = module.clone(), after
    verify(module)  # passes that change nothing leave nothing behind, either
    return used


def check_close(found: np.ndarray, expected: np.ndarray, numeric_class: str, what: str) -> None:
    assert found.shape == expected.shape and found.dtype == expected.dtype, what
    if found.dtype.kind != "f":
        assert np.array_equal(found, expected), what
        return
    scale = max(1.0, float(np.max(np.abs(expected), initial=0, where=np.isfinite(expected))))
    tolerance = TOLERANCE[numeric_class] * scale
    assert np.allclose(found, expected, rtol=0, atol=tolerance, equal_nan=True), what


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("start", range(OF_ALL_PASSES, 2000, BLOCK))
def test_passes_keep_the_values_of_random_models(start):
    for seed in range(start, start + BLOCK):
        used_passes(seed)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.slow
def test_random_models_have_something_for_nearly_every_pass():
    """And each keeps their values; otherwise the test above says nothing of it. Nor have these models what the rare passes look for, such as large constants, loops and large images."""
    used = Counter(name for seed in range(OF_ALL_PASSES) for name in used_passes(seed))
    rare = {
        *("graph-share-constants", "graph-extend-narrow-floats", "graph-recognize-multiples"),
        *("graph-recognize-counts", "graph-compute-by-strips", "graph-compute-by-images"),
        "graph-winograd",
        *("graph-recognize-fourier", "graph-outline-repeats", "graph-block-channels"),
        *("graph-fold-constants", "graph-scale-late", "graph-tile-loops", "graph-pad-images"),
        "graph-take-pixels",
        *("graph-compute-by-rows", "graph-stack-phases", "cse"),
    }
    assert {one.name for one in passes_of_graphs()} - rare <= used.keys(), used
