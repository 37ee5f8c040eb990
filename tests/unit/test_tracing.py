"""Tracing: what a Tensor can do, what is recorded, and what is said when it needs elements."""

import builtins
import threading

import numpy as np
import pytest
import stepwell as sw
from stepwell.dialects import graph
from stepwell.frontend.recording import record
from stepwell.frontend.tracing import Trace
from xdsl.dialects.builtin import FileLineColLoc

WEIGHTS = np.ones((3, 2), np.float32)


def graph_of(function, *arrays):
    return sw.jit(function).lower(*arrays).as_text("graph")


def ops_of(function, *arrays):
    """The names of the operations recorded, in order, without constants and the return."""
    (main,) = sw.jit(function).lower(*arrays).module("graph").ops
    names = [op.name.removeprefix("graph.") for op in main.body.block.ops]
    return [name for name in names[:-1] if name != "constant"]


def interpreted(function, *arrays):
    return sw.interpret(sw.jit(function).lower(*arrays).module("graph"), arrays)


X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
WHOLE = np.arange(6, dtype=np.int32).reshape(2, 3) + 1


def test_a_trace_by_hand():
    with Trace() as trace:
        x = trace.argument((2, 3), np.dtype(np.float32), "x")
        y = record(graph.ExpOp, x)
    module = trace.module([y])
    module.verify()
    np.testing.assert_allclose(sw.interpret(module, [X])[0], np.exp(X))


def test_attributes():
    seen = {}

    def function(x):
        seen.update(shape=x.shape, dtype=x.dtype, ndim=x.ndim, size=x.size, len=len(x))
        seen.update(t=x.T.shape, repr=repr(x))
        return x

    sw.jit(function).lower(X)
    assert seen == {
        "shape": (2, 3),
        "dtype": np.dtype("f4"),
        "ndim": 2,
        "size": 6,
        "len": 2,
        "t": (3, 2),
        "repr": "Tensor(float32[2, 3])",
    }


def float_operators(x):
    row = np.array([2, 3, 4], np.float32)
    return [
        *(-x, +x, abs(x), x + 1, 1 + x, x - row, row - x, x * 2, 2 * x, x / row, row / x),
        *(
            x // row,
            row // (x + 7),
            7 // (x + 7),
            x % row,
            row % (x + 7),
            x**2,
            2**x,
            abs(x) ** 0.5,
        ),
        *(x < 1, x > 1, x <= row, x > 0, x >= 0, x == row, row == x, x != 1),
        *(x @ WEIGHTS, WEIGHTS @ x, WEIGHTS.T @ x.T, [1.0, 2.0] + x[:, :2], np.float32(3) * x),
    ]


