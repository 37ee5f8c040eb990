"""
Convolution layers beside ONNX Runtime: the share of the peak of multiply-adds, and who is ahead.

    python benchmarks/convolutions.py ['PATTERN' …] [--rounds N] [--plans] [--markdown]

On one thread, in seconds of the processor's time. Both take turns in one process with the kernel by which
`stepwell probe` measures the peak, and of each the fastest turn counts: others may use the machine. Layers are in f32
with a batch of 1 and constant weights, images as networks have them (n, c, h, w). The `blocked` ones have channels in
blocks of a vector and are written as `te.compute`, with a border that is stored or read through a guard; ONNX Runtime
runs the plain layer of the same size.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from time import process_time
from typing import Any

import numpy as np
from layers import LAYERS, Layer

Array = np.ndarray[Any, Any]

MAX_ERROR = 1e-4
"""Of the output's scale."""

LEAST_SECONDS = 2e-3
"""Of a turn: shorter calls are repeated."""


BLOCKED = (Layer(64, 64, 56, 3), Layer(128, 128, 28, 3), Layer(64, 64, 56, 1))
"""Those that are run on blocked channels, too."""


@dataclass(frozen=True)
class Case:
    """A layer, how it is written, and what computes it here from its image."""

    name: str
    layer: Layer
    lowered: Any
    arguments: Sequence[Array]
    plain: Callable[[Array], Array]
    """the result as networks have it, (n, c, h, w)"""


def plain(layer: Layer) -> Case:
    import stepwell as sw

    image, weights = layer.arrays()

    @sw.jit
    def convolution(x: Any) -> Any:
        return sw.conv(
            x,
            weights,
            stride=layer.stride,
            padding=layer.border,
            dilation=layer.dilation,
            groups=layer.groups,
        )

    return Case(str(layer), layer, convolution.lower(image), [image], np.asarray)


