"""`stepwell cache`: what is kept of earlier compilations, and its end."""

from __future__ import annotations

import argparse
from collections import defaultdict
from typing import Any

from ..cache.folder import VARIABLE, compiled_folder, compiled_store
from ..cache.store import Entry, Store

_DESCRIPTION = f"""
What was compiled is kept in the user's cache folder, and used again by later processes: `info` shows where and how
much it is, `clear` removes it. {VARIABLE}=off keeps nothing, and {VARIABLE}=FOLDER, an absolute path, keeps it
elsewhere.
"""


def register(commands: Any) -> None:
    """Add the subcommand to `stepwell`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "cache", help="show or clear what is kept of earlier compilations", description=_DESCRIPTION
    )
    parser.add_argument("action", choices=("info", "clear"))
    parser.set_defaults(command=run)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand; its exit status."""
    store = compiled_store()
    if store is None:
        is_off = compiled_folder() is None
        print(f"nothing is kept: {VARIABLE} turns it off" if is_off else "nothing is kept")
    elif args.action == "info":
        print(_info(store))
    else:
        entries = store.clear()
        print(f"removed {_amount(entries)} from {store.folder}")
    return 0


def _info(store: Store) -> str:
    entries = store.entries()
    by_kind: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_kind[entry.kind].append(entry)
    kinds = [f"  {kind}: {_amount(found)}" for kind, found in sorted(by_kind.items())]
    most = f"{store.most_bytes / 1e6:.0f} MB"
    return "\n".join((f"{_amount(entries)} of at most {most} in {store.folder}", *kinds))


def _amount(entries: list[Entry]) -> str:
    count = len(entries)
    size = sum(entry.bytes for entry in entries) / 1e6
    return f"{count} {'entry' if count == 1 else 'entries'}, {size:.1f} MB"
