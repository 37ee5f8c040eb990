"""Index arithmetic as the lowering writes it: what constants decide is decided, and nothing is there twice."""

import gc

import pytest
from stepwell.driver.garbage import collector_paused
from stepwell.driver.pass_manager import module_text
from stepwell.frontend.text import make_context, parse_text
from stepwell.lowering.loop_to_core import ConvertLoopToCorePass

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
