"""`jit`, `lower` and `load`: what may be passed and returned, what is compiled when, and what is refused."""

import array
import subprocess
import sys
import threading
from typing import NamedTuple

import numpy as np
import pytest
import stepwell as sw
from stepwell.dialects.resources import Loan
from stepwell.frontend.text import parse_text
from stepwell.frontend.tracing import Trace

X = np.arange(8, dtype=np.float32) - 3


class Counted:
    """A function that counts how often it is traced."""

    def __init__(self, function):
        self.function = function
        self.count = 0

    def __call__(self, x, n=2):
        self.count += 1
        return self.function(x, n)


@pytest.fixture(scope="module")
def double():
    return sw.jit(lambda x: x * 2)


class Layer(NamedTuple):
    weight: np.ndarray
    bias: np.ndarray


def nested(x, pair, *rest, layer, options=None, **more):
    first, second = pair
    y = x @ layer.weight + layer.bias + first - second * (options or {"scale": 2})["scale"]
    for item in (*rest, *more.values()):
        y = y + item
    return {"y": y, "parts": [y, (x,)], "layer": layer}


def test_nested_arguments_and_results():
    x = np.ones((2, 3), np.float32)
    layer = Layer(np.ones((3, 2), np.float32), np.arange(2, dtype=np.float32))
    pair = [np.float32(1), x[:, :2]]
    function = sw.jit(nested)
    for _ in range(2):
        result = function(x, pair, pair[1], layer=layer, options={"scale": 3}, last=x[0, 0])
        expected = nested(x, pair, pair[1], layer=layer, options={"scale": 3}, last=x[0, 0])
        assert list(result) == list(expected)
        assert type(result["layer"]) is Layer
        assert type(result["parts"]) is list and type(result["parts"][1]) is tuple
        np.testing.assert_allclose(result["y"], expected["y"])
        np.testing.assert_allclose(result["parts"][1][0], x)
        np.testing.assert_allclose(result["layer"].bias, layer.bias)
    text = function.lower(x, pair, layer=layer).as_text("graph")
    assert "@main(%x: tensor<2x3xf32>, %pair.0: tensor<f32>, %pair.1: tensor<2x2xf32>" in text
    assert "%layer.weight: tensor<3x2xf32>, %layer.bias: tensor<2xf32>)" in text


def test_kinds_of_results():
    def function(x, kind):
        return {"one": x + 1, "tuple": (x, x + 1), "single": (x,), "list": [x]}[kind]

    compiled = sw.jit(function)
    for kind in ("one", "tuple", "single", "list"):
        found, expected = compiled(X, kind), function(X, kind)
        assert type(found) is type(expected)
        for part, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(part, other)


def test_results_that_are_arguments_constants_and_the_same():
    constant = np.arange(3)
    x, y, z, again, number = sw.jit(lambda x: (x, x + 1, constant, x, np.float64(7)))(X)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(again, X)
    np.testing.assert_array_equal(y, X + 1)
    np.testing.assert_array_equal(z, constant)
    assert number == 7 and number.dtype == np.float64
    x[0] = 99
    assert again[0] == X[0] == -3


def test_kinds_of_arrays(double):
    class Foreign:
        def __init__(self, data):
            self.data = data

        def __dlpack__(self, **kwargs):
            return self.data.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.data.__dlpack_device__()

    read_only = X.copy()
    read_only.flags.writeable = False
    arrays = [Foreign(X), memoryview(X), array.array("f", X.tolist()), read_only]
    arrays += [np.repeat(X, 2)[::2], X[::-1], X.astype(">f4"), np.float32(3), np.array(3, "f4")]
    arrays += [np.zeros((0,), "f4"), np.zeros((2, 0, 3)), X.reshape(2, 4).T, np.zeros(3, "u1")]
    for value in arrays:
        expected = np.asarray(value.data if isinstance(value, Foreign) else value) * 2
        for _ in range(2):
            found = double(value)
            assert type(found) is np.ndarray
            assert found.dtype == expected.dtype.newbyteorder("=")
            np.testing.assert_array_equal(found, expected)


