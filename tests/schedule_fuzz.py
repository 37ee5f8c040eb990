#!/usr/bin/env python3
"""
Random affine programs under random schedule steps: `make fuzz-schedules`.

    tests/schedule_fuzz.py --sequences 2000 --seed 0 --jobs 2
    tests/schedule_fuzz.py --seed 0 --only 137            # one sequence of that campaign again

After each accepted step the IR is verified, interpreted and compared bit by bit. At the end it is printed,
parsed and printed again, every fifth program is compiled, and what loops claim to be is enumerated. So are
refusals for a dependence and the new order of accepted steps. After the steps one of the passes that choose a schedule by themselves, or the way to affine code
and back, runs on the result or on the program. The first failure is made small. Exit status 1 if there was one,
or a perfect nest was refused a legal step.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from differential.minimize_nests import minimize
from differential.pass_agreement import choice, run_pipeline
from differential.random_nests import Case, case_of_seed
from differential.random_steps import implemented
from differential.schedule_agreement import Record, Schedule, replay, run_sequence
from differential.workers import Lost, outcome_apart, outcomes
from stepwell.dialects.schedule import Step
from stepwell.transforms.step_support.refusal import describe

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
    pipeline: str = ""
    """what ran after the steps, if it was that which failed"""


def check_sequence(seed: int, index: int, keywords: list[str]) -> Outcome:
    case = case_of_seed(seed, index)
    native = index % NATIVE == 0
    schedule, failure = run_sequence(steps_rng(seed, index), case, keywords, native=native)
    if failure is not None:
        return Outcome(schedule.record, failure, tuple(schedule.steps))
    pipeline, after_steps = choice(Random(f"{seed}/{index}/passes"))
    start = schedule if after_steps else Schedule(case, schedule.record)
    failure = run_pipeline(pipeline, start, native=native)
    return Outcome(schedule.record, failure, tuple(start.steps), pipeline)


@dataclass
class Report:
    """How a campaign went."""

    record: Record = field(default_factory=Record)
    failures: dict[int, Outcome] = field(default_factory=dict[int, Outcome])
    seconds: float = 0.0

    def add(self, index: int, outcome: Outcome | Lost) -> None:
        """Count a sequence; print what is wrong with it."""
        if isinstance(outcome, Lost):
            outcome = Outcome(Record(sequences=1), outcome.how, ())
        self.record.add(outcome.record)
        if outcome.failure is None:
            return
        self.failures[index] = outcome
        if len(self.failures) <= SHOWN:
            print(f"sequence {index}: {outcome.failure}", flush=True)

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
    columns = {
        "accepted": record.accepted,
        "refused": _by_keyword(record.refused),
        "right": _by_keyword(record.confirmed),
        "right on perfect": _by_keyword(record.confirmed, perfect=True),
        "strict": Counter(keyword for keyword, _, _ in record.too_strict),
        "strict on perfect": Counter(k for k, perfect, _ in record.too_strict if perfect),
        "maybe": _by_keyword(record.approximate),
        "unchecked": _by_keyword(record.unchecked),
        "limits": _by_keyword(record.limits),
    }
    perfect = " on perfect"
    names = [name.replace(perfect, "") for name in columns]
    names = [perfect.strip() if a == b else a for a, b in zip(names, ["", *names], strict=False)]
    lines = [f"{'step':<20}{'share':>7}" + "".join(f"{name:>11}" for name in names)]
    for keyword in [*sorted({*record.accepted, *columns["refused"]}), "all"]:
        counts = [c.total() if keyword == "all" else c[keyword] for c in columns.values()]
        share = counts[0] / sum(counts[:2]) if sum(counts[:2]) else 0.0
        lines.append(f"{keyword:<20}{share:>7.0%}" + "".join(f"{n:>11}" for n in counts))
    lines.append(
        "\nshare: of those drawn that were accepted; right: refusals for a dependence that enumeration "
        "confirms,\non perfect: those of them on perfect nests; strict: refusals for a dependence, of "
        "orders it finds legal;\nmaybe: the message says that the dependence may exist (accesses that are "
        "not affine, memory that may be the same);\nunchecked: there is no enumeration of what the step "
        "asks for; limits: legal orders refused for another reason than a dependence"
    )
    return "\n".join(lines)


def _by_keyword(counts: Counter[tuple[str, Any]], perfect: bool | None = None) -> Counter[str]:
    found: Counter[str] = Counter()
    for (keyword, what), count in counts.items():
        if perfect is None or what is perfect:
            found[keyword] += count
    return found


def pass_table(record: Record) -> str:
    """How often each pipeline was applied and refused, with the reasons."""
    lines = [f"{'passes':<70}{'applied':>9}{'refused':>9}"]
    for pipeline in sorted({pipeline for pipeline, _ in record.passes}):
        reasons_here = {why: n for (p, why), n in record.passes.items() if p == pipeline and why}
        applied, refused = record.passes[pipeline, ""], sum(reasons_here.values())
        lines.append(f"{pipeline:<70}{applied:>9}{refused:>9}")
        lines += [f"{n:>10}  {why}" for why, n in sorted(reasons_here.items())]
    return "\n".join(lines)


def reasons(record: Record, least: int = 1) -> str:
    """The classes of refusals by step, the most frequent first."""
    rows = sorted(record.refused.items(), key=lambda row: (row[0][0], -row[1], row[0][1]))
    return "\n".join(f"{count:>6}  {k:<20}{why}" for (k, why), count in rows if count >= least)


def explain(case: Case, outcome: Outcome, native: bool) -> None:
    """Print the failing program and steps made small."""
    assert outcome.failure is not None
    kind = _kind(outcome.failure)
    last = [outcome.failure]

    def failure_of(candidate: Case, steps: Sequence[Step]) -> str | None:
        schedule = Schedule(candidate)
        failure = replay(schedule, steps, native=native)
        if failure is None and outcome.pipeline:
            return run_pipeline(outcome.pipeline, schedule, native=native)
        return failure

    def fails(candidate: Case, shorter: Sequence[Step]) -> bool:
        found = outcome_apart(lambda: failure_of(candidate, shorter))
        text = found.how if isinstance(found, Lost) else found
        if text is None or _kind(text) != kind:
            return False
        last[0] = text
        return True

    case, steps = minimize(case, outcome.steps, fails)
    symbols = ", ".join(f"%{name} = {value}" for name, value in case.symbols.items())
    print(f"\nmade small:\n{case.module!s}\n{symbols}")
    for step in steps:
        print(f"  {describe(step)}")
    print(last[0])


def _kind(failure: str) -> str:
    """The class of a failure: what a smaller one has to have too."""
    what, _, rest = failure.partition(": ")
    if what == "crash":
        return f"{what} {rest.partition('(')[0]} {rest.rpartition(')')[2].split(':')[1:2]}"
    return what if what != "pass" else re.sub(r"\d+|'[^']*'", "", rest)


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
    if args.sequences < 1:
        parser.error(
            f"found --sequences {args.sequences}, expected 1 or more: none would find no mistake"
        )
    keywords = args.steps.split(",") if args.steps else implemented()
    indices = range(args.start, args.start + args.sequences)
    if args.only is not None:
        indices = range(args.only, args.only + 1)
        print(case_of_seed(args.seed, args.only).module)
    print(f"seed {args.seed}, sequences {indices.start} to {indices.stop - 1}, {args.jobs} jobs")
    report = campaign(args.seed, indices, keywords, jobs=args.jobs)
    record = report.record
    print(f"\n{table(record)}\n\n{pass_table(record)}\n")
    if args.reasons:
        print(f"{reasons(record)}\n")
    for text in report.too_strict[:SHOWN]:
        print(f"refused, but legal: {text}\n")
    print(
        f"seed {args.seed}: {record.sequences} sequences, {record.native} of them compiled, "
        f"{record.accepted.total()} steps, {record.refused.total()} refusals, "
        f"{record.confirmed.total()} of them confirmed by enumeration "
        f"({_by_keyword(record.confirmed, perfect=True).total()} on perfect nests), "
        f"{len(record.too_strict)} too strict ({len(report.too_strict)} on perfect nests), "
        f"{record.passes.total()} runs of passes, "
        f"{len(report.failures)} mismatches, {report.seconds:.1f} s"
    )
    if report.failures:
        index = min(report.failures)
        explain(case_of_seed(args.seed, index), report.failures[index], index % NATIVE == 0)
    return 1 if report.failures or report.too_strict else 0


if __name__ == "__main__":
    sys.exit(main())
