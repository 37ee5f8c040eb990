"""The wording that all our messages share: one line each, with the nearest known names."""

from __future__ import annotations

from collections.abc import Collection, Iterable

_FEW = 6


def one_line(message: str, limit: int = 400) -> str:
    """`message` with every run of white space as one blank, cut at `limit` characters."""
    text = " ".join(message.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def printable(text: str) -> str:
    """
    `text` with everything that does not print as Python's escapes: line breaks and other control
    characters, marks that reverse the direction of writing, halves of surrogate pairs.

    A name that a user has given may hold any of them; in a message it stays on its line, and shows.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def did_you_mean(name: str, known: Iterable[str], otherwise: str, *, prefix: str = "") -> str:
    """
    The remedy for a mistyped name: the nearest of the known names, three at most, or `otherwise`, which
    says where to find them, when none is near.

    `prefix` is what all names begin with and what says nothing about how near they are.
    """
    import difflib

    rests = sorted({one.removeprefix(prefix) for one in known})
    near = difflib.get_close_matches(name.removeprefix(prefix), rests, n=3, cutoff=0.65)
    if not near:
        return otherwise
    return "did you mean " + " or ".join(f"'{prefix}{match}'" for match in near) + "?"


def few_names(phrase: str, names: Collection[str], otherwise: str) -> str:
    """`phrase` and the names, such as "it has 'a', 'b'", while they are few; else `otherwise`."""
    distinct = dict.fromkeys(names)
    if len(distinct) > _FEW:
        return otherwise
    return f"{phrase} {', '.join(repr(name) for name in distinct) or 'none'}"
