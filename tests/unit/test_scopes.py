"""No step makes a scratch buffer that is larger than all registers, or than its share of the stack."""

import pytest
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import DoubleBuffer, SetScope, Stage, StorageAlign

from .loop_nests import applied, reason

ROWS = """
func.func @f(%A: memref<9x{n}xf32> {stepwell.noalias}, %B: memref<9x{n}xf32> {stepwell.noalias}) {
  loop.for serial "i" %i = 0 to 9 {
    loop.for serial "j" %j = 0 to {n} {
      %a = loop.load %A[%i, %j] : memref<9x{n}xf32>
      loop.store %a, %B[%i, %j] : memref<9x{n}xf32>
    }
  }
  func.return
}
"""


def rows(extent: int, scope: str = "") -> str:
    """Rows of so many elements, each of them staged when a scope is given."""
    program = ROWS.replace("{n}", str(extent))
    return applied(program, Stage("f/A", "i", into="T", scope=scope)) if scope else program


# 32 registers of 64 bytes hold 512 elements of f32.
STEPS = [
    (rows(512), Stage("f/A", "i", into="T", scope="register", pad=1), ""),
    (rows(513), Stage("f/A", "i", into="T", scope="register"), "2052"),
    (rows(512), Stage("f/A", "i", into="T", scope="register", pad=513), "2052"),
    (rows(512, "arena"), SetScope("f/T", "register"), ""),
    (rows(513, "arena"), SetScope("f/T", "register"), "2052"),
    (rows(256, "register"), DoubleBuffer("f/T", "i"), ""),
    (rows(257, "register"), DoubleBuffer("f/T", "i"), "2056"),
    (rows(512, "register"), StorageAlign("f/T", 1, 512), ""),
    (rows(512, "register"), StorageAlign("f/T", 1, 513), "2052"),
]


@pytest.mark.parametrize(("program", "step", "too_large"), STEPS)
def test_the_limit_of_registers(program: str, step: Step, too_large: str) -> None:
    if not too_large:
        assert "loop.alloc register" in applied(program, step)
        return
    assert reason(program, step).endswith(
        f" is refused: '%T' has {too_large} bytes, expected at most 2048 for 'register'; "
        "stage a smaller region, or choose scope 'stack', 'thread' or 'arena'"
    )


def test_the_limit_of_the_stack() -> None:
    step = Stage("f/A", "i", into="T")
    assert "loop.alloc stack" in applied(rows(65536), step)
    assert reason(rows(65537), step).endswith(
        " is refused: '%T' has 262148 bytes, expected at most 262144 for 'stack'; "
        "stage a smaller region, or choose scope 'thread' or 'arena'"
    )
