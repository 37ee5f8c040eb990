"""The one device there is."""

from __future__ import annotations

from typing import Any

from ..errors import StepwellError

CPU = "cpu"


def check_device(device: Any) -> None:
    """Raises StepwellError for any device but the CPU, or None, which means it."""
    if device not in (None, CPU):
        raise StepwellError(
            f"found device {device!r:.40}, expected '{CPU}', the only one; leave it out"
        )
