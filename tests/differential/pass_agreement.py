"""Passes that choose their own schedule, and the way to affine code and back, on random loop programs."""

from __future__ import annotations

from random import Random

from stepwell.analysis.verify import verify
from stepwell.driver.pipeline_spec import parse_passes
from stepwell.errors import StepwellError
from stepwell.frontend.text import make_context
from xdsl.dialects.builtin import ModuleOp

from .random_nests import Case
from .schedule_agreement import (
    Mismatch,
    Schedule,
    check_names,
    check_results,
    reason_of,
    summary,
)

ROUND_TRIP = "convert-loop-to-affine,convert-affine-to-loop{noalias-args=true}"
PIPELINES = (
    "loop-polyhedral{tile=0}",
    "loop-auto-fission",
    "loop-polyhedral{tile=2}",
    "loop-auto-fuse",
    "loop-polyhedral{tile=2 fuse=min}",
    "loop-auto-fuse{keep-parallel=false}",
    "loop-auto-interchange",
    "loop-auto-parallelize{grain=1}",
    "loop-auto-tile{cache-bytes=128}",
    "loop-auto-tile{cache-bytes=64 tail=peel}",
    "loop-auto-unroll-and-jam{factor=2}",
    "loop-auto-unroll-and-jam{factor=3}",
    ROUND_TRIP,
    "convert-loop-to-affine,convert-affine-to-loop",
)
"""With caches small enough that programs of a few elements do not fit."""
REFUSING = ("loop-polyhedral", "convert-loop-to-affine")
"""What may refuse a program; the other passes leave alone what they can do nothing with."""


def choice(rng: Random) -> tuple[str, bool]:
    """A pipeline, and whether it runs on what the steps have made or else on the program."""
    return rng.choice(PIPELINES), rng.random() < 0.5


def run_pipeline(pipeline: str, schedule: Schedule, *, native: bool) -> str | None:
    """One pipeline on what the schedule has made; what is wrong then."""
    case = schedule.case
    try:
        refusal = _refusal(case, schedule.module.clone(), pipeline, native=native)
    except Mismatch as mismatch:
        return f"{mismatch}, of {pipeline}"
    schedule.record.passes[pipeline, refusal or ""] += 1
    return None


def _refusal(case: Case, module: ModuleOp, pipeline: str, *, native: bool) -> str | None:
    """Why the pipeline cannot be applied; None when it was. Raises Mismatch when it went wrong."""
    for pass_ in parse_passes(pipeline):
        before = str(module)
        try:
            pass_.apply(make_context(), module)
            verify(module)
        except StepwellError as error:
            text = str(error)
            if pipeline.startswith(REFUSING) and str(module) == before and "\n" not in text:
                return reason_of(text, False)
            raise Mismatch(f"pass: {pass_.name} failed: {text}") from error
        except Exception as error:
            raise Mismatch(f"pass: crash of {pass_.name}: {summary(error)}") from error
    check_results(case, module, pipeline)
    after = Schedule(case, module=module)
    check_names(after.nest, pipeline)
    after.check_end(pipeline, native=native)
    return None
