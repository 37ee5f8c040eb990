"""`stepwell bench`: measures programs beside other libraries and against what the machine allows."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from ..driver.options import Options
from ..errors import StepwellError
from ..transforms.numerics import DEFAULT_FP
from . import bench_peers
from .argument_types import add_shapes
from .bench_case import SUITE, SUITES, WHOLE_SUITE, Request, requests
from .bench_contest import Contest
from .bench_environment import Description, describe, machine, withheld
from .bench_report import Row, Table, disturbed, pass_table, points, row, summary, write_json
from .bench_roof import Roofs
from .bench_worker import Outcome
from .execute import add_fp
from .run import pairs

_DESCRIPTION = """
Measures programs: the median and least time of a call, GFLOP/s, GB/s (arguments and results once), the part
of the machine's roof that is reached and what bounds it, the time of compiling, and ratios to other
libraries: above 1, ours is faster. All take turns, each in a process of its own that is stopped when it is not
its turn, on as many cores as threads. Between turns multiply-adds and reads tell how quick the cores are: turns in
which a neighbour slowed them do not count, whoever's they are.
"""


def register(commands: Any) -> None:
    """Add the subcommand to `stepwell`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "bench", help="measure programs beside other libraries", description=_DESCRIPTION
    )
    add = parser.add_argument
    add(
        "programs",
        nargs="*",
        metavar="IN",
        help="IN.mlir, IN.onnx, IN.py:FUNCTION, or kernels of the suite, as in 'gemm-*' (default: the whole suite)",
    )
    add_shapes(parser)
    add(
        "--against",
        default=",".join(bench_peers.PEERS),
        metavar="PEER,…",
        help="the libraries to compare with (default: %(default)s, as far as they are installed)",
    )
    add(
        "--before",
        type=Path,
        metavar="PYTHON",
        help="the Python of another checkout of Stepwell, which takes turns too: what a change has gained",
    )
    add("--threads", type=int, default=1, metavar="N", help="threads, each on a core (default: 1)")
    add("--target", default="host", help="the CPU to compile ours for (default: host)")
    add_fp(parser)
    add(
        "--seconds",
        type=float,
        default=0.3,
        metavar="S",
        help="how long each library runs each program (default: %(default)s)",
    )
    add(
        "--suite",
        type=_suite,
        default=SUITE,
        metavar="NAME|FILE.py",
        help=f"what is measured by name: {' or '.join(SUITES)}, or a file of yours (default: kernels)",
    )
    add(
        "--again",
        type=int,
        default=2,
        metavar="N",
        help="how often programs during which neighbours slowed the cores are measured again at the end (default: 2)",
    )
    add("--list", action="store_true", help="show the names of the kernels")
    add(
        "--layers",
        action="store_true",
        help="show the kernels of models beside ONNX Runtime's, each with its time",
    )
    add("--passes", action="store_true", help="show the compile time by pass for files too")
    add("--json", type=Path, metavar="FILE", help="write everything that was measured")
    add("--roofline", type=Path, metavar="FILE.png|.svg", help="draw the programs below the roofs")
    parser.set_defaults(command=run)


