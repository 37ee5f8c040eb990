"""
A schedule built in Python, printed, saved, and applied by `stepwell-opt`: byte for byte the same IR.

The programs are the examples of `docs/schedules`, one for each step, and longer scripts with tails,
staging, partial results and producers moved into their consumers.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest
import stepwell as sw
from stepwell.driver.pass_manager import module_text
from stepwell.tools.opt import main

EXAMPLES = sorted((Path(__file__).parents[2] / "docs" / "schedules").glob("*.mlir"))

MATMUL = """\
func.func @f(%A: memref<17x13xf32>, %B: memref<13x11xf32>, %C: memref<17x11xf32> {stepwell.result}) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel "i" %i = 0 to 17 {
    loop.for parallel "j" %j = 0 to 11 {
      loop.store %zero, %C[%i, %j] : memref<17x11xf32>
      loop.for reduction "k" %k = 0 to 13 {
        %a = loop.load %A[%i, %k] : memref<17x13xf32>
        %b = loop.load %B[%k, %j] : memref<13x11xf32>
        %p = arith.mulf %a, %b : f32
        %c = loop.load %C[%i, %j] : memref<17x11xf32>
        %s = arith.addf %c, %p fastmath<reassoc> : f32
        loop.store %s, %C[%i, %j] : memref<17x11xf32>
      }
    }
  }
  func.return
}
"""
STENCILS = """\
func.func @f(%A: memref<40xf32>, %C: memref<36xf32> {stepwell.result}) {
  %T = loop.alloc arena : memref<38xf32>
  loop.for parallel "i" %i = 0 to 38 {
    %a = loop.load %A[%i] : memref<40xf32>
    %b = loop.load %A[%i + 2] : memref<40xf32>
    %s = arith.addf %a, %b : f32
    loop.store %s, %T[%i] : memref<38xf32>
  }
  loop.for parallel "j" %j = 0 to 36 {
    %t = loop.load %T[%j] : memref<38xf32>
    %u = loop.load %T[%j + 2] : memref<38xf32>
    %v = arith.mulf %t, %u : f32
    loop.store %v, %C[%j] : memref<36xf32>
  }
  func.return
}
"""
SCRIPTS = {
    "tails": (
        MATMUL,
        (
            "decompose_reduction(C, at=i)",
            "split(i, 4, tail=peel)",
            "split(j, 4, tail=guard)",
            "split(k, 13, tail=perfect)",
            "reorder(j.outer, [k.outer, k.inner, j.outer, j.inner])",
            "vectorize(j.inner, 4, tail=guard)",
            "simplify(f)",
        ),
    ),
    "stage": (
        MATMUL,
        (
            "decompose_reduction(C, at=i)",
            "tile(i, [4, 4, 8], tail=guard)",
            "stage(A, at=k.outer, scope=stack)",
            "stage(B, at=k.outer, scope=stack, order=[1, 0], into=packed)",
            "storage_align(packed, axis=1, factor=16)",
            "parallel(i.outer)",
        ),
    ),
    "rfactor": (
        MATMUL,
        (
            "decompose_reduction(C, at=i)",
            "split(k, 4, tail=guard)",
            "rfactor(k.inner, into=partial)",
            "set_scope(partial, stack)",
        ),
    ),
    "compute_at": (
        STENCILS,
        (
            "split(j, 8, tail=guard)",
            "compute_at(T, at=j.outer)",
            "set_scope(T, stack)",
            "vectorize(j.inner, 4, tail=guard)",
            "parallel(j.outer)",
        ),
    ),
    "names given": (
        STENCILS,
        (
            "split(j, 5, outer=block, inner=lane, tail=peel)",
            "split(i, 5, outer=group, inner=item, tail=peel)",
            "pragma(block, key=note, value=wide)",
        ),
    ),
}


def check_same_bytes(
    program: str, s: sw.Schedule, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The IR of `s`, from its script in a file, in the module, and run line by line."""
    source, script, both = (folder / name for name in ("program.mlir", "s.mlir", "both.mlir"))
    source.write_text(program)
    script.write_text(str(s))
    both.write_text(f"{program}\n{s}\n")
    outputs: list[str] = []
    for arguments in (
        [str(source), "-p", f"apply-schedule{{file={script}}}"],
        [str(both), "-p", "apply-schedule"],
    ):
        assert main(arguments) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs == [module_text(s.module) + "\n\n"] * 2
    again = sw.Schedule(program, script=str(s)).run()
    assert module_text(again.module) == module_text(s.module)
    assert str(again) == str(s)


def built(program: str, calls: Sequence[str]) -> sw.Schedule:
    s = sw.Schedule(program)
    for call in calls:
        s.apply(call)
    return s


@pytest.mark.parametrize("name", SCRIPTS)
def test_longer_scripts(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, calls = SCRIPTS[name]
    check_same_bytes(program, built(program, calls), tmp_path, capsys)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_step(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, head, rest = path.read_text().partition("schedule.script")
    s = sw.Schedule(program)
    for step in sw.Schedule(program, script=head + rest).remaining:
        s.apply(step)
    check_same_bytes(program, s, tmp_path, capsys)


def test_other_schedules_give_other_bytes() -> None:
    texts = {
        module_text(built(MATMUL, [f"split(i, 4, tail={tail})"]).module)
        for tail in ("guard", "peel")
    }
    assert len(texts) == 2
