"""
What is done before and after a product of matrices, or around it, beside the plain product.

    python benchmarks/product_forms.py [--sizes 512x128x256] [--rounds 31]

GFLOP/s, of the multiplications and sums of the product alone, and how many times as fast as the plain product, all
forms interleaved in one process and on one thread, by the processor's time: the fastest call of each, and the median of the
ratios of the rounds. M has to be a multiple of 4.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import stepwell as sw
from mixed_products import Call, report, rounds, sizes

BATCH = 4


def forms(m: int, n: int, k: int) -> dict[str, Call]:
    generator = np.random.default_rng(0)

    def array(*shape: int) -> np.ndarray:
        return generator.standard_normal(shape, np.float32)

    a, b, bias = array(m, k), array(k, n), array(n)
    return {
        "plain": compiled(lambda a, b: a @ b, a, b),
        "relu(a) @ b": compiled(lambda a, b: sw.relu(a) @ b, a, b),
        "a[1:] @ b": compiled(lambda a, b: a[1:] @ b, array(m + 1, k), b),
        "two results": compiled(two_results, a, b, bias),
        "batch @ b": compiled(lambda x, w: x @ w, array(BATCH, m // BATCH, k), b),
    }


def two_results(a: Any, b: Any, bias: Any) -> tuple[Any, Any]:
    product = a @ b
    return product + bias, sw.relu(product)


def compiled(function: Any, *arrays: np.ndarray) -> Call:
    executable = sw.jit(function, threads=1).lower(*arrays).compile(threads=1)
    return lambda: executable(*arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--sizes", type=sizes, default=sizes("512x128x256"), help="M, N and K")
    parser.add_argument("--rounds", type=rounds, default=31)
    args = parser.parse_args()
    for m, n, k in args.sizes:
        if m % BATCH:
            parser.error(f"found M = {m}, expected a multiple of {BATCH}; choose one")
        report(m, n, k, forms(m, n, k), args.rounds)


if __name__ == "__main__":
    main()
