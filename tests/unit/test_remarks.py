"""Remarks: every pass that chooses says what, by which numbers, or why it left things as they were."""

from collections.abc import Sequence

import pytest
from stepwell.driver.pipeline_spec import parse_passes
from stepwell.frontend.text import make_context, parse_file, parse_text
from stepwell.tools.opt import main
from stepwell.transforms.remarks import Remark, listening, remark

from .kernel_oracles import KERNELS


def remarks_of(name: str, pipeline: str) -> list[Remark]:
    module = parse_file(KERNELS / f"{name}.mlir")
    found: list[Remark] = []
    with listening(found.append):
        for pass_ in parse_passes(pipeline):
            pass_.apply(make_context(), module)
    return found


def messages(remarks: Sequence[Remark], *, missed: bool) -> list[str]:
    return [remark.message for remark in remarks if remark.missed is missed]


@pytest.mark.parametrize(
    ("name", "pipeline", "done", "missed"),
    [
        (
            "gauss_seidel",
            "loop-polyhedral{tile=8}",
            "a band of 3 loops; permutable; tiled by 8; parallel: none; the store to '%A' of (t, i, j) "
            "at (t, t + i, t + j)",
            None,
        ),
        (
            "two_mm",
            "loop-polyhedral{tile=0}",
            "not tiled; parallel: 1, 2; the store to '%T' of (i, j) at (i, j, 0); the store to '%T' of "
            "(i, j, k) at (i, j, k)",
            None,
        ),
        (
            "two_mm",
            "loop-auto-fuse",
            "fuse_loops(two_mm/i, other=i2): both use %T",
            "not fuse_loops(two_mm/j, other=j2): loop 'j' has 19 iterations, loop 'j2' has 11",
        ),
        ("two_mm", "loop-auto-fission", "fission(two_mm/j, after=T): makes the nest perfect", None),
        (
            "gauss_seidel",
            "loop-auto-interchange",
            None,
            "order kept: 271 cache lines with 'j' innermost, 361 with 't', 2166 with 'i'",
        ),
        (
            "gauss_seidel",
            "loop-auto-tile{cache-bytes=1024}",
            "tile(gauss_seidel/i, factors=[4, 4]): ",
            "iterations (t=0, i=1, j=5) and (t=1, i=1, j=4) would be swapped",
        ),
        (
            "blur",
            "loop-auto-tile",
            None,
            "bytes between two uses of the same elements, which 32768 hold",
        ),
        (
            "blur",
            "loop-auto-parallelize",
            None,
            "loop 'i' not on threads: 19 iterations, 2356 loads and stores, expected at least 2 and 16384",
        ),
        (
            "blur",
            "loop-auto-parallelize{grain=100}",
            "parallel(blur/i): the outermost parallel",
            None,
        ),
        (
            "blur",
            "loop-auto-unroll-and-jam",
            None,
            "loop 'i' not unrolled: its iterations use no elements in common",
        ),
        (
            "two_mm",
            "loop-auto-fission,loop-auto-unroll-and-jam{registers=3}",
            None,
            "a factor of 1 is left by 2 elements of each copy",
        ),
    ],
)
def test_passes_say_what_they_chose(
    name: str, pipeline: str, done: str | None, missed: str | None
) -> None:
    remarks = remarks_of(name, pipeline)
    assert all(found.where and found.where.split(":")[1].isdigit() for found in remarks)
    assert all("\n" not in found.message for found in remarks)
    for wanted, said in (
        (done, messages(remarks, missed=False)),
        (missed, messages(remarks, missed=True)),
    ):
        if wanted is not None:
            assert any(wanted in message for message in said), said


def test_the_driver_prints_remarks_on_stderr_once(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(KERNELS / "two_mm.mlir")
    pipeline = "loop-auto-fuse,loop-auto-parallelize"
    assert main([path, "-p", pipeline]) == 0
    quiet = capsys.readouterr()
    assert main([path, "--remarks", "-p", pipeline]) == 0
    said = capsys.readouterr()
    assert said.out == quiet.out and not quiet.err
    lines = said.err.splitlines()
    assert (
        f"{path}:19:3: remark: loop-auto-fuse: fuse_loops(two_mm/i, other=i2): both use %T" in lines
    )
    assert len(set(lines)) == len(lines)
    assert lines[-1].startswith(f"{path}:6:3: remark: loop-auto-parallelize: parallel(two_mm/i): ")


def test_nobody_has_to_listen() -> None:
    module = parse_text("func.func @f() { func.return }", "f.mlir")
    remark(module, "unheard")
    found: list[Remark] = []
    with listening(found.append):
        remark(module, "heard", missed=True)
    remark(module, "unheard")
    assert found == [Remark("heard", found[0].where, missed=True)]
    assert str(Remark("why", None)) == "why" and str(Remark("why", "a:1:2")) == "a:1:2: why"