def blocked(layer: Layer, is_guarded: bool) -> Case:
    """On channels in blocks of a vector; the border is part of the image, or read through a guard."""
    import stepwell as sw
    from stepwell.frontend.text import parse_text

    block = sw.Target.of("host").core.lanes(4)
    image, weights = layer.arrays()
    low = layer.border
    x = image.reshape(1, -1, block, *image.shape[2:]).transpose(0, 1, 3, 4, 2)
    if not is_guarded:
        x = np.pad(x, [(0, 0), (0, 0), (low, low), (low, low), (0, 0)])
    shape = (layer.outputs // block, block, layer.channels // block, block)
    w = weights.reshape(*shape, *weights.shape[2:]).transpose(0, 2, 4, 5, 3, 1)
    arguments = [np.ascontiguousarray(x), np.ascontiguousarray(w)]
    parallel = {"n": 1, "f": shape[0], "oh": layer.result, "ow": layer.result, "l": block}
    summed = {"c": shape[2], "kh": layer.kernel, "kw": layer.kernel, "cl": block}
    place = [f"%o{a} * {layer.stride} + %k{a} - {low if is_guarded else 0}" for a in "hw"]
    outside = " else 0.0 : f32" if is_guarded and low else ""
    types = [f"tensor<{'x'.join(map(str, each.shape))}xf32>" for each in arguments]
    y = f"tensor<{'x'.join(map(str, parallel.values()))}xf32>"
    text = f"""
        func.func @blocked(%x: {types[0]}, %w: {types[1]}) -> {y} {{
          %y = te.compute [{_over(parallel)}] add [{_over(summed)}] (
              %a = %x[%n, %c, {", ".join(place)}, %cl]{outside},
              %b = %w[%f, %c, %kh, %kw, %cl, %l]) : ({", ".join(types)}) -> {y} {{
            %p = arith.mulf %a, %b : f32
            te.yield %p : f32
          }}
          func.return %y : {y}
        }}"""

    def as_plain(found: Array) -> Array:
        shape = (1, layer.outputs, layer.result, layer.result)
        return np.asarray(found).transpose(0, 1, 4, 2, 3).reshape(shape)

    name = f"{layer} blocked, {'guarded' if is_guarded else 'padded'}"
    return Case(name, layer, sw.Lowered(parse_text(text, "blocked.mlir")), arguments, as_plain)


def _over(axes: dict[str, int]) -> str:
    return ", ".join(f"%{name} = {extent}" for name, extent in axes.items())


def session(layer: Layer) -> Callable[[], Array]:
    """A call of the layer in ONNX Runtime."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    image, weights = layer.arrays()
    node = helper.make_node(
        "Conv",
        ["x", "w"],
        ["y"],
        strides=[layer.stride] * 2,
        pads=[layer.border] * 4,
        dilations=[layer.dilation] * 2,
        group=layer.groups,
    )
    graph = helper.make_graph(
        [node],
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, image.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    run = onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"]
    ).run
    return lambda: run(None, {"x": image})[0]


@dataclass(frozen=True)
class Row:
    name: str
    ours: float
    """share of the peak"""
    theirs: float
    error: float
    plan: str


def measure(case: Case, rounds: int) -> Row:

    run, peer = case.lowered.compile(threads=1), session(case.layer)
    expected = peer()
    found = case.plain(run(*case.arguments))
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    peak, flops = multiply_adds()
    calls = (lambda: run(*case.arguments), peer, peak)
    seconds: tuple[list[float], ...] = ([], [], [])
    for _ in range(rounds):
        for call, own in zip(calls, seconds, strict=True):
            call()
            times = max(1, int(LEAST_SECONDS / _once(call)))
            start = process_time()
            for _ in range(times):
                call()
            own.append((process_time() - start) / times)
    *both, roof = map(min, seconds)
    ours, theirs = (case.layer.flops / took * roof / flops for took in both)
    return Row(case.name, ours, theirs, error, case.lowered.plan(1))


def multiply_adds() -> tuple[Callable[[], object], float]:
    """A call of the kernel by which `stepwell probe` measures the peak, and its FLOPs."""
    import stepwell as sw
    from stepwell.runtime.probe_jobs import fma_job

    target = sw.Target.of("host")
    job, rounds = fma_job(target, "f32", target.vector_bits), 1 << 14
    arrays = job.arguments()
    return lambda: job.kernel(rounds, *arrays), rounds * job.work(arrays)


def _once(call: Callable[[], Any]) -> float:
    start = process_time()
    call()
    return process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="of names; by default all")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--plans", action="store_true", help="print the plans that were taken")
    parser.add_argument("--markdown", action="store_true", help="print a table for a page")
    args = parser.parse_args()
    os.environ.setdefault("STEPWELL_CACHE", "off")
    makers: list[tuple[str, Callable[[], Case]]]
    makers = [(str(layer), lambda layer=layer: plain(layer)) for layer in LAYERS]
    for layer in BLOCKED:
        for guarded in (False, True) if layer.border else (False,):
            name = f"{layer} blocked, {'guarded' if guarded else 'padded'}"
            makers.append((name, lambda layer=layer, guarded=guarded: blocked(layer, guarded)))
    print(_line(args.markdown, "layer", "% of peak", "ORT %", "ratio"))
    if args.markdown:
        print("|---|---:|---:|---:|")
    wrong = []
    for name, make in makers:
        if args.patterns and not any(fnmatch(name, pattern) for pattern in args.patterns):
            continue
        row = measure(make(), args.rounds)
        shares = (f"{100 * share:.0f}" for share in (row.ours, row.theirs))
        print(_line(args.markdown, name, *shares, f"{row.ours / row.theirs:.2f}"), flush=True)
        if args.plans:
            print(row.plan, end="")
        wrong += [name] if row.error > MAX_ERROR else []
    if wrong:
        raise SystemExit(f"error: found other results than ONNX Runtime's for {', '.join(wrong)}")


def _line(is_markdown: bool, name: str, *numbers: str) -> str:
    if is_markdown:
        return "| " + " | ".join((name, *numbers)) + " |"
    return f"{name:32}" + "".join(f"{number:>11}" for number in numbers)


if __name__ == "__main__":
    main()
