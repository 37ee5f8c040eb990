"""The table that `stepwell-opt --list-passes` prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.passes import ModulePass

from ..transforms.stepwell_pass import StepwellPass
from ..universe import STEPWELL_UNIVERSE, multiverse

_Row = tuple[str, str, str, str]


def pass_list(*, everything: bool = False) -> str:
    """One line for each pass: name, level in, level out, what it does. Ours first, then xDSL's."""
    ours = STEPWELL_UNIVERSE.all_passes
    rows: list[_Row] = [("pass", "in", "out", "what it does"), *_rows(ours)]
    if everything:
        all_passes = multiverse().all_passes
        rows += _rows({name: all_passes[name] for name in all_passes if name not in ours})
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    ]
    if not everything:
        lines.append("(--list-passes=all lists xDSL's passes too)")
    return "\n".join(line.rstrip() for line in lines)


def _rows(passes: Mapping[str, Callable[[], type[ModulePass]]]) -> list[_Row]:
    return [_row(name, factory) for name, factory in sorted(passes.items())]


def _row(name: str, factory: Callable[[], type[ModulePass]]) -> _Row:
    try:
        pass_class = factory()
    except ImportError as error:  # some passes of xDSL's need packages that are not installed
        return name, "-", "-", f"needs the package '{error.name}'"
    documentation = pass_class.__dict__.get("__doc__") or ""
    summary = next((line.strip() for line in documentation.splitlines() if line.strip()), "")
    if issubclass(pass_class, StepwellPass):
        return name, str(pass_class.level_in), str(pass_class.level_out), summary
    # A dataclass without a docstring is given its signature as one.
    summary = "" if summary.startswith(f"{pass_class.__name__}(") else summary
    return name, "xDSL", "xDSL", summary
