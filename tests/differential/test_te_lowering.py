"""Programs at te agree with NumPy at every step of the way down, and natively."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from stepwell.driver.pass_manager import Instrumentation, PassManager
from stepwell.driver.pipeline_spec import parse_passes
from stepwell.frontend.text import make_context, parse_text
from stepwell.interpreters.harness import interpret
from stepwell.runtime.jit import compile_module
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .te_programs import Program, random_program

LOWER = "convert-te-to-loop{fp=FP}"
CLEAN = ("canonicalize", "cse", "licm")

PIPELINES: tuple[tuple[str, ...], ...] = (
    (
        *("te-fuse", LOWER, "loop-merge-kernels", "loop-outline-packing", "loop-plan-memory"),
        *("convert-loop-to-core", *CLEAN),
    ),
    ("te-fuse", LOWER, "loop-plan-memory", "convert-loop-to-core"),
    ("canonicalize", "cse", "te-fuse", LOWER, "convert-loop-to-core", "cse"),
    ("te-fuse", "te-fuse", LOWER, "loop-plan-memory", "convert-loop-to-core", *CLEAN),
    (LOWER, "loop-plan-memory", "convert-loop-to-core"),
)


@dataclass(frozen=True)
class Agreement:
    """How near a result must be to what is expected. `magnitude` is what rounding errors are relative to."""

    is_exact: bool
    magnitude: float = 1.0

    def check(
        self, stage: str, found: Sequence[np.ndarray], expected: Sequence[np.ndarray]
    ) -> None:
        assert len(found) == len(expected), stage
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            where = f"result {number} after {stage}"
            assert (one.shape, one.dtype) == (other.shape, other.dtype), where
            if self.is_exact or one.dtype.kind != "f":
                np.testing.assert_array_equal(one, other, err_msg=where)
            else:
                near = 2e-5 * self.magnitude
                np.testing.assert_allclose(one, other, 1e-4, near, equal_nan=True, err_msg=where)


@dataclass
class AtEachStage(Instrumentation):
    """
    Runs the program as it stands at first and after each pass that has changed it. Its text is a fixed point: after all of
    them, or after those that `fixed_points` names.
    """

    inputs: Sequence[np.ndarray]
    expected: Sequence[np.ndarray]
    agreement: Agreement
    fixed_points: Collection[str] | None = None
    text: str = ""

    def before_pipeline(self, module: ModuleOp) -> None:
        self._check("parsing", module)

    def after_verified_pass(self, pass_: ModulePass, module: ModuleOp) -> None:
        self._check(pass_.name, module)

    def _check(self, stage: str, module: ModuleOp) -> None:
        text = str(module)
        if text == self.text:
            return
        if self.fixed_points is None or stage in self.fixed_points:
            assert str(parse_text(text)) == text, stage
        self.agreement.check(stage, interpret(module, self.inputs), self.expected)
        self.text = text


def agree_at_every_stage(
    text: str,
    inputs: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    pipeline: Sequence[str] = PIPELINES[0],
    fp: str = "contract",
    agreement: Agreement = Agreement(is_exact=False),
    fixed_points: Collection[str] | None = None,
) -> None:
    """Run `text` as it stands, after each pass, and natively, and verify it; `fixed_points` are as of `AtEachStage`."""
    ctx = make_context()
    module = parse_text(text, ctx=ctx)
    passes = parse_passes(",".join(pipeline).replace("FP", fp))
    stages = AtEachStage(inputs, expected, agreement, fixed_points)
    PassManager(passes, [stages]).run(ctx, module)
    results = compile_module(module)(*inputs)
    agreement.check("code", results if isinstance(results, tuple) else (results,), expected)


# Random programs


def random_program_agrees(seed: int) -> None:
    """To parse the texts takes longer than all else: that of one pass is, which is another one from program to program."""
    program = random_program(seed)
    rng = Random(seed)
    pipeline, fp = (
        rng.choice(PIPELINES),
        rng.choice(("contract", "strict", fast_or_strict(program))),
    )
    agree_at_every_stage(
        program.text,
        program.inputs,
        program.expected,
        pipeline,
        fp,
        Agreement(program.is_exact, program.magnitude),
        fixed_points=[drawn_pass(pipeline, rng)],
    )


def drawn_pass(pipeline: Sequence[str], rng: Random) -> str:
    return rng.choice(pipeline).partition("{")[0]


def fast_or_strict(program: Program) -> str:
    """`fast` promises that there are no NaNs and infinities."""
    finite = all(np.isfinite(array).all() for array in (*program.inputs, *program.expected))
    return "fast" if finite and program.is_exact else "strict"


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_random_programs(seed: int):
    note(random_program(seed).text)
    random_program_agrees(seed)


@pytest.mark.parametrize("seed", [2683504531, 1282502808])
def test_programs_with_extremes_of_numbers_compile(seed: int):
    """LLVM ended the process by an assertion where it put their loops into lanes: see `_has_extremes` in lowering/core_to_llvm/scf.py."""
    random_program_agrees(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 1500, 100))
def test_many_random_programs(start: int):
    for seed in range(start, start + 40):
        random_program_agrees(seed)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_strict_sums_have_the_bits_of_a_sum_in_order(seed: int):
    """Rounded at each step as NumPy rounds it, in row-major order of the reduction iterators."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((5, 7, 3)).astype(np.float32)
    w = rng.standard_normal((3, 4)).astype(np.float32)
    total, products = np.zeros(7, np.float32), np.zeros((7, 4), np.float32)
    for k in range(3):
        for i in range(5):
            total = total + x[i, :, k] * x[i, :, k]
    for k in range(3):
        products = products + x[0, :, k : k + 1] * w[k]
    text = """
    func.func @main(%x: tensor<5x7x3xf32>, %w: tensor<3x4xf32>) -> (tensor<7xf32>, tensor<7x4xf32>) {
      %s = te.compute [%j = 7] add [%k = 3, %i = 5] (%a = %x[%i, %j, %k]) : (tensor<5x7x3xf32>) -> tensor<7xf32> {
        %p = arith.mulf %a, %a : f32
        te.yield %p : f32
      }
      %m = te.compute [%i = 7, %j = 4] add [%k = 3] (%a = %x[0, %i, %k], %b = %w[%k, %j]) : (tensor<5x7x3xf32>, tensor<3x4xf32>) -> tensor<7x4xf32> {
        %p = arith.mulf %a, %b : f32
        te.yield %p : f32
      }
      func.return %s, %m : tensor<7xf32>, tensor<7x4xf32>
    }"""
    module = parse_text(text)
    ctx = make_context()
    passes = "te-fuse,convert-te-to-loop{fp=strict},convert-loop-to-core,canonicalize,cse,licm"
    PassManager(parse_passes(passes)).run(ctx, module)
    exact = Agreement(is_exact=True)
    exact.check("core", interpret(module, [x, w]), [total, products])
    exact.check("code", compile_module(module)(x, w), [total, products])


