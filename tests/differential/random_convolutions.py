"""Convolutions at level te with random shapes, strides, dilations, groups and padding, and what NumPy makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]

MOST_WORK = 1 << 19
"""Multiply-adds of a case, at most."""


@dataclass(frozen=True)
class Convolution:
    """`groups` convolutions of `image` by `kernel` elements, with a bias where it is `biased`."""

    batch: int
    groups: int
    channels: int
    """of one group, and so are `outputs`"""
    outputs: int
    image: Sizes
    kernel: Sizes
    strides: Sizes
    dilations: Sizes
    before: Sizes
    after: Sizes
    outside: float = 0.0
    biased: bool = True
    finite: bool = False
    """whether the weights are said to be finite, so that terms outside of the image may be left out"""

    @property
    def result(self) -> Sizes:
        """The extents of the result along the axes of the image."""
        return tuple(
            (size + low + high - step * (taps - 1) - 1) // stride + 1
            for size, taps, stride, step, low, high in zip(
                self.image, self.kernel, self.strides, self.dilations, self.before, self.after,
                strict=True,
            )
        )  # fmt: skip

    @property
    def terms(self) -> int:
        return self.channels * int(np.prod(self.kernel))

    @property
    def work(self) -> int:
        return self.batch * self.groups * self.outputs * int(np.prod(self.result)) * self.terms

    @property
    def shapes(self) -> tuple[Sizes, Sizes, Sizes]:
        """Of the image, the weights and the bias."""
        return (
            (self.batch, self.groups, self.channels, *self.image),
            (self.groups, self.outputs, self.channels, *self.kernel),
            (self.groups, self.outputs),
        )

    def text(self) -> str:
        """The function `conv` of image, weights and bias."""
        x, w, b = (_tensor(shape) for shape in self.shapes)
        axes = [f"o{n}" for n in range(len(self.image))]
        extents = (self.batch, self.groups, self.outputs, *self.result)
        parallel = ["n", "g", "f", *axes]
        y, element = _tensor(extents), ", ".join(f"%{name}" for name in parallel)
        over = ", ".join(f"%{a} = {e}" for a, e in zip(parallel, extents, strict=True))
        taps = [f"k{n}" for n in range(len(self.kernel))]
        sizes = zip(["c", *taps], (self.channels, *self.kernel), strict=True)
        summed = ", ".join(f"%{a} = {e}" for a, e in sizes)
        place = ", ".join(
            f"%o{n} * {stride} + %k{n} * {step} - {low}"
            for n, (stride, step, low) in enumerate(
                zip(self.strides, self.dilations, self.before, strict=True)
            )
        )
        window = ", ".join(f"%{tap}" for tap in taps)
        is_padded = any((*self.before, *self.after))
        outside = f" else {self.outside}" if is_padded else ""
        return f"""
            func.func @conv(%x: {x}, %w: {w}{" {stepwell.finite}" if self.finite else ""}, %b: {b}) -> {y} {{
              %y = te.compute [{over}] add [{summed}] (%a = %x[%n, %g, %c, {place}]{outside + " : f32" if outside else ""}, %v = %w[%g, %f, %c, {window}]) : ({x}, {w}) -> {y} {{
                %p = arith.mulf %a, %v : f32
                te.yield %p : f32
              }}
              {self._bias(over, element, b, y)}
              func.return %{"z" if self.biased else "y"} : {y}
            }}"""

    def _bias(self, over: str, element: str, b: str, y: str) -> str:
        if not self.biased:
            return ""
        return f"""
              %z = te.compute [{over}] (%a = %y[{element}], %v = %b[%g, %f]) : ({y}, {b}) -> {y} {{
                %s = arith.addf %a, %v : f32
                te.yield %s : f32
              }}"""

    def inputs(self, seed: int) -> list[Array]:
        rng = np.random.default_rng(seed)
        return [rng.uniform(-1, 1, shape).astype(np.float32) for shape in self.shapes]

    def numpy(self, x: Array, w: Array, b: Array) -> Array:
        """The result in double precision: a product for each place of the window."""
        pads = [
            (low, high + s)
            for low, high, s in zip(self.before, self.after, self.strides, strict=True)
        ]
        wide = np.pad(x.astype(np.float64), [(0, 0)] * 3 + pads, constant_values=self.outside)
        y = np.zeros((self.batch, self.groups, self.outputs, *self.result))
        for tap in product(*map(range, self.kernel)):
            places = tuple(
                slice(t * step, t * step + (count - 1) * stride + 1, stride)
                for t, step, stride, count in zip(
                    tap, self.dilations, self.strides, self.result, strict=True
                )
            )
            part = wide[(slice(None), slice(None), slice(None), *places)]
            y += np.einsum("ngc...,gfc->ngf...", part, w[(..., *tap)].astype(np.float64))
        return y + b.reshape(1, *b.shape, *[1] * len(self.image)) if self.biased else y


def _tensor(shape: Sizes) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


@st.composite
def convolutions(draw: st.DrawFn) -> Convolution:
    """Of one to three dimensions, at and beside the sizes of vectors and tiles."""
    rank = draw(st.sampled_from((1, 2, 2, 2, 3)))

    def each(*choices: int) -> Sizes:
        return tuple(draw(st.sampled_from(choices)) for _ in range(rank))

    kernel, strides, dilations = each(1, 1, 2, 3, 3, 5), each(1, 1, 1, 2, 3), each(1, 1, 1, 2)
    is_padded = draw(st.booleans())
    before, after = (each(0, 1, 2) if is_padded else (0,) * rank for _ in range(2))
    image = tuple(
        max(size, step * (taps - 1) + 1)
        for size, taps, step in zip(
            each(1, 3, 7, 8, 14, 15, 16, 19, 28), kernel, dilations, strict=True
        )
    )
    made = Convolution(
        draw(st.sampled_from((1, 1, 1, 2))),
        draw(st.sampled_from((1, 1, 1, 2, 5, 17))),
        draw(st.sampled_from((1, 1, 2, 3, 8, 16))),
        draw(st.sampled_from((1, 1, 2, 7, 15, 16, 17, 32, 33, 48))),
        image,
        kernel,
        strides,
        dilations,
        before,
        after,
        draw(st.sampled_from((0.0, 0.0, -1.5))),
        draw(st.booleans()),
        draw(st.booleans()),
    )
    while made.work > MOST_WORK:
        halves = {"outputs": max(made.outputs // 2, 1), "groups": max(made.groups // 2, 1)}
        smaller = Convolution(**{**made.__dict__, **halves})
        if smaller == made:
            smaller = Convolution(**{**made.__dict__, "channels": 1, "batch": 1})
        if smaller == made:
            break
        made = smaller
    return made
