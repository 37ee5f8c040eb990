"""
A sequence of schedule steps on a program, with everything that has to hold checked after each of them.

An accepted step leaves valid IR whose text is a fixed point, whose loops are what they claim to be, and which
computes the same, bit by bit; it turns no pair of conflicting touches around. A refused step leaves the IR as
it was; where it blames a dependence, the touches it names really would be swapped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

import numpy as np
from stepwell.analysis.levels import Level
from stepwell.analysis.verify import verify
from stepwell.dialects import loop
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import Vectorize
from stepwell.driver.pipelines import lower_to
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.runtime.jit import compile_module
from stepwell.transforms.step_support.nest import Nest, Nests, loops_around
from stepwell.transforms.step_support.planning import apply
from stepwell.transforms.step_support.refusal import Refusal, describe
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp

from .iteration_trace import Touch, Untraceable, racing, trace, with_separate_updates
from .nest_programs import Array
from .random_nests import Case
from .random_steps import NotHere, random_step
from .step_orders import Asked, Unclear, asked_for, broken_pairs, witness_of

MAX_STEPS = 8


class Mismatch(AssertionError):
    """Something that a step made wrong."""


@dataclass
class Record:
    """What became of the steps of one or many sequences."""

    accepted: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """by keyword and reason"""
    confirmed: Counter[tuple[str, bool]] = field(default_factory=Counter[tuple[str, bool]])
    """Refusals for a dependence that enumeration found to be right, by keyword and perfect nest."""
    too_strict: list[tuple[str, bool, str]] = field(default_factory=list[tuple[str, bool, str]])
    """Refusals of steps that would have been legal: keyword, perfect nest, what was said of what."""
    unchecked: Counter[tuple[str, bool]] = field(default_factory=Counter[tuple[str, bool]])
    """Refusals for a dependence that enumeration says nothing of, by keyword and perfect nest."""
    approximate: Counter[tuple[str, bool]] = field(default_factory=Counter[tuple[str, bool]])
    """Refusals for a dependence that may exist, as their messages say."""
    limits: Counter[tuple[str, bool]] = field(default_factory=Counter[tuple[str, bool]])
    """Refusals for another reason of orders that enumeration finds to be legal."""
    passes: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """Runs of whole passes, by pipeline and the reason why it refused, empty when it did not."""
    orders: Counter[str] = field(default_factory=Counter[str])
    """Accepted reorderings found to keep all conflicting pairs in order."""
    sequences: int = 0
    native: int = 0

    def add(self, other: Record) -> None:
        self.accepted += other.accepted
        self.refused += other.refused
        self.confirmed += other.confirmed
        self.too_strict += other.too_strict
        self.unchecked += other.unchecked
        self.approximate += other.approximate
        self.limits += other.limits
        self.passes += other.passes
        self.orders += other.orders
        self.sequences += other.sequences
        self.native += other.native


@dataclass
class Schedule:
    """A program under steps."""

    case: Case
    record: Record = field(default_factory=Record)
    steps: list[Step] = field(default_factory=list[Step])
    """Those tried so far, refused ones included."""
    module: ModuleOp = None

    def __post_init__(self) -> None:
        if self.module is None:
            self.module = self.case.module.clone()
        self.nests = Nests(self.module)
        self.text = str(self.module)
        self._touches: list[Touch] | None = None

    @property
    def nest(self) -> Nest:
        return self.nests.resolve("f/")[0]

    def step(self, step: Step) -> bool:
        """Whether it was accepted. Raises Mismatch when anything is wrong afterwards."""
        self.steps.append(step)
        asked, broken = self._asked(step)
        perfect = is_perfect(self.nest, step)
        try:
            apply(step, self.nests)
        except StepwellError as error:
            message = str(error)
            self._check_refusal(step, message, isinstance(error, Refusal))
            if " must come after " in message:
                self._check_witness(step, asked, message, perfect)
            elif asked is not None and not broken:
                self.record.limits[step.keyword, perfect] += 1
            return False
        except Exception as error:
            raise Mismatch(f"crash: {describe(step)}: {summary(error)}") from error
        self._touches = None
        self.record.accepted[step.keyword] += 1
        if broken:
            raise Mismatch(f"order: {describe(step)} was accepted and swaps {_pair(*broken[0])}")
        if asked is not None:
            self.record.orders[step.keyword] += 1
        self._check(step)
        return True

    def _asked(self, step: Step) -> tuple[Asked | None, list[tuple[Touch, Touch]]]:
        """The order asked for, and a pair that it breaks."""
        try:
            asked = asked_for(step, self.nests)
            return asked, list(_first(broken_pairs(asked, self._trace())))
        except (Unclear, Untraceable, StepwellError):
            return None, []

    def _trace(self) -> list[Touch]:
        if self._touches is None:
            self._touches = trace(self.nest.function, self.case.symbols)
        return self._touches

    # Accepted.

    def _check(self, step: Step) -> None:
        name = describe(step)
        try:
            verify(self.module)
        except StepwellError as error:
            raise Mismatch(f"verify: after {name}: {error}") from error
        self.text = str(self.module)
        check_names(self.nest, name)
        check_results(self.case, self.module, name)

    def check_end(self, after: str, *, native: bool) -> None:
        """What holds after each step and takes long: the text, what loops claim to be, native code."""
        check_text(self.module, after)
        with suppress(Untraceable):
            check_marks(self.nest, self._trace(), after)
        if native:
            self.record.native += 1
            check_native(self.case, self.module)

    # Refused.

    def _check_refusal(self, step: Step, message: str, is_refusal: bool) -> None:
        name = describe(step)
        if str(self.module) != self.text:
            raise Mismatch(f"refusal: {name} was refused and changed the IR")
        if "\n" in message:
            raise Mismatch(f"refusal: {name} gave a message of several lines: {message!r}")
        self.record.refused[step.keyword, reason_of(message, is_refusal)] += 1

    def _check_witness(self, step: Step, asked: Asked | None, message: str, perfect: bool) -> None:
        """Whether the step is illegal indeed, for the pair that the message names."""
        if "may exist" in message:
            self.record.approximate[step.keyword, perfect] += 1
            return
        witness = witness_of(message)
        if asked is None or witness is None:
            self.record.unchecked[step.keyword, perfect] += 1
            return
        symbols = {**self.case.symbols, **witness.symbols}
        try:
            touches = trace(self.nest.function, symbols)
        except Untraceable:
            self.record.unchecked[step.keyword, perfect] += 1
            return
        pairs = list(broken_pairs(asked, touches))
        if not pairs:
            where = f"{message}\n{self.text}"
            self.record.too_strict.append((step.keyword, perfect, where))
        elif not witness.is_among(pairs):
            raise Mismatch(f"witness: no such pair of iterations is swapped: {message}")
        else:
            self.record.confirmed[step.keyword, perfect] += 1


def run_sequence(
    rng: Random, case: Case, keywords: list[str], *, native: bool = False
) -> tuple[Schedule, str | None]:
    """One to eight random steps; what they made, and what is wrong with it."""
    schedule = Schedule(case)
    schedule.record.sequences = 1
    try:
        for _ in range(rng.randint(1, MAX_STEPS)):
            try:
                step = random_step(rng, schedule.nest, keywords)
            except NotHere:
                break
            schedule.step(step)
        schedule.check_end(_last_of(schedule), native=native)
    except Mismatch as mismatch:
        return schedule, str(mismatch)
    return schedule, None


def replay(schedule: Schedule, steps: Sequence[Step], *, native: bool) -> str | None:
    """What is wrong after these steps."""
    try:
        for step in steps:
            schedule.step(step)
        schedule.check_end(_last_of(schedule), native=native)
    except Mismatch as mismatch:
        return str(mismatch)
    return None


def _last_of(schedule: Schedule) -> str:
    return describe(schedule.steps[-1]) if schedule.steps else "nothing"


# What holds of a module.


def check_text(module: ModuleOp, after: str) -> str:
    """The module's text, which is what it is printed as when it has been parsed."""
    text = str(module)
    try:
        again = parse_text(text, "again.mlir")
        verify(again)
    except StepwellError as error:
        raise Mismatch(f"print: the text after {after} does not parse: {error}") from error
    if str(again) != text:
        raise Mismatch(f"print: print → parse → print changes the text after {after}")
    return text


