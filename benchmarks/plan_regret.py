"""
How much slower a chosen plan is than the best of twenty, on shapes that no formula was fitted to.

    python benchmarks/plan_regret.py [--seed N] [--count N] [--skip N] [--family NAME …] [--plans N] [--json FILE]

Shapes are drawn from a seed. For each, the plan that a rule takes (the cheapest by prediction) is measured beside
others of its family: half of them the next cheapest, half drawn from all that the family proposes. All run by
turns on one core, then the best few and the chosen one again for longer, as the least of twenty noisy times is
too small. The regret is the chosen plan's time over the best one's, by medians; 1 is best. Results of all plans
are compared with NumPy's.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import numpy as np
import suite
from stepwell.analysis.facts import facts_of_loops
from stepwell.driver.options import Options
from stepwell.errors import StepwellError
from stepwell.frontend.lowered import Lowered
from stepwell.runtime.executable import Executable
from stepwell.runtime.gauge import Gauge
from stepwell.runtime.measure import Pace, Sampler, Timing, interleaved, pin, touch_memory
from stepwell.targets.target import Target
from stepwell.tools.bench_case import Case, Prepared, prepare_case
from stepwell.tools.bench_environment import machine
from stepwell.tuning.families import FAMILIES, Choice
from stepwell.tuning.rules import kernels, schedule, schedule_with

PROPOSALS = 1000
"""As many as a family is asked for: what is drawn from them is drawn from its whole domain, or most of it."""

FINALISTS = 4
LONGER = 4
TOLERANCE = 1e-3
"""Of the largest element: sums of a few thousand f32 terms in another order."""


# Shapes.


def between(rng: Random, least: int, most: int) -> int:
    """An extent whose logarithm is uniform."""
    return round(least * (most / least) ** rng.random())


def product(rng: Random, *, element: str = "f32", most: int = 1800) -> Case:
    m, n, k = (between(rng, 24, most) for _ in range(3))
    return suite.gemm(m, n, k, name=f"product-{m}x{n}x{k}-{element}", element=element)


def skinny(rng: Random) -> Case:
    """One extent is short, and another is sometimes."""
    extents = [between(rng, 1, 12), between(rng, 4, 2000), between(rng, 64, 3000)]
    rng.shuffle(extents)
    m, n, k = extents
    return suite.gemm(m, n, k, name=f"product-{m}x{n}x{k}")


def transposed(rng: Random) -> Case:
    which = rng.choice(("tn", "nt", "tt"))
    m, n, k = (between(rng, 48, 1200) for _ in range(3))
    a_is, b_is = (letter == "t" for letter in which)

    def matmul(a: Any, b: Any) -> Any:
        return (a.T if a_is else a) @ (b.T if b_is else b)

    shapes = {"a": (k, m) if a_is else (m, k), "b": (n, k) if b_is else (k, n)}
    arguments = {name: f"{rows}x{columns}xf32" for name, (rows, columns) in shapes.items()}
    return Case(f"product-{which}-{m}x{n}x{k}", matmul, arguments, matmul)


def batched(rng: Random) -> Case:
    batch, m, k, n = between(rng, 2, 40), *(between(rng, 16, 300) for _ in range(3))
    return suite.batched(batch, m, k, n)


def softmax(rng: Random) -> Case:
    return _named(suite.softmax(between(rng, 32, 6000), between(rng, 10, 4000)))


def layer_norm(rng: Random) -> Case:
    return _named(suite.layer_norm(between(rng, 32, 6000), between(rng, 16, 3000)))


def attention(rng: Random) -> Case:
    length, heads, width = between(rng, 24, 700), between(rng, 1, 16), rng.choice((32, 64, 80, 128))
    return _named(suite.attention(length, heads, width))


def transpose(rng: Random) -> Case:
    rank = rng.choice((2, 3, 4))
    axes = list(range(rank))
    while axes == sorted(axes):
        rng.shuffle(axes)
    shape = tuple(between(rng, 2, {2: 3000, 3: 200, 4: 48}[rank]) for _ in axes)
    return _named(suite.transpose(f"transpose{''.join(map(str, axes))}", shape, tuple(axes)))


def elementwise(rng: Random) -> Case:
    return _named(suite.gated(between(rng, 1000, 1 << 22)))


def reduction(rng: Random) -> Case:
    return _named(
        suite.reduction(rng.choice(("sum", "max")), rng.choice((0, 1)), between(rng, 64, 3000))
    )


def _named(case: Case) -> Case:
    """With the shape of its first argument in its name."""
    shape = next(iter(case.arguments.values()))
    return Case(f"{case.name}-{shape}", case.ours, case.arguments, case.numpy, weights=case.weights)


SHAPES: Mapping[str, Callable[[Random], Case]] = {
    "product": product,
    "transposed": transposed,
    "batched": batched,
    "f64": lambda rng: product(rng, element="f64", most=1200),
    "skinny": skinny,
    "softmax": softmax,
    "layer-norm": layer_norm,
    "attention": attention,
    "transpose": transpose,
    "elementwise": elementwise,
    "reduction": reduction,
}


def draw(seed: int, count: int, families: Sequence[str]) -> list[tuple[str, Case]]:
    """
    The families take turns. Each has its own numbers: the shapes of one are the same whichever others there are.
    """
    generators = {family: Random(f"{seed} {family}") for family in families}
    turns = [families[number % len(families)] for number in range(count)]
    return [(family, SHAPES[family](generators[family])) for family in turns]


# Plans.


def plans_of(prepared: Prepared, target: Target, count: int, rng: Random) -> list[list[Choice]]:
    """
    For each kernel of a program the plans to measure, at most `count`, with the one that a rule takes first;
    none for a kernel that no family has plans for.
    """
    found: list[list[Choice]] = []
    for kernel in kernels(prepared.lowered.unscheduled()):
        facts = facts_of_loops(kernel).facts
        proposed: list[Choice] = []
        for family in FAMILIES:
            proposed = proposed or family.propose(facts, target, PROPOSALS)
        nearest, others = proposed[: count // 2], proposed[count // 2 :]
        drawn = sorted(rng.sample(range(len(others)), min(len(others), count - len(nearest))))
        found.append([*nearest, *(others[number] for number in drawn)])
    return found


def candidates(plans: Sequence[Sequence[Choice]]) -> list[list[Choice | None]]:
    """What to compile: the first plan of each kernel, then the next of each; a kernel with fewer keeps its last."""
    most = max(map(len, plans), default=0)
    return [
        [of_kernel[min(number, len(of_kernel) - 1)] if of_kernel else None for of_kernel in plans]
        for number in range(most)
    ]


def compiled(
    prepared: Prepared, plans: Sequence[Choice | None], target: Target
) -> Executable | None:
    """The program with a plan for each kernel, None being the rule's. None when a step of a plan is refused."""
    module = prepared.lowered.unscheduled()
    for kernel, plan in zip(kernels(module), plans, strict=True):
        if plan is None:
            schedule(module, kernel, target)
        elif schedule_with(module, kernel, plan, target) is None:
            return None
    options = Options(target=target, schedule=False)
    return Lowered(module, name=prepared.case.name, options=options).compile(threads=1)


