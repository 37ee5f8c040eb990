"""fission: a loop as two, each with a part of the body."""

from collections.abc import Sequence
from random import Random

import pytest
from stepwell.dialects import loop
from stepwell.dialects.schedule.steps import Fission
from stepwell.transforms.step_support.refusal import Refusal

from .step_agreement import check_extents, check_random, check_steps


def loops(n: int) -> str:
    """Three statements that share values, the last two in a nest."""
    type_ = f"memref<{n + 2}xi32>"
    return f"""
func.func @f(%A: {type_}, %B: {type_}, %C: {type_}, %D: {type_}, %E: {type_})
    attributes {{stepwell.noalias}} {{
  loop.for serial "i" %i = 1 to {n + 1} {{
    %x = affine.apply affine_map<(d0) -> (d0 - 1)>(%i)
    %a = loop.load %A[%i] : {type_}
    %d = loop.load %E[%i] : {type_}
    loop.store %a, %B[%x] : {type_}
    loop.for serial "j" %j = 0 to %i step 2 {{
      %b = loop.load %B[%i - 1] : {type_}
      %c = arith.muli %a, %b : i32
      loop.store %c, %C[%j + 1] : {type_}
      %e = loop.load %C[%j + 1] : {type_}
      %g = arith.addi %e, %c : i32
      loop.store %g, %D[%x] : {type_}
    }}
    loop.if (%i - 3 >= 0) {{
      loop.store %d, %A[%i - 1] : {type_}
    }}
  }}
  func.return
}}"""


@pytest.mark.parametrize("steps", [[("i", "B")], [("i", "j")], [("i", "B"), ("i.rest", "D")]])
def test_extents(steps: list[tuple[str, str]]) -> None:
    check_extents(loops, [Fission(f"f/{loop}", after=after) for loop, after in steps])


def test_refuses_what_would_read_too_early() -> None:
    with pytest.raises(Refusal, match=r"the store to '%B' .* after the load of '%B'"):
        check_steps(loops(5).replace("%B[%i - 1]", "%B[%i]"), [Fission("f/i", after="B")])


def test_refuses_a_buffer_of_one_iteration() -> None:
    text = """
func.func @f(%A: memref<8xi32>, %B: memref<8xi32>) {
  loop.for serial "i" %i = 0 to 8 {
    %T = loop.alloc stack : memref<1xi32>
    %a = loop.load %A[%i] : memref<8xi32>
    loop.store %a, %T[0] : memref<1xi32>
    %t = loop.load %T[0] : memref<1xi32>
    loop.store %t, %B[%i] : memref<8xi32>
  }
  func.return
}"""
    with pytest.raises(Refusal, match="the buffer '%T' is made in each iteration and used by both"):
        check_steps(text, [Fission("f/i", after="T")])


def test_moves_a_buffer_of_the_rest() -> None:
    text = """
func.func @f(%A: memref<8xi32>, %B: memref<8xi32>) attributes {stepwell.noalias} {
  loop.for serial "i" %i = 0 to 8 {
    %T = loop.alloc stack : memref<1xi32>
    %a = loop.load %A[%i] : memref<8xi32>
    loop.store %a, %B[%i] : memref<8xi32>
    loop.store %a, %T[0] : memref<1xi32>
    %t = loop.load %T[0] : memref<1xi32>
    %u = arith.addi %t, %t : i32
    loop.store %u, %A[%i] : memref<8xi32>
  }
  func.return
}"""
    module = check_steps(text, [Fission("f/i", after="B")])
    first, second = (op for op in module.walk() if op.name == "loop.for")
    assert "loop.alloc" not in str(first)
    assert "loop.alloc" in str(second)


def test_updates_that_overlap_are_no_reductions() -> None:
    """The first update is lost, as the second one has loaded before it stores."""
    text = """
func.func @f(%A: memref<8xi32>, %S: memref<1xi32>, %R: memref<8xi32>) attributes {stepwell.noalias} {
  loop.for serial "i" %i = 0 to 8 {
    %a = loop.load %A[%i] : memref<8xi32>
    %x = loop.load %S[0] : memref<1xi32>
    %y = loop.load %S[0] : memref<1xi32>
    %v = arith.addi %x, %a : i32
    loop.store %v, %S[0] : memref<1xi32>
    loop.store %a, %R[%i] : memref<8xi32>
    %w = arith.addi %y, %a : i32
    loop.store %w, %S[0] : memref<1xi32>
  }
  func.return
}"""
    with pytest.raises(Refusal, match="dependence through '%S'"):
        check_steps(text, [Fission("f/i", after="R")])


@pytest.mark.parametrize(
    "seeds", [range(20), pytest.param(range(20, 60), marks=pytest.mark.slow)], ids=str
)
def test_keeps_random_functions(seeds: range) -> None:
    def cut(random: Random, loops: Sequence[loop.ForOp]) -> Fission | None:
        """After a statement that another one follows."""
        for_op = random.choice(loops)
        stores = [op for op in for_op.body.block.ops if isinstance(op, loop.StoreOp)]
        after = [op.loop_name.data for op in for_op.body.block.ops if isinstance(op, loop.ForOp)]
        after += [op.buffer.name_hint or "" for op in stores]
        if len(after) < 2:
            return None
        return Fission(f"f/{for_op.loop_name.data}", after=random.choice(after))

    legal, refused = check_random(cut, seeds)
    assert legal > len(seeds) // 6
    assert refused > len(seeds) // 3
