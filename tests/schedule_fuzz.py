#!/usr/bin/env python3
"""
Random affine programs under random schedule steps: `make fuzz-schedules`.

    tests/schedule_fuzz.py --sequences 2000 --seed 0 --jobs 2
    tests/schedule_fuzz.py --seed 0 --only 137            # one sequence of that campaign again

After each accepted step the IR is verified, printed, parsed and printed again, interpreted and compared bit
by bit; every fifth program is compiled at the end. Refusals for a dependence are checked by enumerating the
iterations. The first failure is made small. Exit status 1 if there was one, or a perfectly nested program was
refused a legal step.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from differential.minimize_nests import minimize
from differential.random_nests import Case, case_of_seed
from differential.random_steps import implemented
from differential.schedule_agreement import Record, replay, run_sequence
from differential.workers import Lost, outcome_apart, outcomes
from stepwell.dialects.schedule import Step
from stepwell.transforms.schedule.refusal import describe

SHOWN = 20
"""Failures of one campaign that are printed."""
NATIVE = 5
"""One sequence in so many is compiled at its end."""


def steps_rng(seed: int, index: int) -> Random:
    return Random(f"{seed}/{index}/steps")


@dataclass(frozen=True)
class Outcome:
    """What became of one sequence."""

    record: Record
    failure: str | None
    steps: tuple[Step, ...]


def check_sequence(seed: int, index: int, keywords: list[str]) -> Outcome:
    case = case_of_seed(seed, index)
    native = index % NATIVE == 0
    schedule, failure = run_sequence(steps_rng(seed, index), case, keywords, native=native)
    return Outcome(schedule.record, failure, tuple(schedule.steps))


@dataclass
class Report:
    """How a campaign went."""

    record: Record = field(default_factory=Record)
    failures: dict[int, tuple[str, tuple[Step, ...]]] = field(
        default_factory=dict[int, tuple[str, tuple[Step, ...]]]
    )
    seconds: float = 0.0

    def add(self, index: int, outcome: Outcome | Lost) -> None:
        """Count a sequence; print what is wrong with it."""
        if isinstance(outcome, Lost):
            self.record.sequences += 1
            failure, steps = outcome.how, ()
        else:
            self.record.add(outcome.record)
            failure, steps = outcome.failure, outcome.steps
        if failure is None:
            return
        self.failures[index] = failure, steps
        if len(self.failures) <= SHOWN:
            print(f"sequence {index}: {failure}", flush=True)

    @property
    def too_strict(self) -> list[str]:
        """Refusals of legal steps on perfect nests."""
        return [text for _, perfect, text in self.record.too_strict if perfect]


def campaign(seed: int, indices: Sequence[int], keywords: list[str], *, jobs: int = 1) -> Report:
    """Check these sequences of a seed, in `jobs` processes."""
    start = time.monotonic()
    report = Report()
    for index, outcome in outcomes(lambda n: check_sequence(seed, n, keywords), indices, jobs):
        report.add(index, outcome)
    report.seconds = time.monotonic() - start
    return report


def table(record: Record) -> str:
    """For each step how often it was accepted and refused, and what enumeration says of that."""
    lines = [f"{'step':<20}{'accepted':>9}{'refused':>9}{'share':>7}{'right':>7}{'strict':>7}"]
    refused: Counter[str] = Counter()
    for (keyword, _), count in record.refused.items():
        refused[keyword] += count
    right: Counter[str] = Counter()
    for (keyword, _), count in record.confirmed.items():
        right[keyword] += count
    strict = Counter(keyword for keyword, _, _ in record.too_strict)
    for keyword in sorted({*record.accepted, *refused}):
        yes, no = record.accepted[keyword], refused[keyword]
        lines.append(
            f"{keyword:<20}{yes:>9}{no:>9}{no / (yes + no):>7.0%}{right[keyword]:>7}"
            f"{strict[keyword]:>7}"
        )
    yes, no = record.accepted.total(), refused.total()
    share = no / (yes + no) if yes + no else 0.0
    lines.append(
        f"{'all':<20}{yes:>9}{no:>9}{share:>7.0%}{right.total():>7}{len(record.too_strict):>7}"
    )
    return "\n".join(lines)


def reasons(record: Record, least: int = 1) -> str:
    """The classes of refusals by step, the most frequent first."""
    rows = sorted(record.refused.items(), key=lambda row: (row[0][0], -row[1], row[0][1]))
    return "\n".join(f"{count:>6}  {k:<20}{why}" for (k, why), count in rows if count >= least)


def explain(case: Case, steps: Sequence[Step], failure: str, native: bool) -> None:
    """Print the failing program and steps made small."""
    kind = failure.partition(":")[0]
    last = [failure]

    def fails(candidate: Case, shorter: Sequence[Step]) -> bool:
        found = outcome_apart(lambda: replay(candidate, shorter, native=native))
        text = found.how if isinstance(found, Lost) else found
        if text is None or text.partition(":")[0] != kind:
            return False
        last[0] = text
        return True

    case, steps = minimize(case, steps, fails)
    symbols = ", ".join(f"%{name} = {value}" for name, value in case.symbols.items())
    print(f"\nmade small:\n{case.module!s}\n{symbols}")
    for step in steps:
        print(f"  {describe(step)}")
    print(last[0])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Random schedules of random affine programs.")
    parser.add_argument("--sequences", type=int, default=2000, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the first sequence's number")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--steps", default="", help="keywords of the steps to draw; all when empty")
    parser.add_argument("--reasons", action="store_true", help="print why steps were refused")
    parser.add_argument("--only", type=int, metavar="INDEX", help="check one sequence and show it")
    args = parser.parse_args(arguments)
    keywords = args.steps.split(",") if args.steps else implemented()
    indices = range(args.start, args.start + args.sequences)
    if args.only is not None:
        indices = range(args.only, args.only + 1)
        print(case_of_seed(args.seed, args.only).module)
    print(f"seed {args.seed}, sequences {indices.start} to {indices.stop - 1}, {args.jobs} jobs")
    report = campaign(args.seed, indices, keywords, jobs=args.jobs)
    record = report.record
    print(f"\n{table(record)}\n")
    if args.reasons:
        print(f"{reasons(record)}\n")
    for text in report.too_strict[:SHOWN]:
        print(f"refused, but legal: {text}\n")
    print(
        f"seed {args.seed}: {record.sequences} sequences, {record.native} of them compiled, "
        f"{record.accepted.total()} steps, {record.refused.total()} refusals, "
        f"{record.confirmed.total()} of them confirmed by enumeration, "
        f"{len(record.too_strict)} too strict ({len(report.too_strict)} on perfect nests), "
        f"{len(report.failures)} failures, {report.seconds:.1f} s"
    )
    if report.failures:
        index = min(report.failures)
        failure, steps = report.failures[index]
        explain(case_of_seed(args.seed, index), steps, failure, index % NATIVE == 0)
    return 1 if report.failures or report.too_strict else 0


if __name__ == "__main__":
    sys.exit(main())