# Measuring.


@dataclass(frozen=True)
class Regret:
    """What was measured of one program. Seconds are medians; plans are by their text."""

    family: str
    name: str
    plans: int
    """that were measured: fewer than were asked for where there are no more, or some were refused"""
    refused: Sequence[str] = ()
    chosen: str = ""
    best: str = ""
    rank: int = 0
    """of the best plan among those measured, by prediction; 0 is the chosen one"""
    chosen_seconds: float = 0.0
    best_seconds: float = 0.0
    by_minimum: float = 1.0
    """the regret by the least times, which a busy machine disturbs less"""

    @property
    def regret(self) -> float:
        return self.chosen_seconds / self.best_seconds if self.plans else 1.0

    def __str__(self) -> str:
        if not self.plans:
            return f"{self.name}: no family has plans for it"
        text = (
            f"{self.name}: {self.regret:.2f} ({self.by_minimum:.2f} by minimum), chosen "
            f"{self.chosen_seconds * 1e3:.4g} ms, best {self.best_seconds * 1e3:.4g} ms of {self.plans} plans"
        )
        if self.rank:
            text += (
                f"\n  chosen {self.chosen}\n  best   {self.best} (number {self.rank} by prediction)"
            )
        return "\n".join([text, *(f"  refused: {plan}" for plan in self.refused)])


