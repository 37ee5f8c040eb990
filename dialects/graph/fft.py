"""The fast Fourier transform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, f32, f64, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..dtypes import numpy_dtype
from ..interfaces import Array, DefinedInTe
from ..resources import tensor_elements
from ..scalar import ScalarBuilder
from ..shaped import Tensor, memref_type, shape_of, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import LoopBuilder
from .base import GraphOp, Value, graph_op
from .shapes import element_count, is_static, shape_text

GREATEST_RADIX = 13
"""Greater prime factors of a length would be written out as too long a piece of code."""

Complex: TypeAlias = tuple[SSAValue, SSAValue]
"""A real and an imaginary part."""


@graph_op
class FftOp(GraphOp, DefinedInTe):
    """
    The discrete Fourier transforms of `length` complex numbers each, given by real and imaginary parts: rows of the shape
    (batch, length · inner), of which transform i has the elements i, i + inner, i + 2 · inner …, in order.

        %re, %im = graph.fft %a, %b length = 6 : tensor<4x12xf32>, tensor<4x12xf32> -> tensor<4x12xf32>, tensor<4x12xf32>

    Stockham's self-sorting algorithm of mixed radix (P. N. Swarztrauber, "FFT algorithms for vector computers", Parallel
    Computing 1, 1984): stages of 8 and 4, and one for each odd prime factor, none of which is above 13. The inverse, but for
    a division, is the transform with the parts exchanged, of operands and of results.
    """

    name = "graph.fft"
    ELEMENTS: ClassVar = (f32, f64)

    real = operand_def()
    imag = operand_def()
    length = prop_def(IntegerAttr.constr(i64))
    real_result = result_def()
    imag_result = result_def()

    assembly_format = (
        "$real `,` $imag `length` `=` $length attr-dict `:` type($real) `,` type($imag) `->` "
        "type($real_result) `,` type($imag_result)"
    )

    def __init__(self, real: Value, imag: Value, length: int):
        type_ = SSAValue.get(real).type
        super().__init__(
            operands=[real, imag],
            properties={"length": IntegerAttr(length, i64)},
            result_types=[type_, type_],
        )

    def inferred_types(self) -> Sequence[Tensor]:
        real, imag = tensor_type(self.real), tensor_type(self.imag)
        shape, length = real.get_shape(), self.length.value.data
        if len(shape) != 2 or not is_static(shape) or imag.get_shape() != shape:
            raise VerifyException(
                f"found parts of shape {shape_text(shape)} and {shape_text(imag.get_shape())}, expected two of one "
                "shape (batch, length · inner) of known extents; reshape them"
            )
        if length < 1 or shape[1] % length or radices(length) is None:
            raise VerifyException(
                f"found length {length} in rows of {shape[1]}, expected a divisor of that without prime factors above "
                f"{GREATEST_RADIX}; take another algorithm, such as Bluestein's"
            )
        return real, real

    def numpy(self, real: Array, imag: Array) -> tuple[Array, ...]:
        length = self.length.value.data
        shape = real.shape[0], length, real.shape[1] // length
        rows = (real + 1j * imag).reshape(shape)
        found = np.fft.fft(rows, axis=1).reshape(real.shape)
        return found.real.astype(real.dtype), found.imag.astype(real.dtype)

    def define(self, te: TeBuilder) -> Sequence[SSAValue]:
        type_, length = tensor_type(self.real), self.length.value.data
        batch, width = shape_of(self.real)
        stages = _stages(length, width // length)
        table = _twiddles(stages).astype(numpy_dtype(type_.get_element_type()))
        constant = te.insert(arith.ConstantOp(tensor_elements(table, "twiddles"))).result

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            twiddles = sources[2]
            with w.loop("lane", 0, batch) as lane:
                element = type_.get_element_type()
                spare = [w.scratch(element, (1, width), hint) for hint in ("real", "imag")]
                zero = w.index.constant(0)
                read = (sources[:2], lane)
                for number, stage in enumerate(stages):
                    # The last stage writes the results, and every other one before it.
                    is_result = (len(stages) - number) % 2 == 1
                    written = (results, lane) if is_result else (spare, zero)
                    _StageWriter(w, stage, twiddles, read, written).write()
                    read = written

        return te.loops([self.real, self.imag, constant], [type_, type_], body)

    def flops(self) -> int | None:
        """Five times n log₂ n, as usual for transforms."""
        count = element_count(shape_of(self.real))
        return None if count is None else int(5 * count * np.log2(self.length.value.data))


def radices(length: int) -> list[int] | None:
    """The factors of the stages, in order; None where a prime factor is too great. Of 1 there is one stage of 1."""
    twos, rest = 0, length
    while rest % 2 == 0:
        twos, rest = twos + 1, rest // 2
    odd: list[int] = []
    for factor in range(3, GREATEST_RADIX + 1, 2):
        while rest % factor == 0:
            odd.append(factor)
            rest //= factor
    if rest != 1:
        return None
    # The first stage is the greatest: later ones go over runs of as many elements.
    eights = 0 if twos < 3 else 1 if twos % 2 else 2 if twos > 4 else 0
    fours, one_two = divmod(twos - 3 * eights, 2)
    found = [8] * eights + [4] * fours + sorted(odd, reverse=True) + [2] * one_two
    return found or [1]


class _Stage:
    """One factor of the length: `count` groups of sums of `radix` elements, each over runs of `run` elements."""

    def __init__(self, radix: int, count: int, run: int, offset: int):
        self.radix, self.count, self.run, self.offset = radix, count, run, offset


def _stages(length: int, inner: int) -> list[_Stage]:
    found: list[_Stage] = []
    run, offset = inner, 0
    for radix in radices(length) or []:
        length //= radix
        found.append(_Stage(radix, length, run, offset))
        run, offset = run * radix, offset + (radix - 1) * length
    return found


def _twiddles(stages: Sequence[_Stage]) -> Array:
    """The cosines and sines, in two rows, of each stage: exp(-2πi·p·k / (radix · count)) by k from 1 on, then by p."""
    rows = [np.zeros((2, 1))]
    for stage in stages:
        whole = stage.radix * stage.count
        turns = np.outer(np.arange(1, stage.radix), np.arange(stage.count)).reshape(-1) % whole
        rows.append(np.stack(unit_roots(turns, whole)))
    return np.concatenate(rows, 1)


def unit_roots(turns: Array, whole: int) -> tuple[Array, Array]:
    """The cosines and sines of -2π·t / whole for integers t from 0 on: each is exact but for rounding."""
    # By an angle of at most an eighth of a turn, where both functions are as exact as their arguments.
    eighths, rest = np.divmod(8 * (turns % whole), whole)
    is_odd = eighths % 2 == 1
    angles = np.pi / 4 * np.where(is_odd, whole - rest, rest) / whole
    cosine, sine = np.cos(angles), np.sin(angles)
    is_swapped = (eighths % 4 == 1) | (eighths % 4 == 2)
    x, y = np.where(is_swapped, sine, cosine), np.where(is_swapped, cosine, sine)
    return np.where((eighths >= 2) & (eighths < 6), -x, x), np.where(eighths < 4, -y, y)


class _StageWriter:
    """Writes the loops of one stage, from the buffers and row that are read to those that are written."""

    def __init__(
        self,
        w: LoopBuilder,
        stage: _Stage,
        twiddles: SSAValue,
        read: tuple[Sequence[SSAValue], SSAValue],
        written: tuple[Sequence[SSAValue], SSAValue],
    ):
        self.w, self.stage, self.twiddles = w, stage, twiddles
        self.read, self.written = read, written
        self.real = w.scalar(memref_type(twiddles).get_element_type())

    def write(self) -> None:
        stage, w = self.stage, self.w
        with w.loop("group", 0, stage.count) as group:
            if stage.run == 1:
                self._sums(group, [self._twiddle(group, k) for k in range(1, stage.radix)], None)
                return
            factors = [self._twiddle(group, k) for k in range(1, stage.radix)]
            with w.loop("run", 0, stage.run) as at:
                self._sums(group, factors, at)

    def _twiddle(self, group: SSAValue, k: int) -> Complex | None:
        """What sum k of a group is multiplied by; None for 1."""
        if self.stage.count == 1:
            return None
        place = 1 + self.stage.offset + (k - 1) * self.stage.count
        at = self.w.index.add(group, self.w.index.constant(place))
        return self.w.load(self.twiddles, [0, at]), self.w.load(self.twiddles, [1, at])

    def _place(self, group: SSAValue, factor: int, shift: int, at: SSAValue | None) -> SSAValue:
        """`group · factor · run + shift · run + at`."""
        index, run = self.w.index, self.stage.run
        place = index.add(
            index.mul(group, index.constant(factor * run)), index.constant(shift * run)
        )
        return place if at is None else index.add(place, at)

    def _sums(
        self, group: SSAValue, factors: Sequence[Complex | None], at: SSAValue | None
    ) -> None:
        w, radix = self.w, self.stage.radix
        (reals, imags), row = self.read
        elements: list[Complex] = []
        for j in range(radix):
            place = self._place(group, 1, j * self.stage.count, at)
            elements.append((w.load(reals, [row, place]), w.load(imags, [row, place])))
        found = small_transform(self.real, elements)
        (reals, imags), row = self.written
        for k, (sum_, factor) in enumerate(zip(found, [None, *factors], strict=True)):
            result = sum_ if factor is None else _times(self.real, sum_, factor)
            place = self._place(group, radix, k, at)
            w.store(result[0], reals, [row, place])
            w.store(result[1], imags, [row, place])


def small_transform(b: ScalarBuilder, x: Sequence[Complex]) -> list[Complex]:
    """The transform of a few numbers, written out: by halves where there are even many, else by pairs of elements."""
    count = len(x)
    if count == 1:
        return list(x)
    if count % 2:
        return _odd_transform(b, x)
    even, odd = small_transform(b, x[::2]), small_transform(b, x[1::2])
    turned = [_turned(b, z, k, count) for k, z in enumerate(odd)]
    lower = [_plus(b, *pair) for pair in zip(even, turned, strict=True)]
    upper = [_minus(b, *pair) for pair in zip(even, turned, strict=True)]
    return lower + upper


def _odd_transform(b: ScalarBuilder, x: Sequence[Complex]) -> list[Complex]:
    """Elements j and n - j are multiplied by numbers that are conjugate to each other."""
    count, half = len(x), len(x) // 2
    sums = [_plus(b, x[j], x[count - j]) for j in range(1, half + 1)]
    differences = [_minus(b, x[j], x[count - j]) for j in range(1, half + 1)]
    first = x[0]
    for each in sums:
        first = _plus(b, first, each)
    found: list[Complex] = [first] * count
    for k in range(1, half + 1):
        angles = [2 * np.pi * (j * k % count) / count for j in range(1, half + 1)]
        along = _combined(b, x[0], sums, [float(np.cos(angle)) for angle in angles])
        across = _combined(b, None, differences, [float(np.sin(angle)) for angle in angles])
        turned = (across[1], b.neg(across[0]))
        found[k], found[count - k] = _plus(b, along, turned), _minus(b, along, turned)
    return found


def _combined(
    b: ScalarBuilder, start: Complex | None, terms: Sequence[Complex], weights: Sequence[float]
) -> Complex:
    """The sum of terms times real weights, and of what it starts with."""
    total = start
    for term, weight in zip(terms, weights, strict=True):
        factor = b.constant(weight)
        part = (b.mul(factor, term[0]), b.mul(factor, term[1]))
        total = part if total is None else _plus(b, total, part)
    assert total is not None
    return total


def _turned(b: ScalarBuilder, z: Complex, k: int, count: int) -> Complex:
    """z · exp(-2πi·k / count), for k below half of the count."""
    if k == 0:
        return z
    if 4 * k == count:
        return z[1], b.neg(z[0])
    cosine, sine = unit_roots(np.array(k), count)
    return _times(b, z, (b.constant(float(cosine)), b.constant(float(sine))))


def _plus(b: ScalarBuilder, x: Complex, y: Complex) -> Complex:
    return b.add(x[0], y[0]), b.add(x[1], y[1])


def _minus(b: ScalarBuilder, x: Complex, y: Complex) -> Complex:
    return b.sub(x[0], y[0]), b.sub(x[1], y[1])


def _times(b: ScalarBuilder, x: Complex, y: Complex) -> Complex:
    real = b.sub(b.mul(x[0], y[0]), b.mul(x[1], y[1]))
    return real, b.add(b.mul(x[0], y[1]), b.mul(x[1], y[0]))