def integer_operators(x):
    row = np.array([1, 6, 3], np.int32)
    return [
        *(x & row, row & x, x | 1, 1 | x, x ^ row, 3 ^ x, ~x, x // 2, 7 // x, x % row, 9 % x),
        *(x / row, 1 / x, x**row, 2**x, x * 1.5, (x > 2) & (x < 5), (x > 2) | True, ~(x > 2)),
    ]


@pytest.mark.parametrize(("function", "x"), [(float_operators, X), (integer_operators, WHOLE)])
def test_operators_are_numpys(function, x):
    with np.errstate(divide="ignore"):
        numpys = function(x)
    for found, expected in zip(interpreted(function, x), numpys, strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def methods(x):
    return [
        *(x.astype(np.int32), x.astype("f8", copy=False), x.reshape(3, 2), x.reshape((-1,))),
        *(x.flatten(), x.ravel(), x.T, x.transpose(), x.transpose(1, 0), x.transpose((1, 0))),
        *(x.swapaxes(0, 1), x[None].squeeze(), x[None].squeeze(0), x.take([0, 1], 1)),
        *(x.clip(-1, 1), x.clip(max=2), x.round(), (x / 3).round(1), x.sum(), x.sum(1), x.prod(0)),
        *(x.sum(axis=0, dtype=np.float64), x.mean(axis=-1, keepdims=True), x.max(), x.min(1)),
        *(x.all(), x.any(0), x.argmax(), x.argmin(1)),
    ]


def test_methods_are_numpys():
    for found, expected in zip(interpreted(methods, X), methods(X), strict=True):
        expected = np.asarray(expected)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def numpy_functions(x):
    row = np.array([2, 3, 4], np.float32)
    return [
        *(np.exp(x), np.maximum(x, 0), np.sum(x, axis=1), np.where(x > 0, x, row), np.mean(x)),
        *(np.concatenate([x, row[None]]), np.stack([x, x]), np.transpose(x), np.reshape(x, -1)),
        *(np.matmul(x, WEIGHTS), np.clip(x, 0, 1), np.argmax(x), np.expand_dims(x, 0), np.round(x)),
        *(np.split(x, 3, axis=1)[1], np.logical_and(x, row), np.multiply(row, x), np.abs(x)),
    ]


def taken_apart(x):
    first, second = x
    copied = sw.array(x)
    copied[0] = 7
    return first, second, x, copied, sw.array([row.sum() for row in x])


def test_rows_and_copies_are_numpys():
    for found, expected in zip(interpreted(taken_apart, X), taken_apart(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_numpys_functions_are_stepwells():
    for found, expected in zip(interpreted(numpy_functions, X), numpy_functions(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


NEEDS_ELEMENTS = {
    "a branch on a tensor": lambda x: 1 if x.sum() > 0 else 2,
    "a long loop over a tensor": lambda x: list(sw.tile(x, (40, 1))),
    r"float\(\) of a tensor": lambda x: float(x[0, 0]),
    r"int\(\) of a tensor": lambda x: int(x[0, 0]),
    "a tensor used as a Python integer": lambda x: range(x[0, 0]),
    "a tensor made into a NumPy array": lambda x: np.asarray(x),
    r"\.item\(\) of a tensor": lambda x: x[0, 0].item(),
    r"\.tolist\(\) of a tensor": lambda x: x.tolist(),
    "'in' on a tensor": lambda x: 3 in x,
    r"len\(\) of a tensor without axes": lambda x: len(x.sum()),
}


@pytest.mark.parametrize("message", NEEDS_ELEMENTS)
def test_a_traced_value_has_no_elements(message):
    with pytest.raises(sw.StepwellError, match=f"found {message}.*no concrete value") as caught:
        sw.jit(NEEDS_ELEMENTS[message]).lower(X)
    assert str(caught.value).startswith(__file__)
    assert "\n" not in str(caught.value)


def assigned(x):
    x[0] = 1
    return x


OTHER_MISTAKES = {
    "found an assignment into": assigned,
    "found order 'G', expected 'C', 'F', 'A' or 'K'": lambda x: x.reshape(6, order="G"),
    "found numpy's roots": lambda x: np.roots(x),
    "found numpy's sort_complex": lambda x: np.sort_complex(x),
    "found numpy's linalg.eig .* there is no operation for the eigenvalues": lambda x: (
        np.linalg.eig(x)
    ),
    r"found numpy.add.reduceat on": lambda x: np.add.reduceat(x, [0]),
    "found numpy.max on a traced value with arguments": lambda x: np.max(x, out=np.zeros(())),
    "found numpy.exp with where=": lambda x: np.exp(x, where=True),
    "found complex numbers in sort, which there is of real ones": lambda x: np.sort(x + 1j),
    "found the Python integer 300 beside uint8": lambda x: x.astype("u1") + 300,
    "found a Python integer of 1329 bits beside float32, expected one that converts": lambda x: (
        x * 10**400
    ),
    "found a Python integer of 16610 bits beside uint8": lambda x: x.astype("u1") + 10**5000,
}


@pytest.mark.parametrize("message", OTHER_MISTAKES)
def test_other_mistakes(message):
    with pytest.raises(sw.StepwellError, match=message) as caught:
        sw.jit(OTHER_MISTAKES[message]).lower(X)
    assert str(caught.value).startswith(__file__)
    assert "\n" not in str(caught.value)


def test_a_shape_mismatch_stands_at_the_users_line_and_column():
    def layer(x):
        return x @ np.ones((4, 2), np.float32)  # the line

    def network(x):
        return sw.relu(layer(x))

    with pytest.raises(sw.StepwellError) as caught:
        sw.jit(network).lower(X)
    line = layer.__code__.co_firstlineno + 1
    assert str(caught.value) == (
        f"{__file__}:{line}:16: in matmul: found shapes 2x3 and 4x2, expected the last axis of the first to "
        "equal the second to last axis of the second, but they are 3 and 4; transpose or reshape an operand"
    )


def test_operations_know_the_users_line():
    def function(x):
        return sw.exp(x)

    (main,) = sw.jit(function).lower(X).module("graph").ops
    location = main.body.block.first_op.location
    assert isinstance(location, FileLineColLoc)
    assert location.filename.data == __file__
    assert location.line.data == function.__code__.co_firstlineno + 1


class Model:
    def __init__(self):
        self.scale = np.full((3,), 2, np.float32)


def test_names_in_the_ir_are_the_users():
    model, table = Model(), {"bias": np.full((3,), 3, np.float32)}
    captured = np.full((3,), 4, np.float32)

    def function(image, x_1):
        local = np.full((3,), 5, np.float32)
        return (
            image * captured + model.scale - table["bias"] + image * local + (x_1 @ WEIGHTS).sum()
        )

    text = graph_of(function, X, X)
    assert "func.func @main(%image: tensor<2x3xf32>, %x.1: tensor<2x3xf32>)" in text
    for name in ("captured", "scale", "bias", "local", "WEIGHTS", "add", "mul", "sub", "sum"):
        assert f"%{name} = graph." in text


def test_a_captured_array_is_one_constant():
    big = np.arange(100, dtype=np.float32)

    def function(x):
        return x + big, x * big, x - 1, x / 1

    text = graph_of(function, big)
    assert text.count("graph.constant dense_resource") == 1
    assert text.count("graph.constant dense<1.0") == 1
    assert ops_of(function, big) == ["add", "mul", "sub", "div"]


def test_promotion_casts_and_constants_do_not():
    half = np.full(3, 0.5)
    assert ops_of(lambda x: x + half, X) == ["cast", "add"]
    assert ops_of(lambda x: x + half.astype("f4"), X) == ["add"]
    assert ops_of(lambda x: x * half.astype("i4"), X.astype("f8")) == ["mul"]  # cast in NumPy
    assert ops_of(lambda x: x + 0.5, WHOLE) == ["cast", "add"]
    assert ops_of(lambda x: x * 2, WHOLE) == ["mul"]


def test_functions_of_captured_arrays_are_computed_while_tracing():
    assert ops_of(lambda x: x + sw.exp(WEIGHTS).T, X) == ["add"]
    assert ops_of(lambda x: x + sw.arange(3), X) == ["iota", "cast", "cast", "add"]


def test_a_tensor_of_another_trace():
    leaked = []
    sw.jit(lambda x: leaked.append(x) or x).lower(X)
    with pytest.raises(sw.StepwellError, match=r"found Tensor.* of another traced function"):
        sw.jit(lambda x: x + leaked[0]).lower(X)
    with pytest.raises(sw.StepwellError, match="outside of a traced function"):
        sw.exp(leaked[0])


def test_threads_trace_on_their_own():
    both = threading.Barrier(2)
    texts = {}

    def trace(name, op):
        def function(x):
            both.wait(10)
            y = op(x)
            both.wait(10)
            return y * 2

        with Trace() as record_of:
            result = function(record_of.argument((2,), np.dtype("f4"), "x"))
        texts[name] = str(record_of.module([result]))

    threads = [
        threading.Thread(target=trace, args=(name, getattr(sw, name))) for name in ("exp", "sin")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "graph.exp" in texts["exp"] and "graph.sin" not in texts["exp"]
    assert "graph.sin" in texts["sin"] and "graph.exp" not in texts["sin"]


def test_tensors_are_not_hashable():
    with pytest.raises(sw.StepwellError, match="found the hash of a tensor"):
        sw.jit(lambda x: builtins.dict({x: 1}) or x).lower(X)


ATTRIBUTES = {
    "sort": r"a traced value has no attribute 'sort': it sorts in place; use stepwell.sort\(x\)",
    "tanh": r"a traced value has no attribute 'tanh'; write stepwell.tanh\(x\)",
    "cumsumm": "a traced value has no attribute 'cumsumm'; did you mean 'cumsum'",
    "zxqwv": "it has those of numpy.ndarray that need no elements",
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_that_are_not_there(name):
    with pytest.raises(AttributeError, match=ATTRIBUTES[name]):
        sw.jit(lambda x: getattr(x, name)()).lower(np.zeros(3))


def test_numpys_rooms_and_pythons_functions():
    x = np.random.default_rng(0).normal(size=(3, 4))

    def rooms(x):
        return np.linalg.norm(x, axis=1), np.linalg.matrix_power(x @ x.T, 3), np.fft.fftshift(x)

    def function(x):
        return *rooms(x), *divmod(x, 2), round(x, 1)

    found = sw.interpret(sw.jit(function).lower(x).module("graph"), [x])
    for one, expected in zip(found, (*rooms(x), *np.divmod(x, 2), np.round(x, 1)), strict=True):
        np.testing.assert_allclose(one, expected)


def test_a_tensor_in_a_formatted_string():
    with pytest.raises(
        sw.StepwellError, match=r"found a formatted tensor: .* has no concrete value"
    ):
        sw.jit(lambda x: f"{x:.3f}").lower(np.zeros(3))


def test_more_methods_of_arrays():
    x = np.random.default_rng(0).normal(size=(3, 4))

    def function(x):
        square = x.dot(x.T)
        return (
            *(x.var(0), x.std(1, ddof=1), x.cumsum(1), x.cumprod(0), x.argsort(0), x.repeat(2, 1)),
            *(
                square.trace(),
                square.diagonal(1),
                x.mT,
                x.real,
                x.imag,
                x.conj(),
                x.flatten(),
                x.ravel(),
            ),
            *((x[0] * 0 + np.arange(4.0)).searchsorted(x[1]), +x, x * x.nbytes, x * x.itemsize),
        )

    found = sw.interpret(sw.jit(function).lower(x).module("graph"), [x])
    for one, expected in zip(found, function(x), strict=True):
        np.testing.assert_allclose(one, expected)
