"""The default way down: for each level, the passes that prepare it and lead to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.levels import Level, level_of
from ..errors import StepwellError


class Stage(NamedTuple):
    """The passes from one level to the next, as a pipeline text of `stepwell-opt -p`."""

    level_in: Level
    level_out: Level
    passes: tuple[str, ...]


DEFAULT_STAGES: tuple[Stage, ...] = (
    Stage(
        Level.GRAPH,
        Level.TE,
        ("canonicalize", "graph-decompose", "canonicalize", "cse", "convert-graph-to-te"),
    ),
    Stage(
        Level.TE,
        Level.LOOP,
        ("te-inline", "te-form-kernels", "convert-te-to-loop", "loop-plan-memory"),
    ),
    Stage(Level.LOOP, Level.CORE, ("convert-loop-to-core", "canonicalize", "cse", "licm")),
    Stage(
        Level.CORE,
        Level.LLVM,
        ("core-expand-math", "convert-scf-to-cf", "convert-core-to-llvm"),
    ),
)

_ORDER = tuple(Level)

RunPass = Callable[[ModulePass, ModuleOp], None]
"""How a pass is run; callers add timing, verification or printing."""


def passes_to(level_in: Level, level_out: Level) -> tuple[str, ...]:
    """The names of the passes that lead from one level down to another."""
    first, last = _ORDER.index(level_in), _ORDER.index(level_out)
    return tuple(name for stage in DEFAULT_STAGES[first:last] for name in stage.passes)


def lower_to(
    module: ModuleOp, level: Level, *, ctx: Context | None = None, run: RunPass | None = None
) -> None:
    """
    Lower the module in place from the level it stands on to `level`.

    Raises StepwellError when it stands below already, or when a pass refuses.
    """
    found = level_of(module)
    if _ORDER.index(found) > _ORDER.index(level):
        raise StepwellError(
            f"the module is at level '{found}' already, below '{level}'; start from a higher level"
        )
    run_passes(module, passes_to(found, level), ctx=ctx, run=run)


def run_passes(
    module: ModuleOp,
    names: Sequence[str],
    *,
    ctx: Context | None = None,
    run: RunPass | None = None,
) -> None:
    """Run passes, given by name with their default options, in order."""
    from ..universe import multiverse

    context = Context() if ctx is None else ctx
    available = multiverse().all_passes
    for name in names:
        pass_ = available[name]()()
        if run is None:
            pass_.apply(context, module)
        else:
            run(pass_, module)
