"""`@pytest.mark.sampled(COUNT)`: what `make test` runs of a test with many parameters, and `make test-slow`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).parents[1] / "conftest.py"
TEST = """
import pytest

@pytest.mark.sampled(5)
@pytest.mark.parametrize("a", range(4))
@pytest.mark.parametrize("b", range(7))
def test_many(a, b): pass

@pytest.mark.sampled(5)
@pytest.mark.parametrize("a", range(3))
def test_few(a): pass

def test_one(): pass
"""


def collected(folder: Path, marks: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    # Of the plugins that are installed none is needed, and they take longer than all else to import.
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*command, "-m", marks], cwd=folder, env=environment, capture_output=True, text=True
    )
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_a_seeded_sample_is_not_slow(tmp_path: Path):
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow\n    sampled\n")
    quick, slow, every = (collected(tmp_path, marks) for marks in ("not slow", "slow", ""))
    assert sorted([*quick, *slow]) == sorted(every)
    assert len(every) == 28 + 3 + 1
    assert sum("test_many" in name for name in quick) == 5
    assert not any("test_few" in name or "test_one" in name for name in slow)
    assert collected(tmp_path, "not slow") == quick
