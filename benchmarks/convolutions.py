"""
Convolution layers beside ONNX Runtime, OpenVINO and PyTorch: the share of the peak of multiply-adds, and who is ahead.

    python benchmarks/convolutions.py ['PATTERN' …] [--rounds N] [--target CPU] [--plans] [--markdown]

On one thread, in seconds of the processor's time. All take turns in one process with the kernel by which `stepwell probe`
measures the peak, compiled for the target, and of each the fastest turn counts: others may use the machine. Layers are in f32
with a batch of 1 and constant weights; ours have images as networks have them (n, c, h, w), each peer the layout in which it is
fastest, with nothing to convert (`convolution_peers.py`). The roof is the share of the peak that the bandwidth of the memory
allows in which the layer's arrays lie between calls. The `blocked` layers have channels in blocks of a vector here, too, and are
written as `te.compute`, with a border that is stored or read through a guard.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from statistics import geometric_mean
from time import process_time
from typing import Any

import numpy as np
from convolution_peers import peers
from layers import LAYERS, Layer

Array = np.ndarray[Any, Any]

MAX_ERROR = 1e-4
"""Of the output's scale."""

LEAST_SECONDS = 2e-3
"""Of a turn: shorter calls are repeated."""


LEAST_RATIO = 0.95
"""Of the best peer: layers below are listed."""

LIBRARIES = ("ONNX Runtime", "OpenVINO", "PyTorch")

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


def plain(layer: Layer, target: str) -> Case:
    import stepwell as sw

    image, weights = layer.arrays()

    @sw.jit(target=target)
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


def blocked_name(layer: Layer, is_guarded: bool) -> str:
    return f"{layer} blocked, {'guarded' if is_guarded else 'padded'}"


def blocked(layer: Layer, is_guarded: bool, target: str) -> Case:
    """On channels in blocks of a vector; the border is part of the image, or read through a guard."""
    import stepwell as sw
    from stepwell.driver.options import Options
    from stepwell.frontend.text import parse_text

    block = sw.Target.of(target).core.lanes(4)
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

    name = blocked_name(layer, is_guarded)
    return Case(
        name,
        layer,
        sw.Lowered(parse_text(text, "blocked.mlir"), options=Options(target)),
        arguments,
        as_plain,
    )


def _over(axes: dict[str, int]) -> str:
    return ", ".join(f"%{name} = {extent}" for name, extent in axes.items())


@dataclass(frozen=True)
class Row:
    """Shares of the peak of multiply-adds."""

    name: str
    group: str
    ours: float
    roof: float
    """what the bandwidth of the memory that image, weights and result lie in allows"""
    theirs: dict[str, float]
    layouts: dict[str, str]
    """of each library the one in which it was fastest"""
    wrong: tuple[str, ...]
    """libraries and layouts that have another result"""
    plan: str

    @property
    def ratio(self) -> float:
        """How many times as long the best of the others takes."""
        return self.ours / max(self.theirs.values())


def measure(case: Case, rounds: int, target: str) -> Row:
    run, others = case.lowered.compile(target=target, threads=1), list(peers(case.layer))
    found = case.plain(run(*case.arguments))
    wrong = tuple(
        f"{peer.library} ({peer.layout})"
        for peer in others
        if _error(found, peer.result()) > MAX_ERROR
    )
    peak, flops = multiply_adds(target)
    calls = [lambda: run(*case.arguments), peak, *(peer.call for peer in others)]
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, own in zip(calls, seconds, strict=True):
            call()
            times = max(1, int(LEAST_SECONDS / _once(call)))
            start = process_time()
            for _ in range(times):
                call()
            own.append((process_time() - start) / times)
    ours, roof, *took = map(min, seconds)
    share = case.layer.flops * roof / flops
    best: dict[str, tuple[float, str]] = {}
    for peer, one in zip(others, took, strict=True):
        best[peer.library] = min(best.get(peer.library, (one, peer.layout)), (one, peer.layout))
    return Row(
        case.name,
        case.layer.group,
        share / ours,
        min(1.0, share / _moving(case.layer)),
        {name: share / one for name, (one, _) in best.items()},
        {name: layout for name, (_, layout) in best.items()},
        wrong,
        case.lowered.plan(1),
    )


