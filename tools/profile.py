"""`stepwell profile`: how long each kernel of a program takes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ..analysis.levels import Level, level_of
from ..analysis.signature import entry_function, signature_of
from ..errors import StepwellError
from ..frontend.lowered import Lowered
from ..frontend.profile import KernelTime, profile
from ..frontend.text import make_context
from .argument_types import add_shapes, seed
from .execute import add_options, options_of
from .load_program import load_program
from .run import make_inputs, of_inputs, pairs

_DESCRIPTION = """
Compiles a program so that it reads the processor's counter around every call of a kernel, runs it on generated arguments,
and prints the median time of each call with where it comes from: the line of a Python function, or the node of a model.
"""


def register(commands: Any) -> None:
    """Add the subcommand to `stepwell`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "profile", help="print how long each kernel of a program takes", description=_DESCRIPTION
    )
    add = parser.add_argument
    add("program", metavar="IN", help="IN.onnx, IN.mlir, IN.py:FUNCTION, or - for text on stdin")
    add_shapes(parser)
    add("--random", type=seed, default=0, metavar="SEED", help="draws the arguments")
    add("--rounds", type=int, default=20, metavar="N", help="how many runs the medians are of")
    add_options(parser)
    parser.set_defaults(command=run)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand; its exit status."""
    if args.rounds < 1:
        raise StepwellError(f"found --rounds {args.rounds}, expected at least 1; mend it")
    shapes = dict(pairs(args.shape, "--shape"))
    module = load_program(args.program, make_context(), shapes=shapes).module
    level = level_of(module)
    if level is Level.LLVM:
        raise StepwellError(
            "found a program at level 'llvm', expected one at 'core' or above", where=args.program
        )
    signature = signature_of(entry_function(module, None))
    inputs = make_inputs(signature, {}, of_inputs(signature, shapes), args.random)
    low = Lowered(module, level=level, name=args.program, options=options_of(args))
    _print_table(profile(low, *inputs, threads=args.threads, rounds=args.rounds))
    return 0


def _print_table(times: Sequence[KernelTime]) -> None:
    from rich.console import Console
    from rich.table import Table

    total = sum(time.seconds for time in times)
    table = Table(box=None, show_footer=True, pad_edge=False)
    table.add_column("kernel", "total")
    table.add_column("us", f"{total * 1e6:.1f}", justify="right")
    table.add_column("share", justify="right")
    table.add_column("source")
    for time in times:
        share = f"{100 * time.seconds / total:.1f} %" if total else ""
        table.add_row(time.kernel, f"{time.seconds * 1e6:.1f}", share, time.source)
    # A pipe gets whole lines, however long.
    Console(width=None if Console().is_terminal else 200).print(table)
