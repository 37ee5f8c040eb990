"""The stub of the package: as generated, and what a type checker says of a user's file with it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_stub_is_as_generated():
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "package_stub.py"], capture_output=True, text=True
    )
    assert not done.returncode, done.stderr
    assert (ROOT / "__init__.pyi").read_text() == done.stdout, (
        "write it again: python tests/package_stub.py > __init__.pyi"
    )


USER = """
import numpy as np
import stepwell as sw

@sw.jit
def scaled(x: np.ndarray, factor: float = 2.0) -> np.ndarray:
    return x * factor

right: np.ndarray = scaled(np.ones(3), 0.5)
sw.tanh(right)
scaled("text")
scaled(right, facter=1)
sw.concatenat([right])
"""


@pytest.mark.slow
def test_a_type_checker_knows_jitted_functions(tmp_path: Path):
    pytest.importorskip("pyright", reason="make check installs the type checker")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "stepwell").symlink_to(ROOT)
    settings = '[tool.pyright]\nextraPaths = ["site"]\nexclude = ["site"]\n'
    (tmp_path / "pyproject.toml").write_text(settings)
    (tmp_path / "user.py").write_text(USER)
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "user.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if " - error: " in line]
    assert [line.split(":")[1] for line in lines] == ["11", "12", "13"], done.stdout
