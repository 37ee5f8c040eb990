"""
`stepwell`: runs and compiles programs of any level.

One file for each subcommand; each adds its arguments and says how to run.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .._version import __version__
from . import bench as bench_command
from . import cache as cache_command
from . import compare as compare_command
from . import compile as compile_command
from . import cost as cost_command
from . import probe as probe_command
from . import profile as profile_command
from . import run as run_command
from .diagnostics import OneLineArgumentParser, run_tool


def main(args: Sequence[str] | None = None) -> int:
    """Run a subcommand; its exit status. `args` is the command line, without the program's name."""
    return run_tool(lambda: _run(args))


def _run(args: Sequence[str] | None) -> int:
    parser = OneLineArgumentParser(
        prog="stepwell", description="A tensor compiler that can be watched level by level."
    )
    parser.add_argument("--version", action="version", version=f"stepwell {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    run_command.register(commands)
    compile_command.register(commands)
    compare_command.register(commands)
    cost_command.register(commands)
    probe_command.register(commands)
    profile_command.register(commands)
    bench_command.register(commands)
    cache_command.register(commands)
    parsed = parser.parse_args(args)
    return parsed.command(parsed)


if __name__ == "__main__":
    sys.exit(main())
