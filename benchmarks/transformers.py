"""
A layer of BERT-base at several lengths, and a GPT that decodes, beside ONNX Runtime, OpenVINO and PyTorch.

    python benchmarks/transformers.py [PART …] [--threads N] [--rounds N]

Parts are `layer-LENGTH` (by default of 1, 8, 32, 128 and 512 tokens; any other length too) and `decode`, a token of four
layers of GPT-2's width on buffers of 256 tokens, beside PyTorch. All run in one process and take turns; on one thread what
counts is the processor's time for the process, which others on the machine disturb least. Prints the median of the turns in
milliseconds, how many times as long the best of the others takes as Stepwell, and the roof of the products with weights: multiply-adds
at the probed peak, or weights at the probed bandwidth of memory, whichever is longer. Libraries that are not installed are
left out, but for PyTorch, which the network is from. The network is `export_models.py`'s; `stepwell profile` tells where its time goes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import stepwell as sw
from export_models import BertLayer, nn, torch
from stepwell.targets.target import Target

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "decoding"))

WIDTH, HEADS = 768, 12
LENGTHS = (1, 8, 32, 128, 512)
LAYER_WEIGHTS = 12 * WIDTH * WIDTH
SECONDS_A_TURN = 0.02

DECODED, ROOM = 4, 256
"""Tokens of a call, and the length of the buffers of keys and values."""
DECODER = {"layers": 4, "width": WIDTH, "heads": HEADS, "vocabulary": 4096, "length": ROOM}

Call = Callable[[], Any]


def layer(length: int, threads: int) -> dict[str, Call]:
    """The calls of a layer by library, each checked against PyTorch's result."""
    torch.manual_seed(0)
    network = BertLayer(WIDTH, HEADS).eval()
    x, mask = torch.randn(1, length, WIDTH), torch.zeros(1, 1, 1, length)
    feeds = {"x": x.numpy(), "mask": mask.numpy()}
    calls: dict[str, Call] = {}
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        path = f"{folder}/layer.onnx"
        torch.onnx.export(
            network, (x, mask), path, input_names=[*feeds], opset_version=20, dynamo=False
        )
        run = sw.load(path).compile(threads=threads)
        calls["stepwell"] = lambda: run(*feeds.values())
        if find_spec("onnxruntime"):
            calls["ort"] = _onnxruntime(path, feeds, threads)
        if find_spec("openvino"):
            calls["openvino"] = _openvino(path, feeds, threads)
        calls["torch"] = _without_gradients(network, x, mask)
        expected = calls["torch"]().numpy()
    for name, call in calls.items():
        found = np.asarray(call())
        error = float(np.abs(found - expected).max())
        if error > 1e-4:
            raise SystemExit(f"error: {name} differs from PyTorch by {error:.1e}, expected 1e-4")
    return calls


def _onnxruntime(path: str, feeds: Mapping[str, np.ndarray], threads: int) -> Call:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    return lambda: session.run(None, dict(feeds))[0]


def _openvino(path: str, feeds: Mapping[str, np.ndarray], threads: int) -> Call:
    import openvino

    config = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    request = openvino.Core().compile_model(path, "CPU", config).create_infer_request()
    return lambda: request.infer(dict(feeds))[0]


def _without_gradients(network: nn.Module, *inputs: Any) -> Call:
    def call() -> Any:
        with torch.inference_mode():
            return network(*inputs)

    return call


