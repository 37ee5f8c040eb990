"""
What Stepwell adds to xDSL: its dialects and passes, found by every xDSL tool through the
`xdsl.universe` entry point and loaded only when they are used.

To add a dialect or a pass, add one line to its table: the name, and where its class stands.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe

_DIALECTS = {
    "graph": "dialects.graph:Graph",
    "te": "dialects.te:Te",
    "loop": "dialects.loop:Loop",
}

_PASSES: dict[str, str] = {
    "graph-decompose": "transforms.graph.decompose:GraphDecomposePass",
    "convert-graph-to-te": "lowering.graph_to_te:ConvertGraphToTePass",
    "te-inline": "transforms.te.inline:TeInlinePass",
    "te-form-kernels": "transforms.te.form_kernels:TeFormKernelsPass",
    "convert-te-to-loop": "lowering.te_to_loop:ConvertTeToLoopPass",
    "loop-plan-memory": "transforms.loop.plan_memory:LoopPlanMemoryPass",
    "convert-loop-to-core": "lowering.loop_to_core:ConvertLoopToCorePass",
    "core-expand-math": "transforms.core.expand_math:CoreExpandMathPass",
    "convert-core-to-llvm": "lowering.core_to_llvm.convert:ConvertCoreToLLVMPass",
}


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(f".{module}", __package__), name)


def _lazily(table: dict[str, str]) -> dict[str, Callable[[], Any]]:
    return {name: partial(_load, place) for name, place in table.items()}


def _dialects() -> dict[str, Callable[[], Dialect]]:
    return _lazily(_DIALECTS)


def _passes() -> dict[str, Callable[[], type[ModulePass]]]:
    return _lazily(_PASSES)


STEPWELL_UNIVERSE = Universe(all_dialects=_dialects(), all_passes=_passes())


@cache
def multiverse() -> Universe:
    """
    Everything there is: Stepwell's, xDSL's and every installed plug-in's.

    Stepwell is in it even when it is run from a source tree, where no entry point names it.
    """
    found = Universe.get_multiverse()
    return Universe(
        all_dialects=found.all_dialects | STEPWELL_UNIVERSE.all_dialects,
        all_passes=found.all_passes | STEPWELL_UNIVERSE.all_passes,
        all_targets=found.all_targets | STEPWELL_UNIVERSE.all_targets,
    )
