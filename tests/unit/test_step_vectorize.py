"""vectorize: lanes that run together, each operation for all of them before the next."""

import shutil
import subprocess
from collections.abc import Sequence
from random import Random

import pytest
from stepwell.analysis.levels import Level
from stepwell.dialects import loop
from stepwell.dialects.loop import RunMode
from stepwell.dialects.schedule.steps import Reorder, Vectorize
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.text import parse_text
from stepwell.transforms.step_support.refusal import Refusal

from .step_agreement import check_extents, check_random, check_steps


def shifted(n: int, read: int, write: int, lower: int = 0, step: int = 1) -> str:
    """Each element from one at a distance, beside a sum."""
    size = n + 20
    return f"""
func.func @f(%A: memref<{size}xi32>, %S: memref<1xi32>) attributes {{stepwell.noalias}} {{
  loop.for serial "i" %i = {lower} to {n + lower} step {step} {{
    %a = loop.load %A[%i + {read}] : memref<{size}xi32>
    %b = arith.addi %a, %a : i32
    loop.store %b, %A[%i + {write}] : memref<{size}xi32>
    %s = loop.load %S[0] : memref<1xi32>
    %t = arith.addi %s, %b : i32
    loop.store %t, %S[0] : memref<1xi32>
  }}
  func.return
}}"""


@pytest.mark.parametrize("tail", ["peel", "guard"])
@pytest.mark.parametrize("width", [2, 4, 8])
def test_extents(width: int, tail: str) -> None:
    check_extents(lambda n: shifted(n, read=1, write=0), [Vectorize("f/i", width, tail=tail)])


def test_distance_of_the_width() -> None:
    check_extents(lambda n: shifted(n, read=0, write=4, lower=-0), [Vectorize("f/i", 4)])


def test_steps_and_negative_bounds() -> None:
    check_extents(lambda n: shifted(n, read=6, write=5, lower=-3, step=3), [Vectorize("f/i", 4)])


def test_whole_loop() -> None:
    check_extents(lambda n: shifted(n, read=3, write=2), [Vectorize("f/i")])


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("tail", ["peel", "guard"])
def test_one_iteration_has_nothing_to_hand_on(end: int, tail: str) -> None:
    """One element is loaded and stored, by no reduction: of several iterations each would need what the last has stored."""

    def text(count: int) -> str:
        return f"""
func.func @f(%A: memref<1xi32>, %B: memref<1xi32>) attributes {{stepwell.noalias}} {{
  loop.for serial "i" %i = 0 to {count} {{
    %a = loop.load %A[0] : memref<1xi32>
    %b = loop.load %B[0] : memref<1xi32>
    %c = arith.subi %b, %a : i32
    loop.store %c, %A[0] : memref<1xi32>
  }}
  func.return
}}"""

    check_steps(text(end), [Vectorize("f/i", 4, tail=tail)])
    with pytest.raises(Refusal, match=r"\(i=0\) and \(i=1\)"):
        check_steps(text(7), [Vectorize("f/i", 4, tail=tail)])


def test_lanes_with_scratch_memory_of_their_own() -> None:
    """What each iteration stores into a buffer that it makes is for itself."""
    check_steps(
        """
func.func @f(%A: memref<4xi32>, %B: memref<4xi32>) attributes {stepwell.noalias} {
  loop.for serial "i" %i = 0 to 4 {
    %T = loop.alloc register : memref<1xi32>
    %a = loop.load %A[%i] : memref<4xi32>
    loop.store %a, %T[0] : memref<1xi32>
    %b = loop.load %T[0] : memref<1xi32>
    loop.store %b, %B[%i] : memref<4xi32>
  }
  func.return
}""",
        [Vectorize("f/i", 4)],
    )


def test_refuses_nearer_dependences() -> None:
    with pytest.raises(Refusal, match=r"\(i=0\) and \(i=3\) .* a width of at most 3 is legal"):
        check_steps(shifted(20, read=0, write=3), [Vectorize("f/i", 4)])
    check_steps(shifted(20, read=0, write=3), [Vectorize("f/i", 3)])


def test_the_peeled_rest_runs_in_order() -> None:
    """Only 16 to 20 depend on each other nearer than eight, and these are no lanes."""
    text = """
func.func @f(%A: memref<40xi32>) {
  loop.for serial "i" %i = 0 to 21 {
    loop.if (%i - 16 >= 0) {
      %a = loop.load %A[%i] : memref<40xi32>
      %b = arith.addi %a, %a : i32
      loop.store %b, %A[%i + 1] : memref<40xi32>
    }
  }
  func.return
}"""
    check_steps(text, [Vectorize("f/i", 8)])
    with pytest.raises(Refusal, match=r"\(i=16\) and \(i=17\) would be swapped"):
        check_steps(text, [Vectorize("f/i", 8, tail="guard")])


def test_branches_run_one_after_the_other() -> None:
    """Lane 0 takes the second branch before lane 1 takes the first, which comes first for all lanes."""
    text = """
func.func @f(%A: memref<40xi32>, %S: memref<2xi32>) attributes {stepwell.noalias} {
  loop.for serial "i" %i = 0 to 2 {
    loop.if (%i - 1 >= 0) {
      %a = loop.load %S[0] : memref<2xi32>
      loop.store %a, %A[%i] : memref<40xi32>
    } else {
      %b = loop.load %A[%i + 7] : memref<40xi32>
      loop.store %b, %S[0] : memref<2xi32>
    }
  }
  func.return
}"""
    with pytest.raises(Refusal, match=r"the load of '%S' .* \(i=0\) and \(i=1\) would be swapped"):
        check_steps(text, [Vectorize("f/i")])