def test_compiled_once_for_each_shape_dtype_and_static_value():
    counted = Counted(lambda x, n: x * n)
    function = sw.jit(counted)
    for _ in range(2):
        for x in (X, X.astype(np.float64), X[:4], X.reshape(2, 4)):
            np.testing.assert_array_equal(function(x), x * 2)
    assert counted.count == 4
    function(X, 2)
    function(X, n=2)
    function(n=2, x=X)
    assert counted.count == 4
    for n in (2.0, True, np.nan, np.nan, 0.0, -0.0, 3):
        np.testing.assert_array_equal(np.signbit(function(X, n)), np.signbit(X * np.float32(n)))
        np.testing.assert_array_equal(function(X, n), X * np.float32(n))
    assert counted.count == 10


def test_static_values():
    def function(x, dtype, flag, axes, nothing=None):
        y = x.astype(dtype) if flag else x
        return y.sum(axes) if nothing is None else y

    x = np.ones((2, 3, 4), np.float32)
    compiled = sw.jit(function)
    np.testing.assert_array_equal(
        compiled(x, np.float64, True, (0, -1)), function(x, "f8", True, (0, 2))
    )
    assert compiled(x, "float64", False, 1).shape == (2, 4)
    assert compiled(x, np.dtype("i4"), True, None, "x").dtype == np.int32


def test_defaults_that_are_arrays():
    weight = np.arange(8, dtype=np.float32)

    @sw.jit
    def function(x, w=weight):
        return x * w

    for _ in range(3):
        np.testing.assert_array_equal(function(X), X * weight)
        np.testing.assert_array_equal(function(X, X), X * X)


def test_arguments_by_name_reach_their_parameters():
    @sw.jit
    def function(x, y, *rest, z=1, **more):
        return x - 2 * y + z * more.get("w", 5) - sum(rest)

    def check(*args, **kwargs):
        expected = np.asarray(function.__wrapped__(*args, **kwargs))
        np.testing.assert_array_equal(function(*args, **kwargs), expected)

    a, b, c, d = (X + number for number in range(4))
    for _ in range(2):
        check(a, a)  # one array twice, then two
        check(a, b)
        check(y=a, x=b)
        check(x=a, y=b)
        check(a, b, c, d)
        check(a, b, w=c, z=d)
        check(a, b, z=c, w=d)
        check(a, y=b, z=3)


def test_a_jitted_function_in_another_is_inlined(double):
    outer = sw.jit(lambda x: double(x) + double(x=x))
    np.testing.assert_array_equal(outer(X), X * 4)
    assert outer.lower(X).as_text("graph").count("graph.mul") == 2
    called_on_arrays = sw.jit(lambda x: x + double(X))
    np.testing.assert_array_equal(called_on_arrays(X), X * 3)


def test_a_function_without_arguments():
    np.testing.assert_array_equal(sw.jit(lambda: sw.arange(5) * 2)(), np.arange(5) * 2)


def test_decorator_forms():
    @sw.jit(target="host")
    def named(x):
        """Doubles."""
        return x * 2

    assert (named.__name__, named.__doc__) == ("named", "Doubles.")
    assert repr(named) == "<jit named(x)>"
    np.testing.assert_array_equal(named(X), X * 2)


def test_threads_compile_once():
    counted = Counted(lambda x, n: sw.tanh(x) * n)
    function = sw.jit(counted)
    start = threading.Barrier(4)
    results = []

    def call():
        start.wait(10)
        for _ in range(50):
            results.append(function(X))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted.count == 1
    assert len(results) == 200
    for result in results:
        np.testing.assert_array_equal(result, results[0])


def test_an_error_while_tracing_leaves_nothing_behind():
    @sw.jit
    def function(x, fail):
        if fail:
            raise ValueError("mine")
        return x + 1

    with pytest.raises(ValueError, match="mine"):
        function(X, True)
    np.testing.assert_array_equal(function(X, False), X + 1)
    np.testing.assert_array_equal(sw.exp(np.zeros(2)), np.ones(2))


# Lowered.


@pytest.fixture(scope="module")
def lowered():
    weights = np.linspace(-1, 1, 96, dtype=np.float32).reshape(8, 12)

    @sw.jit
    def network(x):
        return sw.relu(x @ weights)

    return network.lower(X.reshape(1, 8))


LEVELS = ("graph", "te", "loop", "core", "llvm")


def test_every_level_prints_parses_and_prints_the_same(lowered):
    for level in LEVELS:
        text = lowered.as_text(level)
        again = sw.Lowered(parse_text(text))
        assert again.level == level
        assert again.as_text(level) == text
        assert "dialect_resources" in text


