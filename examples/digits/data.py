"""The digit images and their split into a training and a test part."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).parent
SPLIT_SEED = 1998
TRAIN_SIZE = 1200


class Digits(NamedTuple):
    """Pixels as float32 in [0, 1], shape (n, 64), and the digit each image shows, shape (n,)."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def load_digits() -> Digits:
    """1,200 images to train on and 597 to test on, drawn with a fixed seed."""
    with np.load(HERE / "digits.npz") as file:
        pixels, labels = file["images"], file["labels"]
    x = pixels.reshape(len(pixels), 64).astype(np.float32) / np.float32(16)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(x))
    train, test = order[:TRAIN_SIZE], order[TRAIN_SIZE:]
    return Digits(x[train], labels[train], x[test], labels[test])


def ascii_art(image: np.ndarray) -> list[str]:
    """An image of 64 pixels in [0, 1] as eight lines of sixteen characters."""
    shades = np.array(list(" .:-=+*#%@"))
    levels = np.rint(image.reshape(8, 8) * (len(shades) - 1)).astype(int)
    # Two characters a pixel: a terminal cell is about twice as high as it is wide.
    return ["".join(shade * 2 for shade in shades[row]) for row in levels]
