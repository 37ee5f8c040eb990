"""The default way down: for each level, the passes that prepare it and lead to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..analysis.levels import Level, level_of
from ..errors import StepwellError
from ..universe import make_context, multiverse
from .garbage import collector_paused
from .pass_manager import Instrumentation, PassManager


class Stage(NamedTuple):
    """The passes from one level to the next, as a pipeline text of `stepwell-opt -p`."""

    level_in: Level
    level_out: Level
    passes: tuple[str, ...]


DEFAULT_STAGES: tuple[Stage, ...] = (
    Stage(
        Level.GRAPH,
        Level.TE,
        (
            "canonicalize",
            "graph-normalize-late",
            "graph-decompose",
            "canonicalize",
            "cse",
            "convert-graph-to-te",
        ),
    ),
    Stage(
        Level.TE,
        Level.LOOP,
        (
            "te-inline",
            "te-form-kernels",
            "convert-te-to-loop",
            "schedule-by-rules",
            "loop-fold-constants",
        ),
    ),
    Stage(
        Level.LOOP,
        Level.CORE,
        (
            "apply-schedule",
            "loop-fold-constants",
            "loop-plan-memory",
            "convert-loop-to-core",
            "canonicalize",
            "cse",
            "licm",
        ),
    ),
    Stage(Level.CORE, Level.LLVM, ("core-expand-math", "convert-core-to-llvm")),
)

FP_CONTRACTS = ("strict", "contract", "fast")
"""What may be done to floating-point results, from nothing to the most."""

DEFAULT_FP = "contract"

_BY_RULES = ("schedule-by-rules", "loop-fold-constants")
"""Passes that make kernels other than a script expects that is for kernels without a schedule."""

_ORDER = tuple(Level)


def passes_to(level_in: Level, level_out: Level) -> tuple[str, ...]:
    """The names of the passes that lead from one level down to another."""
    first, last = _ORDER.index(level_in), _ORDER.index(level_out)
    return tuple(name for stage in DEFAULT_STAGES[first:last] for name in stage.passes)


def lower_to(
    module: ModuleOp,
    level: Level,
    *,
    ctx: Context | None = None,
    instrumentations: Sequence[Instrumentation] = (),
    verify_each: bool = False,
    threads: int = 0,
    target: str = "host",
    fp: str = DEFAULT_FP,
    by_rules: bool = True,
) -> list[tuple[str, float]]:
    """
    Lower the module in place from the level it stands on to `level`; each pass and its seconds.

    `target` names what kernels are formed and scheduled for. `fp` says what may be done to floating-point results:
    `strict` keeps the order of sums and rounds every operation, with functions from the C library;
    `contract` fuses products with sums, reassociates sums, divides rows by their sums through reciprocals
    (those of a softmax after the product that it goes into), may take the other one of two zeros for an
    extreme, and computes functions by polynomials; `fast` also gives up sines and cosines of huge
    arguments. Without `by_rules` kernels get no schedule.
    `threads` is what `convert-core-to-llvm` makes parallel loops for: 0 is the OpenMP library's choice.
    Raises StepwellError when it stands below already, or when a pass refuses.
    """
    found = level_of(module)
    if _ORDER.index(found) > _ORDER.index(level):
        raise StepwellError(
            f"the module is at level '{found}' already, below '{level}'; start from a higher level"
        )
    available = multiverse().all_passes
    if fp not in FP_CONTRACTS:
        raise StepwellError(
            f"found fp='{fp}', expected one of {', '.join(FP_CONTRACTS)}; choose one"
        )
    names = passes_to(found, level)
    if not by_rules:
        names = tuple(name for name in names if name not in _BY_RULES)
    if fp == "strict":
        names = tuple(name for name in names if name != "graph-normalize-late")
    if not any(op.dialect_name() == "schedule" for op in module.ops):
        names = tuple(name for name in names if name != "apply-schedule")  # and with it, isl
    options: dict[str, dict[str, Any]] = {
        "te-form-kernels": _cache_sizes(target) if "te-form-kernels" in names else {},
        "convert-core-to-llvm": {"threads": threads},
        "schedule-by-rules": {"target": target},
        "convert-te-to-loop": {"fp": fp},
        "core-expand-math": {"fp": fp},
    }
    passes = [available[name]()(**options.get(name, {})) for name in names]
    manager = PassManager(passes, instrumentations, verify_each)
    with collector_paused():
        manager.run(make_context() if ctx is None else ctx, module)
    return manager.seconds


def _cache_sizes(target: str) -> dict[str, int]:
    """The options of `te-form-kernels` for a target: its second-level and its last-level cache."""
    # Loaded late, as it loads LLVM.
    from ..targets.target import Target

    caches = Target.parse(target).caches
    near = [cache.bytes for cache in caches if cache.level <= 2]
    return {"block_bytes": near[-1], "cache_bytes": caches[-1].bytes}