def test_every_level_gives_the_same(lowered):
    x = X.reshape(1, 8)
    expected = lowered.compile()(x)
    for level in LEVELS[:4]:
        (found,) = sw.interpret(lowered.module(level), [x])
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    for level in LEVELS:
        np.testing.assert_allclose(sw.Lowered(lowered.module(level)).compile()(x), expected)


def test_modules_are_copies(lowered):
    lowered.module("graph").body.block.first_op.detach()
    assert "func.func @main" in lowered.as_text("graph")


def test_code_as_text(lowered):
    assert "define" in lowered.as_text("llvm-ir")
    assert "main" in lowered.as_text("asm")


def test_timings_name_the_passes(lowered):
    fresh = sw.jit(lambda x: x + 1).lower(X)
    assert fresh.timings == []
    fresh.as_text("loop")
    fresh.compile()
    names = [name for name, _ in fresh.timings]
    assert names[0] == "trace" and names[-1] == "llvm"
    assert "convert-graph-to-te" in names and "convert-core-to-llvm" in names
    assert all(seconds >= 0 for _, seconds in fresh.timings)


def test_compiling_for_another_target_schedules_for_it(monkeypatch):
    from stepwell.runtime import kernels

    scheduled: list[str] = []
    compile_kernels = kernels.compile_kernels

    def noted(module, options, *others):
        scheduled.append(options.machine.name)
        return compile_kernels(module, options, *others)

    monkeypatch.setattr(kernels, "compile_kernels", noted)
    x = np.ones((5, 7), np.float32)
    lowered = sw.jit(lambda x: x @ x.T, cache=False).lower(x)
    for target in (None, "host", "x86-64"):
        np.testing.assert_array_equal(lowered.compile(target=target)(x), x @ x.T)
    assert scheduled == ["host", "host", "x86-64"]


def test_mistakes_of_lowering(lowered, tmp_path):
    with pytest.raises(sw.StepwellError, match="found level 'affine', expected one of graph, te"):
        lowered.as_text("affine")
    with pytest.raises(sw.StepwellError, match="found level 'asm'"):
        lowered.module("asm")
    with pytest.raises(sw.StepwellError, match="found a program at level 'core', expected"):
        sw.Lowered(lowered.module("core")).as_text("graph")
    with pytest.raises(sw.StepwellError, match="found threads=0, expected a number from 1"):
        lowered.compile(threads=0)
    with pytest.raises(sw.StepwellError, match="found target 'z80'"):
        lowered.compile(target="z80")


def test_load(lowered, tmp_path):
    for level in LEVELS:
        path = tmp_path / f"{level}.mlir"
        path.write_text(lowered.as_text(level))
        x = X.reshape(1, 8)
        np.testing.assert_allclose(sw.load(path).compile()(x), lowered.compile()(x))
    assert repr(sw.load(path)) == "<Lowered llvm from llvm>"
    with pytest.raises(
        sw.StepwellError, match="found shapes or constants for a program that is no model"
    ):
        sw.load(path, shapes={"x": (1, 8)})
    with pytest.raises(sw.StepwellError, match="found no such file"):
        sw.load(tmp_path / "other.mlir")
    path.write_text(
        "func.func @f(%x: tensor<2xf32>) -> tensor<3xf32> { func.return %x : tensor<2xf32> }"
    )
    with pytest.raises(sw.StepwellError) as caught:
        sw.load(path)
    assert str(caught.value).startswith(f"{path}:1:") and "\n" not in str(caught.value)


# Mistakes.


@sw.jit
def add(x, y):
    return x + y


class Method:
    @sw.jit
    def forward(self, x):
        return x


