"""Loops marked `threads`, and `scf.parallel`, run on threads: what they compute, and who runs what."""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
import stepwell
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.analysis.levels import Level
from stepwell.driver.options import Options
from stepwell.driver.pipelines import lower_to
from stepwell.errors import StepwellError
from stepwell.frontend.lowered import Lowered
from stepwell.frontend.schedule import Schedule
from stepwell.frontend.text import make_context, parse_text
from stepwell.interpreters.harness import interpret
from stepwell.runtime.executable import Executable
from stepwell.runtime.jit import compile_module
from stepwell.runtime.thread_pool import REGIONS
from stepwell.transforms.loop.plan_memory import LoopPlanMemoryPass

from .thread_programs import (
    COUNTS,
    TALLY,
    WHO,
    check_sums,
    lowered,
    needs_threads,
    numbers,
    running_sums,
    sums_of,
    who_ran,
)

THREADS = (1, 2, 3, 8)


# Results.


@pytest.mark.parametrize("count", COUNTS)
def test_counts(count: int) -> None:
    program = lowered(running_sums(str(count)))
    for threads in (3, 8, None):
        check_sums(program.compile(threads=threads), numbers(count))


@pytest.mark.parametrize("threads", THREADS)
def test_open_counts(threads: int) -> None:
    executable = lowered(running_sums("?")).compile(threads=threads)
    for count in COUNTS:
        check_sums(executable, numbers(count))


@pytest.mark.parametrize("threads", THREADS)
def test_steps_and_bounds(threads: int) -> None:
    text = """
func.func @f(%A: memref<?xi32>, %low: index, %high: index) {
  %v = arith.constant 7 : i32
  loop.for parallel threads "i" %i = %low to %high step 3 {
    loop.store %v, %A[%i] : memref<?xi32>
  }
  func.return
}"""
    executable = lowered(text).compile(threads=threads)
    for low, high in ((0, 0), (5, 2), (0, 1), (2, 3), (1, 7), (0, 20), (3, 99), (98, 100)):
        found, expected = np.zeros(100, np.int32), np.zeros(100, np.int32)
        expected[low:high:3] = 7
        executable(found, low, high)
        np.testing.assert_array_equal(found, expected, f"from {low} to {high}")


def test_interpreter_agrees() -> None:
    for count in (0, 1, 5):
        module, rows = parse_text(running_sums(str(count)), "threads.mlir"), numbers(count)
        lower_to(module, Level.CORE)
        assert "scf.parallel" in str(module)
        _, found = interpret(module, [rows, np.zeros_like(rows), np.int64(count)], "f")[:2]
        np.testing.assert_array_equal(found, sums_of(rows))


def test_after_a_schedule() -> None:
    serial = running_sums("33").replace("parallel threads", "serial")
    schedule = Schedule(parse_text(serial, "threads.mlir"))
    schedule.split("i", 4)
    schedule.parallel("i.outer")
    check_sums(schedule.compile(threads=3), numbers(33))


