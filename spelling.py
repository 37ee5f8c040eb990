"""The wording that all our messages share: one line each, with the nearest known names."""

from __future__ import annotations

from collections.abc import Iterable


def one_line(message: str, limit: int = 400) -> str:
    """`message` with every run of white space as one blank, cut at `limit` characters."""
    text = " ".join(message.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """The remedy for a mistyped name: the nearest known names, or `otherwise` when none is near."""
    import difflib

    near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.65)
    if not near:
        return otherwise
    return "did you mean " + " or ".join(f"'{match}'" for match in near) + "?"
