"""TOSA 1.0, as mlir-opt 22 prints it, computes what its specification says."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import stepwell as sw
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.frontend.upstream_text import bring_in
from stepwell.interpreters.harness import interpret

rng = np.random.default_rng(0)

_TYPES = {np.float32: "f32", np.int32: "i32", np.int8: "i8", np.bool_: "i1", np.int16: "i16"}


def type_of(array: np.ndarray) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in array.shape)}{_TYPES[array.dtype.type]}>"


class Program:
    """The text of a function, an operation at a time, with what each is expected to give."""

    def __init__(self) -> None:
        self.inputs: list[np.ndarray] = []
        self.lines: list[str] = []
        self.results: list[tuple[str, np.ndarray]] = []
        self._types: dict[str, str] = {}

    def _name(self, type_: str) -> str:
        name = f"%v{len(self._types)}"
        self._types[name] = type_
        return name

    def input(self, array: np.ndarray) -> str:
        self.inputs.append(array)
        return self._name(type_of(array))

    def const(self, values: Sequence[float] | np.ndarray, dtype: type) -> str:
        array = np.asarray(values, dtype)
        name = self._name(type_of(array))
        self.lines.append(
            f'{name} = "tosa.const"() <{{values = dense<{array.tolist()}> : {type_of(array)}}}> '
            f": () -> {type_of(array)}"
        )
        return name

    def shape(self, *extents: int) -> str:
        name = self._name(f"!tosa.shape<{len(extents)}>")
        self.lines.append(
            f"{name} = tosa.const_shape  {{values = dense<{list(extents)}> : tensor<{len(extents)}xindex>}} "
            f": () -> {self._types[name]}"
        )
        return name

    def op(self, text: str, *operands: str, gives: np.ndarray) -> str:
        """`text` is the name and, behind it, the attributes."""
        name, _, attributes = text.partition(" ")
        types = ", ".join(self._types[operand] for operand in operands)
        result = self._name(type_of(gives))
        self.lines.append(
            f"{result} = tosa.{name} {', '.join(operands)} {attributes} : ({types}) -> {type_of(gives)}"
        )
        self.results.append((result, gives))
        return result

    def text(self) -> str:
        names = [name for name in self._types if not any(f"{name} = " in x for x in self.lines)]
        arguments = ", ".join(f"{name}: {self._types[name]}" for name in names)
        types = ", ".join(type_of(array) for _, array in self.results)
        returned = ", ".join(name for name, _ in self.results)
        body = "\n  ".join(self.lines)
        return f"func.func @main({arguments}) -> ({types}) {{\n  {body}\n  return {returned} : {types}\n}}\n"


def floats(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def bytes_(*shape: int) -> np.ndarray:
    return rng.integers(-128, 128, shape).astype(np.int8)


def windows(x: np.ndarray, pads: Sequence[int], kernel: Sequence[int], strides: Sequence[int]):
    """Windows (n, h, w, c, kh, kw) of an image with zeros around it."""
    whole = np.pad(x, [(0, 0), tuple(pads[:2]), tuple(pads[2:]), (0, 0)])
    all_ = np.lib.stride_tricks.sliding_window_view(whole, tuple(kernel), axis=(1, 2))
    return all_[:, :: strides[0], :: strides[1]]


def of_elements(p: Program) -> None:
    x, y, i, j = (
        floats(3, 5) * 2,
        floats(1, 5),
        rng.integers(-99, 99, (3, 5)).astype(np.int32),
        rng.integers(1, 9, (3, 5)).astype(np.int32),
    )
    x[0, :3] = [2.5, -0.5, 3e9]
    a, b, c, d = map(p.input, (x, y, i, j))
    q = bytes_(3, 5)
    e = p.input(q)
    none = p.const([0], np.int8)
    p.op("add", a, b, gives=x + y)
    p.op("mul", a, b, none, gives=x * y)
    product = (i.astype(np.int64) * j + 4) >> 3
    p.op("mul", c, d, p.const([3], np.int8), gives=product.astype(np.int32))
    p.op("mul", e, e, none, gives=q.astype(np.int32) ** 2)
    p.op("sub", c, d, gives=i - j)
    p.op("intdiv", c, d, gives=np.trunc(i / j).astype(np.int32))
    p.op("arithmetic_right_shift {round = true}", c, d, gives=(i + (1 << (j - 1))) >> j)
    p.op("logical_right_shift", c, d, gives=(i.view(np.uint32) >> j.view(np.uint32)).view(np.int32))
    narrow = np.clip(5 - q.astype(int), -128, 127).astype(np.int8)
    p.op("negate", e, p.const([3], np.int8), p.const([2], np.int8), gives=narrow)
    p.op("sigmoid", a, gives=1 / (1 + np.exp(-x)))
    p.op("tanh", a, gives=np.tanh(x))
    p.op("erf", b, gives=np.vectorize(math.erf)(y).astype(np.float32))
    is_more = p.op("greater", a, b, gives=x > y)
    p.op("select", is_more, a, b, gives=np.where(x > y, x, y))
    rounded = np.clip(np.rint(x.astype(np.float64)), -(2**31), 2**31 - 1)
    p.op("cast", a, gives=rounded.astype(np.int32))
    p.op("cast", c, gives=i.astype(np.int8))
    limits = "{max_val = 1.0 : f32, min_val = -1.0 : f32, nan_mode = IGNORE}"
    p.op(f"clamp {limits}", a, gives=np.clip(x, -1, 1))
    p.op("maximum {nan_mode = IGNORE}", a, b, gives=np.maximum(x, y))


def of_products(p: Program) -> None:
    x, w, bias = floats(1, 6, 7, 2), floats(4, 3, 3, 2), floats(4)
    a, k, b, zero = p.input(x), p.input(w), p.input(bias), p.const([0], np.float32)
    seen = windows(x, (1, 2, 0, 2), (3, 3), (2, 1))
    settings = "acc_type = f32, dilation = array<i64: 1, 1>, stride = array<i64: 2, 1>"
    convolved = np.einsum("nhwcij,oijc->nhwo", seen, w) + bias
    pad = "pad = array<i64: 1, 2, 0, 2>"
    p.op(f"conv2d {{{settings}, {pad}}}", a, k, b, zero, zero, gives=convolved)
    deep = p.const(w[:2].transpose(1, 2, 3, 0), np.float32)
    each = np.einsum("nhwcij,ijcm->nhwcm", seen, w[:2].transpose(1, 2, 3, 0))
    each = each.reshape(*each.shape[:3], 4) + bias
    p.op(f"depthwise_conv2d {{{settings}, {pad}}}", a, deep, b, zero, zero, gives=each)
    spread = np.zeros((1, 5 * 2 + 3 + 1, 6 + 3 - 1, 4), np.float32) + bias
    for row in range(6):
        for column in range(7):
            piece = np.einsum("c,oijc->ijo", x[0, row, column], w)
            first = max(0, column - 1)
            spread[0, 2 * row + 1 : 2 * row + 4, first : column + 2] += piece[
                :, first - column + 1 :
            ]
    settings = "acc_type = f32, out_pad = array<i64: 1, 0, -1, 0>, stride = array<i64: 2, 1>"
    p.op(f"transpose_conv2d {{{settings}}}", a, k, b, zero, zero, gives=spread)
    q, r = bytes_(2, 3, 4), bytes_(2, 4, 5)
    wide = (q.astype(np.int32) - 3) @ (r.astype(np.int32) + 2)
    zeros = p.const([3], np.int8), p.const([-2], np.int8)
    p.op("matmul", p.input(q), p.input(r), *zeros, gives=wide)
    cube, filters = floats(1, 3, 4, 5, 2), floats(3, 2, 2, 2, 2)
    blocks = np.lib.stride_tricks.sliding_window_view(cube, (2, 2, 2), axis=(1, 2, 3))
    solid = np.einsum("ndhwcijk,oijkc->ndhwo", blocks, filters) + bias[:3]
    settings = "acc_type = f32, dilation = array<i64: 1, 1, 1>, stride = array<i64: 1, 1, 1>"
    three = f"conv3d {{{settings}, pad = array<i64: 0, 0, 0, 0, 0, 0>}}"
    operands = p.input(cube), p.input(filters), p.const(bias[:3], np.float32)
    p.op(three, *operands, zero, zero, gives=solid)


def divided(total: np.ndarray, by: np.ndarray) -> np.ndarray:
    """
    Sums over how many numbers there are, as TOSA rounds them: with a reciprocal that is a little too large, which takes a negative
    tie down. (TOSA 1.0, "reciprocal_scale" and "apply_scale_32".)
    """
    bits = np.ceil(np.log2(by)).astype(int)
    shift = 30 + bits
    return (total * (((2**30 + 1) << bits) // by) + (1 << (shift - 1))) >> shift


def of_pools(p: Program) -> None:
    x, q = floats(1, 5, 6, 2), bytes_(1, 5, 6, 2)
    a, e, zero = p.input(x), p.input(q), p.const([0], np.float32)
    window = "kernel = array<i64: 3, 2>, pad = array<i64: 1, 1, 0, 0>, stride = array<i64: 2, 2>"
    inside = windows(np.ones_like(x), (1, 1, 0, 0), (3, 2), (2, 2)).sum((4, 5))
    mean = windows(x, (1, 1, 0, 0), (3, 2), (2, 2)).sum((4, 5)) / inside
    p.op(f"avg_pool2d {{acc_type = f32, {window}}}", a, zero, zero, gives=mean)
    most = windows(x + 100, (1, 1, 0, 0), (3, 2), (2, 2)).max((4, 5)) - 100
    p.op(f"max_pool2d {{{window}}}", a, gives=most)
    total = windows(q.astype(np.int32) - 1, (1, 1, 0, 0), (3, 2), (2, 2)).sum((4, 5))
    rounded = divided(total, inside.astype(int)) + 4
    zeros = p.const([1], np.int8), p.const([4], np.int8)
    narrow = np.clip(rounded, -128, 127).astype(np.int8)
    p.op(f"avg_pool2d {{acc_type = i32, {window}}}", e, *zeros, gives=narrow)
    factors, shifts = np.array([1 << 30, 3 << 28]), np.array([32, 36])
    exact = np.floor((q.astype(int) - 1) * factors / 2.0**shifts + 0.5).astype(int) + 4
    flags = "input_unsigned = false, output_unsigned = true, per_channel = true, scale32 = true"
    scales = p.const(factors, np.int32), p.const(shifts, np.int8)
    bytes_out = np.clip(exact, 0, 255).astype(np.uint8).view(np.int8)
    p.op(f"rescale {{{flags}, rounding_mode = SINGLE_ROUND}}", e, *scales, *zeros, gives=bytes_out)
    position = np.clip((np.arange(9) - 1) / 2, 0, 4)
    low = np.floor(position).astype(int)
    part = (position - low)[:, None, None].astype(np.float32)
    rows = x[:, low] * (1 - part) + x[:, np.minimum(low + 1, 4)] * part
    shapes = p.shape(4, 2, 1, 1), p.shape(-2, 0), p.shape(-2, 0)
    p.op("resize {mode = BILINEAR}", a, *shapes, gives=rows)
    nearest = x[:, np.minimum(np.floor((np.arange(9) - 1) / 2 + 0.5).astype(int), 4)]
    p.op("resize {mode = NEAREST_NEIGHBOR}", a, *shapes, gives=nearest)


def of_places(p: Program) -> None:
    x, index = floats(2, 3, 4), np.array([[2, 0], [1, 2]], np.int32)
    a, i = p.input(x), p.input(index)
    p.op("reduce_sum {axis = 1 : i32}", a, gives=x.sum(1, keepdims=True))
    p.op("reduce_max {axis = 2 : i32}", a, gives=x.max(2, keepdims=True))
    p.op("argmax {axis = 2 : i32}", a, gives=x.argmax(2).astype(np.int32))
    p.op("concat {axis = 1 : i32}", a, a, gives=np.concatenate([x, x], 1))
    value = p.const([7.0], np.float32)
    widths = p.shape(0, 0, 1, 2, 0, 1)
    around = np.pad(x, [(0, 0), (1, 2), (0, 1)], constant_values=7)
    p.op("pad", a, widths, value, gives=around)
    p.op("reshape", a, p.shape(4, 6), gives=x.reshape(4, 6))
    p.op("reverse {axis = 1 : i32}", a, gives=x[:, ::-1])
    p.op("slice", a, p.shape(0, 1, 1), p.shape(2, 2, 3), gives=x[:, 1:3, 1:4])
    p.op("tile", a, p.shape(1, 2, 1), gives=np.tile(x, (1, 2, 1)))
    p.op("transpose {perms = array<i32: 2, 0, 1>}", a, gives=x.transpose(2, 0, 1))
    rows = np.arange(2)[:, None], index
    taken = p.op("gather", a, i, gives=x[rows])
    placed = x.copy()
    placed[rows] = x[rows][:, ::-1]
    back = p.op("reverse {axis = 1 : i32}", taken, gives=x[rows][:, ::-1])
    p.op("scatter", a, i, back, gives=placed)


@pytest.mark.parametrize("build", [of_elements, of_products, of_pools, of_places])
def test_values(build):
    program = Program()
    build(program)
    module = parse_text(program.text())
    bring_in(module)
    check(interpret(module, program.inputs), program)


def test_what_is_printed_is_read_again():
    program = Program()
    of_pools(program)
    module = parse_text(program.text())
    again = parse_text(str(module))
    bring_in(again)
    bring_in(module)
    assert str(again) == str(module)


def test_a_compiled_program():
    program = Program()
    of_places(program)
    check(sw.load(program.text()).compile(opt="quick")(*program.inputs), program)


def check(found: Sequence[np.ndarray], program: Program) -> None:
    for value, (name, wanted) in zip(found, program.results, strict=True):
        assert value.dtype == wanted.dtype, name
        np.testing.assert_allclose(value, wanted, 2e-5, 2e-5, err_msg=name)


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("table %x, %i : (tensor<4xf32>, tensor<4xi8>) -> tensor<4xf32>", "found tosa.table"),
        ("negate %x, %x, %x : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>", "a zero point that is"),
        ("tanh %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>", "of 2 operands"),
        ("exp %x : (tensor<4xf32>) -> tensor<5xf32>", "of shape [4]"),
        ("reduce_max %x {axis = 0 : i32, nan_mode = IGNORE} : (tensor<4xf32>) -> tensor<1xf32>", "nan_mode = IGNORE"),
        ("gather %x, %i : (tensor<4xf32>, tensor<4xi8>) -> tensor<4xf32>", "of operands of ranks [1, 1]"),
        ("reverse %x {axis = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>", "with axis = 1"),
        ("max_pool2d %y {kernel = array<i64: 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32>", "with kernel = [1]"),
        ("max_pool2d %y {kernel = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 0, 1>} : (tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32>", "strides [1, 0, 1, 1]"),
        ("argmax %x : (tensor<4xf32>) -> tensor<i32>", "without 'axis'"),
    ],
)  # fmt: skip
def test_refusals_are_one_line_at_their_place(operation: str, message: str):
    text = f"func.func @main(%x: tensor<4xf32>, %i: tensor<4xi8>, %y: tensor<1x4x4x1xf32>) {{\n  %r = tosa.{operation}\n  return\n}}\n"
    with pytest.raises(StepwellError) as found:
        sw.load(text)
    assert message in str(found.value)
    assert str(found.value).startswith("<string>:2:8: ")
    assert "\n" not in str(found.value)