def transposition(n: int, m: int = 6) -> str:
    return f"""
func.func @f(%A: memref<{m}x{n}xi32>, %B: memref<{n}x{m}xi32>) attributes {{stepwell.noalias}} {{
  loop.for parallel "i" %i = 0 to {n} {{
    loop.for parallel "j" %j = 0 to {m} {{
      %a = loop.load %A[%j, %i] : memref<{m}x{n}xi32>
      loop.store %a, %B[%i, %j] : memref<{n}x{m}xi32>
    }}
  }}
  func.return
}}"""


@pytest.mark.parametrize("tail", ["peel", "guard"])
def test_lanes_of_lanes(tail: str) -> None:
    """A loop around nothing but a vector loop, which is transposed; the guard stands in the inner one."""
    check_extents(transposition, [Vectorize("f/j"), Vectorize("f/i", 4, tail=tail)])


def test_guard_of_lanes_of_lanes() -> None:
    module = check_steps(
        transposition(6), [Vectorize("f/j"), Vectorize("f/i", 4, tail="guard")], native=False
    )
    outer, inner = [
        op for op in module.walk() if isinstance(op, loop.ForOp) and op.mode is not None
    ]
    assert outer.body.block.first_op is inner
    assert isinstance(inner.body.block.first_op, loop.IfOp)


@pytest.mark.parametrize("store", ["%B[%i, 0]", "%B[0, %j]", "%B[%i + 1, %j]"])
def test_refuses_lanes_of_lanes_that_depend_on_each_other(store: str) -> None:
    text = transposition(5).replace("%B[%i, %j]", store).replace("memref<5x6", "memref<9x6")
    load = text.replace("%A[%j, %i] : memref<6x5xi32>", "%B[%i, %j] : memref<9x6xi32>")
    steps = [Vectorize("f/j"), Vectorize("f/i")]
    with pytest.raises(Refusal):
        check_steps(load, steps, native=False)


def test_refuses_lanes_around_more_than_lanes() -> None:
    text = transposition(5).replace(
        "    }\n  }", "    }\n    loop.store %c, %B[%i, 0] : memref<5x6xi32>\n  }"
    )
    text = text.replace(
        '  loop.for parallel "i"', '  %c = arith.constant 1 : i32\n  loop.for parallel "i"'
    )
    with pytest.raises(Refusal, match="loop 'j' inside of it is marked 'vector'"):
        check_steps(text, [Vectorize("f/j"), Vectorize("f/i")], native=False)


def matmul(n: int) -> str:
    return f"""
func.func @f(%A: memref<{n}x5xi32>, %B: memref<5x{n}xi32>, %C: memref<{n}x{n}xi32>)
    attributes {{stepwell.noalias}} {{
  loop.for parallel "i" %i = 0 to {n} {{
    loop.for parallel "j" %j = 0 to {n} {{
      loop.for reduction "k" %k = 0 to 5 {{
        %a = loop.load %A[%i, %k] : memref<{n}x5xi32>
        %b = loop.load %B[%k, %j] : memref<5x{n}xi32>
        %p = arith.muli %a, %b : i32
        %c = loop.load %C[%i, %j] : memref<{n}x{n}xi32>
        %s = arith.addi %c, %p : i32
        loop.store %s, %C[%i, %j] : memref<{n}x{n}xi32>
      }}
    }}
  }}
  func.return
}}"""


@pytest.mark.parametrize("name", ["i", "j", "k"])
def test_loops_of_a_matrix_product(name: str) -> None:
    # From no vector to three and each number of elements after them: the work grows with the cube of the extent.
    check_extents(matmul, [Vectorize(f"f/{name}", 4)], range(1, 16))


def test_says_which_buffers_the_lanes_find_apart() -> None:
    module = check_steps(matmul(8), [Reorder("f/i", ("j", "k", "i")), Vectorize("f/i", 8)])
    assert 'vector "i" %i = 0 to 8 attributes {stepwell.strided = ["A", "C"]}' in str(module)


def test_lowers_to_a_loop_that_others_understand() -> None:
    tool = shutil.which("mlir-opt")
    module = parse_text(
        str(check_steps(matmul(16), [Reorder("f/i", ("i", "k", "j")), Vectorize("f/j", 8)]))
    )
    lower_to(module, Level.CORE)
    assert "vector.store" in str(module)
    if tool is not None:
        done = subprocess.run(
            [tool], input=str(module), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert 'stepwell.mode = "vector"' in done.stdout


@pytest.mark.parametrize(
    "seeds", [range(14), pytest.param(range(14, 40), marks=pytest.mark.slow)], ids=str
)
def test_keeps_random_functions(seeds: range) -> None:
    def mark(random: Random, loops: Sequence[loop.ForOp]) -> Vectorize:
        name = random.choice(loops).loop_name.data
        tail = random.choice(("peel", "peel", "guard", "perfect", "pad"))
        return Vectorize(f"f/{name}", random.choice((0, 2, 3, 4, 8)), tail)

    legal, refused = check_random(mark, seeds)
    assert legal > 3 * len(seeds) // 10
    assert refused > 3 * len(seeds) // 10


def test_every_vector_loop_has_a_constant_trip_count() -> None:
    for tail in ("peel", "guard"):
        module = check_steps(shifted(21, read=1, write=0), [Vectorize("f/i", 8, tail=tail)])
        vectors = [op for op in module.walk() if isinstance(op, loop.ForOp) and op.mode]
        assert [op.mode and op.mode.data for op in vectors] == [RunMode.VECTOR]
        assert "= %i_outer to %i_outer + 8 {" in str(vectors[0])