def decoding(threads: int) -> dict[str, Call]:
    """Calls that decode a few tokens, by library; half of the buffers is full."""
    from gpt import Decoder, Shape

    decoder = Decoder(Shape(**DECODER))
    state = (np.int64(1), np.int64(ROOM // 2), decoder.empty_caches())
    run = sw.jit(lambda *state: decoder.generate(*state, DECODED), threads=threads)
    run(*state)
    return {"stepwell": lambda: run(*state), "torch": _decoding_by_torch(decoder, ROOM // 2)}


def _decoding_by_torch(decoder: Any, first: int) -> Call:
    """The same with PyTorch's fused attention, on buffers of which it sees what is full."""
    functional, shape = nn.functional, decoder.shape
    layers = [{n: torch.from_numpy(w) for n, w in one.items()} for one in decoder.layers]
    tokens, positions = torch.from_numpy(decoder.tokens), torch.from_numpy(decoder.positions)
    head, size = torch.from_numpy(decoder.head), shape.width // shape.heads
    caches = [(torch.zeros(shape.cache), torch.zeros(shape.cache)) for _ in layers]

    def step(token: int, position: int) -> int:
        x = (tokens[token] + positions[position])[None]
        for weights, (keys, values) in zip(layers, caches, strict=True):
            qkv = functional.layer_norm(x, (shape.width,)) @ weights["qkv"]
            query, key, value = qkv.view(3, shape.heads, 1, size)
            keys[:, position], values[:, position] = key[:, 0], value[:, 0]
            seen = slice(0, position + 1)
            mixed = functional.scaled_dot_product_attention(
                query[None], keys[None, :, seen], values[None, :, seen]
            )
            x = torch.addmm(x, mixed.reshape(1, -1), weights["out"])
            inner = functional.layer_norm(x, (shape.width,)) @ weights["inner"]
            x = torch.addmm(x, functional.gelu(inner, approximate="tanh"), weights["outer"])
        return int((functional.layer_norm(x, (shape.width,)) @ head).argmax())

    def call() -> int:
        token = 1
        with torch.inference_mode():
            for number in range(DECODED):
                token = step(token, first + number)
        return token

    return call


def measured(calls: Mapping[str, Call], threads: int, rounds: int) -> dict[str, float]:
    """Milliseconds of a call by library, the median of so many turns."""
    clock = process_time if threads == 1 else perf_counter
    turns: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            call()
            count, start = 0, clock()
            while (spent := clock() - start) < SECONDS_A_TURN or not count:
                call()
                count += 1
            turns[name].append(spent / count * 1e3)
    return {name: median(each) for name, each in turns.items()}


def roof(rows: int, weights: int, threads: int) -> float:
    """Milliseconds that products of so many rows with so many weights take at least."""
    target = Target.of("host")
    rates, cores = target.rates, target.cores
    arithmetic = 2 * rows * weights / rates.fma_f32.at(threads, cores)
    return max(arithmetic, 4 * weights / rates.read_memory.at(threads, cores)) * 1e3


def _length(part: str) -> int | None:
    kind, _, length = part.partition("-")
    return int(length) if kind == "layer" and length.isdecimal() and int(length) else None


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    default = [*(f"layer-{length}" for length in LENGTHS), "decode"]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"by default {', '.join(default)}")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9, help="turns of each library (9)")
    args = parser.parse_args(arguments)
    for part in args.parts:
        if part != "decode" and _length(part) is None:
            parser.error(f"found {part!r}, expected decode, or layer-LENGTH such as layer-128")
    torch.set_num_threads(args.threads)
    print(
        f"{'milliseconds':<14}{'stepwell':>10}{'ort':>10}{'openvino':>10}{'torch':>10}{'ahead':>8}{'roof':>9}"
    )
    for part in args.parts or default:
        length = _length(part)
        if length is None:
            calls = decoding(args.threads)
            weights = DECODER["layers"] * LAYER_WEIGHTS + WIDTH * DECODER["vocabulary"]
            least = DECODED * roof(1, weights, args.threads)
        else:
            calls = layer(length, args.threads)
            least = roof(length, LAYER_WEIGHTS, args.threads)
        times = measured(calls, args.threads, args.rounds)
        ahead = min(ms for name, ms in times.items() if name != "stepwell") / times["stepwell"]
        columns = "".join(
            f"{times[name]:>10.3f}" if name in times else f"{'':>10}"
            for name in ("stepwell", "ort", "openvino", "torch")
        )
        print(f"{part:<14}{columns}{ahead:>7.2f}×{least:>9.3f}", flush=True)


if __name__ == "__main__":
    main()
