"""`stepwell bench`: what it counts and times, how the suite's kernels agree, and what it says of mistakes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.cost import flops
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.runtime import measure
from stepwell.runtime.measure import Turn, Work, interleaved, roof
from stepwell.targets.core import Cache, Core
from stepwell.targets.rates import Rate
from stepwell.targets.target import Target
from stepwell.tools import (
    bench,
    bench_arrays,
    bench_case,
    bench_environment,
    bench_peers,
    bench_worker,
)
from stepwell.tools.cli import main

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
RATES = {
    "fma_f32": Rate(100e9, 200e9),
    "fma_f64": Rate(50e9, 100e9),
    "read_l1": Rate(400e9, 800e9),
    "read_l2": Rate(200e9, 400e9),
    "copy_l2": Rate(200e9, 400e9),
    "read_l3": Rate(80e9, 90e9),
    "read_memory": Rate(40e9, 50e9),
    "copy_memory": Rate(20e9, 25e9),
}
UNPROBED = dataclasses.replace(
    Target.host(),
    core=Core(256, 16, caches=(Cache(1, 32 << 10), Cache(2, MIB), Cache(3, 16 * MIB, shared_by=2))),
    cores=2,
    found=(),
)
PROBED = dataclasses.replace(UNPROBED, found=tuple(RATES.items()))


@pytest.fixture(scope="module")
def suite() -> ModuleType:
    return bench_case._module(bench_case.SUITE)


# What is counted.


def test_flops_are_the_same_at_each_level():
    x = np.zeros((3, 5), np.float32)
    low = sw.jit(lambda x, y: sw.relu(x @ y)).lower(x, x.T.copy())
    counted = {level: flops(low.module(level)) for level in ("graph", "te", "loop", "core")}
    assert counted["graph"] == counted["te"] == 2 * 3 * 5 * 3 + 3 * 3
    # Sums begin at zero; loops that rules have split may have bounds that are not numbers.
    assert counted["loop"] in (counted["graph"], None)
    assert counted["core"] is None


def test_flops_of_moving_and_choosing():
    x = np.zeros((3, 5), np.float32)
    low = sw.jit(lambda x: sw.transpose(x)).lower(x)
    assert flops(low.module("graph")) == flops(low.module("te")) == 0


@pytest.mark.parametrize(
    ("bound", "count"), [("8", 2 * 8 * 4), ("%n", None)], ids=["constant", "open"]
)
def test_flops_of_loops(bound: str, count: int | None):
    module = parse_text(
        f"""
        func.func @f(%x: memref<8xf32>, %n: index) {{
          loop.for serial "r" %r = 0 to 4 {{
            loop.for parallel "i" %i = 0 to {bound} {{
              %a = loop.load %x[%i] : memref<8xf32>
              %b = math.fma %a, %a, %a : f32
              loop.store %b, %x[%i] : memref<8xf32>
            }}
          }}
          func.return
        }}
        """
    )
    assert flops(module) == count


@pytest.mark.parametrize(
    ("work", "threads", "seconds", "bound"),
    [
        (Work(10**9, 4096, 4096), 1, 1e-2, "compute"),
        (Work(10**9, 4096, 4096), 2, 5e-3, "compute"),
        (Work(10**9, 4096, 4096, "f64"), 1, 2e-2, "compute"),
        (Work(10, 100 * 1024, 100 * 1024), 1, 204800 / 200e9, "L2"),
        (Work(0, 40 * MIB, 0), 1, 40 * MIB / 40e9, "memory"),
        (Work(None, 20 * MIB, 20 * MIB), 1, 40 * MIB / 20e9, "memory"),
        # Two cores have two L2s.
        (Work(0, MIB, 0), 1, MIB / 80e9, "L3"),
        (Work(0, MIB, 0), 2, MIB / 400e9, "L2"),
    ],
)
def test_roof(work: Work, threads: int, seconds: float, bound: str):
    found = roof(work, PROBED, threads)
    assert found.bound == bound
    assert found.seconds == pytest.approx(seconds)


# Timing.


def test_turns_are_interleaved():
    turns: list[str] = []

    def contestant(name: str, seconds: float) -> measure.TakeTurn:
        def take_turn(length: float) -> Turn:
            turns.append(name)
            return Turn([seconds] * max(1, int(length / seconds)), [], max(length, seconds))

        return take_turn

    contestants = {
        "a": contestant("a", 2e-4),
        "b": contestant("b", 5e-3),
        "slow": contestant("slow", 0.5),
    }
    timings = interleaved(contestants, seconds=0.25).timings
    assert turns[:6] == ["a", "b", "slow", "b", "slow", "a"]
    assert [turns.count(name) for name in contestants] == [8, 8, 3]
    assert timings["a"].median == timings["a"].least == 2e-4
    assert timings["slow"].samples == (0.5,) * 3


def test_a_short_time_is_a_few_long_turns():
    lengths: list[float] = []

    def take_turn(length: float) -> Turn:
        lengths.append(length)
        return Turn([1e-3], [], length)

    interleaved({"a": take_turn}, seconds=0.05)
    assert len(lengths) == 5
    assert min(lengths) == 0.02


def test_who_is_out_of_the_race_has_no_timing():
    turns = iter([Turn([1.0], [], 1.0), None])
    timings = interleaved(
        {"a": lambda _: Turn([1.0], [], 1.0), "b": lambda _: next(turns)}, seconds=2
    ).timings
    assert list(timings) == ["a"]
    assert len(timings["a"].samples) >= 3
    assert next(turns, "none is left") == "none is left"


def test_interrupted_samples_do_not_count():
    turns = iter([Turn([1.0, 2.0], [9.0], 0.1), Turn([2.0], [], 0.1)])
    timing = interleaved({"a": lambda _: next(turns, Turn([], [], 0.1))}, seconds=0.1).timings["a"]
    assert timing.samples == (1.0, 2.0, 2.0)
    assert timing.interrupted == 0.25
    turn = Turn([], [3.0], 0.1)
    timing = interleaved({"a": lambda _: turn}, seconds=0.1).timings["a"]
    assert timing.samples == (3.0,) * 3
    assert timing.interrupted == 1


@pytest.mark.parametrize(("threads", "turns"), [(1, 8), (2, 24)])
def test_interrupted_threads_try_longer(threads: int, turns: int):
    taken: list[float] = []

    def take_turn(length: float) -> Turn:
        taken.append(length)
        return Turn([], [1e-3], length)

    interleaved({"a": take_turn}, seconds=1, threads=threads)
    assert len(taken) == turns


class Clock:
    """Stands for the module `time`: it goes on when a call is made, which takes so long."""

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.now = 0.0
        self.calls = 0

    def call(self) -> None:
        self.now += self.seconds
        self.calls += 1

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.now / 2


@pytest.mark.parametrize(
    ("seconds", "warm", "batch", "samples"),
    [(2**-13, 41, 8, 16), (2**-8, 2, 1, 4), (0.5, 1, 1, 1)],
    ids=["batches", "calls", "slow"],
)
def test_a_turn(
    seconds: float, warm: int, batch: int, samples: int, monkeypatch: pytest.MonkeyPatch
):
    clock = Clock(seconds)
    monkeypatch.setattr(measure, "time", clock)
    monkeypatch.setattr(measure, "_involuntary_switches", lambda: 0)
    sampler = measure.Sampler(clock.call, 1)
    sampler.take_turn(0.02)  # which finds out how many calls make a sample
    before = clock.calls
    turn = sampler.take_turn(0.02)
    assert turn.undisturbed == pytest.approx([seconds] * samples)
    assert clock.calls - before == warm + batch * samples
    assert turn.seconds == pytest.approx((warm + batch * samples) * seconds)


def test_an_interrupted_sample(monkeypatch: pytest.MonkeyPatch):
    """With one thread it takes what it took of the processor, here half of the time."""
    clock = Clock(5e-3)
    monkeypatch.setattr(measure, "time", clock)
    switches = iter([0, 1, *[1] * 100])
    monkeypatch.setattr(measure, "_involuntary_switches", lambda: next(switches))
    turn = measure.Sampler(clock.call, 1).take_turn(0.03)
    assert turn.interrupted == pytest.approx([2.5e-3])
    assert turn.undisturbed == pytest.approx([5e-3] * 3)
    switches = iter([0, 1, *[1] * 100])
    turn = measure.Sampler(clock.call, 2).take_turn(0.03)
    assert turn.interrupted == pytest.approx([5e-3])


def test_environment_says_the_threads():
    variables = measure.environment(3)
    assert variables["OMP_NUM_THREADS"] == variables["OPENBLAS_NUM_THREADS"] == "3"
    assert all(isinstance(value, str) for value in variables.values())


# The suite.


def small_cases(suite: ModuleType) -> list[bench_case.Case]:
    return [
        suite.gemm(5, 7, 3, name="gemm"),
        suite.gemm(5, 7, 3, name="gemm-f64", element="f64"),
        *(suite.transposed(which, 6) for which in ("tn", "nt", "tt")),
        suite.batched(2, 3, 5, 4),
        suite.matvec(9),
        suite.mlp(3, (8, 6, 5, 4)),
        suite.softmax(3, 7),
        suite.layer_norm(3, 7),
        suite.gated(19),
        *(suite.reduction(which, axis, 5) for which in ("sum", "max") for axis in (0, 1)),
        suite.transpose("transpose", (3, 5), (1, 0)),
        suite.transpose("nhwc", (2, 3, 4, 5), (0, 2, 3, 1)),
        suite.attention(40, 2, 8),
    ]


def test_kernels_of_the_suite_agree_with_their_peers(suite: ModuleType):
    for case in small_cases(suite):
        prepared = bench_case.prepare_case(case)
        ours = bench_peers.as_arrays(prepared.lowered.compile(threads=1)(*prepared.arrays))
        for peer in bench_peers.PEERS:
            if bench_peers.missing(peer):
                continue
            loaded = bench_peers.load(peer, prepared, 1)
            assert loaded is not None
            problem = bench_worker.difference(loaded[1](loaded[0]()), ours)
            assert problem is None or "computes in" in problem, f"{case.name}: {peer} {problem}"


def test_suite(suite: ModuleType):
    names = [case.name for case in suite.CASES]
    assert len(names) == len(set(names))
    shapes = suite.random_shapes(30)
    assert len(shapes) == 30
    assert all(1 <= extent <= 3000 for shape in shapes for extent in shape)
    assert [request.program for request in bench_case.requests(["gemm-t?-1024"], {})] == [
        "gemm-tn-1024",
        "gemm-tt-1024",
    ]
    assert len(bench_case.requests(["suite"], {})) == len(names)


def test_programs_are_measured_under_a_numerical_contract(suite: ModuleType):
    (request,) = bench_case.requests(["softmax"], {}, fp="strict")
    assert "fastmath<" not in bench_case.prepare(request).lowered.as_text("loop")
    (request,) = bench_case.requests(["softmax"], {})
    assert "fastmath<" in bench_case.prepare(request).lowered.as_text("loop")


def test_weights_are_compiled_in(suite: ModuleType):
    prepared = bench_case.prepare_case(suite.mlp(3, (8, 6, 5, 4)))
    executable = prepared.lowered.compile(threads=1)
    assert [spec.name for spec in executable.signature.inputs] == ["tensors[0]"] or len(
        executable.signature.inputs
    ) == 1
    work = bench_worker.work_of(prepared, executable.signature)
    weights = 4 * (8 * 6 + 6 + 6 * 5 + 5 + 5 * 4 + 4)
    assert (work.bytes_read, work.bytes_written) == (4 * 3 * 8 + weights, 4 * 3 * 4)
    products = 2 * 3 * (8 * 6 + 6 * 5 + 5 * 4)
    assert work.flops == products + 3 * (6 + 6 + 5 + 5 + 4) + 5 * 3 * 4


def test_arrays_are_always_the_same():
    a, b = (bench_arrays.generate("x", "3x5xf32") for _ in range(2))
    np.testing.assert_array_equal(a, b)
    weight = bench_arrays.generate_weight("x", "3x5xf32")
    assert (a.ctypes.data % 64, weight.ctypes.data % 64) == (16, 0), "as NumPy's large arrays"
    assert not np.array_equal(a, bench_arrays.generate("y", "3x5xf32"))
    with pytest.raises(StepwellError, match="found shape '3x5' for 'x', expected extents"):
        bench_arrays.generate("x", "3x5")


@pytest.mark.parametrize(
    ("found", "ours", "problem"),
    [
        ([np.ones(3, np.float32)], [np.ones(3, np.float32)], None),
        ([np.ones(3, np.float32)], [np.ones(3)], "computes in float32, not float64"),
        ([np.ones(3) * 1.00001], [np.ones(3)], "computes in less than f64"),
        ([np.ones(3) * 2], [np.ones(3)], "another result: off by 5.0e-01"),
        ([np.full(3, np.nan)], [np.ones(3)], "another result: off by nan"),
        ([np.ones(3)], [np.ones((3, 1))], r"shape \(3,\), ours \(3, 1\)"),
        ([], [np.ones(3)], "0 results"),
    ],
)
def test_results_are_compared(found: list, ours: list, problem: str | None):
    said = bench_worker.difference(found, ours)
    if problem is None:
        assert said is None
    else:
        with pytest.raises(StepwellError, match=problem):
            raise StepwellError(str(said))


# The command.


def test_command_on_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """In processes of their own: numbers, the JSON file, and a peer that the file defines."""
    (tmp_path / "p.py").write_text(
        "import stepwell as sw\n"
        "def twice(x): return x + x\n"
        "def twice_numpy(x): return 2 * x\n"
        "def unlike(x): return x + 1\n"
        "def unlike_numpy(x): return x + 2\n"
    )
    out = tmp_path / "out.json"
    programs = [f"{tmp_path}/p.py:twice", f"{tmp_path}/p.py:unlike"]
    options = ["--seconds", "0.001", "--again", "0", "--against", "numpy", "--json", str(out)]
    options += ["--target", "x86-64-v2"]
    assert main(["bench", *programs, "--shape", "x=8x16xf32", *options]) == 0
    shown = capsys.readouterr().out.splitlines()
    first = next(number for number, line in enumerate(shown) if line.startswith("twice "))
    assert shown[0].startswith(str(bench_environment.machine(Target.host())))
    assert shown[1].startswith("1 thread; ours is compiled for x86-64-v2 (")
    assert any(line.startswith(f"numpy {np.__version__}: ") for line in shown[2:first])
    assert shown[first + 1].startswith("unlike ")
    assert shown[first + 2].startswith("  note: numpy gives another result")
    assert sum("note" in line for line in shown) == 1
    written = json.loads(out.read_text())
    assert written["machine"]["processor"]
    assert written["target"] == "x86-64-v2"
    assert written["peers"]["numpy"]["kernels"]
    programs = {program["name"]: program for program in written["programs"]}
    for program in programs.values():
        assert program["work"]["flops"] == 128
        assert program["work"]["bytes_read"] == program["work"]["bytes_written"] == 512
    assert set(programs["twice"]["ratios"]) == {"numpy"}
    assert not programs["unlike"]["ratios"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["gemm-255"],
            "found no kernel 'gemm-255', expected one of the suite's or a file; did you",
        ),
        (["nothing.mlir"], "nothing.mlir: found no such file"),
        (
            ["softmax", "--shape", "x=3x5xf32"],
            "found --shape for 'softmax', whose shapes the suite",
        ),
        (
            ["softmax", "--against", "numpy,torhc"],
            "found peer 'torhc', expected some of numpy, torch",
        ),
        (["softmax", "--threads", "4096"], "found 4096 threads to measure with, expected 1 to"),
        (["softmax", "--threads", "0"], "found 0 threads to measure with"),
        (
            ["softmax", "--target", "neoverse-n1"],
            "found --target neoverse-n1, expected one whose instructions this machine has",
        ),
        (["softmax", "--seconds", "0"], "found --seconds 0, expected a number of more than 0"),
        (["softmax", "--again", "-1"], "found --again -1, expected 0 or more; mend it"),
        (["softmax", "--seconds", "inf"], "found --seconds inf, expected a number of more than 0"),
        (["softmax", "--json", "/no/such/x.json"], "/no/such: found no such folder"),
        (["softmax", "--roofline", "x.gif"], "found a picture ending in '.gif'"),
        (["softmax", "--suite", "/no/suite.py"], "/no/suite.py: found no suite of this name, exp"),
        (["softmax", "--suite", "netwerks"], "or a file; did you mean 'networks'?"),
        (["model.py:mlp", "--suite", "netwerks"], "or a file; did you mean 'networks'?"),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert main(["bench", *arguments]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("error: ")
    assert message in said.err
    assert said.err.count("\n") == 1
    assert not said.out


def test_a_shape_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "p.py").write_text("def f(x): return x + 1\n")
    assert main(["bench", f"{tmp_path}/p.py:f", "--against", "numpy"]) == 1
    said = capsys.readouterr().err
    assert "found no shape for argument 'x'" in said
    assert said.count("\n") == 1


def test_peers_that_are_not_installed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bench_peers, "find_spec", lambda package: None if package == "onnx" else 1)
    assert bench._installed(["numpy", "onnxruntime"]) == (
        ["numpy"],
        ["onnxruntime is left out: not installed (pip install onnx)"],
    )


def test_machine_that_was_not_probed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys):
    monkeypatch.setattr(Target, "host", staticmethod(lambda: UNPROBED))
    assert main(["bench", "softmax", "--roofline", str(tmp_path / "x.svg")]) == 1
    assert "run `stepwell probe` first" in capsys.readouterr().err
    assert "run `stepwell probe` once" in bench._unprobed(UNPROBED)[0]


def test_list(capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "--list", "attention-*"]) == 0
    assert capsys.readouterr().out == "attention-128\nattention-1024\n"


def test_of_two_measurements_the_one_on_quicker_cores_counts():
    """Whatever each found of the program, so that nobody gains by being measured twice; a failure stays one."""
    slow, quick = (
        bench_worker.Outcome("p", peak=peak, samples={"stepwell": [seconds]})
        for peak, seconds in ((100e9, 1e-3), (140e9, 2e-3))
    )
    assert bench.on_quicker_cores(slow, quick) is bench.on_quicker_cores(quick, slow) is quick
    failed = bench_worker.Outcome("p", error="found no result")
    assert bench.on_quicker_cores(quick, failed) is failed
