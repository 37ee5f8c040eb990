"""
How long a stack of equal layers of a transformer takes to compile, beside one of them.

    python benchmarks/stacked_layers.py [--layers N] [--rounds N] [--threads N]

Encoder layers of 128 tokens, width 768, 12 heads and inner width 3072, each with weights of its own, that normalise what they
take (`first`) or what they give (`last`, as BERT's do). Each program is compiled in a process of its own, which has the
package's bytecode and no cache; one layer and the stack take turns. Wall seconds are those of the first call, of
`sw.jit(stack)(x)`, less those of the second one; CPU seconds are those of the process, with its threads, and of those it
starts, likewise. The rows are medians. Kernels are the
calls of one layer, the distinct ones functions, copies those without arithmetic, and memory is the arena over the most bytes
that are alive at once. The error is how far results are from those of layers that are called one by one, in parts of the
largest one.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import subprocess
import sys
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from model_start import NOT_INSTALLED, ROOT, counts_of

LENGTH, WIDTH, HEADS, INNER = 128, 768, 12, 3072
NORMS = ("first", "last")
COLUMNS = ("wall", "cpu")

Weights = dict[str, np.ndarray]


def weights_of(generator: np.random.Generator) -> Weights:
    """Those of one layer."""
    shapes: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("query", "key", "value", "out"), (WIDTH, WIDTH)),
        **{f"{name}_bias": (WIDTH,) for name in ("query", "key", "value", "out", "outer")},
        **dict.fromkeys(("scale_1", "shift_1", "scale_2", "shift_2"), (WIDTH,)),
        "inner": (WIDTH, INNER),
        "inner_bias": (INNER,),
        "outer": (INNER, WIDTH),
    }
    return {
        name: generator.standard_normal(shape, np.float32) / np.float32(np.sqrt(shape[0]))
        for name, shape in shapes.items()
    }


def layer(x: Any, w: Any, norm: str) -> Any:
    if norm == "first":
        x = x + attention(normalised(x, w, 1), w)
        return x + feed_forward(normalised(x, w, 2), w)
    x = normalised(x + attention(x, w), w, 1)
    return normalised(x + feed_forward(x, w), w, 2)


def normalised(x: Any, w: Any, number: int) -> Any:
    import stepwell as sw

    return sw.layer_norm(x, w[f"scale_{number}"], w[f"shift_{number}"])


def attention(x: Any, w: Any) -> Any:
    import stepwell as sw

    def heads(name: str) -> Any:
        made = x @ w[name] + w[f"{name}_bias"]
        return made.reshape(LENGTH, HEADS, WIDTH // HEADS).transpose(1, 0, 2)

    scores = heads("query") @ heads("key").transpose(0, 2, 1) / np.float32(np.sqrt(WIDTH // HEADS))
    mixed = sw.softmax(scores, axis=-1) @ heads("value")
    return mixed.transpose(1, 0, 2).reshape(LENGTH, WIDTH) @ w["out"] + w["out_bias"]


def feed_forward(x: Any, w: Any) -> Any:
    import stepwell as sw

    return sw.gelu(x @ w["inner"] + w["inner_bias"]) @ w["outer"] + w["outer_bias"]


def first_result(norm: str, layers: int, threads: int) -> dict[str, Any]:
    """What one process measures."""
    import stepwell as sw

    generator = np.random.default_rng(0)
    weights = [weights_of(generator) for _ in range(layers)]
    x = generator.standard_normal((LENGTH, WIDTH), np.float32)

    def stack(x: Any) -> Any:
        for each in weights:
            x = layer(x, each, norm)
        return x

    run = sw.jit(stack, threads=threads, cache=False)
    clocks = [(perf_counter(), sum(os.times()[:4]))]
    for _ in range(2):
        found = run(x)
        clocks.append((perf_counter(), sum(os.times()[:4])))
    first, second = (np.subtract(after, before) for before, after in pairwise(clocks))
    seconds = dict(zip(COLUMNS, (first - second).tolist(), strict=True))
    alone = sw.jit(lambda x, w: layer(x, w, norm), threads=threads, cache=False)
    for each in weights:
        x = alone(x, each)
    return {
        **seconds,
        **counts_of(run.lower(x)),
        "error": float(np.abs(found - x).max() / np.abs(x).max()),
    }


def in_child(norm: str, layers: int, threads: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", norm]
    command += ["--layers", str(layers), "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"error: {layers} layers did not run: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def row(norm: str, layers: int, rounds: int, threads: int) -> str:
    turns = [[in_child(norm, count, threads) for count in (1, layers)] for _ in range(rounds)]
    one, many = (
        {name: median(turn[of][name] for turn in turns) for name in COLUMNS} for of in (0, 1)
    )
    columns = "".join(
        f"{one[name]:>8.2f}{many[name]:>8.2f}{many[name] / one[name]:>7.2f}" for name in COLUMNS
    )
    counts = turns[0][1]
    return (
        f"{norm:<8}{columns}{counts['kernels'] // layers:>9}{counts['distinct']:>9}{counts['copies']:>8}"
        f"{counts['memory']:>8.2f}{max(turn[1]['error'] for turn in turns):>9.0e}"
    )


def positive(text: str) -> int:
    """A number of at least 1. Raises ArgumentTypeError for what is none."""
    if text.isascii() and text.isdigit() and int(text[:6]) > 0 and len(text) < 6:
        return int(text)
    raise argparse.ArgumentTypeError(f"found '{text[:40]}', expected a number from 1 to 99999")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--layers", type=positive, default=12, help="of the stack (12)")
    parser.add_argument("--rounds", type=positive, default=3, help="turns of each program (3)")
    parser.add_argument("--threads", type=positive, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--child", choices=NORMS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(first_result(args.child, args.layers, args.threads)))
        return
    compileall.compile_dir(ROOT, quiet=1, rx=NOT_INSTALLED)
    one = "1 layer"
    both = "".join(f"{one:>8}{args.layers:>8}{'ratio':>7}" for _ in COLUMNS)
    print(f"{'':<8}{'wall s':>23}{'CPU s':>23}\n{'norm':<8}{both}", end="")
    print(f"{'kernels':>9}{'distinct':>9}{'copies':>8}{'memory':>8}{'error':>9}")
    for norm in NORMS:
        print(row(norm, args.layers, args.rounds, args.threads), flush=True)


if __name__ == "__main__":
    main()
