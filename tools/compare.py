"""`stepwell compare`: a model here and elsewhere, node by node, and the first node whose result differs."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..analysis.signature import entry_function, signature_of
from ..driver.options import Options
from ..errors import StepwellError
from ..frontend.lowered import Lowered
from ..frozen import frozen
from .argument_types import add_shapes, seed
from .model_peers import PEERS, relative_error, results_elsewhere
from .run import load_array, make_inputs, pairs
from .shape_text import parse_shape

if TYPE_CHECKING:
    from ..frontend.onnx.inspection import NodeValue
    from ..frontend.onnx.reading import Model

Array = np.ndarray[Any, Any]

_DESCRIPTION = """
Runs an ONNX model here and in another runtime, on the same inputs: first as a whole, compiled as it would be used, then
with the result of every node as an output, compiled quickly. Prints the largest error of each output, over the largest
magnitude that is expected in it, the first node whose result differs, and how the errors of all nodes are distributed.
The exit status is 1 where an output differs.
"""


def register(commands: Any) -> None:
    """Add the subcommand to `stepwell`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "compare",
        help="compare a model with another runtime, node by node",
        description=_DESCRIPTION,
    )
    add = parser.add_argument
    add("model", metavar="IN.onnx")
    add(
        "--against",
        choices=tuple(PEERS),
        default="onnxruntime",
        help="the other runtime; `reference` is the evaluator of the onnx package",
    )
    add_shapes(parser, "the shape of an input, where the model leaves it open")
    add(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="the value of an input",
    )
    add("--random", type=seed, default=0, metavar="SEED", help="draws the other inputs")
    add(
        "--tolerance", type=float, default=1e-4, metavar="ERROR", help="an error up to this is none"
    )
    parser.set_defaults(command=run)


@frozen
class _Error:
    """How far the value of a node is off."""

    value: NodeValue
    error: float


def run(args: argparse.Namespace) -> int:
    """Run the subcommand; its exit status."""
    from ..frontend.onnx.package import require_onnx

    require_onnx(args.model)
    from ..frontend.onnx.inspection import outputs_of, with_node_values
    from ..frontend.onnx.reading import read_model

    if not args.tolerance >= 0:
        raise StepwellError(f"found --tolerance {args.tolerance:g}, expected at least 0; mend it")
    model = read_model(args.model)
    given = {name: load_array(name, file) for name, file in pairs(args.input, "--input")}
    shapes = {name: array.shape for name, array in given.items()} | {
        name: parse_shape(text, "--shape")[0] for name, text in pairs(args.shape, "--shape")
    }
    comparison = _Comparison(args.against, shapes, given, args.random)
    whole = comparison.errors(model, outputs_of(model), "full")
    print(f"{args.model} beside {args.against}, errors over the scale of each output:")
    for found in whole:
        print(f"  {found.error:8.1e}  {found.value.name}")
    inspected, values = with_node_values(model)
    errors = comparison.errors(inspected, values, "quick")
    wrong = [found for found in errors if not found.error <= args.tolerance]
    print(f"{len(errors)} results of nodes, errors by power of ten:")
    print("\n".join(_histogram([found.error for found in errors])))
    if wrong:
        first = wrong[0].value
        print(
            f"the first that differs by more than {args.tolerance:g}: '{first.name}' of {first.kind} node "
            f"'{first.node}', {wrong[0].error:.1e}; {len(wrong)} differ in all"
        )
    return int(any(not found.error <= args.tolerance for found in (*whole, *wrong)))


@frozen
class _Comparison:
    """What a model is compared with, and the inputs for both."""

    peer: str
    shapes: Mapping[str, Sequence[int]]
    given: dict[str, Array]
    seed: int

    def errors(self, model: Model, values: Sequence[NodeValue], opt: str) -> list[_Error]:
        """The errors of a model's outputs, which are these values."""
        from ..frontend.onnx.importer import import_model

        module = import_model(model, self.shapes)
        signature = signature_of(entry_function(module, None))
        inputs = make_inputs(signature, self.given, {}, self.seed)
        names = [spec.name for spec in signature.inputs]
        expected = results_elsewhere(self.peer, model, dict(zip(names, inputs, strict=True)))
        ours: Any = Lowered(module, options=Options(opt=opt)).compile()(*inputs)
        found = cast("tuple[Array, ...]", ours if isinstance(ours, tuple) else (ours,))
        return [
            _Error(value, relative_error(own, other))
            for value, own, other in zip(values, found, expected, strict=True)
        ]


def _histogram(errors: Sequence[float]) -> list[str]:
    """A line for each power of ten that there are errors of."""
    counts = Counter(_power(error) for error in errors)
    width = max(counts.values(), default=1)
    lines: list[str] = []
    for power in sorted(counts):
        name = "equal" if power < -300 else "no number" if power > 300 else f"1e{power:+03d}"
        bar = "#" * max(1, round(40 * counts[power] / width))
        lines.append(f"  {name:>9} {counts[power]:6} {bar}")
    return lines


def _power(error: float) -> int:
    if error == 0:
        return -999
    return 999 if not np.isfinite(error) else floor(log10(error))
