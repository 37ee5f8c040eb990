"""
`stepwell bench MODEL.onnx --layers`: the kernels of a model, a file or one of a suite's, beside those of ONNX Runtime.

Both runtimes fuse nodes, each in its own way, and call what comes out after the node or the tensor that it ends with. A
kernel of theirs belongs to the first of ours whose result is made of its result; kernels of ours to which none belongs
share a row of the table with the first one that uses them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.signature import entry_function, signature_of
from ..driver.options import Options
from ..errors import StepwellError
from ..frontend.lowered import Lowered
from ..frontend.profile import Profiler
from ..frontend.text import make_context
from ..frozen import frozen
from .bench_case import Request, case_of
from .bench_models import ModelFile, import_for
from .bench_peers import settings
from .load_program import load_program
from .run import make_inputs

if TYPE_CHECKING:
    from onnx import ModelProto

Array = np.ndarray[Any, Any]

LEAST_ROUNDS = 5
"""Runs of either, of which the least times of kernels are taken: others may use the machine."""


@frozen
class Timed:
    """A kernel, the node or tensor that it ends with, and the seconds it took."""

    name: str
    end: str
    seconds: float


@dataclass
class Layer:
    """Kernels of both that compute the same."""

    name: str
    """the node that it ends with"""
    ours: list[Timed] = field(default_factory=list[Timed])
    theirs: list[Timed] = field(default_factory=list[Timed])

    @property
    def our_seconds(self) -> float:
        return sum(kernel.seconds for kernel in self.ours)

    @property
    def their_seconds(self) -> float:
        return sum(kernel.seconds for kernel in self.theirs)


def show_layers(request: Request, options: Options, seconds: float) -> None:
    """
    Print the table of a model's layers.

    Both runtimes run it by turns, in this process, `seconds` each; the least time of each kernel counts. Raises
    StepwellError where the program is no model that both can run.
    """
    if not find_spec("onnxruntime"):
        raise StepwellError("found no onnxruntime, expected it installed; install it for --layers")
    model = _of_suite(request, options) if request.in_suite else _of_file(request, options)
    ours = Profiler(model.lowered, options.threads)
    with TemporaryDirectory() as folder:
        peer = _OnnxRuntime(model.proto, model.feeds, options.threads, Path(folder))
        ours.run(*model.inputs)
        peer.run()
        start = perf_counter()
        while len(ours) <= LEAST_ROUNDS or perf_counter() - start < 2 * seconds:
            ours.run(*model.inputs)
            peer.run()
        own = [
            Timed(time.kernel, time.source.removeprefix(f"{model.path}: "), time.seconds)
            for time in ours.times(min)
        ]
        layers = matched(model.proto, own, peer.times())
    _print_table(layers)


@frozen
class _Model:
    """A model for both: what ours is called with, and by name what ONNX Runtime is."""

    path: str
    proto: ModelProto
    lowered: Lowered
    inputs: Sequence[Array]
    feeds: Mapping[str, Array]


def _of_file(request: Request, options: Options) -> _Model:
    path = request.program
    program = load_program(path, make_context(), shapes=request.shapes)
    if program.model is None:
        raise StepwellError(
            "found a program that is no ONNX model, expected one for --layers; use `stepwell profile`",
            where=path,
        )
    signature = signature_of(entry_function(program.module, None))
    inputs = make_inputs(signature, {}, {}, 0)
    feeds = {spec.name: array for spec, array in zip(signature.inputs, inputs, strict=True)}
    lowered = Lowered(program.module, name=path, options=options)
    return _Model(path, program.model.proto, lowered, inputs, feeds)


def _of_suite(request: Request, options: Options) -> _Model:
    case = case_of(request)
    file = case.ours
    if not isinstance(file, ModelFile):
        raise StepwellError(
            f"found '{case.name}', which is no ONNX model, expected one for --layers; name a model of the suite, or a file",
            where=request.suite,
        )
    imported = import_for(file, case.arguments, options)
    feeds = dict(zip(imported.arguments, imported.arrays, strict=True)) | dict(file.constants)
    return _Model(str(file.path), file.proto(), imported.lowered, imported.arrays, feeds)


class _OnnxRuntime:
    """A session that keeps the time of each of its kernels."""

    def __init__(self, model: ModelProto, feeds: Mapping[str, Array], threads: int, folder: Path):
        ort: Any = import_module("onnxruntime")
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = settings("onnxruntime", threads)["intra_op_num_threads"]
        options.enable_profiling = True
        options.profile_file_prefix = str(folder / "profile")
        self.session = ort.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        names = {one.name for one in self.session.get_inputs()}
        self.feeds = {name: array for name, array in feeds.items() if name in names}

    def run(self) -> None:
        self.session.run(None, self.feeds)

    def times(self) -> list[Timed]:
        """The kernels in the order in which they run, with the least time of each over all runs but the first."""
        events = json.loads(Path(self.session.end_profiling()).read_text())
        found: dict[tuple[str, str], list[float]] = {}
        for event in events:
            name: str = event["name"]
            if event.get("cat") == "Node" and name.endswith("_kernel_time"):
                key = (name.removesuffix("_kernel_time"), event["args"].get("op_name", ""))
                found.setdefault(key, []).append(event["dur"] * 1e-6)
        return [
            Timed(kind, name.removesuffix("_nchwc"), min(seconds[1:] or seconds))
            for (name, kind), seconds in found.items()
        ]


def matched(model: ModelProto, ours: Sequence[Timed], theirs: Sequence[Timed]) -> list[Layer]:
    """The kernels of both that compute the same parts of a model, in the order in which ours run."""
    nodes = _Nodes(model)
    ends = [nodes.place(kernel.end) for kernel in ours]
    covered = [nodes.before(end) for end in ends]
    layers = [Layer(kernel.end, [kernel]) for kernel in ours]
    place: int | None = None
    for kernel in theirs:
        # What is called by no name of the model, as a reordering of a tensor, goes with what ran before it.
        own = nodes.place(kernel.end)
        place = place if own is None else own
        first = next((n for n, own in enumerate(covered) if place in own), len(layers) - 1)
        layers[first].theirs.append(kernel)
    for n, layer in enumerate(layers):
        later = (m for m in range(n + 1, len(layers)) if ends[n] in covered[m])
        if not layer.theirs and (user := next(later, None)) is not None:
            layers[user].ours = [*layer.ours, *layers[user].ours]
            layer.ours = []
    return [layer for layer in layers if layer.ours]


class _Nodes:
    """The nodes of a model by their number, and by what they and their results are called."""

    def __init__(self, model: ModelProto):
        from ..frontend.onnx.node import label_of

        self.places = {
            name: number
            for number, node in enumerate(model.graph.node)
            for name in (*node.output, node.name, label_of(node, ""))
            if name
        }
        producers = {out: n for n, node in enumerate(model.graph.node) for out in node.output}
        self.sources = [
            {producers[name] for name in node.input if name in producers}
            for node in model.graph.node
        ]

    def place(self, name: str) -> int | None:
        """The number of the node that a kernel is called after, by itself or in several words."""
        words = (name, *reversed(name.split()))
        return next((self.places[word] for word in words if word in self.places), None)

    def before(self, place: int | None) -> set[int]:
        """The node, and all whose results it is made of."""
        found: set[int] = set() if place is None else {place}
        waiting = [*found]
        while waiting:
            new = self.sources[waiting.pop()] - found
            found |= new
            waiting += new
        return found


def _print_table(layers: Sequence[Layer]) -> None:
    from rich.console import Console
    from rich.table import Table

    ours, theirs = (
        sum(layer.our_seconds for layer in layers),
        sum(layer.their_seconds for layer in layers),
    )
    table = Table(box=None, show_footer=True, pad_edge=False)
    table.add_column("layer", "total")
    table.add_column("us", f"{ours * 1e6:.1f}", justify="right")
    table.add_column("ORT us", f"{theirs * 1e6:.1f}", justify="right")
    table.add_column("ratio", f"{theirs / ours:.2f}" if ours else "", justify="right")
    table.add_column("lost us", f"{(ours - theirs) * 1e6:.1f}", justify="right")
    table.add_column("kernels")
    table.add_column("ORT's")
    for layer in layers:
        own, other = layer.our_seconds, layer.their_seconds
        table.add_row(
            layer.name,
            f"{own * 1e6:.1f}",
            f"{other * 1e6:.1f}",
            f"{other / own:.2f}" if own else "",
            f"{(own - other) * 1e6:.1f}",
            ", ".join(kernel.name for kernel in layer.ours),
            ", ".join(kernel.name for kernel in layer.theirs),
        )
    Console(width=None if Console().is_terminal else 200).print(table)
