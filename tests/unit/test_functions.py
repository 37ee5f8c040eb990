"""The public functions against NumPy: eagerly on every dtype and shape, and traced and compiled."""

import itertools
import math
import re
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import stepwell as sw
from stepwell.frontend.public import public, public_names
from stepwell.frontend.recording import EagerRecording
from unit.numpy_drawn_calls import CALLS

DTYPES = [np.dtype(name) for name in ("f4", "f8", "i1", "u1", "i4", "i8", "?")]
FLOATS, INTEGERS, BOOL = DTYPES[:2], DTYPES[2:6], DTYPES[6]
SHAPES = [(3, 5), (7,), (1,), (1, 1), (), (0,), (2, 0, 3)]

erf = np.vectorize(math.erf, otypes=[float])


def sample(shape, dtype, seed=0):
    """Numbers of both signs, none of them 0 but some of them equal; reproducible."""
    generator = np.random.default_rng([seed, *shape])
    if dtype.kind == "f":
        return generator.uniform(-3, 3, shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(bool)
    values = generator.integers(1, 9, shape)
    signs = generator.choice([-1, 1], shape) if dtype.kind == "i" else 1
    return (values * signs).astype(dtype)


def check(found, expected, dtype=None, rtol=1e-6):
    """Equal shapes and values, and the dtype NumPy has unless another one is given."""
    expected = np.asarray(expected)
    assert isinstance(found, np.ndarray)
    assert found.dtype == (dtype or expected.dtype)
    assert found.shape == expected.shape
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, expected.astype(found.dtype), rtol=rtol, atol=1e-7)
    else:
        np.testing.assert_array_equal(found, expected)


def interpreted(function, *arrays):
    """What the function gives when it is traced and the IR is interpreted."""
    return sw.interpret(sw.jit(function).lower(*arrays).module("graph"), arrays)


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
    return powers / powers.sum(axis=-1, keepdims=True)


UNARY = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rint": np.rint,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": erf,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "hard_sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "leaky_relu": lambda x: np.where(x >= 0, x, 0.01 * x),
    "gelu": lambda x: 0.5 * x * (1 + erf(x * math.sqrt(0.5))),
}
"""Of real numbers: computed in floats, here in double precision."""

SAME = {
    "abs": np.abs,
    "absolute": np.abs,
    "sign": np.sign,
    "negative": np.negative,
    "square": np.square,
    "relu": lambda x: np.maximum(x, x.dtype.type(0)),
    "ceil": lambda x: np.ceil(x).astype(x.dtype),
    "floor": lambda x: np.floor(x).astype(x.dtype),
}
"""The result has the operand's dtype."""

BITS = {
    "invert": np.invert,
    "bitwise_not": np.invert,
    "bitwise_invert": np.invert,
    "logical_not": np.logical_not,
}

BINARY = {
    name: getattr(np, name)
    for name in (
        *(
            "add",
            "subtract",
            "multiply",
            "divide",
            "true_divide",
            "floor_divide",
            "mod",
            "remainder",
        ),
        *("maximum", "minimum", "power", "pow", "bitwise_and", "bitwise_or", "bitwise_xor"),
        *("logical_and", "logical_or", "logical_xor", "equal", "not_equal"),
        *("less", "less_equal", "greater", "greater_equal"),
    )
}

NOT_BOOL = {"negative", "sign", "relu"}
"""NumPy refuses some of these for bool and computes in float16 in others."""


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_real_numbers(name):
    for shape, dtype in itertools.product(SHAPES, DTYPES):
        x = sample(shape, dtype)
        expected_dtype = (
            dtype if dtype.kind == "f" else np.dtype("f4" if dtype.itemsize == 1 else "f8")
        )
        with np.errstate(all="ignore"):
            expected = np.asarray(UNARY[name](x.astype(np.float64)))
        check(getattr(sw, name)(x), expected, expected_dtype, 3e-6)


