"""
Find text in a picture with a real model: PP-OCRv4's detector, a network of 62 convolutions, as an ONNX file.

    python demo.py MODEL.onnx [--output FOLDER]

Draws a picture with some lines of text, compiles the model for its size, and says which kernels and how much memory
that takes, how long each takes, where the text is, and whether ONNX Runtime, where it is installed, finds the same.
Exit status 1 when a line is not found, or the results differ by more than 2e-4 of their scale.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import stepwell as sw
from PIL import Image, ImageDraw, ImageFont
from stepwell.frontend.profile import profile

HEIGHT, WIDTH = 320, 480  # multiples of 32, as the model wants
LINES = (("Stepwell", 40, 30, 56), ("walks down", 120, 130, 40), ("to the machine", 60, 230, 48))
"""Text, left, top and size in pixels."""

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of the images that the network was trained on, per channel: those of ImageNet."""

IS_TEXT = 0.3
"""The probability from which on a pixel is part of a text: PP-OCR's own."""

GROWTH = 1.6
"""The network marks the middle of a text; this many times its area over its perimeter is how far the text goes on around
(PP-OCR's ratio; Liao et al., "Real-time scene text detection with differentiable binarization", 2019)."""

LEAST_OVERLAP = 0.5
LARGEST_ERROR = 2e-4
"""
Of the scale of the result. The network ends in a sigmoid of numbers of up to 176, whose float32 sums through 62
convolutions are off by 2.6e-4 here and by 2.3e-4 or 3.1e-4 in ONNX Runtime, without and with its optimizations, beside the
network in float64. Where they are near 0 the sigmoid makes a quarter of that of them: 5.0e-5, 4.3e-5 and 5.7e-5, and up to
1.1e-4 between two of these. The sigmoid itself adds 6e-8.
"""


class Box(NamedTuple):
    left: int
    top: int
    right: int
    bottom: int

    def overlap(self, other: Box) -> float:
        """The area in both over that in either."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        common = max(width, 0) * max(height, 0)
        return common / (self.area + other.area - common)

    def grown(self) -> Box:
        """The text whose middle this box is."""
        by = round(GROWTH * self.area / (2 * (self.right - self.left + self.bottom - self.top)))
        left, top = max(self.left - by, 0), max(self.top - by, 0)
        return Box(left, top, min(self.right + by, WIDTH), min(self.bottom + by, HEIGHT))

    @property
    def area(self) -> int:
        return (self.right - self.left) * (self.bottom - self.top)


def heading(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}")


def draw() -> tuple[Image.Image, list[Box]]:
    """The picture, and where its lines of text are."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), (236, 231, 219))
    pen = ImageDraw.Draw(picture)
    boxes: list[Box] = []
    for text, left, top, size in LINES:
        font = ImageFont.load_default(size)
        pen.text((left, top), text, fill=(40, 44, 60), font=font)
        boxes.append(Box(*map(int, pen.textbbox((left, top), text, font=font))))
    return picture, boxes


def network_input(picture: Image.Image) -> np.ndarray:
    """The picture as the network takes it: one image, channels first, scaled by channel."""
    pixels = np.asarray(picture, np.float32) / 255
    scaled = (pixels - np.float32(MEAN)) / np.float32(DEVIATION)
    return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None])


def boxes_of(probability: np.ndarray) -> list[Box]:
    """Where texts are, one below the other: runs of rows with such pixels, and of those their columns."""
    is_text = probability > IS_TEXT
    return [
        Box(int(columns[0]), top, int(columns[-1]) + 1, bottom).grown()
        for top, bottom in runs(is_text.any(axis=1))
        if len(columns := np.flatnonzero(is_text[top:bottom].any(axis=0)))
    ]


def runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """Where flags begin and end to hold."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def show_kernels(low: sw.Lowered, image: np.ndarray) -> None:
    """The kernels that take longest, and the arena."""
    times = profile(low, image, threads=1)
    total = sum(one.seconds for one in times)
    counts = Counter(one.kernel for one in times)
    heading(
        f"Kernels: {len(times)} calls of {len(counts)} kernels, {total * 1e3:.2f} ms; the longest"
    )
    for one in sorted(times, key=lambda one: -one.seconds)[:12]:
        node = one.source.rpartition(": ")[2]
        print(
            f"  {one.seconds * 1e6:8.1f} us {100 * one.seconds / total:5.1f} %  {one.kernel}  ({node})"
        )
    for plan in low.memory_plans():
        heading("Memory between kernels")
        print(
            f"  an arena of {plan.total / 1e6:.2f} MB; {plan.lower_bound / 1e6:.2f} MB are alive at once"
        )


def show_boxes(found: Sequence[Box], drawn: Sequence[Box]) -> bool:
    """Each line of text beside what was found; whether all were."""
    heading("Text found in the picture")
    all_found = True
    for (text, *_), box in zip(LINES, drawn, strict=True):
        best = max(found, key=box.overlap, default=Box(0, 0, 0, 0))
        is_found = box.overlap(best) >= LEAST_OVERLAP
        all_found &= is_found
        print(
            f"  {text!r:18} drawn at {tuple(box)}, {'found at' if is_found else 'not found:'} {tuple(best)}"
        )
    return all_found


def agrees_with_onnxruntime(model: str, image: np.ndarray, found: np.ndarray) -> bool:
    if find_spec("onnxruntime") is None:
        print("\nonnxruntime is not installed: nothing to compare with")
        return True
    import onnxruntime

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {session.get_inputs()[0].name: image})
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    heading("Beside ONNX Runtime")
    print(f"  the largest difference is {error:.1e} of the scale of the result")
    return error <= LARGEST_ERROR


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument(
        "model", help="ch_PP-OCRv4_det_infer.onnx of the package rapidocr-onnxruntime"
    )
    parser.add_argument("--output", type=Path, default=Path("build"), help="where the picture goes")
    args = parser.parse_args()

    picture, drawn = draw()
    image = network_input(picture)
    start = time.perf_counter()
    low = sw.load(args.model, shapes={"x": image.shape})
    detect = low.compile(threads=1)
    heading(f"{Path(args.model).name} for an image of {WIDTH} by {HEIGHT}")
    print(f"  read, optimised and compiled in {time.perf_counter() - start:.1f} s")
    probability = detect(image)
    show_kernels(low, image)
    found = boxes_of(probability[0, 0])
    is_right = show_boxes(found, drawn)
    pen = ImageDraw.Draw(picture)
    for box in found:
        pen.rectangle(tuple(box), outline=(200, 40, 40), width=2)
    args.output.mkdir(parents=True, exist_ok=True)
    picture.save(args.output / "text_detection.png")
    print(f"  the picture with what was found: {args.output / 'text_detection.png'}")
    is_right &= agrees_with_onnxruntime(args.model, image, probability)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