def test_a_body_may_use_anything(compiled: Callable[..., Executable]) -> None:
    """Numbers, flags, vectors, constants, buffers of open shape, views and views of views."""
    text = """
func.func @f(%A: memref<?x8xf32>, %x: f32, %flag: i1, %k: index, %B: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %half = arith.constant 0.5 : f32
  %v = vector.broadcast %x : f32 to vector<6xf32>
  %T = memref.alloca() : memref<8xf32>
  %H = memref.alloc() : memref<8xf32>
  memref.store %x, %T[%c0] : memref<8xf32>
  memref.store %half, %H[%c1] : memref<8xf32>
  %V = memref.subview %A[%k, 0] [4, 8] [1, 1] : memref<?x8xf32> to memref<4x8xf32, strided<[8, 1], offset: ?>>
  %W = memref.subview %V[1, 0] [1, 8] [1, 1] : memref<4x8xf32, strided<[8, 1], offset: ?>> to memref<8xf32, strided<[1], offset: ?>>
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %w = memref.load %W[%i] : memref<8xf32, strided<[1], offset: ?>>
    %t = memref.load %T[%c0] : memref<8xf32>
    %h = memref.load %H[%c1] : memref<8xf32>
    %a = arith.addf %w, %t : f32
    %b = arith.addf %a, %h : f32
    %c = arith.select %flag, %b, %half : f32
    memref.store %c, %B[%i, %c0] : memref<8x8xf32>
    vector.store %v, %B[%i, %c1] : memref<8x8xf32>, vector<6xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  memref.dealloc %H : memref<8xf32>
  func.return
}"""
    executable = compiled(text)
    rows = np.arange(80, dtype=np.float32).reshape(10, 8)
    for flag in (True, False):
        found, expected = np.zeros((8, 8), np.float32), np.zeros((8, 8), np.float32)
        expected[:, 0] = rows[4] + 2.5 + 0.5 if flag else 0.5
        expected[:, 1:7] = 2.5
        executable(rows, 2.5, flag, 3, found)
        np.testing.assert_array_equal(found, expected)


def test_several_dimensions(compiled: Callable[..., Executable]) -> None:
    text = """
func.func @f(%A: memref<5x7xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  "scf.parallel"(%c0, %c0, %c5, %c7, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %p = arith.muli %i, %c7 : index
    %q = arith.addi %p, %j : index
    memref.store %q, %A[%i, %j] : memref<5x7xindex>
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}"""
    found = np.zeros((5, 7), np.int64)
    compiled(text)(found)
    np.testing.assert_array_equal(found.ravel(), np.arange(35))


# Scratch memory.


@pytest.mark.parametrize("scope", ["register", "stack", "thread", "arena"])
@pytest.mark.parametrize("inside_a_loop", [False, True])
def test_scratch_is_not_shared(scope: str, inside_a_loop: bool) -> None:
    """With one buffer for all threads, some of these 4,000 rows would be mixed up."""
    begin = 'loop.for serial "again" %again = 0 to 3 {' if inside_a_loop else ""
    program = lowered(running_sums("4000", scope, begin, "}" if inside_a_loop else ""))
    rows = numbers(4000)
    for threads in (2, 8):
        executable = program.compile(threads=threads)
        for _ in range(5):
            check_sums(executable, rows)


def test_stack_buffers_belong_to_the_iteration() -> None:
    core = lowered(running_sums("4", "stack", 'loop.for serial "q" %q = 0 to 2 {', "}"))
    text = core.as_text("core")
    assert text.index("scf.parallel") < text.index("memref.alloca") < text.index("scf.for")


def test_buffers_of_upstreams_loops_belong_to_the_iteration() -> None:
    text = """
func.func @f(%A: memref<8xf32>, %lower: index, %upper: index, %step: index, %n: index, %v: f32) {
  "scf.parallel"(%lower, %upper, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %T = loop.alloc stack : memref<8xf32>
    loop.store %v, %T[%n] : memref<8xf32>
    %w = loop.load %T[%n] : memref<8xf32>
    memref.store %w, %A[%i] : memref<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}"""
    core = lowered(text).as_text("core")
    assert core.index("scf.parallel") < core.index("memref.alloca")


def test_heap_buffers_are_allocated_once_a_thread() -> None:
    begin = 'loop.for serial "q" %q = 0 to 2 {'
    text = lowered(running_sums("4", "arena", begin, "}")).as_text("llvm")
    share = text[text.index("@f.threads0.share") :]
    assert share.index("call @aligned_alloc") < share.index("br ^bb1")
    assert share.count("call @aligned_alloc") == share.count("call @free") == 1
    module = parse_text(running_sums("4", "arena", begin, "}"))
    lower_to(module, Level.LLVM, Options(threads=1))
    text = str(module)
    assert text.index("call @aligned_alloc") < text.index("br ^bb1")
    assert text.count("call @aligned_alloc") == text.count("call @free") == 1


