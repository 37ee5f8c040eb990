"""Train the digit classifier with NumPy alone and write `weights.npz`.

    python train.py [--output FILE]

A two-layer network, 64 → 32 relu → 10 softmax: Adam with a cosine learning rate on the cross
entropy, with noise on the pixels and smoothed labels against overfitting. The settings were chosen
by 4-fold cross-validation on the 1,200 training images, without the test images. Every
random number comes from one seed, so two runs on a machine write the same bits.
"""

import argparse
from pathlib import Path

import numpy as np
from data import load_digits

HERE = Path(__file__).parent
SEED = 0
HIDDEN = 32
CLASSES = 10
EPOCHS = 100
BATCH = 32
LEARNING_RATE = 3e-3
PIXEL_NOISE = 0.2
LABEL_SMOOTHING = 0.1
NAMES = ("w1", "b1", "w2", "b2")

Parameters = list[np.ndarray]


class Adam:
    """Kingma & Ba, "Adam: a method for stochastic optimization" (2015), their default constants."""

    def __init__(self, parameters: Parameters):
        self.mean = [np.zeros_like(p) for p in parameters]
        self.square = [np.zeros_like(p) for p in parameters]
        self.step_count = 0

    def step(self, parameters: Parameters, gradients: Parameters, rate: float) -> None:
        """Update `parameters` in place."""
        self.step_count += 1
        correct_mean = 1 - 0.9**self.step_count
        correct_square = 1 - 0.999**self.step_count
        for p, g, m, v in zip(parameters, gradients, self.mean, self.square, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            p -= rate * (m / correct_mean) / (np.sqrt(v / correct_square) + 1e-8)


def initial_parameters(rng: np.random.Generator) -> Parameters:
    """He's initialisation for the relu layer, Glorot's fan-in form for the last, zero biases."""
    return [
        rng.normal(0, np.sqrt(2 / 64), (64, HIDDEN)).astype(np.float32),
        np.zeros(HIDDEN, np.float32),
        rng.normal(0, np.sqrt(1 / HIDDEN), (HIDDEN, CLASSES)).astype(np.float32),
        np.zeros(CLASSES, np.float32),
    ]


def logits(parameters: Parameters, x: np.ndarray) -> np.ndarray:
    """The scores before the softmax: (n, 64) → (n, 10)."""
    w1, b1, w2, b2 = parameters
    return np.maximum(x @ w1 + b1, 0) @ w2 + b2


def gradients(parameters: Parameters, x: np.ndarray, targets: np.ndarray) -> Parameters:
    """The gradient of the mean cross entropy against `targets`, shape (n, 10)."""
    w1, b1, w2, b2 = parameters
    hidden = np.maximum(x @ w1 + b1, 0)
    scores = hidden @ w2 + b2
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    d_scores = (powers / powers.sum(axis=1, keepdims=True) - targets) / np.float32(len(x))
    d_hidden = np.where(hidden > 0, d_scores @ w2.T, np.float32(0))
    return [x.T @ d_hidden, d_hidden.sum(axis=0), hidden.T @ d_scores, d_scores.sum(axis=0)]


def train(x: np.ndarray, labels: np.ndarray) -> Parameters:
    """Fit the network to images (n, 64) and their labels (n,)."""
    rng = np.random.default_rng(SEED)
    parameters = initial_parameters(rng)
    optimizer = Adam(parameters)
    one_hot = np.eye(CLASSES, dtype=np.float32)[labels]
    targets = one_hot * np.float32(1 - LABEL_SMOOTHING) + np.float32(LABEL_SMOOTHING / CLASSES)
    for epoch in range(EPOCHS):
        rate = LEARNING_RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
        order = rng.permutation(len(x))
        for start in range(0, len(x), BATCH):
            batch = order[start : start + BATCH]
            noise = rng.normal(0, PIXEL_NOISE, (len(batch), 64)).astype(np.float32)
            optimizer.step(
                parameters, gradients(parameters, x[batch] + noise, targets[batch]), float(rate)
            )
    return parameters


def accuracy(parameters: Parameters, x: np.ndarray, labels: np.ndarray) -> float:
    """The share of images whose highest score is their label."""
    return float((logits(parameters, x).argmax(axis=1) == labels).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description="train the digit classifier with NumPy")
    parser.add_argument("--output", type=Path, default=HERE / "weights.npz")
    output = parser.parse_args().output
    digits = load_digits()
    parameters = train(digits.x_train, digits.y_train)
    np.savez(output, **dict(zip(NAMES, parameters, strict=True)))
    print(f"training accuracy {accuracy(parameters, digits.x_train, digits.y_train):.4f}")
    print(f"test accuracy     {accuracy(parameters, digits.x_test, digits.y_test):.4f}")
    print(f"wrote {output}")


if __name__ == "__main__":
    main()
