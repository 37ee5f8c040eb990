"""
Small numerical programs against NumPy, JAX and PyTorch, on one thread.

    python benchmarks/programs.py [PROGRAM ...] [--rounds N] [--against numpy,jax,torch]

Each library runs in a process of its own that stays; the processes take turns, and of each the median of its turns
counts. Prints milliseconds, and how many times as long the best of the others takes as Stepwell. Pin it to one core
(`taskset -c 1`) where others use the machine. Libraries that are not installed are left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

Array = Any  # of any of the libraries
F32 = np.float32
LIBRARIES = ("stepwell", "numpy", "jax", "torch")
SECONDS_A_TURN = 0.05

# The programs, over a library that has NumPy's functions.


def mandelbrot(lib: Any, re: Array, im: Array) -> Array:
    """How many of twenty iterations stay within the circle of radius 2."""
    x, y, count = re * 0, re * 0, re * 0
    for _ in range(20):
        xx, yy = x * x, y * y
        inside = xx + yy <= 4
        count = lib.where(inside, count + 1, count)
        x, y = lib.where(inside, xx - yy + re, x), lib.where(inside, 2 * x * y + im, y)
    return count


def n_body(lib: Any, x: Array, y: Array, z: Array, mass: Array) -> tuple[Array, ...]:
    """The gravitational acceleration of each body by all others."""
    dx, dy, dz = (p[None, :] - p[:, None] for p in (x, y, z))
    square = dx * dx + dy * dy + dz * dz + F32(1e-3)
    pull = mass[None, :] / (square * lib.sqrt(square))
    return tuple(lib.sum(d * pull, axis=1) for d in (dx, dy, dz))


def black_scholes(
    lib: Any, spot: Array, strike: Array, time: Array, rate: Array, vol: Array
) -> tuple[Array, ...]:
    """The price of a call option, its delta and its vega, with the logistic approximation of the normal distribution."""
    root = lib.sqrt(time)
    d1 = (lib.log(spot / strike) + (rate + vol * vol * F32(0.5)) * time) / (vol * root)
    d2 = d1 - vol * root

    def normal(d: Array) -> Array:
        return 1 / (1 + lib.exp(F32(-1.5976) * d - F32(0.07056) * d * d * d))

    delta = normal(d1)
    price = spot * delta - strike * lib.exp(-rate * time) * normal(d2)
    vega = spot * root * F32(0.39894228) * lib.exp(F32(-0.5) * d1 * d1)
    return price, delta, vega


def distances(lib: Any, x: Array, y: Array) -> Array:
    """The squared distance of each point to each."""
    return lib.sum((x[:, None] - y[None]) ** 2, axis=-1)


def k_means(lib: Any, points: Array, centres: Array) -> Array:
    """One step: each point to the nearest centre, each centre to the mean of its points."""
    nearest = lib.argmin(lib.sum((points[:, None] - centres[None]) ** 2, axis=-1), axis=1)
    is_own = (nearest[:, None] == lib.arange(centres.shape[0])[None]).astype(F32)
    count = lib.maximum(lib.sum(is_own, axis=0), F32(1))
    return (is_own.T @ points) / count[:, None]


def rms_norm(lib: Any, x: Array, residual: Array, weight: Array) -> tuple[Array, Array]:
    """The sum with the residual, and its normalisation."""
    total = x + residual
    scale = 1 / lib.sqrt(lib.mean(total * total, axis=-1, keepdims=True) + F32(1e-6))
    return total, total * scale * weight


def cross_entropy(lib: Any, logits: Array, labels: Array) -> Array:
    """Of labels that are made one-hot."""
    one_hot = (labels[:, None] == lib.arange(logits.shape[1])[None]).astype(F32)
    shifted = logits - lib.max(logits, axis=-1, keepdims=True)
    logs = shifted - lib.log(lib.sum(lib.exp(shifted), axis=-1, keepdims=True))
    return -lib.mean(lib.sum(one_hot * logs, axis=-1))


def embedding(lib: Any, table: Array, tokens: Array) -> Array:
    return table[tokens]


# The same as PyTorch has them, where its functions are others.


def torch_distances(torch: Any, x: Array, y: Array) -> Array:
    return torch.cdist(x, y, compute_mode="use_mm_for_euclid_dist") ** 2


def torch_k_means(torch: Any, points: Array, centres: Array) -> Array:
    nearest = torch.argmin(torch.cdist(points, centres), dim=1)
    sums = torch.zeros_like(centres).index_add_(0, nearest, points)
    count = torch.bincount(nearest, minlength=centres.shape[0]).clamp(min=1)
    return sums / count[:, None]


def torch_rms_norm(torch: Any, x: Array, residual: Array, weight: Array) -> tuple[Array, Array]:
    total = x + residual
    return total, torch.nn.functional.rms_norm(total, weight.shape, weight, 1e-6)


def torch_cross_entropy(torch: Any, logits: Array, labels: Array) -> Array:
    return torch.nn.functional.cross_entropy(logits, labels)


def torch_embedding(torch: Any, table: Array, tokens: Array) -> Array:
    return torch.nn.functional.embedding(tokens, table)


@dataclass(frozen=True)
class Program:
    function: Callable[..., Any]
    inputs: Callable[[np.random.Generator], tuple[np.ndarray, ...]]
    torch: Callable[..., Any] | None = None


def _normal(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    return lambda rng: tuple(rng.standard_normal(shape).astype(F32) for shape in shapes)


def _positive(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    return lambda rng: tuple((rng.random(shape) + 0.5).astype(F32) for shape in shapes)


def _numbered(
    shape: tuple[int, int], least: int, count: int
) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    return lambda rng: (
        rng.standard_normal(shape).astype(F32),
        rng.integers(0, least, count).astype(np.int64),
    )


PROGRAMS = {
    "mandelbrot": Program(mandelbrot, _normal((512, 512), (512, 512))),
    "n-body": Program(n_body, _positive((1000,), (1000,), (1000,), (1000,))),
    "black-scholes": Program(black_scholes, _positive(*[(200_000,)] * 5)),
    "distances": Program(distances, _normal((1000, 64), (1000, 64)), torch_distances),
    "k-means": Program(k_means, _normal((10_000, 32), (16, 32)), torch_k_means),
    "rms-norm": Program(rms_norm, _normal((512, 1024), (512, 1024), (1024,)), torch_rms_norm),
    "cross-entropy": Program(cross_entropy, _numbered((512, 1000), 1000, 512), torch_cross_entropy),
    "embedding": Program(embedding, _numbered((10_000, 256), 10_000, 4096), torch_embedding),
}


# One library, in a process of its own.


def _call(library: str, program: Program, inputs: tuple[np.ndarray, ...]) -> Callable[[], Any]:
    """What is timed."""
    if library == "stepwell":
        import stepwell as sw

        executable = sw.jit(lambda *xs: program.function(sw, *xs)).lower(*inputs).compile(threads=1)
        return lambda: executable(*inputs)
    if library == "jax":
        import jax

        jitted = jax.jit(lambda *xs: program.function(jax.numpy, *xs))
        arrays = [jax.numpy.asarray(x) for x in inputs]
        return lambda: jax.block_until_ready(jitted(*arrays))
    if library == "torch":
        import torch

        torch.set_num_threads(1)
        function = program.torch or program.function
        tensors = [torch.from_numpy(x) for x in inputs]
        return lambda: function(torch, *tensors)
    return lambda: program.function(np, *inputs)


def work(library: str, name: str) -> None:
    """Answer each line of the input with the milliseconds of a call, the median of a turn."""
    program = PROGRAMS[name]
    call = _call(library, program, program.inputs(np.random.default_rng(0)))
    call()
    print("ready", flush=True)
    for _ in sys.stdin:
        times: list[float] = []
        while not times or sum(times) < SECONDS_A_TURN:
            start = perf_counter()
            call()
            times.append(perf_counter() - start)
        print(median(times) * 1e3, flush=True)


# All of them.


def _start(library: str, name: str) -> subprocess.Popen[str]:
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    return subprocess.Popen(
        [sys.executable, __file__, "--work", library, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **one, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
    )


def measured(name: str, libraries: list[str], rounds: int) -> dict[str, float]:
    """Milliseconds of a program by library, the median of so many turns."""
    workers = {library: _start(library, name) for library in libraries}
    times: dict[str, list[float]] = {library: [] for library in libraries}
    for worker in workers.values():
        assert worker.stdout is not None
        if worker.stdout.readline() != "ready\n":
            raise SystemExit(f"error: a process for '{name}' ended before it was ready; see above")
    for _ in range(rounds):
        for library, worker in workers.items():
            assert worker.stdin is not None and worker.stdout is not None
            print(file=worker.stdin, flush=True)
            times[library].append(float(worker.stdout.readline()))
    for worker in workers.values():
        assert worker.stdin is not None
        worker.stdin.close()
        worker.wait()
    return {library: median(found) for library, found in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--rounds", type=int, default=7, help="turns of each library (7)")
    parser.add_argument("--against", default=",".join(LIBRARIES[1:]), help="the other libraries")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work, arguments.programs[0])
        return 0
    wanted = ["stepwell", *arguments.against.split(",")]
    unknown = [name for name in arguments.programs if name not in PROGRAMS]
    unknown += [name for name in wanted if name not in LIBRARIES]
    if unknown:
        parser.error(
            f"found '{unknown[0]}', expected programs of {', '.join(PROGRAMS)}, and libraries of "
            f"{', '.join(LIBRARIES[1:])}"
        )
    if arguments.rounds < 1:
        parser.error(f"found --rounds {arguments.rounds}, expected at least 1; give more")
    libraries = [name for name in wanted if find_spec(name) is not None]
    print(f"{'milliseconds':<16}" + "".join(f"{name:>11}" for name in libraries) + f"{'ahead':>9}")
    for name in arguments.programs or PROGRAMS:
        times = measured(name, libraries, arguments.rounds)
        others = [times[library] for library in libraries if library != "stepwell"]
        ahead = f"{min(others) / times['stepwell']:>8.2f}×" if others else ""
        print(
            f"{name:<16}" + "".join(f"{times[name]:>11.3f}" for name in libraries) + ahead,
            flush=True,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