@pytest.mark.parametrize("scope", ["stack", "arena"])
def test_buffers_of_an_inner_loop_that_runs_on_threads(scope: str) -> None:
    """The outer loop runs once, so the inner one is what the threads share."""
    text = running_sums("4000", scope)
    start = text.index("  loop.for")
    end = text.index("  func.return")
    outer = 'loop.for parallel threads "once" %once = 0 to 1 {'
    program = lowered(f"{text[:start]}{outer}\n{text[start:end]}}}\n{text[end:]}")
    assert program.as_text("llvm").count("call @aligned_alloc") == (scope == "arena")
    for threads in (1, 2, 8):
        executable = program.compile(threads=threads)
        assert executable.native.needs_openmp == (threads > 1)
        for _ in range(3):
            check_sums(executable, numbers(4000))


def test_arenas_have_no_buffers_of_loops() -> None:
    """One place in the caller's arena would be shared by all threads."""
    text = running_sums("4", "arena").replace(
        "%B: memref<4x9xi32>", "%B: memref<4x9xi32> {stepwell.result}"
    )
    module = parse_text(text.replace(", %n: index", ""), "threads.mlir")
    before = str(module)
    LoopPlanMemoryPass().apply(make_context(), module)
    assert str(module) == before


# Loops in loops.


def test_inner_loops_run_in_order() -> None:
    text = """
func.func @f(%A: memref<6x5xindex>) {
  loop.for parallel threads "i" %i = 0 to 6 {
    loop.for parallel threads "j" %j = 0 to 5 {
      %k = affine.apply affine_map<(i, j) -> (i * 5 + j)> (%i, %j)
      loop.store %k, %A[%i, %j] : memref<6x5xindex>
    }
  }
  func.return
}"""
    program = lowered(text)
    assert program.as_text("llvm").count("call @GOMP_parallel") == 1
    for threads in THREADS:
        found = np.zeros((6, 5), np.int64)
        program.compile(threads=threads)(found)
        np.testing.assert_array_equal(found.ravel(), np.arange(30))


def test_loops_of_functions_that_a_thread_calls(compiled: Callable[..., Executable]) -> None:
    text = """
func.func private @row(%A: memref<6x50xindex>, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  "scf.parallel"(%c0, %c50, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%j: index):
    %k = arith.muli %i, %j : index
    memref.store %k, %A[%i, %j] : memref<6x50xindex>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
func.func @f(%A: memref<6x50xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  "scf.parallel"(%c0, %c6, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    func.call @row(%A, %i) : (memref<6x50xindex>, index) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}"""
    executable = compiled(text)
    for _ in range(20):
        found = np.zeros((6, 50), np.int64)
        executable(found)
        np.testing.assert_array_equal(found, np.multiply.outer(np.arange(6), np.arange(50)))


def test_loops_of_functions_run_on_the_thread_that_calls(
    compiled: Callable[..., Executable],
) -> None:
    text = """
func.func private @pthread_self() -> i64
func.func private @row(%A: memref<6x50xi64>, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  "scf.parallel"(%c0, %c50, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%j: index):
    %t = func.call @pthread_self() : () -> i64
    memref.store %t, %A[%i, %j] : memref<6x50xi64>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
func.func @f(%A: memref<6x50xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  "scf.parallel"(%c0, %c6, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    func.call @row(%A, %i) : (memref<6x50xi64>, index) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}"""
    executable = compiled(text)
    for _ in range(100):
        found = np.zeros((6, 50), np.int64)
        executable(found)
        assert found.all() and (found == found[:, :1]).all()


# The threads.


@pytest.fixture(scope="module")
def tallies() -> dict[tuple[int, int], Executable]:
    """By the loop's step and the number of threads."""
    pairs = itertools.product((1, 3), THREADS)
    return {
        (step, threads): lowered(TALLY.replace("STEP", str(step))).compile(threads=threads)
        for step, threads in pairs
    }


