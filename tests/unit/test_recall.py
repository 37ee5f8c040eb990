"""A function that another process has compiled is not traced again, unless anything it depends on is another."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields
from functools import partial, wraps
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.call_signature import FunctionSignature
from stepwell.cache import folder
from stepwell.cache.store import HEADER_BYTES, Store
from stepwell.frontend.dependencies import dependencies
from stepwell.lowering.llvm_text import LLVMText
from stepwell.runtime.program_record import ProgramPlace, contents_digest, wait_until_kept

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
WEIGHTS = {"w": np.ones((4, 4), np.float32), "scale": 2.0}


def digest(function: Callable[..., Any]) -> str | None:
    found = dependencies(function)
    return None if found is None else found.digest


def helper(x: Any) -> Any:
    return sw.tanh(x) * np.float32(math.pi)


def layer(x: Any, bias: float = 0.5) -> Any:
    rows = [x.shape[0], len("ab")]
    return helper(sw.reshape(x, (rows[0], -1)) @ WEIGHTS["w"]) + bias


def copy_of(function: Any, **changed: Any) -> Any:
    """The function with other globals or another code."""
    globals_ = {**function.__globals__, **changed.get("globals", {})}
    code = function.__code__.replace(**changed.get("code", {}))
    return FunctionType(code, globals_, function.__name__, function.__defaults__)


def test_the_same_function_has_the_same_digest():
    assert digest(layer) is not None
    assert digest(copy_of(layer)) == digest(layer)
    assert digest(copy_of(layer, code={"co_firstlineno": 7})) == digest(layer)


@pytest.mark.parametrize(
    "other",
    [
        copy_of(layer, globals={"WEIGHTS": {**WEIGHTS, "w": 2 * np.ones((4, 4), np.float32)}}),
        copy_of(layer, globals={"WEIGHTS": {**WEIGHTS, "w": np.ones((4, 4))}}),
        copy_of(layer, globals={"WEIGHTS": {**WEIGHTS, "scale": 2}}),
        copy_of(layer, globals={"WEIGHTS": {**WEIGHTS, "scale": -0.0}}),
        copy_of(layer, globals={"helper": lambda x: x}),
        copy_of(layer, globals={"helper": partial(helper)}),
        copy_of(layer, code={"co_consts": (None, 1, "ab", "w")}),
    ],
)
def test_whatever_it_depends_on_is_in_the_digest(other: Callable[..., Any]):
    assert digest(other) not in (None, digest(layer))


def test_functions_may_import_what_is_known():
    def program(x: Any) -> Any:
        import math

        import numpy
        import stepwell
        from numpy import sqrt

        return stepwell.exp(x) * math.cos(0.5) + numpy.float32(sqrt(2.0))

    def other(x: Any) -> Any:
        import math

        import numpy
        import stepwell
        from numpy import cbrt as sqrt

        return stepwell.exp(x) * math.cos(0.5) + numpy.float32(sqrt(2.0))

    found, of_other = dependencies(program), dependencies(other)
    assert found is not None and of_other is not None and found.digest != of_other.digest


def test_what_the_functions_that_it_calls_depend_on_is_in_the_digest():
    before = digest(layer)
    code = helper.__code__
    try:
        helper.__code__ = (lambda x: sw.tanh(x)).__code__
        assert digest(layer) not in (None, before)
    finally:
        helper.__code__ = code
    assert digest(layer) == before


def test_closures_and_defaults_are_in_the_digest():
    def made(captured: Any, default: Any) -> Any:
        def inner(x: Any, d: Any = default) -> Any:
            return x + captured + d

        return inner

    values = [1, 1.0, True, np.ones(3, np.float32), (1,), [1], {"a": 1}, "1", None]
    digests = {digest(made(value, 0)) for value in values} | {digest(made(0, v)) for v in values}
    assert None not in digests and len(digests) == 2 * len(values)
    array = np.ones(3, np.float32)
    function = made(array, 0)
    before = digest(function)
    array[1] = 2
    assert digest(function) != before


def scaled(x: Any) -> Any:
    return x * SCALED.scale


SCALED: Any = scaled


def test_attributes_of_functions_are_in_the_digest():
    function: Any = sw.jit(lambda x: scaled(x))
    digests: set[str | None] = set()
    for value in (2.0, 3.0, np.ones(3, np.float32)):
        SCALED.scale = value
        digests.add(digest(lambda x: scaled(x) + function(x)))
    function.scale = 1
    digests.add(digest(lambda x: scaled(x) + function(x)))
    assert None not in digests and len(digests) == 4
    SCALED.scale = MODEL
    assert digest(scaled) is None


def test_attributes_of_a_jitted_function_itself_are_not_in_the_digest():
    function = sw.jit(lambda x: x * 2, opt="quick")
    before = digest(lambda x: function(x))
    function(X)
    assert before is not None and digest(lambda x: function(x)) == before


def test_what_wraps_a_function_of_ours_is_in_the_digest():
    def made(factor: float) -> Callable[..., Any]:
        @wraps(sw.relu)
        def wrapper(x: Any) -> Any:
            return sw.relu(x) * factor

        return lambda x: wrapper(x)

    digests = {digest(made(factor)) for factor in (2.0, 3.0)}
    assert None not in digests and len(digests) == 2


def test_an_array_of_foreign_byte_order_has_no_digest():
    """Its bytes are those of another one of native order."""
    array = np.arange(3, dtype=np.float32)
    assert digest(lambda x: x + array) is not None
    array = array.astype(array.dtype.newbyteorder())
    assert digest(lambda x: x + array) is None


class Model:
    weight = 2.0

    def __call__(self, x: Any) -> Any:
        return x * self.weight


def reads_a_clock(x: Any) -> Any:
    return x * time.time()


def reads_a_file(x: Any) -> Any:
    return x * len(open(__file__).read())


def loads(x: Any) -> Any:
    return x * np.load("weights.npy")


def draws(x: Any) -> Any:
    return x * np.random.rand()


def draws_again(x: Any) -> Any:
    return x * random.random()


def reads_the_environment(x: Any) -> Any:
    return x * float(os.environ["FACTOR"])


def imports_beside_it(x: Any) -> Any:
    from .numpy import anything

    return x + anything


def imports_and_loads(x: Any) -> Any:
    import stepwell

    return x + stepwell.load("model.mlir")


def imports(x: Any) -> Any:
    from secrets import randbelow

    return x * randbelow(3)


def asks_for_its_name(x: Any) -> Any:
    return x * len(helper.__name__)


def asks_where_it_is(x: Any) -> Any:
    return x * WEIGHTS["w"].ctypes.data


def calls_a_model(x: Any) -> Any:
    return MODEL(x)


def loads_a_program(x: Any) -> Any:
    return sw.load("program.mlir").compile()(x)


DOUBLED = np.frompyfunc(lambda value: value * 2, 1, 1)


def calls_a_universal_function_of_python(x: Any) -> Any:
    return x * DOUBLED(WEIGHTS["scale"])


def evaluates(x: Any) -> Any:
    return eval("x * 2")


MODEL = Model()


@pytest.mark.parametrize(
    "function",
    [
        reads_a_clock,
        reads_a_file,
        loads,
        draws,
        draws_again,
        reads_the_environment,
        imports,
        imports_beside_it,
        imports_and_loads,
        asks_for_its_name,
        asks_where_it_is,
        calls_a_model,
        loads_a_program,
        calls_a_universal_function_of_python,
        evaluates,
        MODEL,
        MODEL.__call__,
    ],
)
def test_what_may_differ_from_process_to_process_has_no_digest(function: Callable[..., Any]):
    assert digest(function) is None


# Programs.


def traces(function: Callable[..., Any], *args: Any, **options: Any) -> tuple[bool, Any]:
    """Whether a new function of the same code is traced when it is called, and its result."""
    compiled = sw.jit(function, opt="quick", **options)
    result = compiled(*args)
    return "_tracer" in vars(compiled), result


def test_a_function_is_traced_by_the_first_process_alone(store: Store):
    traced, first = traces(layer, X)
    again, second = traces(layer, X)
    assert traced and not again
    np.testing.assert_array_equal(first, second)
    assert traces(layer, X.astype(np.float64))[0]
    assert traces(layer, X[:2])[0]
    assert traces(layer, X, 0.25)[0] and not traces(layer, X, 0.25)[0]
    assert traces(layer, X, threads=1)[0]
    assert traces(layer, X, fp="strict")[0]
    assert traces(layer, X, target="x86-64-v2")[0]
    assert traces(layer, X, cache=False)[0]


def test_arrays_are_copied_when_a_program_is_found(store: Store):
    captured = np.random.default_rng(0).standard_normal(200).astype(np.float32)
    derived = np.random.default_rng(1).standard_normal(200).astype(np.float32)

    def plus(x: Any) -> Any:
        return x + captured, x * (derived * 2)

    x = np.ones(200, np.float32)
    traces(plus, x)
    compiled = sw.jit(plus, opt="quick")
    expected = [np.array(part) for part in compiled(x)]
    captured[:] = 0
    derived[:] = 0
    for found, right in zip(compiled(x), expected, strict=True):
        np.testing.assert_array_equal(found, right)
    assert "_tracer" not in vars(compiled)


def test_large_arrays_may_change_once_the_function_has_returned(store: Store):
    """Threads hash them while the function is compiled, and keep what is made of them while it is used."""
    rng = np.random.default_rng(0)
    captured, derived = (rng.standard_normal((600, 600)).astype(np.float32) for _ in range(2))
    contents = captured.copy()

    def product(x: Any) -> Any:
        return x @ captured, x @ (derived + 1)

    x = rng.standard_normal((2, 600)).astype(np.float32)
    for is_first in (True, False):
        traced, expected = traces(product, x)
        captured[:] = 0
        assert traced == is_first
        np.testing.assert_allclose(expected[0], x @ contents, rtol=1e-3, atol=1e-3)
        traced, (zero, kept) = traces(product, x)
        captured[:] = contents
        assert traced == is_first and not zero.any()
        np.testing.assert_array_equal(kept, expected[1])


def test_a_program_without_its_constants_is_traced(store: Store):
    derived = np.random.default_rng(1).standard_normal(200).astype(np.float32)

    def times(x: Any) -> Any:
        return x * (derived * 2)

    x = np.ones(200, np.float32)
    traces(times, x)
    kept = [entry for entry in store.entries() if entry.kind == "constants"]
    assert kept
    for entry in kept:
        entry.path.unlink()
    traced, result = traces(times, x)
    assert traced
    np.testing.assert_allclose(result, derived * 2)


def test_containers_and_complex_numbers_are_not_traced_again(store: Store):
    def nested(p: Any, z: Any, n: Any = None, *, scale: float = 2.0) -> Any:
        return {"twice": p["x"] * scale, "z": [z * 1j, (p["y"][0],)], "none": n}

    z = X.astype(np.complex64) * (1 + 2j)
    for is_first in (True, False):
        for scale in (2.0, 3.0):
            compiled = sw.jit(nested, opt="quick")
            result = compiled({"x": X, "y": (X[0],)}, z, scale=scale)
            assert ("_tracer" in vars(compiled)) == is_first
            np.testing.assert_array_equal(result["twice"], X * np.float32(scale))
            np.testing.assert_array_equal(result["z"][0], z * np.complex64(1j))
            np.testing.assert_array_equal(result["z"][1][0], X[0])
            assert result["none"] is None
    compiled = sw.jit(nested, opt="quick")
    compiled({"x": X, "y": [X[0]]}, z)  # another nesting
    assert "_tracer" in vars(compiled)


class Two(NamedTuple):
    a: Any
    b: Any

    @property
    def doubled(self) -> Any:
        return self.a * 2


def test_containers_of_a_user_are_traced_again(store: Store):
    """The digest of the function does not have their methods."""

    def takes(two: Any) -> Any:
        return two.doubled + two.b

    def makes(x: Any) -> Any:
        return Two(x, x + 1)

    for _ in range(2):
        assert traces(takes, Two(X, X))[0]
        traced, result = traces(makes, X)
        assert traced and type(result) is Two


SECOND = """
import sys
import numpy as np, stepwell as sw

