"""What `stepwell bench` shows of its measurements: the table, its summary, the roofs and the picture's points."""

from __future__ import annotations

import dataclasses

from stepwell.targets.target import Target
from stepwell.tools import bench_report
from stepwell.tools.bench_roof import Roofs
from stepwell.tools.bench_worker import Outcome

from .test_bench import PROBED, UNPROBED

OUTCOME = Outcome(
    "gemm",
    "products",
    work={"flops": 10**9, "bytes_read": 4096, "bytes_written": 4096, "dtype": "f32"},
    samples={"stepwell": [0.02, 0.01, 0.04], "numpy": [0.03], "torch": [0.01]},
    passes=[("trace", 0.1), ("llvm", 0.2)],
    compile_seconds=0.3,
    compile_cpu_seconds=0.25,
    llvm_cpu_seconds=0.1,
)


def roofs_for(target: Target = PROBED, threads: int = 1) -> Roofs:
    return Roofs(target, threads)


def test_table_and_summary():
    row = bench_report.row(OUTCOME, roofs_for())
    assert (row.median, row.least, row.roof, row.bound) == (0.02, 0.01, 0.5, "compute")
    assert row.ratios == {"numpy": 1.5, "torch": 0.5}
    table = bench_report.Table(["gemm"], ["numpy", "torch", "openvino"])
    assert table.heading().split()[-4:] == ["numpy", "torch", "openvino", "best"]
    assert table.line(row).split() == [
        *["gemm", "20", "10", "50.0", "0.0", "50", "compute", "0.30"],
        *["1.50x", "0.50x", "-", "0.50x"],
    ]
    assert bench_report.summary([row], ["numpy", "torch"]) == [
        "all (1): geometric mean against numpy 1.50x, torch 0.50x, the best of them 0.50x",
        "0 of 1 kernels reach 95% of the roof",
        "of 1 kernels above 20 µs 1 are below 0.93 of the best peer and below 95% of the roof; those that "
        "stand worst:",
        "  gemm  0.50x of torch, 20 ms, 50% of the roof (compute)",
        "compile time of the processor: median 0.250 s, 0.150 s of it outside LLVM; most 0.250 s, 0.150 s "
        "outside LLVM; by the clock median 0.300 s",
    ]
    assert "llvm" in bench_report.pass_table([OUTCOME])
    unprobed = bench_report.row(OUTCOME, roofs_for(UNPROBED))
    assert unprobed.roof is None
    assert table.line(unprobed).split()[5:7] == ["-", "-"]


def test_measurements_of_busy_and_slow_minutes_are_named():
    busy = dataclasses.replace(OUTCOME, name="b", interrupted=0.6)
    slowed = [f"s{i}" for i in range(8)]
    assert bench_report.disturbed([OUTCOME], []) == []
    assert bench_report.disturbed([OUTCOME] * 9 + [busy], slowed) == [
        "the machine was busy: most samples of 1 of 10 were interrupted (b)",
        "the cores were slower than at other times of this run for 8 of 10 (s0, s1, s2, s3, s4, s5, …): "
        "run these again",
    ]


def timed(flops: int, **seconds: float) -> Outcome:
    samples = {name: [each] for name, each in seconds.items()}
    return dataclasses.replace(OUTCOME, work={**OUTCOME.work, "flops": flops}, samples=samples)


def test_the_peak_is_the_one_of_the_same_time():
    """With 100 GFLOP/s probed: the clock is slower or faster beside a program, and a contestant may reach more."""
    slow = dataclasses.replace(timed(10**9, stepwell=0.02, numpy=0.04), peak=80e9)
    fast = dataclasses.replace(timed(10**9, stepwell=0.02, numpy=0.04), peak=125e9)
    assert bench_report.row(slow, roofs_for()).roof == 0.625
    assert bench_report.row(fast, roofs_for()).roof == 0.4
    assert bench_report.row(fast, roofs_for(threads=2)).roof == 0.2
    beaten = dataclasses.replace(timed(10**9, stepwell=0.02, numpy=0.01), peak=80e9)
    assert bench_report.row(beaten, roofs_for()).roof == 0.5
    between = dataclasses.replace(slow, peak=90e9)
    rates = roofs_for().of_all([slow, fast, between, OUTCOME]).rates
    assert rates.fma_f32.core == 90e9
    assert rates.fma_f64 == PROBED.rates.fma_f64


def test_what_libraries_reach_with_other_instructions_is_no_roof():
    roofs = dataclasses.replace(roofs_for(threads=2), only_ours=True)
    fast = timed(10**9, stepwell=0.01, numpy=0.001)
    assert bench_report.row(fast, roofs).roof == 0.5


def test_kernels_that_are_short_or_at_the_roof_are_not_behind():
    row = bench_report.row(OUTCOME, roofs_for())
    short = dataclasses.replace(row, name="short", median=1e-6)
    fast = dataclasses.replace(row, name="fast", roof=0.96)
    at_the_roof, first, *lines = bench_report.summary([row, short, fast], ["numpy", "torch"])[1:-1]
    assert at_the_roof == "1 of 3 kernels reach 95% of the roof"
    assert first.startswith("of 2 kernels above 20 µs 1 are below")
    assert [line.split()[0] for line in lines] == ["gemm", "fast"]


def test_points_of_the_picture():
    row = bench_report.row(OUTCOME, roofs_for(UNPROBED))
    near, far = (dataclasses.replace(row, name=name) for name in ("near", "far"))
    far = dataclasses.replace(far, flops_per_second=1e9)
    assert [point.name for point in bench_report.points([row, near, far])] == ["gemm", "", "far"]
    assert bench_report.points([dataclasses.replace(row, flops_per_second=0.0)]) == []
