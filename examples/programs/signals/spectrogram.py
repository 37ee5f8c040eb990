"""The power of the frequencies of overlapping frames, by a matrix of cosines and sines."""

import numpy as np

SMALL = {"n": 400, "frame": 32}


def inputs(rng, n=100_000, frame=256):
    return rng.normal(size=n).astype("float32"), np.hanning(frame).astype("float32")


def program(np, signal, window):
    frame = window.shape[0]
    starts = np.arange(0, signal.shape[0] - frame + 1, frame // 2)
    frames = signal[starts[:, None] + np.arange(frame)] * window
    angle = 2 * np.pi / frame * np.outer(np.arange(frame), np.arange(frame // 2 + 1))
    real = frames @ np.cos(angle).astype(np.float32)
    imaginary = frames @ np.sin(angle).astype(np.float32)
    return real**2 + imaginary**2


def torch(torch, signal, window):
    frame = window.shape[0]
    spectrum = torch.fft.rfft(signal.unfold(0, frame, frame // 2) * window)
    return spectrum.real**2 + spectrum.imag**2
