"""Compile the digit classifier level by level, run it, and compare it with NumPy.

    python demo.py [--output DIR]

Exit status 1 when the accuracy is below 0.95 or a probability differs from NumPy's by 1e-5 or more.
"""

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import stepwell as sw
from data import Digits, ascii_art, load_digits
from model import classifier, hidden_layer, hidden_layer_reference, load_weights, reference

BATCH = 199  # the 597 test images are three batches
KERNEL_BATCH = 8  # few enough for the interpreter to be quick
LEAST_ACCURACY = 0.95
LARGEST_DIFFERENCE = 1e-5


class Rung(NamedTuple):
    """A level of the ladder."""

    level: str
    """What `as_text` calls it."""
    suffix: str
    """How its file ends."""
    says: str
    start: str
    """How the first line worth printing begins."""
    lines: int
    """How many to print at most."""


LADDER = (
    Rung("graph", "mlir", "what the model computes, on tensors", "", 30),
    Rung("te", "mlir", "how each element is defined", "", 40),
    Rung("loop", "mlir", "in which order, and where it is stored", "", 45),
    Rung("core", "mlir", "structured machine-neutral code in MLIR's own dialects", "", 45),
    Rung("llvm", "mlir", "MLIR's llvm dialect: pointers and branches", "", 30),
    Rung("llvm-ir", "ll", "LLVM IR, after LLVM's optimiser", "define", 30),
    Rung("asm", "s", "what this processor runs", "main:", 30),
)
INTERPRETED = ("graph", "te", "loop", "core")


def heading(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}")


def excerpt(text: str, rung: Rung) -> str:
    """The lines of `text` that the page has room for, and how many there are besides."""
    width = shutil.get_terminal_size((120, 0)).columns - len("  | ")
    lines = [line.expandtabs(8) for line in text.splitlines() if line.strip()]
    first = next((i for i, line in enumerate(lines) if line.startswith(rung.start)), 0)
    shown = lines[first : first + rung.lines]
    shown = [line if len(line) <= width else line[: width - 1] + "…" for line in shown]
    if len(lines) > len(shown):
        shown.append(f"… {len(lines) - len(shown)} more lines")
    return "\n".join("  | " + line for line in shown)


def largest_difference(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max())


def show_kernel(images: np.ndarray) -> None:
    """The first layer at every level, each level run, with the weights as arguments for brevity."""
    w1, b1, _, _ = load_weights()
    arguments = (images, w1, b1)
    expected = hidden_layer_reference(*arguments)
    lowered = sw.jit(hidden_layer).lower(*arguments)
    heading(f"One kernel, relu(x @ w1 + b1) on {len(images)} images, at every level")
    for number, rung in enumerate(LADDER, 1):
        heading(f"{number} {rung.level}: {rung.says}")
        print(excerpt(lowered.as_text(rung.level), rung))
        if rung.level in INTERPRETED:
            (result,) = sw.interpret(lowered.module(rung.level), arguments)
            difference = largest_difference(result, expected)
            print(f"  Interpreted at this level: largest difference from NumPy {difference:.1e}")
    difference = largest_difference(lowered.compile()(*arguments), expected)
    print(f"  Run natively: largest difference from NumPy {difference:.1e}")


def write_ladder(lowered: sw.Lowered, directory: Path) -> None:
    """The whole network at every level, one file each."""
    directory.mkdir(parents=True, exist_ok=True)
    for number, rung in enumerate(LADDER, 1):
        path = directory / f"{number}-{rung.level}.{rung.suffix}"
        path.write_text(lowered.as_text(rung.level), encoding="utf-8")


def seconds_by_level(timings: Sequence[tuple[str, float]]) -> dict[str, float]:
    """What the steps of a compilation took, summed by the level they worked on."""
    levels = iter(INTERPRETED)
    level = next(levels)
    seconds: dict[str, float] = {}
    for name, took in timings:
        at = name if name in ("trace", "llvm") else level
        seconds[at] = seconds.get(at, 0.0) + took
        if name.startswith(f"convert-{level}-to-"):
            level = next(levels, "llvm")
    return seconds


def show_images(digits: Digits, predicted: np.ndarray) -> None:
    """Four images that the network reads right, and two that it does not."""
    right = np.flatnonzero(predicted == digits.y_test)[:4]
    wrong = np.flatnonzero(predicted != digits.y_test)[:2]
    pictures: list[list[str]] = []
    for i in (*right, *wrong):
        caption = f"read as {predicted[i]}"
        if predicted[i] != digits.y_test[i]:
            caption += f", is {digits.y_test[i]}"
        pictures.append([*ascii_art(digits.x_test[i]), f"{caption:<16}"])
    for row in zip(*pictures, strict=True):
        print(("  " + "  ".join(row)).rstrip())


def microseconds_per_image(
    function: Callable[[np.ndarray], np.ndarray], batch: np.ndarray
) -> float:
    """The best of 500 calls on one batch, per image."""
    best = float("inf")
    for _ in range(500):
        start = time.perf_counter()
        function(batch)
        best = min(best, time.perf_counter() - start)
    return best * 1e6 / len(batch)


def classify(function: Callable[[np.ndarray], np.ndarray], images: np.ndarray) -> np.ndarray:
    """The probabilities of all images, a batch at a time."""
    return np.concatenate([function(batch) for batch in np.split(images, len(images) // BATCH)])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("build/digits"), metavar="DIR")
    directory: Path = parser.parse_args().output

    digits = load_digits()
    weights = load_weights()
    batch = digits.x_test[:BATCH]
    print("Handwritten digits: 64 pixels → 32 relu → 10 softmax, compiled by Stepwell")
    show_kernel(batch[:KERNEL_BATCH])

    start = time.perf_counter()
    lowered = sw.jit(classifier(weights)).lower(batch)
    compiled = lowered.compile()
    compile_seconds = time.perf_counter() - start
    write_ladder(lowered, directory)

    probabilities = classify(compiled, digits.x_test)
    expected = reference(weights, digits.x_test)
    predicted = probabilities.argmax(axis=1)
    accuracy = float((predicted == digits.y_test).mean())
    difference = largest_difference(probabilities, expected)
    heading("Test images")
    show_images(digits, predicted)

    stepwell_time = microseconds_per_image(compiled, batch)
    numpy_time = microseconds_per_image(lambda x: reference(weights, x), batch)
    by_level = seconds_by_level(lowered.timings)
    heading("The whole network")
    print(f"  accuracy            {accuracy:.4f} on {len(predicted)} test images")
    print(f"  against NumPy       largest difference {difference:.1e}")
    print(
        f"  time per image      {stepwell_time:.3f} µs, NumPy {numpy_time:.3f} µs (batch {BATCH})"
    )
    print(f"  compile time        {compile_seconds:.2f} s in a warm process:")
    print(
        "                      " + ", ".join(f"{k} {v * 1e3:.0f} ms" for k, v in by_level.items())
    )
    print(f"  at every level in   {directory}/1-graph.mlir … 7-asm.s")
    if not accuracy >= LEAST_ACCURACY:
        print(f"error: found accuracy {accuracy:.4f}, expected at least {LEAST_ACCURACY}")
        return 1
    if not difference < LARGEST_DIFFERENCE:
        print(f"error: found a difference of {difference:.1e}, expected below {LARGEST_DIFFERENCE}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
