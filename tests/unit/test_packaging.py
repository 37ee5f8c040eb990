"""What `pip install` delivers: packages, version, entry points and a quick import."""

import importlib
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import stepwell

ROOT = Path(__file__).parents[2]
NOT_INSTALLED = {"tests", "docs", "benchmarks", "examples", "build", "dist"}


@pytest.fixture(scope="module")
def pyproject() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def folders_with_python() -> set[str]:
    """The dotted package name of every folder below the root that holds Python files."""
    tops = [
        folder
        for folder in ROOT.iterdir()
        if folder.is_dir() and folder.name not in NOT_INSTALLED and folder.name[0] != "."
    ]
    folders = {file.parent.relative_to(ROOT) for top in tops for file in top.rglob("*.py")}
    return {"stepwell"} | {".".join(("stepwell", *folder.parts)) for folder in folders}


def test_listed_packages_are_the_folders(pyproject: dict) -> None:
    listed = pyproject["tool"]["setuptools"]["packages"]
    assert len(listed) == len(set(listed))
    assert set(listed) == folders_with_python()


def test_every_package_has_an_init() -> None:
    for package in folders_with_python():
        folder = ROOT.joinpath(*package.split(".")[1:])
        assert (folder / "__init__.py").is_file(), f"{package} has no __init__.py"


def test_type_marker_is_shipped(pyproject: dict) -> None:
    assert pyproject["tool"]["setuptools"]["package-data"]["stepwell"] == ["py.typed", "*.pyi"]
    assert (ROOT / "py.typed").is_file()


def test_version_has_one_source(pyproject: dict) -> None:
    attribute = pyproject["tool"]["setuptools"]["dynamic"]["version"]["attr"]
    module, name = attribute.rsplit(".", 1)
    assert getattr(importlib.import_module(module), name) == stepwell.__version__


def entry_points() -> list[EntryPoint]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    return [
        EntryPoint(name, value, group)
        for group, entries in groups.items()
        for name, value in entries.items()
    ]


@pytest.mark.parametrize("entry", entry_points(), ids=lambda entry: f"{entry.group}:{entry.name}")
def test_entry_point_resolves(entry: EntryPoint) -> None:
    found = entry.load()
    assert callable(found) or entry.group == "xdsl.universe"