def _suite(text: str) -> Path:
    return SUITES.get(text) or Path(text)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand; 1 when a program could not be measured. Raises StepwellError for wrong arguments."""
    from ..runtime.measure import check_cores
    from ..targets.target import Target

    shapes = dict(pairs(args.shape, "--shape"))
    if args.layers:
        return _run_layers(args, shapes)
    names = args.programs or [WHOLE_SUITE]
    wanted = requests(names, shapes, args.suite, args.fp, args.target)
    if args.list:
        print("\n".join(request.program for request in wanted))
        return 0
    check_cores(args.threads)
    if not 0 < args.seconds < inf:
        raise StepwellError(
            f"found --seconds {args.seconds:g}, expected a number of more than 0; mend it"
        )
    if args.again < 0:
        raise StepwellError(f"found --again {args.again}, expected 0 or more; mend it")
    host, target = Target.host(), Target.parse(args.target)
    _check_target(target)
    _check_outputs(args, host)
    _check_before(args.before)
    peers, skipped = _installed(bench_peers.peers_named(args.against))
    print(
        "\n".join([*_title(host, target, args), *_unprobed(host), *withheld(), *skipped]),
        flush=True,
    )
    described = _described(peers, args.threads)
    peers = list(described)
    roofs = Roofs(host, args.threads, only_ours=target != host)
    table = Table(
        [request.program for request in wanted], peers, with_before=args.before is not None
    )
    print(table.heading(), flush=True)
    with Contest(peers, args.seconds, args.threads, args.before) as contest:
        outcomes = [_measured(request, contest, table, roofs) for request in wanted]
        for _ in range(args.again):
            again = [i for i, outcome in enumerate(outcomes) if contest.is_slowed(outcome)]
            if again:
                print("\nneighbours slowed the cores, so these are measured again:", flush=True)
            for i in again:
                found = _measured(wanted[i], contest, table, roofs)
                outcomes[i] = on_quicker_cores(outcomes[i], found)
        slowed = [outcome.name for outcome in outcomes if contest.is_slowed(outcome)]
    rows = [row(outcome, roofs) for outcome in outcomes if not outcome.error]
    _show_summary(rows, outcomes, slowed, peers, in_suite=wanted[0].in_suite or args.passes)
    if args.json:
        options = {"threads": args.threads, "fp": args.fp, "target": args.target}
        write_json(
            args.json, rows, outcomes, host=host, options=options, roofs=roofs, peers=described
        )
    if args.roofline:
        _draw(args.roofline, rows, host)
    return int(len(rows) < len(wanted))


def on_quicker_cores(before: Outcome, again: Outcome) -> Outcome:
    """Of two measurements of a program the one in which multiply-adds beside it were quicker, whatever it found; the later one where it failed."""
    return again if again.error or (again.peak or 0) > (before.peak or 0) else before


def _measured(request: Request, contest: Contest, table: Table, roofs: Roofs) -> Outcome:
    """Measure one program and print its line. Raises StepwellError where it is no kernel of the suite and cannot be measured."""
    outcome = contest.measure(request)
    if outcome.error and not request.in_suite:
        raise StepwellError(outcome.error)
    if outcome.error:
        print(table.failure(outcome.name, outcome.error))
    else:
        print(table.line(row(outcome, roofs)))
    for note in outcome.notes:
        print(f"  note: {note}")
    sys.stdout.flush()
    return outcome


def _run_layers(args: argparse.Namespace, shapes: Mapping[str, str]) -> int:
    """Print the table of layers of each model."""
    from ..runtime.measure import check_cores
    from ..targets.target import Target
    from .bench_layers import show_layers

    if not args.programs:
        raise StepwellError("found --layers without a program, expected a model; name one")
    wanted = requests(args.programs, shapes, args.suite, args.fp, args.target)
    check_cores(args.threads)
    host, target = Target.host(), Target.parse(args.target)
    _check_target(target)
    print("\n".join(_title(host, target, args)), flush=True)
    options = Options(args.target, args.fp, args.threads)
    for request in wanted:
        print(request.program, flush=True)
        show_layers(request, options, args.seconds)
    return 0


def _check_target(target: Any) -> None:
    if not target.runs_here:
        raise StepwellError(
            f"found --target {target.name}, expected one whose instructions this machine has; leave it out, or "
            "compile to a file instead"
        )


def _check_outputs(args: argparse.Namespace, target: Any) -> None:
    """What would be noticed only after minutes of measuring."""
    if args.roofline:
        from ..runtime.roofline import check_picture

        check_picture(args.roofline)
        if not target.is_measured:
            raise StepwellError(
                "found no measurements of this machine, expected the roofs to draw; run `stepwell probe` first",
                where=str(args.roofline),
            )
    for path in (args.json, args.roofline):
        if path and not path.absolute().parent.is_dir():
            raise StepwellError(
                "found no such folder, expected one to write to; make it", where=str(path.parent)
            )


def _check_before(python: Path | None) -> None:
    """Raises StepwellError when it is no Python that has Stepwell: before anything else is measured."""
    if python is None:
        return
    where = f"--before {python}"
    try:
        found = subprocess.run(
            [str(python), "-c", "import stepwell"], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise StepwellError(
            f"cannot run it: {error.strerror}, expected the Python of another checkout, as in "
            "../other/.venv/bin/python; name that",
            where=where,
        ) from error
    if found.returncode:
        raise StepwellError(
            "found no stepwell that it can import, expected the Python of another checkout; install that "
            "checkout there with pip install --editable",
            where=where,
        )


def _installed(peers: Sequence[str]) -> tuple[list[str], list[str]]:
    """The peers there are, and a line for each that is not installed."""
    lacking = {peer: missing for peer in peers if (missing := bench_peers.missing(peer))}
    lines = [
        f"{peer} is left out: not installed (pip install {' '.join(packages)})"
        for peer, packages in lacking.items()
    ]
    return [peer for peer in peers if peer not in lacking], lines


def _described(peers: Sequence[str], threads: int) -> dict[str, Description]:
    """What each peer runs, which is printed. A peer that cannot even tell is left out, and that is printed."""
    found: dict[str, Description] = {}
    for name in peers:
        try:
            found[name] = describe(name, threads)
        except StepwellError as error:
            print(f"{name} is left out: it {error}", flush=True)
        else:
            print(f"{name} {found[name]}", flush=True)
    return found


def _title(host: Any, target: Any, args: argparse.Namespace) -> list[str]:
    threads = "1 thread" if args.threads == 1 else f"{args.threads} threads"
    contract = "" if args.fp == DEFAULT_FP else f", fp {args.fp}"
    return [str(machine(host)), f"{threads}; ours is compiled for {target}{contract}"]


def _unprobed(target: Any) -> list[str]:
    if target.is_measured:
        return []
    return ["no roofs are known: this machine was not measured; run `stepwell probe` once"]


def _show_summary(
    rows: Sequence[Row],
    outcomes: Sequence[Outcome],
    slowed: Sequence[str],
    peers: Sequence[str],
    *,
    in_suite: bool,
) -> None:
    if not rows:
        return
    if len(rows) > 1:
        print()
        print("\n".join(summary(rows, peers)))
    for line in disturbed(outcomes, slowed):
        print(line)
    if in_suite:
        print(f"\ncompile time by pass, of {len(rows)} kernels:\n{pass_table(outcomes)}")


def _draw(path: Path, rows: Sequence[Row], target: Any) -> None:
    from ..runtime.roofline import draw_roofline

    draw_roofline(target, path, title=f"Roofline of {target.cpu}", points=points(rows))
    print(f"drawn in {path}")