@settings(max_examples=300, deadline=None)
@given(
    low=st.integers(0, 300),
    high=st.integers(0, 300),
    step=st.sampled_from((1, 3)),
    threads=st.sampled_from(THREADS),
)
def test_each_iteration_runs_once(
    tallies: dict[tuple[int, int], Executable], low: int, high: int, step: int, threads: int
) -> None:
    found, expected = np.zeros(300, np.int32), np.zeros(300, np.int32)
    expected[low:high:step] = 1
    tallies[step, threads](found, low, high)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("count", [2, 15, 16, 17, 31, 32, 33, 127, 128, 129, 1000])
def test_each_iteration_runs_once_where_the_count_is_known(count: int) -> None:
    """Around multiples of how many claims there are."""
    text = TALLY.replace("STEP", "1").replace("%low to %high", f"0 to {count}")
    program = lowered(text)
    for threads in THREADS:
        executable = program.compile(threads=threads)
        for _ in range(20):
            found = np.zeros(count + 1, np.int32)
            executable(found, 0, 0)
            assert found.tolist() == [1] * count + [0]


@needs_threads
def test_no_more_threads_run_it_than_were_asked_for() -> None:
    program = lowered(WHO)
    for threads in THREADS:
        executable = program.compile(threads=threads)
        assert all(len(who_ran(executable)) <= threads for _ in range(200))


@needs_threads
def test_others_do_take_part() -> None:
    """Sooner or later: a thread may come too late for a loop as short as this one."""
    executable = lowered(WHO).compile(threads=2)
    end = time.monotonic() + 60
    while len(who_ran(executable)) < 2:
        assert time.monotonic() < end, "the caller ran everything alone for a minute"


def test_the_number_can_be_chosen_at_every_level() -> None:
    for level in (Level.CORE, Level.LLVM):
        module = lowered(WHO).module(level)
        code = Lowered(module).compile(threads=3).native.llvm_ir()
        assert re.search(r"@GOMP_parallel\(.*i32 3, i32 0\)", code)
        assert "omp_get_max_threads" not in code
        for threads in (2, 3):
            assert len(who_ran(compile_module(module, threads=threads))) <= threads
    assert "omp_get_max_threads" in lowered(WHO).compile().native.llvm_ir()


def test_one_thread_needs_no_library() -> None:
    native = lowered(running_sums("33")).compile(threads=1).native
    assert not native.needs_openmp and "GOMP" not in native.llvm_ir()
    assert lowered(running_sums("33")).compile(threads=2).native.needs_openmp
    assert "GOMP" not in lowered(running_sums("1")).as_text("llvm")


def test_jit_takes_the_number() -> None:
    rows = np.ones((3, 4), np.float32)
    for threads in (None, 1, 2):
        double = stepwell.jit(lambda x: x + x, threads=threads)
        np.testing.assert_array_equal(double(rows), 2 * rows)
    with pytest.raises(StepwellError, match="found threads=0, expected"):
        stepwell.jit(lambda x: x + x, threads=0)(rows)


def test_repeated_calls() -> None:
    executable, rows = lowered(running_sums("17")).compile(threads=2), numbers(17)
    expected = sums_of(rows)
    for _ in range(1000):
        found = np.zeros_like(rows)
        executable(rows, found, 17)
        assert (found == expected).all()


def test_python_threads_at_once() -> None:
    programs = [lowered(running_sums(str(count))).compile(threads=2) for count in (17, 33)]
    failures: list[BaseException] = []

    def work(executable: Executable, count: int) -> None:
        try:
            rows = numbers(count)
            for _ in range(100):
                check_sums(executable, rows)
        except BaseException as error:
            failures.append(error)

    # More of them than the pool has regions.
    pairs = [(programs[0], 17), (programs[1], 33)] * REGIONS
    workers = [threading.Thread(target=work, args=pair) for pair in pairs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


@pytest.mark.parametrize("threads", [0, -1, 1025, True, 2.0, "2"])
def test_wrong_numbers(threads: object) -> None:
    with pytest.raises(StepwellError, match=r"found threads=.*, expected a number from 1 to 1024"):
        lowered(running_sums("3")).compile(threads=threads)
