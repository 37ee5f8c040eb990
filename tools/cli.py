"""
`stepwell`: runs and compiles programs of any level.

One file for each subcommand; each adds its arguments and says how to run. Only that of the subcommand that is asked for is
loaded: most load the compiler.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from .._version import __version__
from ..errors import StepwellError
from .diagnostics import OneLineArgumentParser, argument_message, run_tool

COMMANDS = {
    "run": "run a program",
    "compile": "write a program at a lower level, or as code",
    "compare": "compare a model with another runtime, node by node",
    "cost": "print operations, parameters and bytes of a program",
    "probe": "measure this machine",
    "profile": "print how long each kernel of a program takes",
    "bench": "measure programs beside other libraries",
    "cache": "show or clear what is kept of earlier compilations",
}
"""What the subcommands do, in the order in which they are listed; each is the module of its name."""


def main(args: Sequence[str] | None = None) -> int:
    """Run a subcommand; its exit status. `args` is the command line, without the program's name."""
    return run_tool(lambda: _run(args))


def _run(args: Sequence[str] | None) -> int:
    words = sys.argv[1:] if args is None else args
    parser = OneLineArgumentParser(
        prog="stepwell", description="A tensor compiler that can be watched level by level."
    )
    parser.add_argument("--version", action="version", version=f"stepwell {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    asked = next((word for word in words if not word.startswith("-")), None)
    for name, what in COMMANDS.items():
        if name == asked:
            import_module(f".{name}", __package__).register(commands)
        else:
            commands.add_parser(name, help=what)
    parsed, unknown = parser.parse_known_args(words)
    if unknown:
        message = f"unrecognized arguments: {' '.join(unknown)}"
        raise StepwellError(argument_message(message, f"{parser.prog} {asked}"))
    return parsed.command(parsed)


if __name__ == "__main__":
    sys.exit(main())