def check_names(nest: Nest, after: str) -> None:
    """Loops and buffers have different names; what a view is made of may have none."""
    buffers = [value for value in nest.buffers() if not isinstance(value.owner, memref.SubviewOp)]
    for what, names in (
        ("loop", [op.loop_name.data for op in nest.loops()]),
        ("buffer", [value.name_hint or "" for value in buffers]),
    ):
        for name, count in Counter(names).items():
            if count > 1 or not name:
                raise Mismatch(f"names: {count} {what}s called '{name}' after {after}")


def check_results(case: Case, module: ModuleOp, after: str) -> None:
    """The interpreter computes the same, bit by bit."""
    try:
        found = interpret(module, case.inputs, "f")
    except StepwellError as error:
        raise Mismatch(f"interpret: after {after}: {error}") from error
    _compare(found, case, "interpret", after)


def check_native(case: Case, module: ModuleOp) -> None:
    """Native code computes the same, bit by bit."""
    try:
        lowered = module.clone()
        lower_to(lowered, Level.LLVM)
        executable = compile_module(lowered, entry="f")
    except Exception as error:
        raise Mismatch(f"native: lowering: {summary(error)}") from error
    given = [np.array(array) for array in case.inputs]
    executable(*given)
    _compare(given[: len(case.expected)], case, "native", "the sequence")


