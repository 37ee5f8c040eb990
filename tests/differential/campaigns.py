"""Settings of property tests that are also run for thousands of cases, by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings


def campaign(few: int, asked: int) -> Callable[[Any], Any]:
    """`few` cases and always the same, or as many others as were `asked` for, where that is not 0."""
    return settings(
        max_examples=asked or few,
        derandomize=not asked,
        # Many cases are for finding out how many fail; a program is made small by the fixed ones.
        phases=(Phase.generate,) if asked else tuple(Phase),
        report_multiple_bugs=False,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