def _error(found: Array, expected: Array) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def _moving(layer: Layer) -> float:
    """Seconds in which image, weights and result come and go, each once, from where they lie between calls."""
    import stepwell as sw
    from stepwell.runtime.measure import Work, roof

    image, weights = layer.arrays()
    result = 4 * layer.outputs * layer.result**2
    return roof(Work(None, image.nbytes + weights.nbytes, result), sw.Target.of("host"), 1).seconds


def multiply_adds(target_name: str) -> tuple[Callable[[], object], float]:
    """A call of the kernel by which `stepwell probe` measures the peak, and its FLOPs."""
    import stepwell as sw
    from stepwell.runtime.probe_jobs import fma_job

    target = sw.Target.of(target_name)
    job, rounds = fma_job(target, "f32", target.vector_bits), 1 << 17
    arrays = job.arguments()
    return lambda: job.kernel(rounds, *arrays), rounds * job.work(arrays)


def _once(call: Callable[[], Any]) -> float:
    start = process_time()
    call()
    return process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="of names; by default all")
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--target", default="host", help="what ours is compiled for")
    parser.add_argument("--plans", action="store_true", help="print the plans that were taken")
    parser.add_argument("--markdown", action="store_true", help="print a table for a page")
    args = parser.parse_args()
    os.environ.setdefault("STEPWELL_CACHE", "off")
    import stepwell as sw

    try:
        sw.Target.of(args.target)
    except sw.StepwellError as error:
        parser.error(str(error))
    every = cases(args.target)
    for pattern in args.patterns:
        if not any(fnmatch(name, pattern) for name in every):
            parser.error(
                f"found no layer '{pattern}', expected names such as '{next(iter(every))}'"
            )
    if args.rounds < 1:
        parser.error(f"found {args.rounds} rounds, expected at least 1")
    print(_line(args.markdown, "layer", "% of peak", "roof", *LIBRARIES, "best"))
    if args.markdown:
        print("|---|" + "---:|" * (3 + len(LIBRARIES)))
    rows: list[Row] = []
    for name, make in every.items():
        if args.patterns and not any(fnmatch(name, pattern) for pattern in args.patterns):
            continue
        row = measure(make(), args.rounds, args.target)
        rows.append(row)
        shares = [f"{100 * share:.0f}" for share in (row.ours, row.roof)]
        shares += [f"{100 * row.theirs[other]:.0f} {row.layouts[other]}" for other in LIBRARIES]
        print(_line(args.markdown, name, *shares, f"{row.ratio:.2f}"), flush=True)
        if args.plans:
            print(row.plan, end="")
    print()
    for line in summary(rows):
        print(line)
    wrong = [f"{other} in {row.name}" for row in rows for other in row.wrong]
    if wrong:
        raise SystemExit(f"error: found other results than those of {', '.join(wrong)}")


def cases(target: str) -> dict[str, Callable[[], Case]]:
    """What makes each case, by its name."""
    makers: dict[str, Callable[[], Case]] = {
        str(each): partial(plain, each, target) for each in LAYERS
    }
    for layer in BLOCKED:
        for is_guarded in (False, True) if layer.border else (False,):
            name = blocked_name(layer, is_guarded)
            makers[name] = partial(blocked, layer, is_guarded, target)
    return makers


def summary(rows: Sequence[Row]) -> list[str]:
    """A line for each kind of layer, and one on those that are behind a peer."""
    groups = dict.fromkeys(row.group for row in rows)
    lines = [_line(False, "kind", "layers", "least %", "mean %", "least ratio", "mean ratio")]
    for group in groups:
        found = [row for row in rows if row.group == group]
        shares, ratios = [row.ours for row in found], [row.ratio for row in found]
        numbers = [f"{100 * share:.0f}" for share in (min(shares), geometric_mean(shares))]
        numbers += [f"{ratio:.2f}" for ratio in (min(ratios), geometric_mean(ratios))]
        lines.append(_line(False, group, str(len(found)), *numbers))
    behind = [f"{row.name} ({row.ratio:.2f})" for row in rows if row.ratio < LEAST_RATIO]
    return [*lines, f"below {LEAST_RATIO} of the best: {', '.join(behind) or 'none'}"]


def _line(is_markdown: bool, name: str, *numbers: str) -> str:
    if is_markdown:
        return "| " + " | ".join((name, *numbers)) + " |"
    return f"{name:32}" + "".join(f"{number:>13}" for number in numbers)


if __name__ == "__main__":
    main()
