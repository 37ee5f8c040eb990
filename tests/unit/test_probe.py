"""`stepwell probe`: its kernels, what it accepts, where it keeps results, and what it shows."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.runtime import probe, probe_jobs, probe_kernels, probe_timing
from stepwell.runtime.executable import Executable
from stepwell.runtime.jit import compile_module
from stepwell.runtime.roofline import Point, draw_roofline
from stepwell.targets import machine
from stepwell.targets import target as target_module
from stepwell.targets.core import Cache, Core
from stepwell.targets.rates import RATE_NAMES, Rate, is_slowdown
from stepwell.targets.target import Target
from stepwell.tools.cli import main

MEASURED = {
    "fma_f32": Rate(100e9, 190e9),
    "fma_f64": Rate(50e9, 95e9),
    "read_l1": Rate(200e9, 400e9),
    "copy_l1": Rate(180e9, 360e9),
    "read_memory": Rate(30e9, 40e9),
    "copy_memory": Rate(25e9, 33e9),
}
SMALL = Cache(1, 48 << 10, 12), Cache(2, 1 << 18, 8), Cache(3, 1 << 22, 16)
HOST = dataclasses.replace(Target.host(), core=Core(256, 16), cores=2, found=())


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache directory of the test's own; the host is looked at anew before and after."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    Target.forget_host()
    yield tmp_path
    monkeypatch.undo()
    Target.forget_host()


# The kernels, interpreted and compiled.


def arrays(shapes: dict[str, tuple[int, ...]]) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.integers(-8, 8, shape).astype(np.float32) for shape in shapes.values()]


def both(text: str, rounds: int, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """What the function leaves in its arrays, which must be the same interpreted and natively."""
    interpreted = interpret(parse_text(text), [np.array(rounds), *inputs])[-len(inputs) :]
    native = [np.array(array) for array in inputs]
    compile_module(parse_text(text))(rounds, *native)
    for a, b in zip(interpreted, native, strict=True):
        np.testing.assert_array_equal(a, b)
    return native


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_fma_kernel(element: str):
    dtype = {"f32": np.float32, "f64": np.float64}[element]
    x = np.array([0.5, 1], dtype)
    sums = np.arange(12, dtype=dtype).reshape(3, 4)
    _, after = both(probe_kernels.fma_kernel(element, 4, 3), 2, [x, sums])
    np.testing.assert_array_equal(after, (sums * 0.5 + 1) * 0.5 + 1)


def test_multiply_adds_of_a_chain_wait_for_each_other():
    target = Target.host()
    chain, apart = (
        probe_jobs.fma_chain_job(target),
        probe_jobs.fma_job(target, "f32", target.vector_bits),
    )
    assert [len(job.arguments()[-1]) for job in (chain, apart)] == [
        1,
        3 * target.vector_registers // 4,
    ]


def test_read_kernel():
    x, sums = arrays({"x": (64,), "sums": (8, 4)})
    _, after = both(probe_kernels.read_kernel(4), 3, [x, sums])
    np.testing.assert_array_equal(after, sums + 3 * x.reshape(2, 8, 4).sum(0))


def test_chase_kernel():
    """Four links in each of two rounds, in a cycle of three."""
    x, at = np.array([2, 0, 1], np.int64), np.array([0], np.int64)
    np.testing.assert_array_equal(both(probe_kernels.chase_kernel(4), 2, [x, at])[1], [1])


def test_a_chase_goes_through_all_lines_before_one_comes_again():
    job = probe_jobs.chase_job(Target.host(), 100 * 64)
    x, at = job.arguments()
    seen = [int(at[0])]
    while (place := int(x[seen[-1]])) != seen[0]:
        seen.append(place)
    assert sorted(seen) == list(range(0, 800, 8))
    job.kernel(3, x, at)
    assert job.check(2, [x, at]) and not job.check(1, [x, at])


def test_copy_kernel():
    x, y = arrays({"x": (64,), "y": (64,)})
    np.testing.assert_array_equal(both(probe_kernels.copy_kernel(4), 2, [x, y])[1], x)
    x, y = arrays({"x": (256,), "y": (256,)})
    past = probe_kernels.copy_kernel(16, is_past=True)
    assert past.count("nontemporal") == probe_kernels.UNROLL
    np.testing.assert_array_equal(both(past, 2, [x, y])[1], x)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ({240: 29e9}, 480),
        ({240: 15e9, 120: 20e9, 60: 28e9}, 120),
        ({240: 15e9, 120: 20e9, 90: 20e9, 60: 28e9}, 80),
        ({15: 10e9}, 15),
        ({7.5: 9e9, 60: 10e9}, 60),
    ],
    ids=str,
)
def test_the_last_cache_is_a_third_more_than_what_is_read_fast(
    rates: dict[float, float], expected: float, monkeypatch: pytest.MonkeyPatch
):
    """By megabytes of an L3 of 480 beside an L2 of 1: from 7.5 on, at 30 GB/s where nothing else is said."""
    caches = (Cache(1, 48 << 10), Cache(2, 1 << 20), Cache(3, 480 << 20))
    monkeypatch.setattr(probe, "detect_caches", lambda: caches)
    monkeypatch.setattr(probe_jobs, "stream_kernel", lambda *_: None)
    monkeypatch.setattr(probe_jobs, "stream_job", lambda kernel, kind, size: size / (1 << 20))

    def sample(size: float) -> probe_timing.Sampled:
        return probe_timing.Sampled((rates.get(size, 30e9),), False)

    monkeypatch.setattr(probe, "sample", sample)
    target = dataclasses.replace(HOST, core=dataclasses.replace(HOST.core, caches=caches))
    found = probe._last_cache(target, 1)["last_cache"]
    assert (found.core, found.source) == (expected * (1 << 20), "measured")


def test_fma_kernel_has_nothing_else_in_its_loop():
    """Not folded, not merged, not spilled: only multiply-adds between registers."""
    text = probe_kernels.fma_kernel("f32", 8, 12)
    assembly = compile_module(parse_text(text), target=Target.parse("host")).assembly()
    if not Target.host().triple.startswith("x86"):
        pytest.skip("reads x86 assembly")
    fmas = [line.split() for line in assembly.splitlines() if "vfmadd" in line]
    assert len(fmas) >= 12
    assert not [line for line in fmas if "(" in "".join(line)], "an operand in memory"


@pytest.mark.parametrize(("rows", "vectors"), [(3, 2), (4, 1)])
def test_tile_kernels(rows: int, vectors: int):
    narrow, wide, tile = arrays(
        {"a": (2, 5, rows), "b": (3, 5, 4 * vectors), "c": (rows, 4 * vectors)}
    )
    _, _, after = both(probe_kernels.tile_kernel(rows, vectors, 4, 5), 2, [narrow, wide, tile])
    np.testing.assert_array_equal(after, narrow[-1].T @ wide[-1])
    unpacked = arrays({"a": (rows, 7)})[0]
    text = probe_kernels.strided_tile_kernel(rows, vectors, 4, 5)
    _, _, after = both(text, 1, [unpacked, wide, tile])
    np.testing.assert_array_equal(after, unpacked[:, :5] @ wide[-1])


def test_kernel_of_pieces_of_rows():
    """Two blocks of three tiles of rows, in four pieces: what is left are the sums of the last piece of the last rows."""
    shapes = {"narrow": (2, 3, 2, 23), "wide": (4, 5, 8), "tile": (2, 8)}
    narrow, wide, tile = arrays(shapes)
    text = probe_kernels.pieces_tile_kernel(2, 2, 4, depth=5, pieces=4, tiles=3, apart=23)
    _, _, after = both(text, 2, [narrow, wide, tile])
    np.testing.assert_array_equal(after, narrow[-1, -1, :, 15:20] @ wide[-1])


def test_the_job_of_pieces_reads_each_row_of_several_l2_once():
    target = dataclasses.replace(
        Target.host(), core=dataclasses.replace(Target.host().core, caches=SMALL)
    )
    job = probe_jobs.rows_jobs(target).pieces
    inputs = job.arguments()
    job.kernel(1, *inputs)
    assert job.check(1, inputs)
    rows, page = inputs[0].reshape(-1, inputs[0].shape[-1]), 4096
    assert 3 * SMALL[1].bytes < len(rows) * page <= 4 * SMALL[1].bytes
    assert job.work(inputs) == 2.0 * len(rows) * page // 4 * inputs[2].shape[1]


def test_tile_kernel_keeps_its_sums_in_registers():
    """No stack slot is touched: the tile, a row of the wide operand and one element fit, by `probe_tile`."""
    target = Target.host()
    if not target.triple.startswith("x86"):
        pytest.skip("reads x86 assembly")
    for rows, vectors in [target.core.probe_tile, (14, target.core.vectors_beside(14))]:
        text = probe_kernels.tile_kernel(rows, vectors, target.lanes(4), 256)
        lines = compile_module(parse_text(text), target=target).assembly().splitlines()
        fmas = [number for number, line in enumerate(lines) if "vfmadd" in line]
        assert len(fmas) >= rows * vectors
        inner = lines[fmas[0] : fmas[-1]]
        assert not [line for line in inner if "(%rsp" in line]


def test_pack_kernel():
    x, panels = arrays({"x": (2, 5, 24), "panels": (3, 5, 8)})
    _, after = both(probe_kernels.pack_kernel(2, 4, 5, 3), 1, [x, panels])
    np.testing.assert_array_equal(after, x[-1].reshape(5, 3, 8).transpose(1, 0, 2))


# What is measured.


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_timing, "_BUDGET", 0)
    monkeypatch.setattr(probe_timing, "_SECONDS", 1e-5)
    monkeypatch.setattr(probe, "_PAUSE", 1e-4)
    monkeypatch.setattr(probe, "_LAST_START", 1e9)
    monkeypatch.setattr(probe_jobs, "_LARGEST", 1 << 20)


def test_working_sets():
    kib, mib = 1 << 10, 1 << 20
    caches = (Cache(1, 32 * kib), Cache(2, mib), Cache(3, 32 * mib, shared_by=8))
    assert probe_jobs.working_sets(caches, 1) == [
        ("L1", 16 * kib, 16 * kib),
        ("L2", 512 * kib, 512 * kib),
        ("L3", 16 * mib, 16 * mib),
        ("memory", 128 * mib, 128 * mib),
    ]
    assert probe_jobs.working_sets(caches, 8) == [
        ("L1", 16 * kib, 16 * kib),
        ("L2", 512 * kib, 512 * kib),
        ("L3", 16 * mib, 2 * mib),
        ("memory", 128 * mib, 16 * mib),
    ]
    # A level that is hardly larger than the one inside it is left out.
    small = (Cache(1, 64 * kib), Cache(2, 128 * kib))
    assert [name for name, *_ in probe_jobs.working_sets(small, 1)] == ["L1", "memory"]


def test_measures(quick: None, monkeypatch: pytest.MonkeyPatch):
    """A quick probe of small caches. How plausible its numbers are, others that run now decide."""
    monkeypatch.setattr(probe, "check_plausible", lambda *_: None)
    caches = (Cache(1, 16 << 10), Cache(2, 128 << 10))
    rates = probe.probe(Target.host().with_core(caches=caches)).rates
    absent = {"read_l3", "copy_l3"}
    if Target.host().vector_bits <= 256:
        absent |= {"fma_f32_narrow", "fma_f64_narrow"}
    assert rates.keys() == set(RATE_NAMES) - absent
    for name, rate in rates.items():
        least, most = (1, 1e3) if is_slowdown(name) else (1e6, 1e13)
        assert least <= rate.core < most
        assert least <= rate.machine < most * len(machine.core_cpus())


def test_what_there_is_no_time_for_is_left_out(quick: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(probe, "_LAST_START", -1)
    assert probe.probe().rates == {}
    took: list[str] = []
    monkeypatch.setattr(
        probe, "_MEASUREMENTS", {name: lambda *_, n=name: took.append(n) or {} for name in "abc"}
    )
    monkeypatch.setattr(probe, "_LAST_START", 1e9)
    probe.probe(have={"a", "b"})
    assert took == ["c", "a", "b"], "what is not there yet comes first"


def test_tiles_stay_the_parts_of_the_peak_that_they_were_measured_as(
    monkeypatch: pytest.MonkeyPatch,
):
    """Also where the peak is measured after them, which a busy machine left no time for in the run before."""

    def tiles(target: Target, _: int) -> dict[str, Rate]:
        parts = {"tile_near": 0.9, "tile_near_asked": 0.91}
        rates = {name: part * target.rates.fma_f32.core for name, part in parts.items()}
        return {name: Rate(rate, rate) for name, rate in rates.items()}

    measured = {"tile_near": tiles, "fma_f32": lambda *_: {"fma_f32": Rate(80e9, 160e9)}}
    monkeypatch.setattr(probe, "_MEASUREMENTS", measured)
    monkeypatch.setattr(probe, "check_plausible", lambda *_: None)
    rates = probe.probe(Target.parse("zen5:fma_f32=100e9")).rates
    assert rates["fma_f32"] == Rate(80e9, 160e9)
    assert rates["tile_near"].core == pytest.approx(0.9 * 80e9)
    assert rates["tile_near_asked"].core == pytest.approx(0.91 * 80e9), "compared with the other"


def test_wrong_results_are_noticed(quick: None, monkeypatch: pytest.MonkeyPatch):
    """A kernel that does not do its work would be fast."""

    def idle(self: Executable, *_: object) -> None:
        return None

    monkeypatch.setattr(probe_timing, "_SECONDS", 1e-7)
    monkeypatch.setattr(Executable, "__call__", idle)
    with pytest.raises(StepwellError, match="found a kernel with a wrong result"):
        probe.probe(Target.host().with_core(caches=(Cache(1, 16 << 10),)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fma_f32": Rate(0.0, 0.0)}, "fma_f32 at 0 per second, expected at most"),
        ({"fma_f32": Rate(1e15, 1e15)}, "fma_f32 at 1e.15 per second"),
        ({"fma_f64": Rate(100e9, 190e9)}, "about twice as much of f32 as of f64"),
        ({"fma_f32": Rate(100e9, 20e9)}, "1e.11 per second for one core and 2e.10 for 2"),
        ({"read_memory": Rate(300e9, 400e9)}, "read_l1 at 2e.11 and read_memory at 3e.11"),
    ],
)
def test_absurd_results_are_refused(changes: dict, message: str):
    probe.check_plausible(MEASURED, HOST)
    with pytest.raises(StepwellError, match=message):
        probe.check_plausible(MEASURED | changes, HOST)


# Whether the machine was busy.


def race(spans: list[tuple[float, float]]) -> probe_timing.Sampled:
    """One thread's repetitions of so many seconds, and of so many of the processor, on an idle machine."""
    fake = object.__new__(probe_timing._Race)
    fake._errors, fake._work = [], [1.0]
    fake._spans = [[(0.0, wall, processor) for wall, processor in spans]]
    return fake.sampled(probe_timing.Load(0, 0))


