"""examples/gemm_ladder: every rung is legal and computes what NumPy does, at sizes that divide nothing."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import stepwell as sw
from stepwell.errors import StepwellError
from stepwell.interpreters.harness import interpret

FOLDER = Path(__file__).parents[2] / "examples" / "gemm_ladder"
FILES = sorted(path.stem for path in FOLDER.glob("*.mlir") if path.stem != "gemm")
NAMES = sorted([*FILES, "12_by_rules"])


@pytest.fixture(scope="module")
def ladder() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("gemm_ladder", FOLDER / "ladder.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def rung_of(ladder: ModuleType, name: str):
    return next(rung for rung in ladder.rungs() if rung.name == name)


def test_the_rungs_are_those_of_the_two_sequences(ladder: ModuleType):
    classic = (
        "naive reorder block_1x4 block_4x4 registers unroll simd cache_blocks packed_a packed_b "
        "block_of_b by_rules"
    )
    tvm = "block vectorize reorder pack write_cache parallel"
    names = [f"{n:02}_{name}" for n, name in enumerate(classic.split(), 1)]
    names += [f"tvm_{n}_{name}" for n, name in enumerate(tvm.split(), 1)]
    assert [rung.name for rung in ladder.rungs()] == names == NAMES


BLOCKS = {"1024": "8", "256": "8", "96": "12", "64": "8"}
"""Sizes of blocks for caches, and smaller ones of which a small matrix has several."""


def small_blocks(ladder: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let scripts have small blocks."""
    original = ladder.script

    def script(rung: object, tile: object) -> str:
        text = re.sub(
            r"= (1024|256|96|64)\b", lambda found: f"= {BLOCKS[found[1]]}", original(rung, tile)
        )
        return re.sub(r"= 32\b", "= 4", text)

    monkeypatch.setattr(ladder, "script", script)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", NAMES)
def test_rung(ladder: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch):
    """
    Interpreted and natively, with vectors of 2 lanes and blocks to match, so that there are several of
    each and none is whole.
    """
    small_blocks(ladder, monkeypatch)
    tile = ladder.Tile(2, 6, 256, ladder.NearTile(4, 8, 6))
    schedule = ladder.scheduled(rung_of(ladder, name), 13, 11, 9, tile)
    arrays = ladder.inputs(13, 11, 9)
    expected = arrays[2] + arrays[0] @ arrays[1]
    found = interpret(schedule.module, arrays)[-1]
    np.testing.assert_allclose(found, expected, rtol=0, atol=ladder.tolerance(9))
    a, b, c = (np.array(array) for array in arrays)
    schedule.compile(threads=2)(a, b, c)
    np.testing.assert_allclose(c, expected, rtol=0, atol=ladder.tolerance(9))


@pytest.mark.parametrize("name", FILES)
def test_script_applies_as_it_stands(ladder: ModuleType, name: str):
    """`apply-schedule{file=…}` on `gemm.mlir` without the driver's changes of sizes and lanes."""
    rung = rung_of(ladder, name)
    assert ladder.kernel(192, 256, 320) == (FOLDER / "gemm.mlir").read_text()
    assert ladder.script(rung, ladder.FILE_TILE) == rung.path.read_text()
    assert sw.Schedule(FOLDER / "gemm.mlir", script=rung.path.read_text()).run().remaining == ()


