"""The page `docs/onnx.md`: what `tests/onnx_suite.py` has found, by operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import onnx
from stepwell.frontend.onnx import operators as operators
from stepwell.frontend.onnx.registry import operator_names

if TYPE_CHECKING:
    from onnx_suite import Outcome

_HEAD = """# Operators of ONNX

Written by `make test-onnx`, which runs the node, simple, pytorch-converted and pytorch-operator cases of
`onnx.backend.test` (onnx {version}, operator set {opset}) in the default domain by the quick tier. Do not edit.

{summary}

A case is *refused* when loading its model ends in one line that names what is missing. Cases with types that Stepwell
does not have are refused as well and counted by type: {types}.

An operator is computed by a function in `frontend/onnx/` ("own"), by the function body that ONNX itself defines it with
("body"), or not at all. Cases count for every operator that stands in their model; a case that is refused may be so for
another operator than the one in the row.

| operator | computed by | passes | refused | other types |
|---|---|---:|---:|---:|
"""

_TAIL = """
Operators of `com.microsoft`: {microsoft}.

## Reasons for refusals

| what is missing | cases |
|---|---:|
{reasons}
"""


def page_text(outcomes: Sequence[Outcome], summary: str) -> str:
    """The page for these outcomes."""
    other = Counter(one.reason for one in outcomes if one.state == "other types")
    types = ", ".join(f"{name} {count}" for name, count in sorted(other.items())) or "none"
    head = _HEAD.format(
        version=onnx.__version__, opset=onnx.defs.onnx_opset_version(), summary=summary, types=types
    )
    microsoft = ", ".join(operator_names("com.microsoft")) or "none"
    reasons = "\n".join(f"| {what} | {count} |" for what, count in _reasons(outcomes))
    return head + "".join(_rows(outcomes)) + _TAIL.format(microsoft=microsoft, reasons=reasons)


def _rows(outcomes: Sequence[Outcome]) -> Iterable[str]:
    own = set(operator_names())
    schemas = {
        one.name: one
        for one in onnx.defs.get_all_schemas()
        if one.domain == "" and not one.deprecated
    }
    for name in sorted({*schemas, *own}):
        schema = schemas.get(name)
        has_body = schema and (schema.has_function or schema.has_context_dependent_function)
        how = "own" if name in own else "body" if has_body else "no"
        counts = Counter(one.state for one in outcomes if name in one.operators)
        passes, refused, other = (counts[state] for state in ("passes", "refused", "other types"))
        yield f"| {name} | {how} | {passes} | {refused} | {other} |\n"


def _reasons(outcomes: Sequence[Outcome]) -> list[tuple[str, int]]:
    """What is missing, most cases first."""
    counts: Counter[str] = Counter()
    for one in outcomes:
        if one.state != "refused":
            continue
        _, found, rest = one.reason.partition("does not have: ")
        listed = rest.rpartition("; expected operators")[0].split("; ")
        counts.update(
            {what.partition(" (node")[0] for what in listed} if found else {"something else"}
        )
    return counts.most_common()
