"""Index arithmetic as the lowering writes it: what constants decide is decided, and nothing is there twice."""

import gc
import re
from operator import eq, ge, le

import pytest
from stepwell.driver.garbage import collector_paused
from stepwell.driver.pass_manager import module_text
from stepwell.frontend.text import make_context, parse_text
from stepwell.lowering.affine_to_arith import holds_within
from stepwell.lowering.loop_to_core import ConvertLoopToCorePass
from xdsl.ir.affine import AffineConstraintKind

UNROLLED = """
func.func private @kernel(%A: memref<8x64xf32>, %B: memref<8x64xf32>) {
  loop.for parallel "i" %i = 0 to 2 {
    loop.for parallel unroll "j" %j = 0 to 3 {
      %a = loop.load %A[%j + 1, %i * 16 + %j] : memref<8x64xf32>
      loop.store %a, %B[%j + 1, %i * 16 + %j] : memref<8x64xf32>
    }
  }
  func.return
}
"""


def lowered(text: str) -> str:
    module = parse_text(text)
    ConvertLoopToCorePass().apply(make_context(), module)
    return module_text(module)


def test_constants_are_folded_and_products_shared():
    text = lowered(UNROLLED)
    assert text.count("arith.muli") == 1  # %i * 16, for three loads and three stores
    assert text.count("arith.addi") == 2  # + 1 and + 2; + 0 is nothing, and the row is a number


def test_a_value_of_one_branch_is_not_used_in_the_other():
    text = lowered("""
func.func private @kernel(%A: memref<64xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  loop.if (%n - 3 >= 0) {
    loop.store %zero, %A[%n * 2] : memref<64xf32>
  } else {
    loop.store %zero, %A[%n * 2 + 1] : memref<64xf32>
  }
  func.return
}
""")
    assert text.count("arith.muli") == 2


def test_what_does_not_change_in_a_loop_stands_before_it():
    text = lowered("""
func.func private @kernel(%A: memref<64xf32>, %B: memref<64xf32>, %n: index) {
  loop.for parallel "i" %i = 0 to %n {
    loop.for parallel "j" %j = 0 to %n {
      %a = loop.load %A[%n * 2] : memref<64xf32>
      loop.store %a, %B[%i * 8 + %j] : memref<64xf32>
    }
  }
  func.return
}
""")
    before, outer, inner = text.split("scf.for")
    assert "arith.muli %n" in before
    assert "arith.muli %i" in outer and "arith.muli" not in inner
    assert "memref.load" in inner  # another iteration may have written there


def test_what_is_under_a_condition_stays_there():
    text = lowered("""
func.func private @kernel(%A: memref<64xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel "i" %i = 0 to %n {
    loop.if (%i - 3 >= 0) {
      loop.store %zero, %A[%n * 2] : memref<64xf32>
    }
  }
  func.return
}
""")
    assert "arith.muli" in text.split("scf.if")[1]


def test_a_value_is_spread_over_lanes_once():
    text = lowered("""
func.func private @kernel(%A: memref<64xf32>, %x: f32) {
  loop.for parallel "i" %i = 0 to 8 {
    loop.for parallel vector "j" %j = 0 to 8 {
      %a = loop.load %A[%i * 8 + %j] : memref<64xf32>
      %b = arith.addf %a, %x : f32
      %c = arith.mulf %b, %x : f32
      loop.store %c, %A[%i * 8 + %j] : memref<64xf32>
    }
  }
  func.return
}
""")
    assert text.count("vector.broadcast") == 1
    assert text.index("vector.broadcast") < text.index("scf.for")


def test_constants_that_were_folded_are_gone():
    text = lowered(UNROLLED)
    assert "-1" not in text
    for name in re.findall(r"(%\w+) = arith.constant", text):
        assert len(re.findall(rf"{name}\b", text)) > 1


def test_zeros_of_both_signs_are_two_constants():
    text = lowered("""
func.func private @kernel(%A: memref<64xf32>) {
  loop.for parallel "i" %i = 0 to 32 {
    %plus = arith.constant 0.0 : f32
    %minus = arith.constant -0.0 : f32
    loop.store %plus, %A[%i] : memref<64xf32>
    loop.store %minus, %A[%i + 32] : memref<64xf32>
  }
  func.return
}
""")
    assert text.count(": f32") == 2
    assert "-0.0" in text


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_it_was(enabled: bool):
    was_enabled = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(ValueError), collector_paused():
            assert not gc.isenabled()
            raise ValueError
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()


@pytest.mark.parametrize("kind", list(AffineConstraintKind))
@pytest.mark.parametrize(("low", "high"), [(-2, 3), (0, 4), (-3, 0), (0, 0), (1, 2), (-2, -1)])
@pytest.mark.parametrize("more", [-2, 0, 1])
def test_constraints_that_a_range_decides(
    kind: AffineConstraintKind, low: int, high: int, more: int
) -> None:
    """As for each number in the range; a range without an end says no more than it has to."""
    compare = {"==": eq, ">=": ge, "<=": le}[kind.value]
    answers = {compare(number + more, 0) for number in range(low, high + 1)}
    expected = answers.pop() if len(answers) == 1 else None
    assert holds_within(kind, (low, high), more) is expected
    assert holds_within(kind, (None, None), more) is None
