"""The default way down: for each level, the passes that prepare it and lead to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..analysis.levels import Level, level_of
from ..errors import StepwellError
from ..universe import make_context, multiverse
from .garbage import collector_paused
from .options import Options, make_pass
from .pass_manager import Instrumentation, PassManager


class Stage(NamedTuple):
    """The passes from one level to the next, by the names that `stepwell-opt -p` has for them."""

    level_in: Level
    level_out: Level
    passes: tuple[str, ...]
    scheduling: tuple[str, ...] = ()
    """Passes that come after those, for a caller who wants rules to choose the schedules of kernels."""


_TO_KERNELS = (
    "te-write-out-products",
    "te-write-out-sums",
    "te-reduce-rows-first",
    "te-sink-into-regions",
    "te-fuse",
    "te-int-range-optimizations",
    "te-double-windows",
    "te-compute-in-loops",
    "te-merge-loops",
    "te-compute-in-loops",
    "te-consume-in-loops",
    "te-consume-in-blocks",
    "te-narrow-steps",
)
"""Passes of te that decide what is a kernel."""

DEFAULT_STAGES: tuple[Stage, ...] = (
    Stage(
        Level.GRAPH,
        Level.TE,
        (
            "graph-canonicalize",
            "graph-share-constants",
            "graph-cse",
            "graph-recognize-multiples",
            "graph-recognize-counts",
            "graph-tile-loops",
            "graph-simplify",
            "graph-reduce-strength",
            "graph-recognize-activations",
            "graph-recognize-normalizations",
            "graph-scale-late",
            "graph-sink-transposes",
            "graph-simplify-movement",
            "graph-fold-constants",
            "graph-flatten-rows",
            "graph-fold-scales",
            "graph-order-products",
            "graph-recognize-fourier",
            "graph-scatter-in-any-order",
            "graph-merge-products",
            "graph-narrow-sums",
            "graph-extend-narrow-floats",
            "graph-normalize-late",
            "graph-compute-by-images",
            "graph-winograd",
            "graph-compute-by-strips",
            "graph-block-channels",
            "graph-pad-images",
            "graph-take-pixels",
            "graph-stack-phases",
            "graph-outline-repeats",
            "graph-decompose",
            "graph-canonicalize",
            "graph-cse",
            "graph-compute-by-rows",
            "convert-graph-to-te",
            "cse",
        ),
    ),
    Stage(
        Level.TE,
        Level.LOOP,
        (
            *_TO_KERNELS,
            "te-inline-entangled",
            "te-bufferize",
            "te-flatten-operands",
            "te-expand",
            "te-collapse",
            "te-inline-in-loops",
            "convert-te-to-loop",
            "loop-inline-functions",
            "loop-merge-kernels",
            "loop-share-buffers",
        ),
        scheduling=("schedule-by-rules",),
    ),
    Stage(
        Level.LOOP,
        Level.CORE,
        (
            "apply-schedule",
            "loop-narrow",
            "loop-outline-packing",
            "loop-plan-memory",
            "convert-loop-to-core",
            "core-mem2reg",
        ),
    ),
    Stage(
        Level.CORE,
        Level.LLVM,
        (
            "core-fp-flags",
            "core-add-as-integers",
            "core-divide-as-integers",
            "core-convert-by-permuting",
            "core-expand-narrow-floats",
            "core-divide-by-constants",
            "core-divide-by-invariants",
            "core-expand-math",
            "core-expand-extremes",
            "convert-core-to-llvm",
        ),
    ),
)

_BEFORE_SHOWING = {Level.TE: (*_TO_KERNELS, "te-inline-functions")}
"""Passes that a program goes through before it is shown at a level: of te one sees the kernels."""

_ORDER = tuple(Level)

_SCHEDULING = tuple(name for stage in DEFAULT_STAGES for name in stage.scheduling)


def passes_to(level_in: Level, level_out: Level, *, schedule: bool = True) -> tuple[str, ...]:
    """The passes that lead from one level down to another, with or without those of `scheduling`."""
    first, last = _ORDER.index(level_in), _ORDER.index(level_out)
    stages = DEFAULT_STAGES[first:last]
    return tuple(
        name
        for stage in stages
        for name in (
            *stage.passes,
            *(stage.scheduling if schedule else ()),
        )
    )


def lower_to(
    module: ModuleOp,
    level: Level,
    options: Options | None = None,
    *,
    ctx: Context | None = None,
    instrumentations: Sequence[Instrumentation] = (),
    verify_each: bool = False,
    unscheduled: bool = False,
    stands_on: Level | None = None,
) -> list[tuple[str, float]]:
    """
    Lower the module in place from the level it stands on to `level`; each pass and its seconds.

    `options` are what it is compiled for, by default this machine. `unscheduled` says that the module's kernels are
    loops whose schedules rules have not chosen yet; `stands_on` is its level where that is known, and else looked for.
    Raises StepwellError when the module stands below `level` already, or when a pass refuses.
    """
    options = options or Options()
    # Where all kernels are declarations, what is left may look like core: subscripts of views are not lowered yet.
    found = Level.LOOP if unscheduled else stands_on or level_of(module)
    if _ORDER.index(found) > _ORDER.index(level):
        raise StepwellError(
            f"the module is at level '{found}' already, below '{level}'; start from a higher level"
        )
    available = multiverse().all_passes
    schedule = options.schedule and not options.is_quick
    names = passes_to(found, level, schedule=schedule)
    if unscheduled and schedule:
        names = (*_SCHEDULING, *names)
    passes = [make_pass(available[name](), options) for name in names]
    manager = PassManager(passes, instrumentations, verify_each)
    with collector_paused():
        manager.run(make_context() if ctx is None else ctx, module)
    return manager.seconds


def as_shown(module: ModuleOp, level: Level, options: Options | None = None) -> ModuleOp:
    """The module, which stands on a level, as it is printed there: at te with its computes in kernels."""
    passes = _BEFORE_SHOWING.get(level, ())
    if not passes:
        return module
    shown = module.clone()
    available = multiverse().all_passes
    options = options or Options()
    PassManager([make_pass(available[name](), options) for name in passes]).run(
        make_context(), shown
    )
    return shown