def test_rules_decide_for_the_thread_that_their_rung_runs_on(
    ladder: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    """Not as for a call that all cores share."""
    target = sw.Target.parse("zen4:cores=2")
    monkeypatch.setattr(sw.Target, "host", lambda: target)
    text = ladder.kernel(1024, 1024, 1024)
    alone, together = (
        ladder.script_text(ladder.schedule_kernels(ladder.parse_text(text), cores))
        for cores in (target.alone, target)
    )
    assert rung_of(ladder, "12_by_rules").threads == 1
    assert ladder.script_by_rules(text) == alone != together


def test_the_tile_fills_the_registers_of_the_target(ladder: ModuleType):
    """6 by 16 with AVX2, as in BLIS for Haswell; 14 by 32 with AVX-512."""
    small, large = (sw.Target.parse(name) for name in ("x86-64-v3", "x86-64-v4"))
    assert (ladder.Tile.of(small).lanes, ladder.Tile.of(small).rows) == (8, 6)
    assert (ladder.Tile.of(large).lanes, ladder.Tile.of(large).rows) == (16, 14)
    panel = ladder.Tile.of(large).depth * 2 * 16 * 4
    assert large.caches[0].bytes // 2 <= panel <= large.caches[0].bytes
    text = ladder.script(
        rung_of(ladder, "10_packed_b"), ladder.Tile(16, 14, 192, ladder.NearTile(9, 1024, 144))
    )
    for line in ("panel = 14", "factor = 224", '"gemm/k" factor = 192', "panel = 32"):
        assert line in text


def test_the_last_tile_keeps_rows_of_a_in_the_first_level_cache_and_b_in_the_second(
    ladder: ModuleType,
):
    """4 by 24 with AVX2, 9 by 48 with AVX-512: no more rows than either cache has ways."""
    for name, rows, width in (("x86-64-v3", 4, 24), ("icelake-server", 9, 48)):
        target = sw.Target.parse(name)
        near = ladder.Tile.of(target).near
        first, second = target.caches[:2]
        assert near.rows == rows <= first.ways and near.columns % width == 0
        assert first.bytes // 2 <= rows * near.depth * 4 <= first.bytes
        assert second.bytes // 3 <= near.columns * near.depth * 4 <= second.bytes // 2
        text = ladder.script(rung_of(ladder, "11_block_of_b"), ladder.Tile.of(target))
        for line in (f"panel = {width}", f"pads = [{rows}, {width}]", f"factor = {near.depth}"):
            assert line in text


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("01_naive", 0),
        ("05_registers", 16),
        ("06_unroll", 64),
        ("07_simd", 32),
        ("08_cache_blocks", 32),
        ("09_packed_a", 48),
        ("10_packed_b", 48),
        ("11_block_of_b", 12),
    ],
)
def test_inner_loops_multiply_and_add_in_one_instruction(ladder: ModuleType, name: str, least: int):
    """From the register rung on, and the loops stay as they were written out: LLVM does not do it again."""
    target = sw.Target.parse("x86-64-v3")
    schedule = ladder.scheduled(rung_of(ladder, name), 96, 96, 64, ladder.Tile.of(target))
    found = ladder.fused_multiply_adds(schedule.lowered(target=target).as_text("asm"))
    assert least <= found <= 2 * least if least else found >= 0


def test_multiply_adds_are_counted_in_innermost_loops(ladder: ModuleType):
    text = """
f:
    vfmadd231ps %ymm0, %ymm1, %ymm2
.LBB0_1:
    vfmadd231ps %ymm0, %ymm1, %ymm2
.LBB0_2:
    vfmadd231ps %ymm0, %ymm1, %ymm2
    vfnmadd213ps (%rax), %ymm1, %ymm2
    jne .LBB0_2
    cmpq $1, %rax
    jb .LBB0_1  # again
    retq
"""
    assert ladder.fused_multiply_adds(text) == 2
    assert ladder.fused_multiply_adds(".L1:\n  fmla v0.4s, v1.4s, v2.4s\n  b.ne .L1\n") == 1


def test_driver(ladder: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys):
    """Its table, its picture, and that it notices a wrong result."""
    monkeypatch.setattr(ladder, "measure_host", lambda: None)

    class Roofs:
        def beside(self, call: Callable[[], object], size: int, seconds: float):
            call()
            return 1.0, 100.0, 50.0

    monkeypatch.setattr(ladder, "Roofs", Roofs)
    options = ["--sizes", "20,33", "--rungs", "01_naive,02_reorder", "--seconds", "0"]
    assert ladder.run(options) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["01_naive", "20"],
        ["02_reorder", "20"],
        ["numpy", "20"],
    ]
    assert len(lines) == 7 and lines[1].split()[3:5] == ["1.0%", "2.0%"]
    monkeypatch.setattr(ladder, "tolerance", lambda k: -1.0)
    assert ladder.run(options) == 1
    assert "wrong" in capsys.readouterr().out


def test_picture(ladder: ModuleType, tmp_path: Path):
    results = [
        ladder.Result(name, sequence, size, 0.0, 10.0 * size, 2000.0, 1800.0, threads)
        for name, sequence, threads in [("a", "one", 1), ("b", "two", 2), (ladder.NUMPY, "", 1)]
        for size in (64, 128)
    ]
    for name in ("curve.png", "curve.svg"):
        ladder.draw(results, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 5000


def test_the_roofs_are_of_multiply_adds(ladder: ModuleType):
    """
    No core has less than one multiply-add of a number at 100 MHz, or more than four vectors of 16 at 8 GHz: of the peak, and of
    the tile.
    """
    product, peak, tile = ladder.Roofs().beside(lambda: None, 1, 0)
    assert 0.2 < peak < 1024 and product > 0
    assert 0.2 < tile < 1024


def test_mistakes(ladder: ModuleType):
    with pytest.raises(StepwellError, match="found rung '99', expected one of 01_naive"):
        ladder.run(["--rungs", "99"])
    with pytest.raises(StepwellError, match="found --sizes 64,x, expected positive numbers"):
        ladder.run(["--sizes", "64,x"])
    with pytest.raises(StepwellError, match=r"expected one of \.png, \.svg, \.pdf"):
        ladder.run(["-o", "curve.jpg"])
