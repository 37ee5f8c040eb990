"""
Convolution layers beside ONNX Runtime, OpenVINO and PyTorch: the share of the peak of multiply-adds, and who is ahead.

    python benchmarks/convolutions.py ['PATTERN' …] [--rounds N] [--target CPU] [--plans] [--markdown]

On one thread, in seconds of the processor's time. All take turns in one process with the kernel by which `stepwell probe`
measures the peak, compiled for the target, and of each the fastest turn counts: others may use the machine. That is done with
arrays in several places, and the medians of these shares are shown. Layers are in f32 with a batch of 1 and constant weights.
Networks keep what is inside of them in the layout that convolutions want, and so each has the layout in which it is fastest, with
nothing to convert: peers those of `convolution_peers.py`, ours images (n, c, h, w), and where channels fill vectors blocks of as many
channels with the border stored around them, as `graph-block-channels` has them. The roof is the share of the peak that the
bandwidth of the memory allows in which the layer's arrays lie between calls. The layers that are called blocked are on blocks of
channels alone, with a border that is stored or read through a guard.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from statistics import geometric_mean, median
from time import process_time
from typing import Any

import numpy as np
from convolution_peers import Peer, peers
from layers import LAYERS, Layer, placed

Array = np.ndarray[Any, Any]

MAX_ERROR = 1e-4
"""Of the output's scale."""

LEAST_SECONDS = 2e-3
"""Of a turn: shorter calls are repeated."""


PLACEMENTS = 3
"""How often all arrays are made anew: which pages they come to lie on changes what a layer takes by several percent."""

LEAST_RATIO = 0.95
"""Of the best peer: layers below are listed."""

LIBRARIES = ("ONNX Runtime", "OpenVINO", "PyTorch")

BLOCKED = (Layer(64, 64, 56, 3), Layer(128, 128, 28, 3), Layer(64, 64, 56, 1))
"""Those that are run on blocked channels, too."""


OURS = "Stepwell"


@dataclass(frozen=True)
class Form:
    """How a layer is written, and what it is computed from here."""

    layout: str
    lowered: Any
    arguments: Sequence[Array]
    plain: Callable[[Array], Array]
    """the result as networks have it, (n, c, h, w)"""


@dataclass(frozen=True)
class Case:
    """A layer in all forms of which the fastest counts."""

    name: str
    layer: Layer
    forms: Sequence[Form]


def plain(layer: Layer, target: str) -> Form:
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

    return Form("nchw", convolution.lower(image), [image], np.asarray)


def fills_blocks(layer: Layer, target: str) -> bool:
    """Whether channels and outputs are whole blocks of a vector."""
    import stepwell as sw

    block = sw.Target.of(target).core.lanes(4)
    return layer.groups == 1 and not (layer.channels % block or layer.outputs % block)


def blocked(layer: Layer, is_guarded: bool, target: str) -> Form:
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
    arguments = [placed(x), placed(w)]
    parallel = {"n": 1, "f": shape[0], "oh": layer.result, "ow": layer.result, "l": block}
    summed = {"c": shape[2], "kh": layer.kernel, "kw": layer.kernel, "cl": block}
    before = low if is_guarded else 0
    place = [f"%o{a} * {layer.stride} + %k{a} * {layer.dilation} - {before}" for a in "hw"]
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

    module = parse_text(text, "blocked.mlir")
    return Form("blocked", sw.Lowered(module, options=Options(target)), arguments, as_plain)


def _over(axes: dict[str, int]) -> str:
    return ", ".join(f"%{name} = {extent}" for name, extent in axes.items())


@dataclass(frozen=True)
class Row:
    """Shares of the peak of multiply-adds."""

    name: str
    group: str
    roof: float
    """what the bandwidth of the memory that image, weights and result lie in allows"""
    shares: dict[str, float]
    """of each library, ours among them"""
    layouts: dict[str, str]
    """the one in which it was fastest"""
    wrong: tuple[str, ...]
    """libraries and layouts that have another result"""
    plans: str

    @property
    def ours(self) -> float:
        return self.shares[OURS]

    @property
    def ratio(self) -> float:
        """How many times as long the best of the others takes."""
        return self.ours / max(share for name, share in self.shares.items() if name != OURS)


