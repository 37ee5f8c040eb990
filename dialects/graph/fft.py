"""The fast Fourier transform, of complex and of real numbers."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, TensorType, f32, f64, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..dtypes import numpy_dtype
from ..interfaces import Array, DefinedInTe
from ..resources import tensor_elements
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import Form, LoopBuilder
from .base import GraphOp, Value, graph_op
from .fft_stages import (
    GREATEST_RADIX,
    InLanes,
    OneRow,
    Parts,
    complex_length,
    lanes_of,
    radices,
    stages_of,
    twiddles,
    unit_roots,
    write_stages,
)
from .half_spectrum import HalfSpectrum
from .lane_blocks import Block
from .shapes import element_count, is_static, shape_text


def _check_length(length: int, factored: int, shape: Sequence[int]) -> None:
    if length < 1 or shape[1] % length or radices(factored) is None:
        raise VerifyException(
            f"found length {length} in rows of {shape[1]}, expected a divisor of that without prime factors above "
            f"{GREATEST_RADIX}; take another algorithm, such as Bluestein's"
        )


class FourierOp(GraphOp, DefinedInTe, ABC):
    """
    Discrete Fourier transforms of `length` numbers each: rows of the shape (batch, length · inner), of which transform i
    has the elements i, i + inner, i + 2 · inner …, in order. The results are real and imaginary parts.
    """

    ELEMENTS: ClassVar = (f32, f64)

    length = prop_def(IntegerAttr.constr(i64))
    real_result = result_def()
    imag_result = result_def()

    @property
    def row_shape(self) -> tuple[int, int, int]:
        """How many rows there are, how long a transform is, and how many there are in a row."""
        (batch, width), length = shape_of(self.operands[0]), self.length.value.data
        return batch, length, width // length


@graph_op
class FftOp(FourierOp):
    """
    The discrete Fourier transforms of `length` complex numbers each, given by real and imaginary parts: rows of the shape
    (batch, length · inner), of which transform i has the elements i, i + inner, i + 2 · inner …, in order.

        %re, %im = graph.fft %a, %b length = 6 : tensor<4x12xf32>, tensor<4x12xf32> -> tensor<4x12xf32>, tensor<4x12xf32>

    Stockham's self-sorting algorithm of mixed radix (P. N. Swarztrauber, "FFT algorithms for vector computers", Parallel
    Computing 1, 1984): stages of 8 and 4, and one for each odd prime factor, none of which is above 13. Many short
    transforms are computed as lanes of vectors. The inverse, but for a division, is the transform with the parts exchanged,
    of operands and of results.
    """

    name = "graph.fft"

    real = operand_def()
    imag = operand_def()

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
        _check_length(length, length, shape)
        return real, real

    def numpy(self, real: Array, imag: Array) -> tuple[Array, ...]:
        rows = (real + 1j * imag).reshape(self.row_shape)
        found = np.fft.fft(rows, axis=1).reshape(real.shape)
        return found.real.astype(real.dtype), found.imag.astype(real.dtype)

    def define(self, te: TeBuilder) -> Sequence[SSAValue]:
        type_ = tensor_type(self.real)
        element = type_.get_element_type()
        batch, length, inner = shape = self.row_shape
        lanes = lanes_of(shape, element)
        stages = stages_of(length, inner if lanes is None else 1)
        table = _constant(te, twiddles(stages), element)

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            if lanes is not None:
                with Block.each(w, batch, inner, lanes) as block:
                    pair = block.buffers(element, 2 * length)
                    for part in (0, 1):
                        block.read(sources[part], pair[0], part * length, length)
                    numbers, others = (Parts.one_behind_other(one, length) for one in pair)
                    targets = (others, numbers)
                    found = write_stages(
                        InLanes(block), element, stages, sources[2], numbers, targets
                    )
                    for part, result in enumerate(results):
                        block.write(found.buffers[0], part * length, length, result)
                return
            with w.loop("lane", 0, batch) as lane:
                spare = [w.scratch(element, (1, length * inner), hint) for hint in ("real", "imag")]
                read, written = (
                    Parts((sources[0], sources[1]), lane),
                    Parts((results[0], results[1]), lane),
                )
                between = Parts((spare[0], spare[1]), w.index.constant(0))
                # The last stage writes the results, and every other one before it.
                targets = (written, between) if len(stages) % 2 else (between, written)
                write_stages(OneRow(w), element, stages, sources[2], read, targets)

        return te.loops([self.real, self.imag, table], [type_, type_], body)

    def flops(self) -> int | None:
        """Five times n log₂ n, as usual for transforms."""
        count = element_count(shape_of(self.real))
        return None if count is None else int(5 * count * np.log2(self.length.value.data))


def _constant(te: TeBuilder, table: Array, element: Attribute) -> SSAValue:
    elements = tensor_elements(table.astype(numpy_dtype(element)), "twiddles")
    return te.insert(arith.ConstantOp(elements)).result


@graph_op
class RealFftOp(FourierOp):
    """
    The first halves, n // 2 + 1 numbers, of the discrete Fourier transforms of `length` = n real numbers each: rows of the
    shape (batch, n · inner), of which transform i has the elements i, i + inner, i + 2 · inner …, in order.

        %re, %im = graph.real_fft %x length = 6 : tensor<4x12xf32> -> tensor<4x8xf32>, tensor<4x8xf32>

    That of even many is the transform of half as many complex numbers, of which those at even places are the real parts,
    taken apart by its symmetries (H. V. Sorensen, D. L. Jones, M. T. Heideman, C. S. Burrus, "Real-valued fast Fourier
    transform algorithms", IEEE Trans. ASSP 35, 1987).
    """

    name = "graph.real_fft"

    operand = operand_def()

    assembly_format = (
        "$operand `length` `=` $length attr-dict `:` type($operand) `->` "
        "type($real_result) `,` type($imag_result)"
    )

    def __init__(self, operand: Value, length: int):
        type_ = tensor_type(SSAValue.get(operand))
        batch, *rest = type_.get_shape()
        width = rest[0] // max(length, 1) * (length // 2 + 1) if rest else 0
        result = TensorType(type_.get_element_type(), [batch, width])
        super().__init__(
            operands=[operand],
            properties={"length": IntegerAttr(length, i64)},
            result_types=[result, result],
        )

    def inferred_types(self) -> Sequence[Tensor]:
        type_, length = tensor_type(self.operand), self.length.value.data
        shape = type_.get_shape()
        if len(shape) != 2 or not is_static(shape):
            raise VerifyException(
                f"found numbers of shape {shape_text(shape)}, expected (batch, length · inner) of known extents; "
                "reshape them"
            )
        _check_length(length, complex_length(length), shape)
        width = shape[1] // length * (length // 2 + 1)
        result = TensorType(type_.get_element_type(), [shape[0], width])
        return result, result

    def numpy(self, x: Array) -> tuple[Array, ...]:
        found = np.fft.rfft(x.reshape(self.row_shape), axis=1)
        shape = found.shape[0], found.shape[1] * found.shape[2]
        return found.real.astype(x.dtype).reshape(shape), found.imag.astype(x.dtype).reshape(shape)

    def define(self, te: TeBuilder) -> Sequence[SSAValue]:
        element = tensor_type(self.operand).get_element_type()
        batch, length, inner = shape = self.row_shape
        lanes = lanes_of(shape, element)
        stages = stages_of(complex_length(length), 1)
        numbers = twiddles(stages)
        roots = np.stack(unit_roots(np.arange(length // 4 + 1), length)) / 2
        table = _constant(te, np.concatenate([numbers, roots], 1), element)
        half = HalfSpectrum(element, length, stages, numbers.shape[1])

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            (x, table), (real, imag) = sources, results
            if lanes is not None:
                with Block.each(w, batch, inner, lanes) as block:
                    half.of_block(block, x, table, (real, imag))
                return
            with w.loop("lane", 0, batch) as lane, w.loop("column", 0, inner) as column:
                at: Form = [(1, column)]
                read = Parts((x, x), lane, inner, (at, at))
                half.of_row(w, read, table, Parts((real, imag), lane, inner, (at, at)))

        return te.loops([self.operand, table], self.inferred_types(), body)

    def flops(self) -> int | None:
        """Half as many as for complex numbers."""
        count = element_count(shape_of(self.operand))
        return None if count is None else int(2.5 * count * np.log2(self.length.value.data))
