"""
Products of matrices that are stored in 8 or 16 bits, beside the same product in f32.

    python benchmarks/mixed_products.py [--sizes 512x256x128,768x768x768] [--rounds 31]

GFLOP/s (an integer product and sum count as two, as those of floats do) and how many times as fast as f32, all kinds
interleaved in one process and on one thread, by the processor's time for the process, which others on the machine
disturb least: the fastest call of each, and the median of the ratios of the rounds. `i8` is int8 · int8 → int32, exact;
`bf16` and `f16` are added up in f32 and rounded at the end.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import stepwell as sw

SECONDS = 0.002
"""Of one kind in one round, at least one call."""

Call = Callable[[], Any]


def kinds(m: int, n: int, k: int) -> dict[str, tuple[Any, Any, Any]]:
    """For each kind of operands: the dtype to compute in, where it is not theirs, and both matrices."""
    generator = np.random.default_rng(0)
    a, b = (
        generator.standard_normal((m, k), np.float32),
        generator.standard_normal((k, n), np.float32),
    )
    small_a, small_b = (generator.integers(-128, 128, s).astype(np.int8) for s in ((m, k), (k, n)))
    bf16 = ml_dtypes.bfloat16
    return {
        "f32": (None, a, b),
        "i8": (np.int32, small_a, small_b),
        "u8*i8": (np.int32, small_a.view(np.uint8), small_b),
        "bf16": (None, a.astype(bf16), b.astype(bf16)),
        "bf16 to f32": (np.float32, a.astype(bf16), b.astype(bf16)),
        "f16": (None, a.astype(np.float16), b.astype(np.float16)),
    }


def compiled(dtype: Any, a: Any, b: Any) -> Call:
    lowered = sw.jit(lambda a, b: sw.matmul(a, b, dtype=dtype), threads=1).lower(a, b)
    executable = lowered.compile()
    return lambda: executable(a, b)


def seconds_of(call: Call, times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - start) / times


def measured(calls: Sequence[Call], rounds: int) -> list[list[float]]:
    """Seconds of each call in each round, one after the other in turn."""
    times = [max(1, int(SECONDS / seconds_of(call, 2))) for call in calls]
    found: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, count, record in zip(calls, times, found, strict=True):
            record.append(seconds_of(call, count))
    return found


def report(m: int, n: int, k: int, calls: Mapping[str, Call], rounds: int) -> None:
    """A line for each of the calls, which compute a product of this size: how fast it is, and beside the first one."""
    found = measured(list(calls.values()), rounds)
    first, base = next(iter(calls)), found[0]
    for name, record in zip(calls, found, strict=True):
        rate = 2 * m * n * k / min(record) / 1e9
        fastest = min(base) / min(record)
        median = statistics.median(one / other for one, other in zip(base, record, strict=True))
        print(f"{m}x{n}x{k} {name:16} {rate:7.1f} GFLOP/s  {fastest:5.2f} {median:5.2f} of {first}")


def size(text: str) -> tuple[int, int, int]:
    """M, N and K in `512x256x128`. Raises ArgumentTypeError for anything else."""
    parts = text.split("x")
    if len(parts) != 3 or not all(
        part.isascii() and part.isdigit() and int(part) for part in parts
    ):
        raise argparse.ArgumentTypeError(
            f"found the size '{text[:40]}', expected M, N and K as in 512x256x128; write it so"
        )
    m, n, k = map(int, parts)
    return m, n, k


def sizes(text: str) -> list[tuple[int, int, int]]:
    return [size(part) for part in text.split(",")]


def rounds(text: str) -> int:
    """A number of rounds. Raises ArgumentTypeError for what is none."""
    if text.isascii() and text.isdigit() and 0 < len(text) < 6 and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(
        f"found '{text[:40]}' rounds, expected a number of at least 1; give one"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument(
        "--sizes", type=sizes, default=sizes("512x256x128,768x768x768,1024x1024x2048")
    )
    parser.add_argument("--rounds", type=rounds, default=31)
    args = parser.parse_args()
    for m, n, k in args.sizes:
        calls = {name: compiled(*operands) for name, operands in kinds(m, n, k).items()}
        report(m, n, k, calls, args.rounds)


if __name__ == "__main__":
    main()
