"""
Decodes with a GPT of random weights, and says how fast.

    python examples/decoding/demo.py [--layers N] [--width N] [--heads N] [--vocabulary N] [--length N] [--threads N]

A token reads every weight once: what bounds its time is the bandwidth of memory, so that the demonstration prints bytes a
second as well, and which part of the machine's measured bandwidth that is. Exit status 1 when tokens differ from those that
NumPy decodes.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median
from time import perf_counter

import numpy as np
import stepwell as sw
from gpt import Decoder, Shape
from stepwell.targets.target import Target

AT_ONCE = 8
"""Tokens of a call."""
CHECKED = 4
"""Tokens that NumPy decodes too."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    for name, default in (("layers", 6), ("width", 768), ("heads", 12), ("vocabulary", 8192)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--length", type=int, default=256, help="tokens that there is room for")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    if args.width % args.heads:
        parser.error(
            f"found width {args.width}, expected a multiple of {args.heads} heads; mend it"
        )
    if args.length < 3 * AT_ONCE:
        parser.error(f"found length {args.length}, expected at least {3 * AT_ONCE}; give more")
    shape = Shape(args.layers, args.width, args.heads, args.vocabulary, args.length)
    decoder = Decoder(shape)
    generate = sw.jit(
        lambda token, position, caches: decoder.generate(token, position, caches, AT_ONCE),
        threads=args.threads,
    )
    state = (np.int64(1), np.int64(0), decoder.empty_caches())
    start = perf_counter()
    state, first = generate(*state)
    print(f"first call, compilation included: {perf_counter() - start:.1f} s")
    times: list[float] = []
    tokens = [int(token) for token in first]
    while len(tokens) + AT_ONCE <= args.length:
        start = perf_counter()
        state, more = generate(*state)
        times.append((perf_counter() - start) / AT_ONCE)
        tokens += [int(token) for token in more]
    seconds = median(times)
    caches = 2 * args.layers * 4 * args.length * args.width
    read = (decoder.weight_bytes + caches) / seconds
    target = Target.of("host")
    bandwidth = target.rates.read_memory.at(args.threads, target.cores)
    print(f"{len(tokens)} tokens, {1 / seconds:.1f} tokens/s on {args.threads} thread(s)")
    print(
        f"{read / 1e9:.1f} GB/s, {read / bandwidth:.0%} of what the probe of this machine measured"
    )
    if tokens[:CHECKED] != decoded_by_numpy(decoder, CHECKED):
        sys.exit(
            f"error: found tokens {tokens[:CHECKED]}, expected {decoded_by_numpy(decoder, CHECKED)}"
        )


def decoded_by_numpy(decoder: Decoder, count: int) -> list[int]:
    """The same tokens, with all of the text computed again for each."""
    tokens = [1]
    for _ in range(count):
        tokens.append(int(np.argmax(decoder.whole(tokens)[-1])))
    return tokens[1:]


if __name__ == "__main__":
    main()
