"""
Classifiers with Winograd convolution and without: how many of some random images both put into the same class.

    python benchmarks/winograd_decisions.py MODEL.onnx … [--images N] [--seed S] [--threads T]

Images are smooth random colours with noise, so that the classes differ from one to the next. For each model: the images
whose class is another, of how many classes there were, how far results are apart at most, relative to the
largest one, and the least distance between the two best classes of an image. Exit code 1 where a class differs.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import stepwell as sw
from stepwell.errors import StepwellError

Array = np.ndarray[Any, Any]


def random_image(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A few waves of random colours and directions, and noise, of about unit variance."""
    *_, channels, height, width = shape
    y, x = np.mgrid[0:height, 0:width]
    image = rng.standard_normal((channels, height, width)) * rng.uniform(0, 0.7)
    for _ in range(rng.integers(1, 5)):
        ky, kx, phase = rng.uniform(-0.4, 0.4), rng.uniform(-0.4, 0.4), rng.uniform(0, 2 * np.pi)
        image += rng.standard_normal((channels, 1, 1)) * np.sin(ky * y + kx * x + phase)
    return image.astype(np.float32).reshape(shape)


def shapes_of_one(path: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of a model's inputs, with 1 for each extent that the file leaves open: a batch of one image."""
    graph = onnx.load(path, load_external_data=False).graph
    weights = {weight.name for weight in graph.initializer}
    return {
        value.name: tuple(axis.dim_value or 1 for axis in value.type.tensor_type.shape.dim)
        for value in graph.input
        if value.name not in weights
    }


def compare(path: Path, images: int, seed: int, threads: int) -> bool:
    """Print a line for a model; whether all classes agree."""
    shapes = shapes_of_one(path)
    if [len(shape) for shape in shapes.values()] != [4]:
        found = ", ".join(f"{name} {shape}" for name, shape in shapes.items()) or "no input"
        raise StepwellError(
            f"{path.name} takes {found}, expected one image (1, channels, height, width); leave it out"
        )
    programs = {
        name: sw.load(path, shapes=shapes, winograd=name == "winograd").compile(threads=threads)
        for name in ("direct", "winograd")
    }
    signature = programs["direct"].signature
    (spec,) = signature.inputs
    if [len(result.shape) for result in signature.results] != [2]:
        raise StepwellError(
            f"{path.name} gives {', '.join(map(str, signature.results))}, expected one row with a score for each class; "
            "leave it out"
        )
    rng = np.random.default_rng(seed)
    different, apart, nearest, classes = 0, 0.0, np.inf, set[int]()
    for _ in range(images):
        image = random_image(rng, tuple(spec.shape))
        scores = [np.ravel(programs[name](image)) for name in ("direct", "winograd")]
        best = [int(score.argmax()) for score in scores]
        classes.add(best[0])
        different += best[0] != best[1]
        scale = float(np.abs(scores[0]).max())
        apart = max(apart, float(np.abs(scores[1] - scores[0]).max()) / scale)
        second, first = np.partition(scores[0], -2)[-2:]
        nearest = min(nearest, float(first - second) / scale)
    print(
        f"{path.name}: {different} of {images} images in another class ({len(classes)} classes), results at most "
        f"{apart:.1e} apart, best two classes at least {nearest:.1e}",
        flush=True,
    )
    return not different


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[1])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    if args.images < 1:
        parser.error(
            f"found --images {args.images}, expected 1 or more: none would agree with anything"
        )
    for path in args.models:
        if not path.is_file():
            parser.error(f"found no file {path}, expected an ONNX model; make models exports some")
    try:
        agree = [compare(path, args.images, args.seed, args.threads) for path in args.models]
    except (StepwellError, OSError) as error:
        print(f"error: {error}")
        return 2
    return int(not all(agree))


if __name__ == "__main__":
    raise SystemExit(main())
