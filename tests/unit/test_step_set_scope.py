"""Where scratch buffers live."""

import pytest
from stepwell.dialects.schedule.steps import SetScope

from .loop_nests import check_extents, reason

SCRATCH = """
func.func @f(%A: memref<{n}x5xi32> {stepwell.noalias}, %B: memref<{n}x5xi32> {stepwell.noalias}) {
  %T = loop.alloc arena : memref<{n}x5xi32>
  loop.for parallel "i" %i = 0 to {n} {
    loop.for parallel "j" %j = 0 to 5 {
      %a = loop.load %A[%i, %j] : memref<{n}x5xi32>
      loop.store %a, %T[%i, -%j + 4] : memref<{n}x5xi32>
    }
  }
  loop.for parallel "k" %k = 0 to {n} {
    loop.for parallel "l" %l = 0 to 5 {
      %t = loop.load %T[%k, %l] : memref<{n}x5xi32>
      loop.store %t, %B[%k, %l] : memref<{n}x5xi32>
    }
  }
  func.return
}
"""


@pytest.mark.parametrize("scope", ["register", "stack", "thread", "arena"])
def test_extents(scope: str) -> None:
    check_extents(SCRATCH, SetScope("f/T", scope))


def test_refusals() -> None:
    program = SCRATCH.replace("{n}", "9")
    assert "expected one of register, stack, thread, arena" in reason(
        program, SetScope("f/T", "disk")
    )
    assert "is not a scratch buffer" in reason(program, SetScope("f/A", "stack"))
    large = SCRATCH.replace("{n}", "99999")
    assert "expected at most 262144 for 'stack'" in reason(large, SetScope("f/T", "stack"))
    threads = program.replace('parallel "k"', 'parallel threads "k"')
    for scope in ("register", "thread"):
        assert "the threads of loop 'k' share '%T'" in reason(threads, SetScope("f/T", scope))