def _compare(found: Sequence[Array], case: Case, how: str, after: str) -> None:
    for name, array, expected in zip(case.program.arguments(), found, case.expected, strict=True):
        if array.tobytes() != expected.tobytes():
            wrong = int(np.argmax((array != expected).reshape(-1)))
            raise Mismatch(
                f"{how}: after {after} element {wrong} of '%{name}' is {array.reshape(-1)[wrong]}, "
                f"expected {expected.reshape(-1)[wrong]}"
            )


def check_marks(nest: Nest, touches: Sequence[Touch], after: str) -> None:
    """Loops are as parallel as they claim to be."""
    for op in nest.loops():
        name = op.loop_name.data
        mode = op.mode.data if op.mode is not None else None
        kind = op.kind.data
        if kind is not loop.LoopKind.SERIAL or mode is loop.RunMode.THREADS:
            strict = kind is loop.LoopKind.PARALLEL or mode is loop.RunMode.THREADS
            run = touches if strict else with_separate_updates(touches)
            for pair in _first(racing(run, op, reductions=strict)):
                what = mode.value if mode is loop.RunMode.THREADS and mode else kind.value
                raise Mismatch(
                    f"kind: after {after} loop '{name}' is said to be {what}, which {_pair(*pair)} "
                    "is not"
                )
        if mode is loop.RunMode.VECTOR:
            asked = asked_for(Vectorize(f"f/{name}"), _Known(nest))
            for pair in _first(broken_pairs(asked, touches)):
                raise Mismatch(f"lanes: after {after} the lanes of '{name}' swap {_pair(*pair)}")


class _Known(Nests):
    """The nest of one function, as the answer for any target."""

    def __init__(self, nest: Nest):
        self.nest = nest

    def resolve(self, target: str) -> tuple[Nest, str]:
        return self.nest, target.rpartition("/")[2]


def is_perfect(nest: Nest, step: Step) -> bool:
    """Whether the nest of the step's loop has everything but loops in the innermost."""
    name = getattr(step, "loop", "").rpartition("/")[2]
    found = [op for op in nest.loops() if op.loop_name.data == name]
    if len(found) != 1:
        return False
    block = (loops_around(found[0]) or found)[0].body.block
    while True:
        loops = [op for op in block.ops if op.regions]
        if not loops:
            return True
        if len(loops) != 1 or len(list(block.ops)) != 2 or not isinstance(loops[0], loop.ForOp):
            return False
        block = loops[0].body.block


def _first(pairs: Iterator[tuple[Touch, Touch]]) -> Iterator[tuple[Touch, Touch]]:
    for pair in pairs:
        yield pair
        return


def _pair(first: Touch, second: Touch) -> str:
    texts = [
        f"{touch.op.name} at ({', '.join(f'{n}={v}' for n, v in touch.iteration())})"
        for touch in (first, second)
    ]
    return " and ".join(texts)


def summary(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


_KIND = re.compile(r": (flow|anti|output) dependence through '[^']*'( at distance \([^)]*\))?")


def reason_of(message: str, is_refusal: bool) -> str:
    """The class of a refusal: its message without names and numbers."""
    if not is_refusal:
        return "error: " + _without_names(message)[:60]
    reason = message.partition(" is refused: ")[2]
    match = _KIND.search(reason)
    if match is not None:
        unknown = ", unknown" if "may exist" in reason else ""
        what = re.search(r" would be ([a-z]+(?: [a-z]+)*)", reason)
        return f"dependence ({match[1]}{unknown}) {what[1] if what else ''}".strip()
    return _without_names(reason.partition(";")[0])


def _without_names(text: str) -> str:
    text = re.sub(r"'[^']*'", "_", text)
    return re.sub(r"-?\d+", "N", re.sub(r"(_, )+_", "_", text))[:90]