def test_interrupted_repetitions_are_left_out():
    assert race([(1, 1)] * 4) == probe_timing.Sampled((1, 1, 1, 1), False)
    assert race([(1, 1), (2, 1), (1, 1), (1, 1)]) == probe_timing.Sampled((1, 1, 1), False)
    # Too few without interruption: the processor time counts, and it is said.
    assert race([(1, 1), (2, 1), (4, 1.25)]) == probe_timing.Sampled((1, 1, 0.8), True)


def test_repetitions_that_differ_are_doubtful():
    assert race([(1, 1), (1.5, 1.5), (1.5, 1.5)]).is_busy
    assert not race([(1, 1), (1.05, 1.05), (1.05, 1.05)]).is_busy


def test_load_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(probe_timing, "_STAT", tmp_path / "stat")
    monkeypatch.setattr(probe_timing, "process_time", lambda: 0)
    assert probe_timing.LoadWatch().load() == probe_timing.Load(0, 0)
    (tmp_path / "stat").write_text("cpu  10 0 10 100 0 0 0 0 0 0\ncpu0 1\n")
    watch = probe_timing.LoadWatch()
    (tmp_path / "stat").write_text("cpu  20 0 15 180 0 0 0 5 0 0\ncpu0 1\n")
    load = watch.load()
    assert load == probe_timing.Load(0.15, 0.05) and load.is_busy
    assert not probe_timing.Load(0.05, 0).is_busy


