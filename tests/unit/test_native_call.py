"""Calls without Python in between do as the general way does, and leave to it what they do not take."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.runtime.executable import Executable
from stepwell.runtime.native_call import ARENA, MOST_ARENA, MOST_KEPT

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.skipif(
    sys.implementation.name != "cpython" or object.__basicsize__ != 16,
    reason="objects have another layout",
)


def native(executable: Executable, *arrays: Any) -> Any:
    assert executable.native_call is not None
    return executable.native_call(*arrays)


def in_threads(work: Callable[[int], bool]) -> list[bool]:
    """What eight threads at once find; raises what one of them raises."""
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(work, range(8)))


def add(dtype: Any, *shape: int) -> Executable:
    array = np.zeros(shape, dtype)
    return sw.jit(lambda x, y: x + y).lower(array, array).compile(threads=1)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4", "i8", "u1"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 1, 3), (1, 2, 3, 4)])
def test_results(dtype: str, shape: tuple[int, ...]):
    x = np.asarray(np.random.default_rng(0).integers(0, 50, shape), dtype)
    result = native(add(dtype, *shape), x, x)
    assert type(result) is np.ndarray and result.dtype == x.dtype and result.flags.writeable
    assert result.base is None
    np.testing.assert_array_equal(result, x + x)


class Subclass(np.ndarray):
    pass


def test_what_is_left_to_the_general_way():
    executable = add("f4", 3, 5)
    x = np.arange(15, dtype="f4").reshape(3, 5)
    unaligned = np.frombuffer(b"x" + x.tobytes(), np.uint8)[1:].view("f4").reshape(3, 5)
    others = (
        memoryview(x),
        x.astype(">f4"),
        np.asfortranarray(x),
        np.repeat(x, 2, axis=1)[:, ::2],
        x.view(Subclass),
        unaligned,
    )
    for other in others:
        for arrays in ((x, other), (other, x)):
            assert native(executable, *arrays) is NotImplemented
            np.testing.assert_array_equal(executable(*arrays), x + x)
    frozen = x.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(native(executable, frozen, x), x + x)


def doubling(extent: int) -> Executable:
    """A kernel that writes twice its first argument to its second."""
    buffer = f"memref<{extent}xf64>"
    text = f"""
    func.func @double(%x: {buffer}, %y: {buffer}) {{
      loop.for parallel "i" %i = 0 to {extent} {{
        %a = loop.load %x[%i] : {buffer}
        %b = arith.addf %a, %a : f64
        loop.store %b, %y[%i] : {buffer}
      }}
      func.return
    }}"""
    return sw.Lowered(parse_text(text)).compile(threads=1)


def test_arguments_that_are_written_in_place():
    executable, x, y = doubling(5), np.arange(5.0), np.zeros(5)
    assert native(executable, x, y) is None
    assert y.tolist() == [0, 2, 4, 6, 8]
    assert executable(y, y) is None
    assert y.tolist() == [0, 4, 8, 12, 16]
    frozen = x.copy()
    frozen.flags.writeable = False
    for other in (frozen, np.zeros(10)[::2], x.astype(">f8"), x[:4], x.astype("f4"), None):
        assert native(executable, x, other) is NotImplemented
        with pytest.raises(StepwellError):
            executable(x, other)


def test_mistakes_are_told_of_as_ever():
    executable, x = add("f4", 3, 5), np.zeros((3, 5), "f4")
    for arrays in (
        (x,),
        (x, x, x),
        (x, x[:2]),
        (x, x[0]),
        (x, x.astype("f8")),
        (x, "x"),
        (x, None),
    ):
        assert native(executable, *arrays) is NotImplemented
        with pytest.raises(StepwellError):
            executable(*arrays)


def test_scratch_memory_comes_from_the_stack():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((12, 273)), rng.standard_normal((273, 9))
    a, b = a.astype("f4"), b.astype("f4")
    executable = sw.jit(lambda a, b: a @ b).lower(a, b).compile(threads=1)
    assert 0 < executable.signature.arena_bytes <= MOST_ARENA
    np.testing.assert_allclose(native(executable, a, b), a @ b, rtol=1e-4, atol=1e-4)


def with_kept_memory() -> Executable:
    """Two products, of which the first one's result is more than the stack is used for."""
    low = sw.jit(lambda a, b: a @ b @ b).lower(*factors(1.0))
    executable = low.compile(threads=1)
    assert MOST_ARENA < executable.signature.arena_bytes <= MOST_KEPT
    return executable


def factors(value: float) -> tuple[Array, Array]:
    return np.full((100, 100), value, "f4"), np.ones((100, 100), "f4")


