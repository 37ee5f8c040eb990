"""`opt="quick"`: no schedule, LLVM's O0; the results are those of the other tier within the contract."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.runtime import codegen
from stepwell.runtime.engine import NativeCode
from stepwell.targets.llvm import target_machine
from stepwell.tools.cli import main

PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "product": (lambda a, b: a @ b, [(37, 29), (29, 53)]),
    "layer": (lambda x, w, b: sw.gelu(x @ w + b), [(13, 19), (19, 31), (31,)]),
    "attention": (
        lambda q, k, v: sw.softmax(q @ sw.swapaxes(k, -1, -2) * 0.25, axis=-1) @ v,
        [(3, 17, 16), (3, 17, 16), (3, 17, 16)],
    ),
    "layer norm": (lambda x, s, b: sw.layer_norm(x, s, b), [(11, 45), (45,), (45,)]),
    "sums": (lambda x: (sw.sum(x, axis=0), sw.max(x, axis=1)), [(33, 71)]),
    "transpose": (lambda x: sw.transpose(x, (2, 0, 1)), [(5, 7, 9)]),
}


def _arrays(shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_other_tier(name: str) -> None:
    function, shapes = PROGRAMS[name]
    arrays = _arrays(shapes)
    quick, full = sw.jit(function, opt="quick")(*arrays), sw.jit(function)(*arrays)
    pairs = zip(quick, full, strict=True) if isinstance(quick, tuple) else [(quick, full)]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, 2e-5, 2e-5)


def test_nothing_is_scheduled_and_nothing_optimised() -> None:
    function, shapes = PROGRAMS["product"]
    low = sw.jit(function, opt="quick").lower(*_arrays(shapes))
    assert "vector" not in low.as_text("loop")
    assert "ymm" not in low.as_text("asm") and "zmm" not in low.as_text("asm")
    low.compile()
    assert "schedule-by-rules" not in [name for name, _ in low.timings]


def test_compile_chooses_a_tier_of_its_own() -> None:
    function, shapes = PROGRAMS["layer"]
    arrays = _arrays(shapes)
    low = sw.jit(function).lower(*arrays)
    quick = low.compile(opt="quick")
    assert "schedule-by-rules" not in [name for name, _ in low.timings]
    np.testing.assert_allclose(quick(*arrays), low.compile()(*arrays), 2e-5, 2e-5)
    assert "schedule-by-rules" in [name for name, _ in low.timings]


def test_the_command_line_has_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "sum.py"
    program.write_text(
        "import stepwell as sw\ndef main(x):\n    return sw.exp(x) + sw.sum(x, axis=0)\n"
    )
    run = ["run", f"{program}:main", "--shape", "x=9x7xf32", "--opt", "quick"]
    run += ["--random", "1", "--check"]
    assert main(run) == 0
    output = tmp_path / "sum.s"
    compiled = ["compile", f"{program}:main", "--shape", "x=9x7xf32", "--opt", "quick"]
    assert main([*compiled, "-o", str(output)]) == 0
    assert "ymm" not in output.read_text()
    capsys.readouterr()


@pytest.mark.parametrize("call", [lambda: sw.jit(lambda x: x, opt="fast"), lambda: _lowered("O0")])
def test_an_unknown_tier_is_one_line(call: Callable[[], Any]) -> None:
    with pytest.raises(sw.StepwellError) as caught:
        call()
    message = str(caught.value)
    assert "expected one of full, quick; choose one of them" in message and "\n" not in message


def _lowered(opt: str) -> Any:
    return sw.jit(lambda x: x + 1.0).lower(np.zeros(3, np.float32)).compile(opt=opt)


def test_the_code_generator_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def watched(triple: str, cpu: str, features: str, opt: int) -> Any:
        asked.append(opt)
        return target_machine(triple, cpu, features, opt)

    monkeypatch.setattr(codegen, "_machine_of", watched)
    low = sw.jit(lambda x: x * 2.0).lower(np.zeros(5, np.float32))
    assert isinstance(low.compile(opt="quick").native, NativeCode)
    assert 0 in asked and 3 not in asked
