"""`stepwell cost`: what the operations of a program cost, before anything is compiled."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from ..analysis.graph_cost import Cost, NodeCost, costs_by_kind, node_costs, total_cost
from ..analysis.levels import Level, level_of
from ..dialects.graph.shapes import shape_text
from ..errors import StepwellError
from ..frontend.text import make_context
from .argument_types import add_shapes
from .load_program import load_program
from .run import pairs

_DESCRIPTION = """
Prints multiply-adds, floating-point operations, parameters and bytes of each operation of a program at the graph level
(an ONNX model, a Python function, or text), and their sums. The sizes of networks are published in multiply-adds of
products and convolutions; operations count each of these as two, and all other arithmetic as one.
"""


def register(commands: Any) -> None:
    """Add the subcommand to `stepwell`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "cost", help="print operations, parameters and bytes of a program", description=_DESCRIPTION
    )
    add = parser.add_argument
    add("program", metavar="IN", help="IN.onnx, IN.mlir, IN.py:FUNCTION, or - for text on stdin")
    add_shapes(parser)
    add("--by", choices=("node", "kind"), default="node", help="a line for each node, or kind")
    add("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand; its exit status."""
    program = load_program(args.program, make_context(), shapes=dict(pairs(args.shape, "--shape")))
    level = level_of(program.module)
    if level is not Level.GRAPH:
        raise StepwellError(
            f"found a program at level '{level}', expected one at 'graph'; give the model or function it is made from",
            where=args.program,
        )
    nodes = node_costs(program.module)
    if args.json:
        print(json.dumps(_as_json(nodes), indent=2))
    else:
        _print_table(nodes, args.by)
    return 0


def _as_json(nodes: list[NodeCost]) -> dict[str, Any]:
    return {
        "nodes": [
            {"name": n.name, "kind": n.kind, "shape": n.shape, **asdict(n.cost)} for n in nodes
        ],
        "total": asdict(total_cost(nodes)),
    }


def _print_table(nodes: list[NodeCost], by: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, show_footer=True, pad_edge=False)
    for title, footer in _titles(nodes, by):
        table.add_column(title, footer, justify="left" if title in ("node", "kind") else "right")
    for row in _rows(nodes, by):
        table.add_row(*row)
    # A pipe gets whole lines, however long.
    console = Console(width=None if Console().is_terminal else 200)
    console.print(table)


def _titles(nodes: list[NodeCost], by: str) -> Iterable[tuple[str, str]]:
    heads = ("node", "kind", "shape") if by == "node" else ("kind", "count")
    amounts = ("multiply-adds", "operations", "parameters", "bytes")
    first = ("total", *("",) * (len(heads) - 1))
    return zip((*heads, *amounts), (*first, *_amounts(total_cost(nodes))), strict=True)


def _rows(nodes: list[NodeCost], by: str) -> Iterable[tuple[str, ...]]:
    if by == "node":
        for node in nodes:
            yield node.name, node.kind, shape_text(node.shape), *_amounts(node.cost)
        return
    for kind, (count, cost) in costs_by_kind(nodes).items():
        yield kind, str(count), *_amounts(cost)


def _amounts(cost: Cost) -> tuple[str, ...]:
    return tuple(map(_amount, (cost.multiply_adds, cost.flops, cost.parameters, cost.bytes)))


def _amount(number: int | None) -> str:
    """Three digits and a prefix of the SI; `?` where it depends on an extent that is not known."""
    if number is None:
        return "?"
    if number < 1000:
        return str(number)
    for prefix in ("k", "M", "G", "T"):
        number_in = number / 1000 ** ("kMGT".index(prefix) + 1)
        if number_in < 999.5:
            break
    return f"{number_in:.3g} {prefix}"
