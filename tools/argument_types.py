"""Command-line arguments that several tools take, and their types."""

from __future__ import annotations

import argparse

from ..spelling import one_line

_SEED_DIGITS = 18  # fits into 64 bits


def seed(text: str) -> int:
    """The seed of random numbers, as argparse calls it. Raises ArgumentTypeError for what is none."""
    if text.isascii() and text.isdigit() and len(text) <= _SEED_DIGITS:
        return int(text)
    raise argparse.ArgumentTypeError(
        f"found the seed '{one_line(text, 40)}', expected a whole number from 0 to 10^{_SEED_DIGITS}; "
        "choose another"
    )


def add_shapes(
    parser: argparse.ArgumentParser,
    words: str = "the shape of an argument, where the program leaves it open",
) -> None:
    """Add `--shape NAME=2x3xf32`, once for each argument; `words` say whose shapes they are."""
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=2x3xf32", help=words)