MISTAKES = {
    r"wrong call of 'add' \(missing a required argument: 'y'\), expected add\(x, y\)": lambda: add(
        X
    ),
    "wrong call of 'add' .*too many positional": lambda: add(X, X, X),
    "wrong call of 'add' .*unexpected keyword argument 'z'": lambda: add(X, X, z=X),
    "found dtype float128 for argument 'x' of 'add', expected one of": lambda: add(
        X.astype("longdouble"), X
    ),
    "found dtype object for argument 'y'": lambda: add(X, np.array([object()])),
    "found dtype complex256 for argument 'y'": lambda: add(X, np.clongdouble(1)),
    "found a object for argument 'y' of 'add', expected an array": lambda: add(X, object()),
    "found a set for argument 'y'": lambda: add(X, {1}),
    "found a function for argument 'y'": lambda: add(X, lambda: 1),
    "found a object for argument 'y.1.a'": lambda: add(X, [1, {"a": object()}]),
    "a masked array for argument 'x'": lambda: add(np.ma.masked_array(X), X),
    "found a str as an operand": lambda: add(X, "text"),
    "in add: found shapes 8 and 3": lambda: add(X, X[:3]),
    "returning no tensor, expected at least one": lambda: sw.jit(lambda x: None)(X),
    "returning a str as result.a.0": lambda: sw.jit(lambda x: {"a": ["1.5", x]})(X),
    "returning a generator": lambda: sw.jit(lambda x: (y for y in [x]))(X),
    "returning no tensor": lambda: sw.jit(lambda x: ())(X),
    "a branch on a tensor": lambda: sw.jit(lambda x: x if x else -x)(X[:1]),
    "found a int, expected a function to compile": lambda: sw.jit(3),
    "found jit on the method 'forward'": lambda: Method().forward(X),
    "found target 'pdp11'": lambda: sw.jit(lambda x: x, target="pdp11")(X),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes(message):
    with pytest.raises(sw.StepwellError, match=message) as caught:
        MISTAKES[message]()
    assert "\n" not in str(caught.value)
    if "target" not in message:
        assert str(caught.value).startswith(__file__)


# The package.


def test_importing_loads_nothing():
    program = (
        "import sys, stepwell; "
        "print(any(name.partition('.')[0] in ('xdsl', 'llvmlite', 'numpy') for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_names_of_the_package():
    assert {"jit", "load", "exp", "softmax", "Tensor", "__version__"} <= set(dir(sw))
    assert "traceable" not in dir(sw) and "getitem" not in dir(sw)
    assert all(getattr(sw, name) is not None for name in sw.__all__)
    with pytest.raises(AttributeError, match="module 'stepwell' has no attribute 'einsumm'"):
        _ = sw.einsumm
    with pytest.raises(AttributeError):
        _ = sw.as_tensor


def test_a_captured_array_may_change_after_the_call():
    """Packed weights, and a bias that code reads where it is; both are read in place while the function is compiled."""
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal((96, 96)).astype(np.float32) for _ in range(2))
    b = rng.standard_normal(96).astype(np.float32)
    expected = x @ w + b
    layer = sw.jit(lambda x: x @ w + b, cache=False)
    np.testing.assert_allclose(layer(x), expected, rtol=1e-4, atol=1e-4)
    low = layer.lower(x)
    w[:], b[:] = 0, 0
    np.testing.assert_allclose(layer(x), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(low.compile()(x), expected, rtol=1e-4, atol=1e-4)
    assert not sw.jit(lambda x: x @ w + b, cache=False)(x).any()


def test_an_array_that_is_returned_may_change_after_the_call():
    """It is captured once the function has returned. Large arrays are copied later than they are captured."""
    w = np.arange(1 << 18, dtype=np.float32) + 1
    expected, x = w.copy(), np.ones(4, np.float32)
    low = sw.jit(lambda x: (x + 1, w, w * 2), cache=False).lower(x)
    w[:] = 0
    _, same, twice = low.compile()(x)
    np.testing.assert_array_equal(same, expected)
    np.testing.assert_array_equal(twice, expected * 2)


def test_a_captured_array_that_changes_while_tracing():
    w = np.arange(100, dtype=np.float32)

    def function(x):
        y = x + w
        w[3] = 7
        return y * w

    message = "found 'w' changed while the function that captures it is traced, expected the array to stay"
    for call in (sw.jit(function), sw.jit(function).lower):
        w[3] = 3
        with pytest.raises(sw.StepwellError, match=message):
            call(w.copy())


@pytest.mark.parametrize("size", [100, 1 << 18])
def test_a_captured_array_that_changes_after_its_value_was_assigned_into(size: int):
    w = np.arange(size, dtype=np.float32)
    with Loan() as loan, Trace(loan) as trace:
        value = trace.array(w)
        value[0] = trace.new_value((), w.dtype, "x")
        trace.check_captured()
        w[3] += 1
        with pytest.raises(sw.StepwellError, match="found 'w' changed while the function"):
            trace.check_captured()