def test_all_cores_have_at_least_what_one_has():
    one, every = probe_timing.Sampled((5,), False), probe_timing.Sampled((2,), True)
    assert probe._rate(one, every, probe._best) == Rate(5, 5, "busy")
    assert probe._rate(one, one, probe._best) == Rate(5, 5, "measured")


# The command.


BUSY = probe.Probed(MEASURED | {"beyond_l2": Rate(9e9, 12e9, "busy")}, probe_timing.Load(0.5, 0.01))


def test_command(empty_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(probe, "probe", lambda target=None, have=(): BUSY)
    monkeypatch.setattr(target_module, "core_cpus", lambda: [0, 1])
    monkeypatch.setattr(target_module, "known_core", lambda *_: None)
    assert main(["probe", "--stored"]) == 1
    assert "found no measurements of this machine" in capsys.readouterr().err
    assert main(["probe"]) == 0
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines()]
    assert ["f32", "100.0", "190.0"] in rows and ["f64", "50.0", "95.0"] in rows
    assert ["memory", "30.0", "40.0", "25.0", "33.0"] in rows
    assert ["beyond", "L2", "9.0?", "12.0?"] in rows
    assert "the machine was busy: 50% of its cores' time went to other programs and 1%" in shown
    assert f"1 of {len(BUSY.rates)} rates of this run are lower bounds" in shown
    assert str(Target.host().measured_file) in shown
    monkeypatch.setattr(probe, "probe", lambda target=None, have=(): CALM)
    assert main(["probe", "--json", str(empty_cache / "x.json")]) == 0
    shown = capsys.readouterr().out
    assert "busy" not in shown and ["beyond", "L2", "8.0", "12.0"] in [
        line.split() for line in shown.splitlines()
    ]
    written = json.loads((empty_cache / "x.json").read_text())
    assert written["rates"]["beyond_l2"] == {"core": 8e9, "machine": 12e9, "source": "measured"}
    assert main(["probe", "--stored"]) == 0
    assert capsys.readouterr().out == shown


