"""stage: a region of a buffer copied to a scratch buffer, in every layout, at ragged sizes."""

from random import Random

import numpy as np
import pytest
from stepwell.analysis.levels import Level
from stepwell.analysis.verify import verify
from stepwell.dialects.loop import Scope
from stepwell.dialects.schedule.steps import Reorder, Split, Stage, Step
from stepwell.driver.pipelines import lower_to
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.runtime.jit import compile_module
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import apply
from xdsl.dialects.builtin import ModuleOp

from .producer_nests import RandomProducer, check_step, loops_of


def matmul(n: int, m: int, k: int) -> str:
    return f"""
func.func @f(%A: memref<{n}x{k}xf64>, %B: memref<{k}x{m}xf64>, %C: memref<{n}x{m}xf64> {{stepwell.result}}) {{
  %zero = arith.constant 0.0 : f64
  loop.for parallel "i" %i = 0 to {n} {{
    loop.for parallel "j" %j = 0 to {m} {{
      loop.store %zero, %C[%i, %j] : memref<{n}x{m}xf64>
      loop.for reduction "k" %k = 0 to {k} {{
        %a = loop.load %A[%i, %k] : memref<{n}x{k}xf64>
        %b = loop.load %B[%k, %j] : memref<{k}x{m}xf64>
        %c = loop.load %C[%i, %j] : memref<{n}x{m}xf64>
        %p = arith.mulf %a, %b : f64
        %s = arith.addf %c, %p fastmath<reassoc> : f64
        loop.store %s, %C[%i, %j] : memref<{n}x{m}xf64>
      }}
    }}
  }}
  func.return
}}
"""


TILED: list[Step] = [
    Split("f/i", 4),
    Split("f/j", 8),
    Reorder("f/i.inner", ("j.outer", "i.inner")),
]
STAGES = {
    "plain": [Stage("f/A", "i.outer")],
    "transposed": [Stage("f/A", "i.outer", order=(1, 0))],
    "padded": [Stage("f/A", "i.outer", order=(1, 0), pad=4)],
    "panels": [Stage("f/B", "j.outer", panel=3)],
    "panels at the top": [Stage("f/B", "i.outer", panel=8, scope="arena")],
    "accumulators": [Stage("f/C", "j.inner", into="acc", scope="register")],
    "a tile written and read": [Stage("f/C", "j.outer", into="acc")],
    "whole": [Stage("f/B", into="Bp", panel=8, pad=8), Stage("f/A", into="Ap", order=(1, 0))],
    "the accesses along a loop": [
        Stage("f/A", "i.outer", into="Ap", along="k", order=(1, 0)),
        Stage("f/C", "j.inner", into="acc", along="j.inner", scope="register"),
    ],
    "the whole result": [Stage("f/C", order=(1, 0), pads=(4, 8))],
    "sums of some terms, added to the result": [
        Split("f/k", 3),
        Stage("f/C", "k.outer", into="part", scope="register", accumulate=True),
    ],
    "the same, transposed and padded": [
        Split("f/k", 3),
        Reorder("f/k.outer", ("k.outer", "k.inner")),
        Stage("f/C", "k.outer", order=(1, 0), pads=(4, 8), accumulate=True),
    ],
    "packed and accumulated": [
        Stage("f/A", "i.outer", into="Ap", order=(1, 0), pad=4),
        Stage("f/B", "j.outer", into="Bp", panel=8, scope="thread"),
        Stage("f/C", "j.inner", into="acc", scope="register"),
    ],
}


