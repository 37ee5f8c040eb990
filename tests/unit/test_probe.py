"""`stepwell probe`: its kernels, what it accepts, where it keeps results, and what it shows."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.runtime import probe, probe_kernels
from stepwell.runtime.executable import Executable
from stepwell.runtime.jit import compile_module
from stepwell.runtime.roofline import Point, draw_roofline
from stepwell.targets import machine
from stepwell.targets import target as target_module
from stepwell.targets.core import Cache, Core
from stepwell.targets.rates import Rate
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


def test_read_kernel():
    x, sums = arrays({"x": (64,), "sums": (8, 4)})
    _, after = both(probe_kernels.read_kernel(4), 3, [x, sums])
    np.testing.assert_array_equal(after, sums + 3 * x.reshape(2, 8, 4).sum(0))


def test_copy_kernel():
    x, y = arrays({"x": (64,), "y": (64,)})
    np.testing.assert_array_equal(both(probe_kernels.copy_kernel(4), 2, [x, y])[1], x)


def test_fma_kernel_has_nothing_else_in_its_loop():
    """Not folded, not merged, not spilled: only multiply-adds between registers."""
    text = probe_kernels.fma_kernel("f32", 8, 12)
    assembly = compile_module(parse_text(text), target=Target.parse("host")).assembly()
    if not Target.host().triple.startswith("x86"):
        pytest.skip("reads x86 assembly")
    fmas = [line.split() for line in assembly.splitlines() if "vfmadd" in line]
    assert len(fmas) >= 12
    assert not [line for line in fmas if "(" in "".join(line)], "an operand in memory"


# What is measured.


def with_caches(caches: tuple[Cache, ...]) -> Target:
    host = Target.host()
    return dataclasses.replace(host, core=dataclasses.replace(host.core, caches=caches))


def test_working_sets():
    kib, mib = 1 << 10, 1 << 20
    caches = (Cache(1, 32 * kib), Cache(2, mib), Cache(3, 32 * mib, shared_by=8))
    assert probe.working_sets(caches, 1) == [
        ("L1", 16 * kib, 16 * kib),
        ("L2", 512 * kib, 512 * kib),
        ("L3", 16 * mib, 16 * mib),
        ("memory", 128 * mib, 128 * mib),
    ]
    assert probe.working_sets(caches, 8) == [
        ("L1", 16 * kib, 16 * kib),
        ("L2", 512 * kib, 512 * kib),
        ("L3", 16 * mib, 2 * mib),
        ("memory", 128 * mib, 16 * mib),
    ]
    # A level that is hardly larger than the one inside it is left out.
    small = (Cache(1, 64 * kib), Cache(2, 128 * kib))
    assert [name for name, *_ in probe.working_sets(small, 1)] == ["L1", "memory"]


def test_measures(monkeypatch: pytest.MonkeyPatch):
    """A quick probe of small caches. How plausible its numbers are, others that run now decide."""
    monkeypatch.setattr(probe, "_BUDGET", 0)
    monkeypatch.setattr(probe, "_SECONDS", 1e-4)
    monkeypatch.setattr(probe, "check_plausible", lambda *_: None)
    caches = (Cache(1, 16 << 10), Cache(2, 128 << 10))
    measured = probe.probe(with_caches(caches))
    streams = {f"{kind}_{level}" for kind in ("read", "copy") for level in ("l1", "l2", "memory")}
    assert measured.keys() == {"fma_f32", "fma_f64", *streams}
    for rate in measured.values():
        assert 1e7 < rate.core < 1e13
        assert 1e7 < rate.machine < 1e13 * len(machine.core_cpus())


def test_wrong_results_are_noticed(monkeypatch: pytest.MonkeyPatch):
    """A kernel that does not do its work would be fast."""

    def idle(self: Executable, *_: object) -> None:
        return None

    monkeypatch.setattr(probe, "_BUDGET", 0)
    monkeypatch.setattr(probe, "_SECONDS", 1e-6)
    monkeypatch.setattr(Executable, "__call__", idle)
    with pytest.raises(StepwellError, match="found a kernel with a wrong result"):
        probe.probe(with_caches((Cache(1, 16 << 10),)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fma_f32": Rate(0.0, 0.0)}, "the f32 peak at 0 per second, expected at most"),
        ({"fma_f32": Rate(1e15, 1e15)}, "the f32 peak at 1e.15 per second"),
        ({"fma_f64": Rate(100e9, 190e9)}, "100 GFLOP/s for f32 and 100 for f64, expected twice"),
        ({"fma_f32": Rate(100e9, 20e9)}, "1e.11 per second for one core and 2e.10 for 2"),
        (
            {"read_memory": Rate(300e9, 400e9)},
            "200 GB/s from L1 and 300 from memory, expected L1 to be faster",
        ),
    ],
)
def test_absurd_results_are_refused(changes: dict, message: str):
    probe.check_plausible(MEASURED, HOST)
    with pytest.raises(StepwellError, match=message):
        probe.check_plausible(MEASURED | changes, HOST)


# The command.


def test_command(empty_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(probe, "probe", lambda target=None: MEASURED)
    monkeypatch.setattr(target_module, "core_cpus", lambda: [0, 1])
    assert main(["probe", "--stored"]) == 1
    assert "found no measurements of this machine" in capsys.readouterr().err
    assert main(["probe"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[2:5] == [
        "                 1 core  2 cores",
        "f32 FMA GFLOP/s   100.0    190.0",
        "f64 FMA GFLOP/s    50.0     95.0",
    ]
    last = " ".join(shown.splitlines()[10].split())
    assert last == "memory 30.0 25.0 40.0 33.0"
    assert str(Target.host().measured_file) in shown
    assert main(["probe", "--stored"]) == 0
    assert capsys.readouterr().out == shown


def test_results_that_cannot_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    (tmp_path / "stepwell").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(probe, "probe", lambda target=None: MEASURED)
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