@pytest.mark.parametrize("name", SAME | BITS)
def test_functions_that_keep_the_dtype(name):
    function = (SAME | BITS)[name]
    for shape, dtype in itertools.product(SHAPES, DTYPES):
        if (dtype == BOOL and name in NOT_BOOL) or (
            dtype in FLOATS and name in BITS and name != "logical_not"
        ):
            with pytest.raises(sw.StepwellError, match="found element type"):
                getattr(sw, name)(sample(shape, dtype))
            continue
        x = sample(shape, dtype)
        check(getattr(sw, name)(x), function(x))


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions(name):
    for x_dtype, y_dtype in itertools.product(DTYPES, DTYPES):
        common = np.result_type(x_dtype, y_dtype)
        for shapes in [((3, 5), (5,)), ((), (2, 1)), ((0, 2), (1, 2))]:
            x, y = (
                sample(s, d, i)
                for i, (s, d) in enumerate(zip(shapes, (x_dtype, y_dtype), strict=True))
            )
            refused = refusal(name, common)
            if refused:
                with pytest.raises(sw.StepwellError, match=refused):
                    getattr(sw, name)(x, y)
                continue
            if name in ("power", "pow") and common.kind in "iub":
                y = np.abs(y)
            with np.errstate(all="ignore"):
                check(getattr(sw, name)(x, y), BINARY[name](x, y))


def refusal(name, common):
    """What is said when Stepwell does not have the operation for operands of this dtype."""
    if name.startswith("bitwise") and common.kind == "f":
        return "expected one of i8"
    if common == BOOL and name == "subtract":
        return "found element type i1"
    return None


SCALARS = [True, 2, -3, 0.5, -0.0, 300]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_python_scalars_are_weak(dtype):
    x = sample((3,), dtype)
    for scalar in SCALARS:
        fits = (
            dtype.kind not in "iu"
            or isinstance(scalar, bool | float)
            or (np.iinfo(dtype).min <= scalar <= np.iinfo(dtype).max)
        )
        for name in ("add", "multiply", "divide", "maximum"):
            function = getattr(sw, name)
            if not fits and name != "divide":
                with pytest.raises(sw.StepwellError, match=f"found the Python integer {scalar}"):
                    function(x, scalar)
            elif fits:
                with np.errstate(all="ignore"):
                    check(function(x, scalar), getattr(np, name)(x, scalar))
                    check(function(scalar, x), getattr(np, name)(scalar, x))
        for name in ("less", "equal", "greater_equal"):
            check(getattr(sw, name)(x, scalar), getattr(np, name)(x, scalar))


def test_operands_of_other_kinds():
    check(sw.add([1, 2], (3, 4)), np.array([4, 6]))
    check(sw.add(1, 2.5), np.array(3.5))
    check(sw.exp(np.float32(0)), np.float32(1))
    check(sw.add(memoryview(np.arange(3)), 1), np.arange(3) + 1)
    check(sw.add(np.arange(3, dtype=">i4"), 1), np.arange(3, dtype="i4") + 1)
    check(sw.multiply(np.float32(3), np.float64(2)), np.float64(6))


def test_power_of_a_scalar():
    x = sample((4, 3), np.dtype("f4"))
    for exponent in (2, 3, 0, -1, 0.5, 2.5, True):
        with np.errstate(all="ignore"):
            check(sw.power(x, exponent), x**exponent, rtol=2e-6)
    with pytest.raises(sw.StepwellError, match="found int32 to the power -1"):
        sw.power(sample((3,), np.dtype("i4")), -1)


def test_round_to_decimals():
    x = np.array([0.125, 2.675, -1.5, 1234.5])
    for decimals in (0, 1, 2, -2):
        check(sw.round(x, decimals), np.round(x, decimals))
    check(sw.round(np.arange(3), 2), np.arange(3))
    with pytest.raises(sw.StepwellError, match="decimals=-1 for int64"):
        sw.round(np.arange(3), -1)


def test_gelu_by_tanh():
    x = sample((5,), np.dtype("f8"))
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    check(sw.gelu(x, "tanh"), 0.5 * x * (1 + np.tanh(inner)))
    with pytest.raises(sw.StepwellError, match='expected "none" or "tanh"'):
        sw.gelu(x, "sigmoid")


@pytest.mark.parametrize("dtype", DTYPES[:6], ids=str)
def test_clip(dtype):
    x = sample((3, 5), dtype)
    check(sw.clip(x, 2, 4), np.clip(x, 2, 4))
    check(sw.clip(x, None, 4), np.clip(x, None, 4))
    check(sw.clip(x, max=4), np.clip(x, None, 4))
    check(sw.clip(x, 1.5, None), np.clip(x, 1.5, None))
    low = sample((5,), dtype, 1)
    check(sw.clip(x, low, low + 2), np.clip(x, low, low + 2))