# Written by hand

F4 = np.array([1.5, -2.0, 0.25, 3.0], np.float32)


def compute(space: str, reads: str, types: str, body: str = "te.yield %a : f32") -> str:
    return f"te.compute {space} ({reads}) : {types} {{ {body} }}"


def copy_of(name: str) -> str:
    types = "(tensor<4xf32>) -> tensor<4xf32>"
    return compute(
        "[%i = 4]", f"%a = {name}[%i]", types, "%b = arith.addf %a, %a : f32 te.yield %b : f32"
    )


HANDWRITTEN: dict[str, tuple[str, list[np.ndarray], list[np.ndarray]]] = {
    "the same tensor twice, read later, with an argument and a constant": (
        f"""
        func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {{
          %s = {copy_of("%x")}
          %t = {copy_of("%s")}
          %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
          func.return %s, %s, %x, %c, %t : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
        }}""",
        [F4],
        [2 * F4, 2 * F4, F4, np.arange(1, 5, dtype=np.float32), 4 * F4],
    ),
    "rank 0": (
        """
        func.func @main(%x: tensor<f32>, %y: tensor<4xf32>) -> (tensor<f32>, tensor<f32>, tensor<3xf32>) {
          %s = te.compute [] (%a = %x[]) : (tensor<f32>) -> tensor<f32> { %b = arith.addf %a, %a : f32 te.yield %b : f32 }
          %t = te.compute [] add [%k = 4] (%a = %y[%k], %c = %s[]) : (tensor<4xf32>, tensor<f32>) -> tensor<f32> {
            %b = arith.mulf %a, %c : f32
            te.yield %b : f32
          }
          %u = te.compute [%i = 3] (%a = %t[]) : (tensor<f32>) -> tensor<3xf32> { te.yield %a : f32 }
          func.return %s, %t, %u : tensor<f32>, tensor<f32>, tensor<3xf32>
        }""",
        [np.array(3, np.float32), F4],
        [np.array(6, np.float32), np.array(16.5, np.float32), np.full(3, 16.5, np.float32)],
    ),
    "extents of 0, subscripts outside that no point reaches, and what nothing sums to": (
        """
        func.func @main(%x: tensor<0x4xf32>, %y: tensor<4xf32>) -> (tensor<0xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi64>, tensor<4xf32>) {
          %a = te.compute [%i = 0] (%v = %y[7]) : (tensor<4xf32>) -> tensor<0xf32> { te.yield %v : f32 }
          %b = te.compute [%j = 4] add [%k = 0] (%v = %x[%k, %j]) : (tensor<0x4xf32>) -> tensor<4xf32> { te.yield %v : f32 }
          %c = te.compute [%j = 4] min [%k = 0] (%v = %x[%k, %j]) : (tensor<0x4xf32>) -> tensor<4xf32> { te.yield %v : f32 }
          %d = te.compute [%j = 4] argmax [%k = 0] (%v = %x[%k, %j]) : (tensor<0x4xf32>) -> tensor<4xi64> {
            %n = arith.index_cast %k : index to i64
            te.yield %v, %n : f32, i64
          }
          %e = te.compute [%j = 4] (%v = %x[%j, 9] else 2.0 : f32) : (tensor<0x4xf32>) -> tensor<4xf32> { te.yield %v : f32 }
          func.return %a, %b, %c, %d, %e : tensor<0xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi64>, tensor<4xf32>
        }""",
        [np.empty((0, 4), np.float32), F4],
        [
            np.empty(0, np.float32),
            np.zeros(4, np.float32),
            np.full(4, np.inf, np.float32),
            np.zeros(4, np.int64),
            np.full(4, 2, np.float32),
        ],
    ),
    "a pad around a slice": (
        """
        func.func @main(%x: tensor<10xf32>) -> tensor<6xf32> {
          %s = te.compute [%i = 4] (%a = %x[%i + 2]) : (tensor<10xf32>) -> tensor<4xf32> { te.yield %a : f32 }
          %p = te.compute [%i = 6] (%a = %s[%i - 1] else 0.0 : f32) : (tensor<4xf32>) -> tensor<6xf32> { te.yield %a : f32 }
          func.return %p : tensor<6xf32>
        }""",
        [np.arange(10, dtype=np.float32)],
        [np.array([0, 2, 3, 4, 5, 0], np.float32)],
    ),
    "a pad around a constant": (
        """
        func.func @main(%x: tensor<4xf32>) -> tensor<6xf32> {
          %s = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> { %c = arith.constant 7.0 : f32 te.yield %c : f32 }
          %p = te.compute [%i = 6] (%a = %s[%i - 1] else 0.0 : f32) : (tensor<4xf32>) -> tensor<6xf32> { te.yield %a : f32 }
          func.return %p : tensor<6xf32>
        }""",
        [F4],
        [np.array([0, 7, 7, 7, 7, 0], np.float32)],
    ),
    "values from around a compute": (
        """
        func.func @main(%x: tensor<4xf32>, %alpha: f32, %at: index) -> (tensor<4xf32>, tensor<4xf32>) {
          %two = arith.constant 2.0 : f32
          %s = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
            %p = arith.mulf %a, %alpha : f32
            %q = arith.addf %p, %two : f32
            te.yield %q : f32
          }
          %t = te.compute [%i = 4] () : () -> tensor<4xf32> {
            %v = tensor.extract %s[%at] : tensor<4xf32>
            te.yield %v : f32
          }
          func.return %s, %t : tensor<4xf32>, tensor<4xf32>
        }""",
        [F4, np.array(3, np.float32), np.array(2, np.int64)],
        [F4 * 3 + 2, np.full(4, 2.75, np.float32)],
    ),
    "calls": (
        f"""
        func.func private @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
          %s = {copy_of("%x")}
          %t = {copy_of("%s")}
          %u = {copy_of("%t")}
          func.return %u, %x : tensor<4xf32>, tensor<4xf32>
        }}
        func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
          %a, %b = func.call @f(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
          %c, %d = func.call @f(%a) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
          func.return %c, %d : tensor<4xf32>, tensor<4xf32>
        }}""",
        [F4],
        [64 * F4, 8 * F4],
    ),
    "names that C has too": (
        """
        func.func @main(%x: tensor<64xf64>) -> (tensor<64xf64>, tensor<64xf64>) {
          %exp = te.compute [%i = 64] (%a = %x[%i]) : (tensor<64xf64>) -> tensor<64xf64> { %b = math.exp %a : f64 te.yield %b : f64 }
          %malloc = te.compute [%i = 64] (%a = %exp[63 - %i]) : (tensor<64xf64>) -> tensor<64xf64> { %b = math.tanh %a : f64 te.yield %b : f64 }
          func.return %exp, %malloc : tensor<64xf64>, tensor<64xf64>
        }""",
        [np.linspace(-1, 1, 64)],
        [np.exp(np.linspace(-1, 1, 64)), np.tanh(np.exp(np.linspace(-1, 1, 64))[::-1])],
    ),
    "kernels: results twice, an input returned, one inside another": (
        f"""
        func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {{
          %k:3 = te.kernel "k" (%a0 = %x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {{
            %s = te.kernel "k" (%b0 = %a0) : (tensor<4xf32>) -> tensor<4xf32> {{
              %t = {copy_of("%b0")}
              te.yield %t : tensor<4xf32>
            }}
            te.yield %s, %s, %a0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
          }}
          func.return %k#2, %k#1, %k#0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
        }}""",
        [F4],
        [F4, 2 * F4, 2 * F4],
    ),
    "a reduction whose epilogue reads it at its own point and another tensor elsewhere": (
        """
        func.func @main(%x: tensor<4x3xf32>) -> tensor<4xf32> {
          %s = te.compute [%i = 4] add [%k = 3] (%a = %x[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xf32> { te.yield %a : f32 }
          %t = te.compute [%i = 4] (%a = %x[3 - %i, 1]) : (tensor<4x3xf32>) -> tensor<4xf32> { %b = math.absf %a : f32 te.yield %b : f32 }
          %u = te.compute [%i = 4] (%a = %s[%i], %b = %t[3 - %i], %c = %s[%i]) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
            %p = arith.addf %a, %b : f32
            %q = arith.mulf %p, %c : f32
            te.yield %q : f32
          }
          func.return %u : tensor<4xf32>
        }""",
        [np.arange(12, dtype=np.float32).reshape(4, 3)],
        [np.array([12, 192, 588, 1200], np.float32)],
    ),
    "booleans as signed and as unsigned numbers": (
        """
        func.func @main(%x: tensor<3x2xi1>) -> (tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>) {
          %a = te.compute [%i = 3] max [%k = 2] (%v = %x[%i, %k]) : (tensor<3x2xi1>) -> tensor<3xi1> { te.yield %v : i1 }
          %b = te.compute [%i = 3] min [%k = 2] (%v = %x[%i, %k]) : (tensor<3x2xi1>) -> tensor<3xi1> { te.yield %v : i1 }
          %c = te.compute [%i = 3] umax [%k = 2] (%v = %x[%i, %k]) : (tensor<3x2xi1>) -> tensor<3xi1> { te.yield %v : i1 }
          %d = te.compute [%i = 3] umin [%k = 2] (%v = %x[%i, %k]) : (tensor<3x2xi1>) -> tensor<3xi1> { te.yield %v : i1 }
          %e = te.compute [%i = 3] add [%k = 2] (%v = %x[%i, %k]) : (tensor<3x2xi1>) -> tensor<3xi1> { te.yield %v : i1 }
          func.return %a, %b, %c, %d, %e : tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>
        }""",
        [np.array([[False, False], [False, True], [True, True]])],
        [
            np.array([False, False, True]),
            np.array([False, True, True]),
            np.array([False, True, True]),
            np.array([False, False, True]),
            np.array([False, True, False]),
        ],
    ),
    "NaN and equal values in arg-reductions": (
        """
        func.func @main(%x: tensor<4x3xf32>) -> (tensor<4xi32>, tensor<4xi32>) {
          %a = te.compute [%i = 4] argmax [%k = 3] (%v = %x[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xi32> {
            %n = arith.index_cast %k : index to i32
            te.yield %v, %n : f32, i32
          }
          %b = te.compute [%i = 4] argmin [%k = 3] (%v = %x[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xi32> {
            %n = arith.index_cast %k : index to i32
            te.yield %v, %n : f32, i32
          }
          func.return %a, %b : tensor<4xi32>, tensor<4xi32>
        }""",
        [
            np.array(
                [[1, 3, 3], [np.nan, 1, np.nan], [-np.inf] * 3, [np.inf, 2, np.inf]], np.float32
            )
        ],
        [np.array([1, 0, 0, 0], np.int32), np.array([0, 0, 0, 1], np.int32)],
    ),
    "a dynamic reduction, and a parallel extent that is a value": (
        """
        func.func @main(%x: tensor<4xf32>, %n: index, %m: index) -> (tensor<f32>, tensor<4xf32>) {
          %s = te.compute [] add [%k = %n] (%a = %x[%k]) : (tensor<4xf32>) -> tensor<f32> { te.yield %a : f32 }
          %t = te.compute [%i = %m] add [%k = 2] (%a = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> { te.yield %a : f32 }
          func.return %s, %t : tensor<f32>, tensor<4xf32>
        }""",
        [F4, np.array(3, np.int64), np.array(4, np.int64)],
        [np.array(-0.25, np.float32), 2 * F4],
    ),
}


@pytest.mark.parametrize("name", HANDWRITTEN)
@pytest.mark.parametrize("pipeline", (0, len(PIPELINES) - 1))
def test_handwritten(name: str, pipeline: int):
    text, inputs, expected = HANDWRITTEN[name]
    agree_at_every_stage(text, inputs, expected, PIPELINES[pipeline])


@pytest.mark.parametrize("doublings", [30, 200])
def test_a_chain_of_doublings(doublings: int):
    """2^30 additions if every reuse of a value were computed again."""
    lines = [
        f"%x{n + 1} = te.compute [%i = 4] (%a = %x{n}[%i], %b = %x{n}[%i]) : "
        "(tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64> { %s = arith.addf %a, %b : f64 te.yield %s : f64 }"
        for n in range(doublings)
    ]
    text = (
        "func.func @main(%x0: tensor<4xf64>) -> tensor<4xf64> {\n"
        + "\n".join(lines)
        + f"\nfunc.return %x{doublings} : tensor<4xf64>\n}}"
    )
    x = F4.astype(np.float64)
    agree_at_every_stage(text, [x], [x * 2.0**doublings], agreement=Agreement(is_exact=True))
