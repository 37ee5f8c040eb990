"""Programs whose loops run on threads, and what they compute."""

from __future__ import annotations

import numpy as np
import pytest
from stepwell.frontend.lowered import Lowered
from stepwell.frontend.text import parse_text
from stepwell.runtime.executable import Executable
from stepwell.runtime.thread_pool import system

COUNTS = (0, 1, 2, 3, 5, 7, 17, 33)

needs_threads = pytest.mark.skipif(system() is None, reason="needs threads")


def lowered(text: str) -> Lowered:
    return Lowered(parse_text(text, "threads.mlir"))


def running_sums(rows: str, scope: str = "stack", begin: str = "", end: str = "") -> str:
    """Running sums of rows, each through a scratch buffer; `begin` and `end` may be a loop around it."""
    type_ = f"memref<{rows}x9xi32>"
    upper = "%n" if rows == "?" else rows
    return f"""
func.func @f(%A: {type_}, %B: {type_}, %n: index) attributes {{stepwell.noalias}} {{
  loop.for parallel threads "i" %i = 0 to {upper} {{
    {begin}
    %T = loop.alloc {scope} : memref<9xi32>
    %z = arith.constant 0 : i32
    loop.store %z, %T[0] : memref<9xi32>
    loop.for serial "j" %j = 1 to 9 {{
      %a = loop.load %A[%i, %j] : {type_}
      %t = loop.load %T[%j - 1] : memref<9xi32>
      %s = arith.addi %a, %t : i32
      loop.store %s, %T[%j] : memref<9xi32>
    }}
    loop.for serial "k" %k = 0 to 9 {{
      %t = loop.load %T[%k] : memref<9xi32>
      loop.store %t, %B[%i, %k] : {type_}
    }}
    {end}
  }}
  func.return
}}"""


def sums_of(rows: np.ndarray) -> np.ndarray:
    shifted = rows.copy()
    shifted[:, 0] = 0
    return np.cumsum(shifted, axis=1, dtype=np.int32)


def numbers(rows: int) -> np.ndarray:
    return np.random.default_rng(rows).integers(-9, 9, (rows, 9)).astype(np.int32)


def check_sums(executable: Executable, rows: np.ndarray) -> None:
    found = np.zeros_like(rows)
    executable(rows, found, len(rows))
    np.testing.assert_array_equal(found, sums_of(rows))


WHO = """
func.func private @pthread_self() -> i64
func.func @f(%A: memref<17xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c17 = arith.constant 17 : index
  "scf.parallel"(%c0, %c17, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %t = func.call @pthread_self() : () -> i64
    memref.store %t, %A[%i] : memref<17xi64>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}"""


def who_ran(executable: Executable) -> list[int]:
    """The threads that ran the 17 iterations, each once, in the order of their first iterations."""
    who = np.zeros(17, np.int64)
    executable(who)
    assert who.all(), "an iteration was not run"
    return list(dict.fromkeys(who.tolist()))


TALLY = """
func.func @f(%A: memref<?xi32>, %low: index, %high: index) {
  %one = arith.constant 1 : i32
  loop.for parallel threads "i" %i = %low to %high step STEP {
    %a = loop.load %A[%i] : memref<?xi32>
    %b = arith.addi %a, %one : i32
    loop.store %b, %A[%i] : memref<?xi32>
  }
  func.return
}"""
"""Counts how often each iteration runs."""
