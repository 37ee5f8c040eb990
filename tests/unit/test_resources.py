"""Constant data: arrays as attributes and back, in memory and through text; and the level of a module."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from stepwell.analysis.levels import Level, level_of
from stepwell.background import BackgroundThread
from stepwell.dialects import late_copy, resources
from stepwell.dialects.dtypes import element_type
from stepwell.dialects.resource_handles import storage
from stepwell.dialects.resources import (
    INLINE_LIMIT,
    Loan,
    checksum,
    declare,
    elements_to_numpy,
    is_changed,
    is_lent,
    joined_elements,
    numpy_to_elements,
    retyped,
    tensor_elements,
)
from stepwell.driver.pass_manager import module_text
from stepwell.errors import StepwellError
from stepwell.frontend.text import make_context, parse_text
from stepwell.interpreters.harness import interpret
from stepwell.runtime.jit import compile_module
from stepwell.targets.large_memory import LARGE_BYTES
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    MemRefType,
    TensorType,
    i8,
)

from .test_forks import status_of_child

DTYPES = ("float32", "float64", "int8", "int32", "int64", "uint8", "bool")
SHAPES = ((), (0,), (1,), (3,), (4, INLINE_LIMIT // 4), (5, INLINE_LIMIT), (0, 3))


def contents(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.asarray(rng.integers(0, 2 if dtype == "bool" else 100, shape)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_round_trip(dtype: str, shape: tuple[int, ...]):
    array = contents(dtype, shape)
    attr = tensor_elements(array, "w")
    back = elements_to_numpy(attr)
    assert back.dtype == array.dtype and back.shape == array.shape
    assert np.array_equal(back, array)
    assert isinstance(attr, DenseResourceAttr) == (array.size > INLINE_LIMIT)


@pytest.mark.parametrize(
    "array",
    [
        np.full((9, 99), 2.5, np.float32),
        np.full(100, np.nan),
        np.array([0.0, -0.0] * 50, np.float32),
        np.array([0.0, -0.0]),
        np.array([np.nan, np.inf, -np.inf, 1e-40], np.float32),
        np.ones(100, bool),
        np.asfortranarray(np.arange(200).reshape(10, 20)),
        np.arange(200)[::-2],
    ],
    ids=["splat", "NaN", "signed zeros", "two zeros", "special", "true", "Fortran", "reversed"],
)
def test_every_bit_is_kept(array: np.ndarray):
    back = elements_to_numpy(tensor_elements(array))
    assert back.tobytes() == np.ascontiguousarray(array).tobytes()


def test_large_splats_stand_in_the_text():
    attr = tensor_elements(np.zeros((1000, 1000), np.float32))
    assert isinstance(attr, DenseIntOrFPElementsAttr)
    assert len(str(attr)) < 100


def test_equal_data_has_one_name_and_other_data_another():
    array = np.arange(100)
    assert declare(array, "w") == declare(array.copy(), "w")
    assert declare(array, "w") != declare(array + 1, "w")
    assert declare(array, "w") != declare(array.reshape(10, 10), "w")
    assert declare(array, "1 strange-name").data.startswith("c1_strange_name_")


def test_equal_names_mean_equal_bytes_even_if_digests_were_equal(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resources, "checksum", lambda raw: 0)
    first, second = (np.full(100, number, np.uint8) for number in (0, 1))
    handles = [declare(first, "clash"), declare(second, "clash"), declare(first.copy(), "clash")]
    assert handles[0] == handles[2] != handles[1]
    for handle, array in zip(handles, (first, second, first), strict=True):
        attr = DenseResourceAttr.from_params(handle, TensorType(i8, (100,)))
        assert np.array_equal(elements_to_numpy(attr), array)


@pytest.mark.parametrize("size", [1, 100, 2048 * 8, 2048 * 8 + 5, 2048 * 8 * 7 + 3])
def test_a_checksum_tells_a_change_of_bytes_or_of_their_order(size: int):
    raw = np.random.default_rng(size).integers(0, 256, size + 1, dtype=np.uint8)[1:]
    before = checksum(raw)
    for place in {0, size // 2, size - 1}:
        raw[place] ^= 1
        assert checksum(raw) != before
        raw[place] ^= 1
    assert checksum(raw) == before
    words = raw[: size // 8 * 8].view(np.uint64)
    if len(words) > 1:
        words[:] = words[::-1].copy()
        assert checksum(raw) != before


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_a_checksum_tells_other_signs(dtype: str):
    array = np.random.default_rng(0).normal(size=2048 * 8).astype(dtype)
    for other in (array, np.ones_like(array)):
        assert checksum(other.view(np.uint8)) != checksum((-other).view(np.uint8))


def test_a_loan_shares_the_memory_until_it_ends():
    array = np.arange(100, dtype=np.float32)
    with Loan() as loan:
        attr = tensor_elements(array, "lent", loan)
        assert np.shares_memory(elements_to_numpy(attr), array)
        assert is_lent(attr) and not is_changed(attr, array)
        array[3] = -1
        assert is_changed(attr, array)
    with pytest.raises(StepwellError, match="has no bytes"):
        elements_to_numpy(attr)


def test_an_array_that_nobody_else_has_is_kept_itself():
    array = np.arange(100, dtype=np.float32)
    ours, copied = tensor_elements(array, "ours", is_ours=True), tensor_elements(array, "copied")
    assert np.shares_memory(elements_to_numpy(ours), array)
    assert not np.shares_memory(elements_to_numpy(copied), array)


@pytest.mark.parametrize("change", [bytes, bytearray], ids=["bytes", "bytearray"])
def test_views_of_bytes_are_kept_themselves(change: type):
    array = np.frombuffer(change(bytes(range(200))), np.int16)
    array.setflags(write=False)
    kept = elements_to_numpy(tensor_elements(array, change.__name__))
    assert np.shares_memory(kept, array) == (change is bytes)


def test_who_keeps_what_is_lent_has_a_copy():
    array = np.arange(100, dtype=np.float32)
    with Loan() as loan:
        lent = tensor_elements(array, "twice", loan)
        kept = tensor_elements(array, "twice")
        assert lent == kept and not is_lent(kept)
    array[:] = 0
    assert np.array_equal(elements_to_numpy(kept), np.arange(100))


@pytest.mark.parametrize(
    "array", [np.arange(200.0)[::2], np.ndarray((99,), "f8", np.arange(100.0).tobytes(), 1)]
)
def test_what_code_cannot_read_is_copied(array: np.ndarray):
    """Elements that do not lie side by side, or at addresses that are no multiples of their size."""
    with Loan() as loan:
        attr = tensor_elements(array, "strange", loan)
        assert not np.shares_memory(elements_to_numpy(attr), array)


def test_retyping_moves_no_data():
    array = np.arange(100, dtype=np.float32)
    type_ = MemRefType(element_type(array.dtype), (10, 10))
    attr = retyped(tensor_elements(array), type_)
    assert attr.get_type() == type_
    assert np.array_equal(elements_to_numpy(attr), array.reshape(10, 10))


def test_data_of_the_wrong_size():
    handle = declare(np.arange(100, dtype=np.float32), "short")
    attr = DenseResourceAttr.from_params(handle, TensorType(element_type(np.dtype("f4")), (101,)))
    with pytest.raises(StepwellError, match="holds 400 bytes, but its type needs 404"):
        elements_to_numpy(attr)


def test_data_that_is_not_there():
    module = parse_text("""
      func.func @main() -> tensor<100xf32> {
        %c = arith.constant dense_resource<nowhere_to_be_found> : tensor<100xf32>
        func.return %c : tensor<100xf32>
      }""")
    with pytest.raises(StepwellError, match="resource 'nowhere_to_be_found' has no bytes"):
        interpret(module, [])


@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_through_text_and_every_level(dtype: str):
    array = contents(dtype, (5, 40))
    element = element_type(array.dtype)
    type_ = TensorType(element, array.shape)
    text = f"""
      func.func @main() -> {type_} {{
        %c = arith.constant dense<0> : {type_}
        func.return %c : {type_}
      }}""".replace("dense<0>", "dense<false>" if dtype == "bool" else "dense<0.0>")
    ctx = make_context()
    module = parse_text(text, ctx=ctx)
    constant = next(op for op in module.walk() if op.name == "arith.constant")
    constant.properties["value"] = numpy_to_elements(array, type_, "weights")
    ctx.get_optional_dialect("builtin")  # what prints resources
    again = parse_text(module_text(module, ctx))
    for program in (module, again):
        assert np.array_equal(interpret(program, [])[0], array)
    from stepwell.driver.pipelines import lower_to

    lower_to(again, Level.CORE, ctx=ctx)
    assert np.array_equal(interpret(again, [])[0], array)
    assert np.array_equal(compile_module(again)(), array)


@pytest.mark.parametrize(
    ("body", "level"),
    [
        ("", Level.CORE),
        ("%0 = arith.constant 1.0 : f32", Level.CORE),
        ("%0 = arith.constant dense<1.0> : tensor<2xf32>", Level.TE),
        ("%0 = loop.alloc stack : memref<2xf32>", Level.LOOP),
        ("%0 = llvm.mlir.constant(1 : i64) : i64", Level.LLVM),
        ("%0 = graph.constant dense<1.0> : tensor<2xf32>", Level.GRAPH),
    ],
)
def test_the_level_of_a_module(body: str, level: Level):
    assert level_of(parse_text(f"func.func @f() {{\n{body}\nfunc.return\n}}")) is level


def test_arguments_tell_the_level_too():
    text = "func.func @f(%x: tensor<2xf32>) {\nfunc.return\n}"
    assert level_of(parse_text(text)) is Level.TE
    assert level_of(parse_text("func.func private @f(tensor<2xf32>)")) is Level.TE


@pytest.mark.parametrize("bytes_", [800, 1 << 22])
def test_an_array_may_change_once_it_was_asked_whether_it_has(bytes_: int):
    array = np.arange(bytes_ // 8, dtype=np.float64)
    expected = array.copy()
    kept = tensor_elements(array, copies_later=True)
    assert not resources.is_changed(kept, array)
    array[...] = 0
    assert resources.is_changed(kept, array)
    np.testing.assert_array_equal(elements_to_numpy(kept), expected)


def test_an_array_may_change_once_it_was_copied():
    """Also where nobody asks whether it has."""
    array = np.arange(1 << 19, dtype=np.float64)
    expected = array.copy()
    kept = tensor_elements(array, copies_later=True)
    resources.copy_now(kept)
    array[...] = 0
    np.testing.assert_array_equal(elements_to_numpy(kept), expected)


@pytest.mark.parametrize("bytes_", [LARGE_BYTES, LARGE_BYTES + 8, 3 * LARGE_BYTES - 8])
def test_a_change_before_the_copy_is_seen_by_the_copy(bytes_: int):
    array = np.arange(bytes_ // 8, dtype=np.float64)
    same, kept = array.copy(), tensor_elements(array, copies_later=True)
    array[-1] += 1
    assert resources.is_changed(kept, array)
    other = tensor_elements(same, "other", copies_later=True)
    assert not resources.is_changed(other, same.copy())
    np.testing.assert_array_equal(elements_to_numpy(other), same)


@pytest.mark.parametrize(
    "read",
    [
        elements_to_numpy,
        resources.copy_now,
        lambda kept: str(storage().lookup(kept.resource_handle.data)),
        lambda kept: joined_elements([kept, kept], 0),
    ],
    ids=["elements", "copy", "text", "joined"],
)
def test_nobody_reads_what_has_changed_before_it_was_copied(read: Callable[[Any], object]):
    """It is an error each time, until the array holds again what it did: then it is right."""
    array = np.arange(1 << 18, dtype=np.float64)
    expected = array.copy()
    kept = tensor_elements(array, "weights", copies_later=True)
    array[7] = 0
    for _ in range(2):
        with pytest.raises(StepwellError, match="found 'weights' changed while the function that"):
            read(kept)
    array[7] = 7
    np.testing.assert_array_equal(elements_to_numpy(kept), expected)
    array[:] = 0
    np.testing.assert_array_equal(elements_to_numpy(kept), expected)


def test_an_equal_array_gives_its_bytes_where_the_first_has_changed_before_it_was_copied():
    """A trace that failed may have left a constant of one that its owner changes afterwards."""
    array = np.arange(1 << 18, dtype=np.float64)
    same, kept = array.copy(), tensor_elements(array, "weights", copies_later=True)
    array[7] = 0
    assert tensor_elements(same, "weights", copies_later=True) == kept
    assert not is_changed(kept, same) and is_changed(kept, array)
    expected, same[:] = same.copy(), 0
    np.testing.assert_array_equal(elements_to_numpy(kept), expected)


def test_threads_that_need_one_copy_wait_for_who_makes_it(monkeypatch: pytest.MonkeyPatch):
    array = np.arange(1 << 17, dtype=np.float64)
    kept, copies = tensor_elements(array, copies_later=True), list[int]()
    copied = late_copy._copied

    def slow(target: np.ndarray, source: np.ndarray) -> int:
        time.sleep(0.1)
        copies.append(1)
        return copied(target, source)

    monkeypatch.setattr(late_copy, "_copied", slow)
    with ThreadPoolExecutor(4) as pool:
        read = pool.map(lambda _: elements_to_numpy(kept).sum(), range(4))
        assert {*read} == {array.sum()} and len(copies) == 1


def copy_to(target: np.ndarray, source: np.ndarray) -> Callable[[], None]:
    return lambda: np.copyto(target, source)


def test_a_copy_that_was_interrupted_is_made_again(monkeypatch: pytest.MonkeyPatch):
    array = np.arange(1 << 19, dtype=np.float32)
    kept, copied = tensor_elements(array, copies_later=True), late_copy._copied

    def interrupted(target: np.ndarray, source: np.ndarray) -> int:
        copied(target[: 1 << 18], source[: 1 << 18])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(late_copy, "_copied", interrupted)
        is_changed(kept, array)
    assert not is_changed(kept, array)
    expected, array[:] = array.copy(), 0
    np.testing.assert_array_equal(elements_to_numpy(kept), expected)


def test_a_thread_does_what_comes_while_it_is_there_and_after_it_has_ended():
    thread = BackgroundThread()
    sources = [np.full(1 << 16, number, np.uint8) for number in range(20)]
    for several in (sources[:15], sources[15:]):
        targets = [np.zeros_like(source) for source in several]
        pairs = zip(targets, several, strict=True)
        for done in [thread.do(copy_to(target, source)) for target, source in pairs]:
            assert done.wait(10)
        np.testing.assert_array_equal(targets, several)


def test_work_that_fails_is_said_and_the_rest_is_done(monkeypatch: pytest.MonkeyPatch):
    said: list[type[BaseException]] = []
    monkeypatch.setattr("threading.excepthook", lambda about: said.append(about.exc_type))
    thread, target = BackgroundThread(), np.zeros(8)
    assert thread.do(lambda: np.zeros(8)[9]).wait(10)
    assert thread.do(copy_to(target, np.ones(8))).wait(10)
    assert said == [IndexError] and target.all()


def test_what_no_thread_can_be_started_for_is_done_at_once(monkeypatch: pytest.MonkeyPatch):
    def fail(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    thread, source, target = BackgroundThread(), np.ones(8), np.zeros(8)
    with monkeypatch.context() as patch:
        patch.setattr(Thread, "start", fail)
        assert thread.do(copy_to(target, source)).is_set()
    np.testing.assert_array_equal(target, source)
    assert thread.do(copy_to(target, source * 2)).wait(10)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are copied on POSIX alone")
def test_a_copy_of_the_process_has_what_was_being_copied_and_copies_more(
    monkeypatch: pytest.MonkeyPatch,
):
    copy, begun = np.copyto, Event()
    monkeypatch.setattr(np, "copyto", lambda *both: (begun.set(), time.sleep(0.01), copy(*both)))
    arrays = [np.arange(1 << 18) % number for number in (251, 241, 239)]
    kept = [tensor_elements(array, copies_later=True) for array in arrays[:2]]
    other = Thread(target=elements_to_numpy, args=(kept[0],))
    other.start()
    assert begun.wait(10)
    child = os.fork()
    if not child:
        signal.alarm(20)  # who waits for a thread that is not there waits for ever
        kept.append(tensor_elements(arrays[2], copies_later=True))
        is_equal = all(map(np.array_equal, map(elements_to_numpy, kept), arrays))
        os._exit(not is_equal)
    assert os.waitpid(child, 0)[1] == 0
    other.join()


def test_large_resources_are_joined_by_a_thread_under_one_name_each():
    arrays = [np.arange(count * 1024, dtype=np.float32).reshape(1024, -1) for count in (300, 200)]
    parts = [tensor_elements(array, copies_later=True) for array in arrays]
    assert all(isinstance(part, DenseResourceAttr) for part in parts)
    resource_parts = [part for part in parts if isinstance(part, DenseResourceAttr)]
    joined = joined_elements(resource_parts, 1, "weights")
    assert joined is not None
    assert joined_elements(resource_parts, 1, "weights") == joined
    assert joined_elements(resource_parts[::-1], 1, "weights") != joined
    np.testing.assert_array_equal(elements_to_numpy(joined), np.concatenate(arrays, axis=1))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are copied on POSIX alone")
def test_a_process_is_copied_while_a_thread_joins(
    monkeypatch: pytest.MonkeyPatch,
):
    brought, began = resources.bring_pages, Event()

    def slow(target: np.ndarray) -> None:
        began.set()
        time.sleep(0.2)
        brought(target)

    monkeypatch.setattr(resources, "bring_pages", slow)
    arrays = [np.full(1 << 18, number, np.float32) for number in range(2)]
    for array in arrays:
        array[0] = 7
    parts = [tensor_elements(array, copies_later=True) for array in arrays]
    joined = joined_elements([part for part in parts if isinstance(part, DenseResourceAttr)], 0)
    assert joined is not None and began.wait(20)

    def look() -> None:
        np.testing.assert_array_equal(elements_to_numpy(joined), np.concatenate(arrays))

    assert status_of_child(look) == 0
    look()


def test_small_resources_are_not_joined_by_a_thread():
    part = tensor_elements(np.arange(200.0))
    assert isinstance(part, DenseResourceAttr)
    assert joined_elements([part, part], 0) is None


def test_a_loan_ends_when_its_arrays_are_joined():
    """Afterwards their owner may change them."""
    array = np.arange(1 << 20, dtype=np.float64)
    expected = np.concatenate([array, array])
    with Loan() as loan:
        part = tensor_elements(array, "lent", loan)
        assert isinstance(part, DenseResourceAttr)
        joined = joined_elements([part, part], 0)
        assert joined is not None and len(loan.readers) == 1
    array[:] = 0
    np.testing.assert_array_equal(elements_to_numpy(joined), expected)
