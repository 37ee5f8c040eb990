"""How long the kernels of a program take: `profile`, and the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import stepwell as sw
from stepwell.errors import StepwellError
from stepwell.frontend.profile import profile
from stepwell.tools.cli import main

LAYERS = """import stepwell as sw

def layers(x, w, v):
    hidden = sw.relu(x @ w)
    return hidden @ v
"""


def layers(x, w, v):
    return sw.relu(x @ w) @ v


ARRAYS = [np.ones(shape, np.float32) for shape in ((200, 100), (100, 300), (300, 20))]


def test_each_call_has_its_time_and_its_line():
    first, second = profile(sw.jit(layers).lower(*ARRAYS), *ARRAYS, rounds=3)
    assert (first.kernel, second.kernel) == ("main.matmul_relu", "main.matmul")
    assert "test_profile.py:" in first.source and "test_profile.py:" in second.source
    # Six million multiply-adds: more than a microsecond on any processor, and less than a second.
    assert 1e-6 < first.seconds < 1


def test_the_program_itself_stays_as_it_is():
    low = sw.jit(layers).lower(*ARRAYS)
    before = low.as_text("core")
    profile(low, *ARRAYS, rounds=1)
    assert low.as_text("core") == before
    np.testing.assert_allclose(low.compile()(*ARRAYS), np.full((200, 20), 30000), rtol=1e-6)


def test_wrong_arguments_are_refused_as_by_the_program():
    with pytest.raises(StepwellError, match="'x'"):
        profile(sw.jit(layers).lower(*ARRAYS), ARRAYS[1], *ARRAYS[1:])


def test_a_program_without_calls_is_refused():
    with pytest.raises(StepwellError, match="found no kernels"):
        profile(sw.jit(lambda x: x).lower(ARRAYS[0]), ARRAYS[0])


def test_the_command_prints_a_line_for_each_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "layers.py"
    path.write_text(LAYERS)
    shapes = ["--shape", "x=7x5xf32", "--shape", "w=5x33xf32", "--shape", "v=33x3xf32"]
    assert main(["profile", f"{path}:layers", *shapes, "--rounds", "2"]) == 0
    heads = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert heads == ["kernel", "main.matmul_relu", "main.matmul", "total"]


def test_a_wrong_number_of_rounds_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["profile", "-", "--rounds", "0"]) == 1
    assert "found --rounds 0, expected at least 1" in capsys.readouterr().err