def test_where():
    for dtype in DTYPES:
        x, y = sample((3, 5), dtype), sample((5,), dtype, 1)
        condition = x > y
        check(sw.where(condition, x, y), np.where(condition, x, y))
        check(sw.where(x, 1, x), np.where(x, 1, x))


def test_bitcast():
    for source, target in (("f4", "i4"), ("u2", "f2"), ("i8", "f8"), ("u1", "i1")):
        x = sample((3, 5), np.dtype(source))
        check(sw.bitcast(x, target), x.view(target))
    check(sw.bitcast(np.array([True, False]), np.uint8), np.array([1, 0], "u1"))
    for x, target in (("f4", "f8"), ("i1", "?"), ("f8", "i4")):
        with pytest.raises(sw.StepwellError, match=r"found the bits of .*, expected a dtype of"):
            sw.bitcast(np.zeros(3, x), target)


def test_astype():
    for source, target in itertools.product(DTYPES, DTYPES):
        x = np.abs(sample((3, 5), source))
        for function in (sw.astype, sw.cast):
            check(function(x, target), x.astype(target))
    wild = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 3.9, -3.9], "f4")
    limits = np.iinfo("i4")
    expected = [0, limits.max, limits.min, limits.max, limits.min, 3, -3]
    check(sw.astype(wild, np.int32), np.array(expected, "i4"))


REDUCTIONS = ("sum", "prod", "mean", "max", "min", "any", "all")
AXES = [None, 0, -1, (0, -1), ()]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    function, reference = getattr(sw, name), getattr(np, name)
    for shape, dtype, axis, keepdims in itertools.product(SHAPES, DTYPES, AXES, (False, True)):
        if (not shape and axis not in (None, ())) or (len(shape) == 1 and axis == (0, -1)):
            continue
        x = sample(shape, dtype)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # the mean of nothing
                expected = reference(x, axis=axis, keepdims=keepdims)
        except ValueError:
            with pytest.raises(sw.StepwellError, match="with no elements along axes"):
                function(x, axis, keepdims=keepdims)
            continue
        check(function(x, axis, keepdims=keepdims), expected, None, 2e-5)


def test_reductions_in_another_dtype():
    x = sample((3, 5), np.dtype("f4"))
    check(sw.sum(x, dtype=np.float64), x.sum(dtype=np.float64))
    check(sw.mean(x, 0, "f8"), x.mean(0, "f8"))
    check(sw.prod(x.astype(int), 1, np.int32), x.astype(int).prod(1, np.int32))
    check(sw.amax(x, 0), x.max(0))
    check(sw.amin(x, 0), x.min(0))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_reductions(name):
    function, reference = getattr(sw, name), getattr(np, name)
    for dtype, axis, keepdims in itertools.product(DTYPES, (None, 0, -1), (False, True)):
        x = sample((4, 6), dtype)
        check(function(x, axis, keepdims=keepdims), reference(x, axis=axis, keepdims=keepdims))
    check(function(np.array([1.0, np.nan, np.nan])), np.array(1))
    with pytest.raises(sw.StepwellError, match="no elements"):
        function(np.zeros((0, 3)), 0)


def test_softmax_and_log_softmax():
    for shape, dtype in itertools.product([(3, 5), (1,), (2, 0), (0, 3)], DTYPES):
        x = sample(shape, dtype)
        target = sw.exp(x).dtype
        expected = softmax(x.astype("f8"))
        check(sw.softmax(x), expected, target, 2e-6)
        check(sw.log_softmax(x), np.log(expected), target, 1e-5)
    huge = np.array([1000.0, 0.0, -1000.0], "f4")
    check(sw.softmax(huge), np.array([1, 0, 0], "f4"))
    check(sw.softmax(np.eye(3), axis=0), softmax(np.eye(3)).T)


