"""
All that compiling a kernel loads when it first needs it: importing this module loads it.

For processes that have nothing to do yet; see `kernel_workers`.
"""

from __future__ import annotations

from llvmlite import binding as binding  # what codegen.py loads late

from ..analysis.levels import Level
from ..dialects.schedule import STEPS
from ..driver.pipelines import passes_to
from ..transforms.step_support.planning import planner_of
from ..universe import multiverse

for _name in passes_to(Level.LOOP, Level.LLVM):
    multiverse().all_passes[_name]()
for _step in STEPS.values():
    planner_of(_step)
