"""Some of the sequences of `make fuzz-schedules`, and the fuzzer itself."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from differential.iteration_trace import racing, trace, with_separate_updates
from differential.minimize_nests import minimize
from differential.nest_programs import (
    Access,
    Affine,
    Loop,
    NestProgram,
    Scratch,
    Statement,
    measure,
    variable,
)
from differential.pass_agreement import PIPELINES, run_pipeline
from differential.random_chains import chain_program
from differential.random_nests import Case, case_of, case_of_seed
from differential.random_steps import NotHere, implemented, random_step
from differential.schedule_agreement import Record, Schedule, is_perfect
from schedule_fuzz import check_sequence, pass_table, table
from stepwell.dialects import loop
from stepwell.dialects.schedule import STEPS, Step
from stepwell.dialects.schedule.steps import Parallel, Reorder, Reverse, Skew, Split, Tensorize
from stepwell.frontend.text import parse_text
from stepwell.transforms.step_support.refusal import Refusal
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

SEED = 2024
CHUNK = 12


@pytest.mark.sampled(2)
@pytest.mark.parametrize("start", range(0, 144, CHUNK))
def test_sequences_agree(start: int):
    for index in range(start, start + CHUNK):
        outcome = check_sequence(SEED, index, implemented())
        assert outcome.failure is None, (
            f"schedule_fuzz.py --seed {SEED} --only {index}: {outcome.failure}"
        )
        strict = [text for _, perfect, text in outcome.record.too_strict if perfect]
        assert not strict, f"refused, but legal: {strict[0]}"


# The fuzzer itself.


def program_of(*body: Loop | Scratch | Statement, **ranks: int) -> NestProgram:
    return NestProgram(body, ranks, {}, "i32")


def nest(bounds: Sequence[tuple[int, int]], *body: Any) -> Loop:
    """Loops `i0`, `i1` … around a body."""
    for n, (low, high) in reversed(list(enumerate(bounds))):
        body = (Loop(f"i{n}", (Affine((), low),), (Affine((), high),), tuple(body)),)
    return body[0]


def at(buffer: str, *offsets: int) -> Access:
    return Access(buffer, tuple(variable(f"i{n}", offset) for n, offset in enumerate(offsets)))


RECURRENCE = program_of(nest([(0, 4), (0, 5)], Statement(at("A", 1, 0), (at("A", 0, 0),), ())), A=2)
"""`A[i0 + 1, i1] = A[i0, i1]`"""


def test_a_sequence_is_the_same_for_the_same_seed():
    one, other = (check_sequence(3, 7, implemented()) for _ in range(2))
    assert one.steps == other.steps
    assert one.record == other.record
    assert str(case_of_seed(3, 7).module) != str(case_of_seed(3, 8).module)


def test_every_step_is_drawn():
    """Each kind of step finds something that it looks legal on, in a few programs."""
    missing = set(implemented())
    assert missing == set(STEPS)
    for index in range(40):
        nest_ = Schedule(case_of_seed(SEED, index)).nest
        for keyword in list(missing):
            try:
                random_step(Random(index), nest_, [keyword])
            except NotHere:
                continue
            missing.remove(keyword)
    # One needs a buffer that a loop makes, of two axes, which other steps make first, one reads with a padding.
    assert missing <= {"storage_align", "stage_halo"}


def test_scratch_buffers_are_filled_where_an_element_may_be_read_too_early():
    write = nest([(0, 3)], Statement(at("T", 0), (7,), ()))
    read = nest([(0, 3)], Statement(at("A", 0), (at("T", 0),), ()))
    before = nest([(1, 4)], Statement(at("A", 0), (at("T", 0),), ()))
    made = Scratch("T", "stack", filled=False)
    assert not measure(program_of(made, write, read, A=1, T=1)).unfilled
    assert measure(program_of(made, write, before, A=1, T=1)).unfilled == {"T"}
    assert measure(program_of(made, read, write, A=1, T=1)).unfilled == {"T"}


def test_chains_hand_on_elements_through_scratch_buffers_that_nothing_else_fills():
    programs = [chain_program(Random(n)) for n in range(40)]
    texts = [str(case_of(p).module) for p in programs]
    assert sum("loop.alloc" in text for text in texts) > 15
    assert sum("fill" in text for text in texts) < 8
    assert any("@kernel" in text for text in texts)


def test_a_kernel_is_the_nest_it_was_written_after():
    for number in range(60):
        case = case_of(chain_program(Random(number)))
        if case.program.kernel:
            schedule = Schedule(case)
            accepted = schedule.step(Tensorize(f"f/{case.program.kernel}", "kernel"))
            if accepted:
                return
    pytest.fail("no nest was replaced by its kernel")


def always_legal(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    monkeypatch.setattr(f"stepwell.transforms.loop.{step}.check_order", lambda *_, **__: None)


def test_an_illegal_step_that_is_accepted_is_found(monkeypatch: pytest.MonkeyPatch):
    case = case_of(RECURRENCE)
    assert not Schedule(case).step(Reverse("f/i0"))
    always_legal(monkeypatch, "reverse")
    with pytest.raises(AssertionError, match=r'^order: reverse\("f/i0"\) was accepted and swaps '):
        Schedule(case).step(Reverse("f/i0"))


def test_a_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch):
    case = case_of(RECURRENCE)
    always_legal(monkeypatch, "reverse")
    monkeypatch.setattr(Schedule, "_asked", lambda *_: (None, []))
    with pytest.raises(AssertionError, match=r"^interpret: after reverse"):
        Schedule(case).step(Reverse("f/i0"))


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_wrong_pass_is_found(pipeline: str, monkeypatch: pytest.MonkeyPatch):
    schedule = Schedule(case_of(RECURRENCE))
    assert run_pipeline(pipeline, schedule, native=False) is None
    assert schedule.record.passes == {(pipeline, ""): 1}
    wrong = Case(schedule.case.program, schedule.module, schedule.case.inputs, ())
    wrong.expected = tuple(array + 1 for array in schedule.case.expected)
    failure = run_pipeline(pipeline, Schedule(wrong), native=False)
    assert str(failure).startswith("interpret: after ")


def test_refusals_are_checked_by_enumeration(monkeypatch: pytest.MonkeyPatch):
    schedule = Schedule(case_of(RECURRENCE))
    assert not schedule.step(Reverse("f/i0"))
    assert schedule.step(Reverse("f/i1"))
    assert not schedule.step(Parallel("f/i0"))
    assert schedule.record.confirmed == {("reverse", True): 1, ("parallel", True): 1}

    def refuse(step: Step, *_: Any) -> None:
        raise Refusal(
            "reorder is refused: the store to '%A' must come after the load of '%A': anti dependence; "
            "iterations (i0=0, i1=1) and (i0=1, i1=0) would be swapped"
        )

    monkeypatch.setattr("differential.schedule_agreement.apply", refuse)
    assert not schedule.step(Reorder("f/i0", ("i1", "i0")))
    ((keyword, perfect, _),) = schedule.record.too_strict
    assert (keyword, perfect) == ("reorder", True)
    with pytest.raises(AssertionError, match=r"^witness: no such pair of iterations is swapped"):
        schedule.step(Reverse("f/i0"))


@pytest.mark.parametrize("second", [1, 0])
def test_updates_of_other_elements_do_not_disturb_a_reduction(second: int):
    module = parse_text(
        f"""
        func.func @f(%A: memref<2xi32>) {{
          loop.for reduction "i" %i = 0 to 3 {{
            %one = arith.constant 1 : i32
            %a = loop.load %A[0] : memref<2xi32>
            %b = loop.load %A[{second}] : memref<2xi32>
            %c = arith.addi %a, %one : i32
            %d = arith.addi %b, %one : i32
            loop.store %c, %A[0] : memref<2xi32>
            loop.store %d, %A[{second}] : memref<2xi32>
          }}
          func.return
        }}
        """,
        "f.mlir",
    )
    assert isinstance(module, ModuleOp)
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    (for_op,) = (op for op in function.walk() if isinstance(op, loop.ForOp))
    touches = with_separate_updates(trace(function, {}))
    assert bool(list(racing(touches, for_op, reductions=False))) is (second == 0)


def test_nests_are_perfect_one_by_one():
    store = Statement(at("A", 0), (1,), ())
    first = nest([(0, 3), (0, 2)], store)
    second = Loop("i2", (Affine(),), (Affine((), 2),), (store_at("i2"), *inner("i3", "i2")))
    schedule = Schedule(case_of(program_of(first, second, A=1)))
    assert is_perfect(schedule.nest, Reverse("f/i1"))
    assert not is_perfect(schedule.nest, Reverse("f/i2"))
    assert not is_perfect(schedule.nest, Reverse("f/i3"))


def store_at(name: str) -> Statement:
    return Statement(Access("A", (variable(name),)), (1,), ())


def inner(name: str, used: str) -> tuple[Loop, ...]:
    return (Loop(name, (Affine(),), (Affine((), 2),), (store_at(used),)),)


def test_a_failing_sequence_is_made_small():
    case = next(c for c in (case_of_seed(5, n) for n in range(60)) if "max" in str(c.module))
    steps = [Split(f"f/{name}", 2) for name in ("i0", "i1", "i2")] + [Skew("f/i1", "i0")]

    def fails(candidate: Case, shorter: Sequence[Step]) -> bool:
        return "max" in str(candidate.module) and any(isinstance(s, Skew) for s in shorter)

    small, shorter = minimize(case, steps, fails)
    assert shorter == [Skew("f/i1", "i0")]
    assert len(str(small.module)) < len(str(case.module)) / 2


def test_the_report_names_every_step_and_pipeline():
    record = Record()
    record.accepted.update(implemented())
    record.passes.update((pipeline, "") for pipeline in PIPELINES)
    assert all(f"\n{keyword} " in table(record) for keyword in implemented())
    assert all(pipeline in pass_table(record) for pipeline in PIPELINES)