def test_layer_norm():
    x, scale, bias = (sample(s, np.dtype("f8"), i) for i, s in enumerate([(2, 3, 4), (4,), (4,)]))

    def reference(x, axes):
        centered = x - x.mean(axes, keepdims=True)
        return centered / np.sqrt((centered**2).mean(axes, keepdims=True) + 1e-5)

    check(sw.layer_norm(x), reference(x, -1))
    check(sw.layer_norm(x, scale, bias), reference(x, -1) * scale + bias)
    check(sw.layer_norm(x, None, bias), reference(x, -1) + bias)
    check(sw.layer_norm(x, 2, axis=1), reference(x, (1, 2)) * 2)
    check(
        sw.layer_norm(x.astype("f4"), scale, bias),
        (reference(x, -1) * scale + bias),
        np.dtype("f4"),
        1e-4,
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_matmul(dtype):
    shapes = [((2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,))]
    shapes += [((5, 2, 3), (3, 4)), ((2, 1, 2, 3), (5, 3, 1)), ((2, 0), (0, 3)), ((0, 2), (2, 3))]
    for x_shape, y_shape in shapes:
        x, y = sample(x_shape, dtype), sample(y_shape, dtype, 1)
        check(sw.matmul(x, y), x @ y, rtol=1e-5)
    with pytest.raises(sw.StepwellError, match="in matmul: found shapes 2x3 and 2x3"):
        sw.matmul(sample((2, 3), dtype), sample((2, 3), dtype))


def test_movement():
    x = sample((2, 1, 6), np.dtype("i4"))
    check(sw.reshape(x, (3, -1)), x.reshape(3, -1))
    check(sw.reshape(x, -1), x.reshape(-1))
    check(sw.reshape(x, shape=(12, 1)), x.reshape(12, 1))
    check(sw.ravel(x), x.ravel())
    check(sw.transpose(x), x.T)
    check(sw.transpose(x, (0, -1, 1)), x.transpose(0, 2, 1))
    check(sw.permute_dims(x, axes=[2, 0, 1]), x.transpose(2, 0, 1))
    check(sw.swapaxes(x, 0, -1), x.swapaxes(0, -1))
    check(sw.moveaxis(x, 0, -1), np.moveaxis(x, 0, -1))
    check(sw.moveaxis(x, (0, 2), (1, 0)), np.moveaxis(x, (0, 2), (1, 0)))
    check(sw.expand_dims(x, (0, -1)), np.expand_dims(x, (0, -1)))
    check(sw.expand_dims(x, axis=1), np.expand_dims(x, 1))
    check(sw.squeeze(x), x.squeeze())
    check(sw.squeeze(x, 1), x.squeeze(1))
    check(sw.broadcast_to(x, (3, 2, 5, 6)), np.broadcast_to(x, (3, 2, 5, 6)))
    check(sw.broadcast_to(7, 3), np.full(3, 7))


def test_joining_and_cutting():
    x, y = sample((2, 3), np.dtype("f4")), sample((4, 3), np.dtype("f8"), 1)
    for function in (sw.concatenate, sw.concat):
        check(function([x, y]), np.concatenate([x, y]))
        check(function((x, x, [[1, 2, 3]]), axis=0), np.concatenate([x, x, [[1, 2, 3]]]))
        check(function([x, x], axis=-1), np.concatenate([x, x], -1))
        check(function([x, y], axis=None), np.concatenate([x, y], None))
    check(sw.stack([x, 2 * x], axis=-1), np.stack([x, 2 * x], -1))
    for sections, axis in [(2, 0), ([1, 3], 0), ([2], -1), ([1, 9], 1), (3, 1)]:
        found, expected = sw.split(y, sections, axis), np.split(y, sections, axis)
        assert len(found) == len(expected)
        for part, other in zip(found, expected, strict=True):
            check(part, other)
    check(sw.pad(x, 1), np.pad(x, 1))
    check(sw.pad(x, (0, 2), constant_values=3), np.pad(x, (0, 2), constant_values=3))
    check(sw.pad(x, ((1, 0), (2, 3))), np.pad(x, ((1, 0), (2, 3))))
    check(sw.pad(np.array(4), 1), np.array(4))


def test_take():
    x = sample((4, 5), np.dtype("f4"))
    indices = np.array([[0, -1], [2, 2]])
    for dtype in ("i1", "u1", "i4", "i8"):
        chosen = np.abs(indices).astype(dtype)
        check(sw.take(x, chosen, 0), x.take(chosen, 0))
    check(sw.take(x, indices, axis=-1), x.take(indices, -1))
    check(sw.take(x, [3, 19]), x.take([3, 19]))
    check(sw.take(x, 3, 0), x.take(3, 0))
    check(sw.take(x, [], 0), x.take(np.array([], int), 0))
    with pytest.raises(sw.StepwellError, match="found index 4 for an axis of extent 4"):
        sw.take(x, [0, 4], 0)
    with pytest.raises(sw.StepwellError, match="found indices of float64, expected integers"):
        sw.take(x, [0.5], 0)


def test_creation():
    for args in [(5,), (2, 7), (7, 2, -2), (0, 1, 0.25), (0,), (3.5,)]:
        check(sw.arange(*args), np.arange(*args))
    check(sw.arange(3, dtype="f4"), np.arange(3, dtype="f4"))
    check(sw.iota((2, 3), 1), np.broadcast_to(np.arange(3), (2, 3)))
    check(sw.iota(4, dtype=np.uint8), np.arange(4, dtype=np.uint8))
    with pytest.raises(sw.StepwellError, match="in arange"):
        sw.arange(0, 3, 0)


# Traced and compiled.


def many(x):
    """Most functions of one operand, and some of several."""
    y = x * x + 1
    half = x.shape[-1] // 2
    results = [getattr(sw, name)(x) for name in SAME if name != "absolute"]
    results += [sw.where(x > y, x, y), sw.clip(x, 1, 2), x % y, x // y, -x, abs(x), x**3, 5 - x]
    results += [sw.concatenate([x, y], -1), x[..., ::-1], x[..., half:], sw.pad(x, 1), x[..., None]]
    results += [sw.sum(x, -1), sw.max(x, -1, keepdims=True), sw.prod(x), x.any()]
    results += [sw.argmin(x, -1)]
    results += [x == y, (x < y) & (x != 2), ~(x >= 2), x.T.reshape(-1), *sw.split(x, [half], -1)]
    results += [sw.take(x, [0, -1], -1), sw.matmul(x, sw.swapaxes(y, -1, -2)), sw.arange(3) + 1]
    if x.dtype.kind == "f":
        results += [getattr(sw, name)(sw.abs(x)) for name in UNARY]
        results += [sw.softmax(x), sw.log_softmax(x), sw.layer_norm(x), sw.mean(x), x / y]
    else:
        results += [x / y, sw.exp(x), x & y, x | 1, x ^ y, ~x, sw.mean(x, -1)]
    return tuple(results)


@pytest.mark.parametrize("dtype", DTYPES[:6], ids=str)
def test_traced_and_interpreted(dtype):
    for shape in [(3, 5), (1, 1), (2, 3, 4)]:
        x = sample(shape, dtype)
        if dtype.kind == "u":
            x %= 5
        for found, expected in zip(interpreted(many, x), eager(many, x), strict=True):
            check(found, expected)


@pytest.mark.parametrize("dtype", [DTYPES[0], DTYPES[3], DTYPES[5]], ids=str)
def test_compiled(dtype):
    x = sample((3, 5), dtype)
    compiled = sw.jit(many)
    for number, (found, expected) in enumerate(zip(compiled(x), eager(many, x), strict=True)):
        assert found.dtype == expected.dtype, number
        check(found, expected, rtol=1e-5)


def eager(function, *arrays):
    """What the function gives when each operation is evaluated as it is recorded."""
    with EagerRecording() as trace:
        results = function(*(trace.array(array) for array in arrays))
        return [trace.value(result) for result in results]


def test_every_public_function_is_tested():
    tested = {*UNARY, *SAME, *BITS, *BINARY, *REDUCTIONS, *CALLS, "argmax"}
    here = Path(__file__).parent
    paths = [*here.glob("test_*functions.py"), here / "test_indexing.py"]
    source = "".join(path.read_text() for path in paths)
    table = (Path(__file__).parent / "numpy_calls.py").read_text()
    assert not [
        name
        for name in public_names()
        # An alias is the function of another name.
        if name not in tested
        and public(name).__name__ == name
        and not re.search(rf"(sw|sw\.nn)\.{name}\b", source)
        and not re.search(rf"np\.([a-z_]+\.)*{name}\(", table)
    ]


def test_partial_application_keeps_names():
    assert sw.exp.__name__ == "exp"
    assert "logarithm" in sw.log.__doc__
    assert partial(sw.sum, axis=0)(np.ones((2, 3))).shape == (3,)
