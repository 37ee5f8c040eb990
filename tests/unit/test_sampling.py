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

@pytest.mark.sampled(2, by="b")
@pytest.mark.parametrize("a", range(4))
@pytest.mark.parametrize("b", [[1], {}, None])
def test_of_each(a, b): pass

@pytest.mark.sampled(1, by=("b", "c"))
@pytest.mark.parametrize("a", range(4))
@pytest.mark.parametrize("b, c", [(5, 6), (5, 7)])
@pytest.mark.parametrize("d", "xy")
def test_of_each_pair(a, b, c, d): pass

def test_one(): pass
"""


def collect(folder: Path, text: str, marks: str) -> str:
    """What pytest prints when it collects the tests of this text, and ours are sampled."""
    (folder / "conftest.py").write_text(CONFTEST.read_text())
    (folder / "test_it.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow\n    sampled\n")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    # Of the plugins that are installed none is needed, and they take longer than all else to import.
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*command, "-m", marks], cwd=folder, env=environment, capture_output=True, text=True
    )
    return done.stdout + done.stderr


def collected(folder: Path, marks: str) -> list[str]:
    return [line for line in collect(folder, TEST, marks).splitlines() if "::" in line]


def test_a_seeded_sample_is_not_slow(tmp_path: Path):
    quick, slow, every = (collected(tmp_path, marks) for marks in ("not slow", "slow", ""))
    assert sorted([*quick, *slow]) == sorted(every)
    assert len(every) == 28 + 3 + 12 + 16 + 1
    assert sum("test_many" in name for name in quick) == 5
    assert not any("test_few" in name or "test_one" in name for name in slow)
    assert collected(tmp_path, "not slow") == quick
    of_each = [name for name in quick if "test_of_each[" in name]
    assert len(of_each) == 6
    assert all(sum(f"[{b}-" in name for name in of_each) == 2 for b in ("b0", "b1", "None"))
    of_each_pair = [name for name in quick if "test_of_each_pair" in name]
    assert len(of_each_pair) == 2
    assert all(sum(f"-5-{c}-" in name for name in of_each_pair) == 1 for c in (6, 7))


def test_what_to_sample_by_is_a_parameter(tmp_path: Path):
    printed = collect(tmp_path, TEST.replace('by="b"', 'by="e"'), "")
    assert "test_it.py::test_of_each[b0-0] is sampled by e, which it has not" in printed
