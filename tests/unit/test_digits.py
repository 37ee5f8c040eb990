"""examples/digits: the data, the trainer and the demonstration."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import stepwell

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
# The test part of UCI data set 80 by class, as the repository's page lists it.
CLASS_COUNTS = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
LEVELS = ["graph", "te", "loop", "core", "llvm", "llvm-ir", "asm"]


def example_module(name: str) -> Iterator[ModuleType]:
    """A module of the example, found as a script there finds it."""
    sys.path.insert(0, str(DIGITS))
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(DIGITS))


@pytest.fixture(scope="module")
def data() -> Iterator[ModuleType]:
    yield from example_module("data")


@pytest.fixture(scope="module")
def train() -> Iterator[ModuleType]:
    yield from example_module("train")


@pytest.fixture(scope="module")
def model() -> Iterator[ModuleType]:
    yield from example_module("model")


def test_data_is_the_uci_test_set() -> None:
    with np.load(DIGITS / "digits.npz") as file:
        images, labels = file["images"], file["labels"]
    assert images.shape == (1797, 8, 8)
    assert images.dtype == np.uint8
    assert (images.min(), images.max()) == (0, 16)
    assert np.bincount(labels).tolist() == CLASS_COUNTS
    assert (DIGITS / "digits.npz").stat().st_size < 100_000


def test_split_uses_each_image_once(data: ModuleType) -> None:
    digits = data.load_digits()
    assert (len(digits.x_train), len(digits.x_test)) == (1200, 597)
    assert digits.x_train.dtype == np.float32
    counts = np.bincount(np.concatenate([digits.y_train, digits.y_test]))
    assert counts.tolist() == CLASS_COUNTS


def test_ascii_art_spans_blank_to_full(data: ModuleType) -> None:
    art = data.ascii_art(np.repeat(np.array([0, 1], np.float32), 32))
    assert art == [" " * 16] * 4 + ["@" * 16] * 4


def test_training_repeats_bit_for_bit(
    data: ModuleType, train: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "EPOCHS", 5)
    digits = data.load_digits()
    first, second = (train.train(digits.x_train, digits.y_train) for _ in range(2))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))


def test_trainer_reaches_the_stated_accuracy(data: ModuleType, train: ModuleType) -> None:
    digits = data.load_digits()
    parameters = train.train(digits.x_train, digits.y_train)
    assert train.accuracy(parameters, digits.x_test, digits.y_test) >= 0.97


def test_shipped_weights_agree_compiled_and_in_numpy(data: ModuleType, model: ModuleType) -> None:
    digits = data.load_digits()
    weights = model.load_weights()
    assert all(array.dtype == np.float32 for array in weights)
    expected = model.reference(weights, digits.x_test)
    assert (expected.argmax(axis=1) == digits.y_test).mean() >= 0.95
    probabilities = stepwell.jit(model.classifier(weights))(digits.x_test)
    assert np.abs(probabilities - expected).max() < 1e-5


def test_demo_writes_the_ladder(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, DIGITS / "demo.py", "--output", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    written = sorted(path.stem.split("-", 1)[1] for path in tmp_path.iterdir())
    assert written == sorted(LEVELS)
    assert "accuracy" in run.stdout