def measure(
    family: str, case: Case, target: Target, count: int, seconds: float, rng: Random, pace: Pace
) -> Regret:
    """Raises StepwellError for a plan with a wrong result."""
    prepared = prepare_case(case)
    running: dict[str, Executable] = {}
    order: list[str] = []
    refused: list[str] = []
    for plans in candidates(plans_of(prepared, target, count, rng)):
        text = "; ".join(str(plan.plan) for plan in plans if plan is not None)
        executable = compiled(prepared, plans, target)
        if executable is None:
            refused.append(text)
        elif text not in running:
            running[text] = executable
            order.append(text)
    if not running:
        return Regret(family, case.name, 0, refused)
    check(prepared, running)
    first = race(prepared, running, seconds, pace)
    fastest = sorted(order, key=lambda plan: first[plan].median)[:FINALISTS]
    finalists = {plan: running[plan] for plan in dict.fromkeys([order[0], *fastest])}
    final = race(prepared, finalists, LONGER * seconds, pace)
    chosen, best = order[0], min(final, key=lambda plan: final[plan].median)
    least = min(timing.least for timing in final.values())
    return Regret(
        family,
        case.name,
        len(order),
        refused,
        chosen,
        best,
        order.index(best),
        final[chosen].median,
        final[best].median,
        final[chosen].least / least,
    )


def race(
    prepared: Prepared, running: Mapping[str, Executable], seconds: float, pace: Pace
) -> Mapping[str, Timing]:
    """All by turns, for so many seconds each at least."""

    def sampler(executable: Executable) -> Sampler:
        return Sampler(lambda: executable(*prepared.arrays), 1)

    turns = {plan: sampler(executable).take_turn for plan, executable in running.items()}
    return interleaved(turns, seconds=seconds, pace=pace).timings


def check(prepared: Prepared, running: Mapping[str, Executable]) -> None:
    """Raises StepwellError for a plan whose result is not NumPy's."""
    assert prepared.case.numpy is not None
    expected = prepared.case.numpy(*prepared.arrays, *prepared.weights)
    most = TOLERANCE * max(1e-30, float(np.max(np.abs(expected))))
    for plan, executable in running.items():
        difference = float(np.max(np.abs(executable(*prepared.arrays) - expected)))
        if not difference <= most:
            raise StepwellError(
                f"found {prepared.case.name} off by {difference:.2e} as {plan}, expected NumPy's result to "
                f"{most:.2e}; mend the steps of this plan"
            )


# What is shown.


def summary(regrets: Sequence[Regret]) -> list[str]:
    """The median and the largest regret of each family, and of all."""
    lines = [f"{'family':<12}{'shapes':>7}{'median':>8}{'worst':>8}{'by minimum':>14}"]
    measured = [regret for regret in regrets if regret.plans]
    for family in (*dict.fromkeys(regret.family for regret in measured), "all"):
        some = [each for each in measured if family in (each.family, "all")]
        if some:
            by_median, by_minimum = [r.regret for r in some], [r.by_minimum for r in some]
            lines.append(
                f"{family:<12}{len(some):>7}{median(by_median):>8.2f}{max(by_median):>8.2f}"
                f"{median(by_minimum):>7.2f}{max(by_minimum):>7.2f}"
            )
    without = len(regrets) - len(measured)
    refused = sum(len(regret.refused) for regret in regrets)
    return [*lines, f"{without} shapes without plans, {refused} plans refused"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    add = parser.add_argument
    add("--seed", type=int, default=0, help="of the shapes and of the drawn plans (default: 0)")
    add("--count", type=int, default=40, help="of the shapes (default: 40)")
    add("--skip", type=int, default=0, help="so many of them, measured in another run (default: 0)")
    add(
        "--family", nargs="+", choices=SHAPES, default=list(SHAPES), help="of shapes (default: all)"
    )
    add("--plans", type=int, default=20, help="to measure for each shape (default: 20)")
    add("--seconds", type=float, default=0.1, help="that each plan runs for (default: 0.1)")
    add("--json", type=Path, metavar="FILE", help="write everything that was measured")
    args = parser.parse_args()
    for name in ("count", "plans", "seconds"):
        if not getattr(args, name) > 0:
            parser.error(f"found --{name} {getattr(args, name)}, expected a number above 0")

    target = Target.host().alone
    here = machine(target)
    print(here)
    pin(1)
    touch_memory()
    pace = Pace(Gauge(target).read)
    regrets: list[Regret] = []
    try:
        for family, case in draw(args.seed, args.count, args.family)[max(args.skip, 0) :]:
            # Plans are drawn for a shape, whichever others are measured.
            rng = Random(f"{args.seed} {case.name}")
            regrets.append(measure(family, case, target, args.plans, args.seconds, rng, pace))
            print(regrets[-1], flush=True)
    except StepwellError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print("", *summary(regrets), sep="\n")
    if args.json:
        programs = [{**asdict(each), "regret": each.regret} for each in regrets]
        data = {"machine": asdict(here), "seed": args.seed, "programs": programs}
        args.json.write_text(json.dumps(data, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