def inputs(n: int, m: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Small whole numbers, whose sums are exact in any order."""
    rng = np.random.default_rng(n * 10000 + m * 100 + k)
    return (
        rng.integers(-8, 9, (n, k)).astype(np.float64),
        rng.integers(-8, 9, (k, m)).astype(np.float64),
    )


@pytest.mark.parametrize("stages", STAGES.values(), ids=STAGES.keys())
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 3), (8, 16, 4), (17, 9, 2)])
def test_results_stay(stages: list[Step], shape: tuple[int, int, int]) -> None:
    module = parse_text(matmul(*shape))
    nests = Nests(module)
    for step in (*TILED, *stages):
        apply(step, nests)
    verify(module)
    assert str(parse_text(str(module))) == str(module)
    a, b = inputs(*shape)
    np.testing.assert_array_equal(interpret(module, [a, b])[0], a @ b)


@pytest.mark.parametrize("stages", STAGES.values(), ids=STAGES.keys())
def test_results_stay_natively(stages: list[Step]) -> None:
    module = parse_text(matmul(17, 19, 13))
    nests = Nests(module)
    for step in (*TILED, *stages):
        apply(step, nests)
    lower_to(module, Level.LLVM)
    a, b = inputs(17, 19, 13)
    np.testing.assert_array_equal(compile_module(module)(a, b), a @ b)


def reason(program: str, step: Step) -> str:
    module = parse_text(program, "f.mlir")
    before = str(module)
    with pytest.raises(StepwellError) as caught:
        apply(step, Nests(module))
    assert str(module) == before
    return str(caught.value)


OPEN = """
func.func @f(%A: memref<9xf64>, %B: memref<9xf64>, %D: memref<?xf64>, %n: index) {
  loop.for serial "i" %i = 0 to %n {
    loop.for serial "j" %j = 0 to %i {
      %a = loop.load %A[%j] : memref<9xf64>
      loop.store %a, %B[%j] : memref<9xf64>
    }
    %d = loop.load %D[%i] : memref<?xf64>
    loop.store %d, %D[%i] : memref<?xf64>
  }
  func.return
}
"""


def test_refusals() -> None:
    small = matmul(5, 5, 5)
    assert "scope is 'disk', expected one of" in reason(small, Stage("f/A", "i", scope="disk"))
    assert "expected a permutation of the 2 axes" in reason(small, Stage("f/A", "i", order=(0, 0)))
    assert "must not be negative" in reason(small, Stage("f/A", "i", pad=-1))
    assert "has no buffer 'Z'" in reason(small, Stage("f/Z", "i"))
    apart = Stage("f/C", "j", accumulate=True)
    assert "'loop.store' is no part of an update" in reason(small, apart)
    apart = Stage("f/C", "k", accumulate=True)
    strict = small.replace(" fastmath<reassoc>", "")
    assert "no part of an update whose order does not matter" in reason(strict, apart)
    module = parse_text(small)
    apply(Stage("f/A", "i", into="Ap"), Nests(module))
    assert "'%Ap' is made inside of function 'f'" in reason(str(module), Stage("f/Ap"))
    assert "may be the same memory as" in reason(OPEN, Stage("f/A", "i"))
    closed = OPEN.replace("%n: index) {", "%n: index) attributes {stepwell.noalias} {")
    assert "sizes are not all known numbers" in reason(closed, Stage("f/D", "i"))


TILES = """
func.func @f(%A: memref<24xf64>, %D: memref<24xf64> {stepwell.result}) {
  %zero = arith.constant 0.0 : f64
  %T = loop.alloc arena : memref<24xf64>
  loop.for parallel "p" %p = 0 to 3 {
    loop.for parallel "t" %t = 0 to 2 {
      loop.for parallel "i" %i = 0 to 4 {
        loop.store %zero, %T[%p * 8 + %t * 4 + %i] : memref<24xf64>
      }
      loop.for reduction "k" %k = 0 to 5 {
        loop.for parallel "j" %j = 0 to 4 {
          %t0 = loop.load %T[%p * 8 + %t * 4 + %j] : memref<24xf64>
          %a = loop.load %A[%p * 8 + %t * 4 + %j] : memref<24xf64>
          %s = arith.addf %t0, %a fastmath<reassoc> : f64
          loop.store %s, %T[%p * 8 + %t * 4 + %j] : memref<24xf64>
        }
      }
    }
    loop.for parallel "r" %r = 0 to 8 {
      %d = loop.load %T[%p * 8 + %r] : memref<24xf64>
      loop.store %d, %D[%p * 8 + %r] : memref<24xf64>
    }
  }
  func.return
}"""


def test_what_tiles_inside_begin_with_is_seen_without_integer_sets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("integer sets are asked")

    stage = Stage("f/T", "p", into="P")
    monkeypatch.setattr("stepwell.analysis.iteration_pairs._meeting", refuse)
    module = parse_text(TILES, "tiles.mlir")
    apply(stage, Nests(module))
    assert "loop.load %T" not in str(module)
    # Where each tile makes what another one begins with, it takes them to see that older values are read.
    other = TILES.replace("%t * 4 + %i", "%t * -4 + 4 + %i")
    with pytest.raises(AssertionError, match="integer sets"):
        apply(stage, Nests(parse_text(other, "tiles.mlir")))
    monkeypatch.undo()
    module = parse_text(other, "tiles.mlir")
    apply(stage, Nests(module))
    assert "loop.load %T" in str(module)


def test_loop_without_iterations() -> None:
    empty = matmul(5, 5, 5).replace("%i = 0 to 5", "%i = 3 to 3")
    assert "no iteration of loop 'i' uses '%A'" in reason(empty, Stage("f/A", "i"))


def test_random_nests() -> None:
    """Buffers that are read and written in place, with steps, negative starts and conditions."""
    legal = refused = 0
    for seed in range(40):
        random = Random(seed)

        def choose(module: ModuleOp, random: Random = random) -> list[Step]:
            buffers = [name for name in "ABCD" if f"%{name}[" in str(module)]
            names = [op.loop_name.data for op in loops_of(module)]
            return [
                Stage(
                    f"f/{random.choice(buffers)}",
                    random.choice(names),
                    into=into,
                    scope=random.choice([scope.value for scope in Scope]),
                    panel=random.choice((0, 0, 2, 3)),
                    pad=random.choice((0, 0, 2, 4)),
                )
                for into in ("first", "second")
            ]

        counts = check_step(RandomProducer(random).text(), choose)
        legal, refused = legal + counts[0], refused + counts[1]
    assert legal > 20 and refused > 10