def test_larger_scratch_memory_is_kept_for_the_next_call():
    executable = with_kept_memory()
    for value in (1.0, 2.0):
        np.testing.assert_array_equal(native(executable, *factors(value)), 10_000 * value)
    words = executable.native_call.__self__
    words[ARENA], address = 0, words[ARENA]
    assert native(executable, *factors(1.0)) is NotImplemented, "another call has it"
    np.testing.assert_array_equal(executable(*factors(3.0)), 30_000)
    words[ARENA] = address
    np.testing.assert_array_equal(native(executable, *factors(4.0)), 40_000)
    assert words[ARENA] == address


def test_threads_share_scratch_memory_that_is_kept():
    executable = with_kept_memory()

    def is_right(seed: int) -> bool:
        return all((executable(*factors(seed)) == 10_000 * seed).all() for _ in range(200))

    assert all(in_threads(is_right))


def test_large_results_are_in_memory_that_nobody_holds_any_longer():
    executable = add("f8", 100, 100)
    x, y = np.full((100, 100), 2.0), np.ones((100, 100))
    first, second = native(executable, x, y), native(executable, x, x)
    assert first.ctypes.data % 64 == 0 and (first == 3).all() and (second == 4).all()
    place = first.ctypes.data
    del first
    assert native(executable, x, y).ctypes.data == place
    assert native(executable, x[:5], y) is NotImplemented


def test_code_stays_loaded_with_its_call():
    x = np.ones((100, 100), "f4")
    executable = add("f4", 100, 100)
    call, code = executable.native_call, weakref.ref(executable._code)
    assert call is not None
    del executable
    assert (call(x, x) == 2).all()
    del call
    assert code() is None


@pytest.mark.parametrize("extent", [1, 7, 300])
@pytest.mark.parametrize("count", [2, 3, 16])
def test_several_results(extent: int, count: int):
    x = np.arange(extent * extent, dtype="f4").reshape(extent, extent)
    executable = sw.jit(lambda x: tuple(x + n for n in range(count))).lower(x).compile(threads=1)
    results = native(executable, x)
    assert type(results) is tuple and len(results) == count
    for n, result in enumerate(results):
        assert type(result) is np.ndarray and result.flags.writeable
        np.testing.assert_array_equal(result, x + n)


def test_large_results_of_a_call_begin_at_different_places_of_their_pages():
    """Stores to the same place of two pages wait for each other."""
    x = np.ones((256, 256), "f4")
    executable = sw.jit(lambda x: (x, x + 1, x * 2, x - 1)).lower(x).compile(threads=1)
    made = native(executable, x), executable(x), executable._general(x)
    for results in made:
        lines = {result.ctypes.data % 4096 // 64 for result in results}
        near = {(line + n) % 64 for line in lines for n in (1, 2, 3)}
        assert len(lines) == 4 and not lines & near
        assert all(result.ctypes.data % 64 == 0 for result in results)


def test_what_has_no_such_call():
    many = sw.jit(lambda x: tuple(x + n for n in range(17))).lower(np.zeros(3)).compile()
    assert many.native_call is None


def test_a_jit_function_keeps_apart_what_it_compiled():
    """The last compiled function is tried first."""

    @sw.jit
    def scaled(x: Any, y: Any = 2.0) -> Any:
        return x * y

    x, wide = np.arange(3.0), np.arange(3)
    for _ in range(3):
        for array in (x, x[:2], x.astype("f4"), wide, x.reshape(3, 1)):
            for other in (array, 3):
                result = scaled(array, other)
                assert result.dtype == array.dtype and result.shape == array.shape
                np.testing.assert_array_equal(result, array * other)
        np.testing.assert_array_equal(scaled(x), x * 2)
        np.testing.assert_array_equal(scaled(y=x, x=x), x * x)
        np.testing.assert_array_equal(scaled(x, y=x), x * x)
    with pytest.raises(StepwellError):
        scaled(x, x, x)


def test_nothing_is_leaked():
    executable, x = add("f4", 3, 5), np.ones((3, 5), "f4")
    in_place, y = doubling(5), np.ones(5)
    things = (x, x.dtype, NotImplemented, None, executable, in_place)
    for _ in range(1000):
        native(executable, x, x)
        native(executable, x, None)
        native(in_place, y, y)
    gc.collect()
    counts = [sys.getrefcount(thing) for thing in things]
    blocks = sys.getallocatedblocks()
    for _ in range(20_000):
        native(executable, x, x)
        native(executable, x, None)
        native(in_place, y, y)
    assert sys.getallocatedblocks() - blocks < 100
    after = [sys.getrefcount(thing) for thing in things]
    assert all(abs(now - then) < 10 for now, then in zip(after, counts, strict=True))


def test_threads_share_an_executable():
    executable = add("f8", 20, 30)

    def is_right(seed: int) -> bool:
        x = np.full((20, 30), float(seed))
        return all((native(executable, x, x) == 2 * seed).all() for _ in range(2000))

    assert all(in_threads(is_right))