def measure(case: Case, rounds: int, target: str) -> Row:
    """The medians of shares over placements: how fast a layer runs depends on which pages its arrays come to lie on."""
    runs = [form.lowered.compile(target=target, threads=1) for form in case.forms]
    kernel = multiply_adds(target)
    each = [_placed(case, runs, kernel, -(-rounds // PLACEMENTS)) for _ in range(PLACEMENTS)]
    shares: dict[str, float] = {}
    layouts: dict[str, str] = {}
    for library, layout in each[0].shares:
        share = median(one.shares[library, layout] for one in each)
        if share > shares.get(library, 0.0):
            shares[library], layouts[library] = share, layout
    return Row(
        case.name,
        case.layer.group,
        min(1.0, median(one.roof for one in each)),
        shares,
        layouts,
        tuple(dict.fromkeys(name for one in each for name in one.wrong)),
        "".join(form.lowered.plan(1) for form in case.forms),
    )


@dataclass(frozen=True)
class Placed:
    """Shares of the peak with arrays in one place, by library and layout."""

    roof: float
    shares: dict[tuple[str, str], float]
    wrong: tuple[str, ...]


def _placed(
    case: Case, runs: Sequence[Any], kernel: tuple[Callable[[], object], float], rounds: int
) -> Placed:
    """Of each the fastest of so many turns, all with arrays of their own that are made here."""
    contestants = [*_ours(case, runs), *peers(case.layer)]
    peak, flops = kernel
    expected = contestants[0].result()
    wrong = tuple(
        f"{one.library} ({one.layout})"
        for one in contestants[1:]
        if _error(expected, one.result()) > MAX_ERROR
    )
    calls = [peak, *(one.call for one in contestants)]
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, own in zip(calls, seconds, strict=True):
            call()
            times = max(1, int(LEAST_SECONDS / _once(call)))
            start = process_time()
            for _ in range(times):
                call()
            own.append((process_time() - start) / times)
    roof, *took = map(min, seconds)
    share = case.layer.flops * roof / flops
    return Placed(
        share / _moving(case.layer),
        {(c.library, c.layout): share / one for c, one in zip(contestants, took, strict=True)},
        wrong,
    )


def _ours(case: Case, runs: Sequence[Any]) -> Iterator[Peer]:
    for form, run in zip(case.forms, runs, strict=True):
        call = partial(run, *map(placed, form.arguments))
        yield Peer(OURS, form.layout, call, lambda form=form, call=call: form.plain(call()))


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
    parser.add_argument(
        "--rounds", type=int, default=42, help="turns of each, in all places (default: %(default)s)"
    )
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
        shares = [f"{100 * row.shares[n]:.0f} {row.layouts[n]}" for n in (OURS, *LIBRARIES)]
        shares.insert(1, f"{100 * row.roof:.0f}")
        print(_line(args.markdown, name, *shares, f"{row.ratio:.2f}"), flush=True)
        if args.plans:
            print(row.plans, end="")
    print()
    for line in summary(rows):
        print(line)
    wrong = [f"{other} in {row.name}" for row in rows for other in row.wrong]
    if wrong:
        raise SystemExit(f"error: found other results than those of {', '.join(wrong)}")


def cases(target: str) -> dict[str, Callable[[], Case]]:
    """What makes each case, by its name."""
    makers: dict[str, Callable[[], Case]] = {
        str(layer): partial(_every_layout, layer, target) for layer in LAYERS
    }
    for layer in BLOCKED:
        for is_guarded in (False, True) if layer.border else (False,):
            name = f"{layer} blocked, {'guarded' if is_guarded else 'padded'}"
            makers[name] = partial(_in_blocks, name, layer, is_guarded, target)
    return makers


def _every_layout(layer: Layer, target: str) -> Case:
    forms = [plain(layer, target)]
    forms += [blocked(layer, False, target)] if fills_blocks(layer, target) else []
    return Case(str(layer), layer, forms)


def _in_blocks(name: str, layer: Layer, is_guarded: bool, target: str) -> Case:
    return Case(name, layer, [blocked(layer, is_guarded, target)])


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