SCALE = np.arange(300, dtype=np.float32)

@sw.jit(opt="quick")
def f(x):
    return sw.tanh(x) * SCALE

@sw.jit(opt="quick")
def g(p, *, scale):
    return {"z": p["z"] * scale}

result = f(np.ones((2, 300), np.float32))
g({"z": np.ones(3, np.complex64)}, scale=2.0)
late = [name for name in ("xdsl", "subprocess", "concurrent.futures", "logging") if name in sys.modules]
print(*late or ["nothing"], result.sum())
"""


def test_a_second_process_loads_nothing_of_the_compiler(store: Store, tmp_path: Path):
    (tmp_path / "program.py").write_text(SECOND)
    environment = {**os.environ, folder.VARIABLE: str(store.folder)}
    first, second = (
        subprocess.run(
            [sys.executable, str(tmp_path / "program.py")],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    )
    assert (first[0], second[0]) == ("xdsl", "nothing")
    assert first[-1] == second[-1]


@pytest.mark.parametrize("size", [3, 1 << 20])
def test_what_is_lent_to_a_program_is_kept_at_once(tmp_path: Path, size: int):
    """Its owner may change it afterwards; of what is not, a thread may keep it."""
    lent, ours = np.ones(size, np.float32), np.full(size, 2, np.float32)
    source = LLVMText("", {"l": lent, "o": ours}, until_loaded=frozenset("l"), lent=frozenset("l"))
    store, digests = Store(tmp_path), [*map(contents_digest, (lent, ours))]
    ProgramPlace(store, "key", {}).keep(FunctionSignature("main", (), (), "marked"), source)
    lent[:] = 0
    wait_until_kept()
    kept = [store.read("constants", digest) for digest in digests]
    assert kept == [np.ones(size, np.float32).tobytes(), ours.tobytes()]
    assert store.read("programs", "key") is not None


def test_everything_that_a_program_is_linked_with_is_kept(tmp_path: Path):
    """A field of LLVMText that is not in the record would be missing in the next process."""
    source = LLVMText(
        "define void @main() {\n  ret void\n}\n",
        {"c": np.arange(3, dtype=np.float32)},
        (),
        {"k": "define void @k() {\n  ret void\n}\n"},
        {"b": 64},
        ("main",),
        frozenset(("d",)),
        frozenset(("d",)),
    )
    assert all(getattr(source, f.name) or f.name == "imports" for f in fields(source))
    ProgramPlace(Store(tmp_path), "key", {}).keep(
        FunctionSignature("main", (), (), "marked"), source
    )
    (entry,) = [e for e in Store(tmp_path).entries() if e.kind == "programs"]
    record = json.loads(entry.path.read_bytes()[HEADER_BYTES:])
    assert record.keys() - {"signature", "constants"} == {f.name for f in fields(source)} - {
        "external",
        "lent",
    }
