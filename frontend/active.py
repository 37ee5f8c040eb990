"""What is being recorded in a thread."""

from __future__ import annotations

import threading


class Active(threading.local):
    """The recordings that are entered, innermost last."""

    def __init__(self) -> None:
        self.recordings: list[object] = []
        self.calls = 0
        """How many of the user's calls of public functions there were."""


active = Active()


def is_recording() -> bool:
    """Whether a function is traced now in this thread."""
    return bool(active.recordings)
