"""The package in examples/plugin: its dialect, operation and pass are found when it is installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import stepwell as sw

PLUGIN = Path(__file__).parents[2] / "examples" / "plugin"

PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %square = graph.mul %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %cube = graph.mul %square, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %cube : tensor<4xf32>
}
"""

CALL = """
import numpy as np, stepwell as sw
from stepwell_cubic import cube
assert "cubic.cube" in sw.jit(lambda x: cube(x)).lower(np.ones(3)).as_text()
assert sw.jit(lambda x: cube(x).sum(), opt="quick")(np.array([1.0, 2.0])) == 9
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process in which it is installed, from its files alone."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(PLUGIN, folder / "source")
    # What pip does, without its environment and network: setuptools reads pyproject.toml.
    build = [
        "-c",
        "from setuptools import setup; setup()",
        "-q",
        "build_py",
        "--build-lib",
        "../site",
    ]
    (folder / "site").mkdir()
    subprocess.run(
        [sys.executable, *build, "egg_info", "--egg-base", "../site"],
        cwd=folder / "source",
        check=True,
        capture_output=True,
    )
    return {**os.environ, "PYTHONPATH": str(folder / "site")}


def output(program: list[str], environment: dict[str, str], text: str = "") -> str:
    done = subprocess.run(program, env=environment, input=text, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return done.stdout


def test_its_pass_and_dialect_are_known_to_the_tools(installed: dict[str, str]):
    tool = [sys.executable, "-m", "stepwell.tools.opt", "-p", "cubic-find,canonicalize"]
    text = output([*tool, "-"], installed, PROGRAM)
    assert "cubic.cube %x" in text
    assert "graph.mul" not in text


def test_its_function_is_compiled(installed: dict[str, str]):
    output([sys.executable, "-c", CALL], installed)


def test_python_runs_the_command_line():
    found = output([sys.executable, "-m", "stepwell", "--version"], dict(os.environ))
    assert found == f"stepwell {sw.__version__}\n"