CALM = probe.Probed(MEASURED | {"beyond_l2": Rate(8e9, 12e9)}, probe_timing.Load(0, 0))


def test_another_target_is_shown(capsys: pytest.CaptureFixture[str]):
    assert main(["probe", "--target", "zen3:beyond_l2=9e9"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["f32", "102.0*"] in rows and ["beyond", "L2", "9.0="] in rows
    assert ["tile", "kernel,", "operands", "in", "L2", "94.0*"] in rows
    assert main(["probe", "--target", "abacus"]) == 1


def test_results_that_cannot_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    (tmp_path / "stepwell").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(probe, "probe", lambda target=None, have=(): CALM)
    assert main(["probe"]) == 1
    assert "cannot store the measurements" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_roofline(suffix: str, tmp_path: Path):
    picture = tmp_path / f"roof.{suffix}"
    points = [Point("gemm", 40.0, 90e9)]
    draw_roofline(HOST, picture, title="a machine", points=points)
    assert picture.stat().st_size > 5000
    with pytest.raises(StepwellError, match="cannot write the picture"):
        draw_roofline(HOST, tmp_path / "no" / f"x.{suffix}", title="")


def test_pictures_need_a_name_and_matplotlib(monkeypatch: pytest.MonkeyPatch, capsys):
    assert main(["probe", "-o", "roof.jpg"]) == 1
    assert "ending in '.jpg', expected one of .png, .svg" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["probe", "-o", "roof.png"]) == 1
    assert "found no matplotlib" in capsys.readouterr().err


def test_one_interruption_does_not_make_repetitions_short(monkeypatch: pytest.MonkeyPatch):
    """Of a kernel that takes a microsecond a round and is stopped in its first call for as long as a hundred repetitions."""
    warm = object.__new__(probe_timing._Warm)
    now, calls = [0.0], [0]

    def call(rounds: int) -> None:
        calls[0] += 1
        now[0] += 1e-6 * rounds + (0.2 if calls[0] == 1 else 0.0)

    monkeypatch.setattr(warm, "call", call)
    monkeypatch.setattr(probe_timing, "thread_time", lambda: now[0])
    assert warm.find_rounds() == pytest.approx(2000, rel=0.01)
