"""Imports point one way, and in no circle: read from the text, those inside of functions and of types too."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]

FLOORS = (
    ("tools",),
    ("frontend",),
    ("driver", "runtime"),
    ("tuning", "lowering"),
    ("transforms",),
    ("interpreters", "analysis"),
    ("dialects",),
    ("targets",),
    ("cache",),
    ("background", "errors", "forks", "frozen", "lazy", "spelling", "universe", "_version"),
)
"""From the top down. Each imports from its own floor and from those below."""

FLOOR_OF = {name: number for number, names in enumerate(FLOORS) for name in names}


@cache
def modules() -> dict[str, Path]:
    """Every module of the package but its face, by its dotted name."""
    files = [
        file
        for name in FLOOR_OF
        for file in (*(ROOT / name).rglob("*.py"), ROOT / f"{name}.py")
        if file.is_file()
    ]
    names = {file: ".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files}
    return {name.removesuffix(".__init__"): file for file, name in names.items()}


@cache
def imports(module: str, file: Path) -> set[str]:
    """The modules of the package that a module imports from by name."""
    known = modules()
    package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = package[: len(package) - node.level + 1] + (node.module or "").split(".")
        source = ".".join(part for part in base if part)
        for alias in node.names:
            inner = f"{source}.{alias.name}" if source else alias.name
            found.add(inner if inner in known else source)
    return found - {module}


def test_there_is_no_circle():
    known = modules()
    graph = {module: imports(module, file) for module, file in known.items()}
    # A package's own text may gather what is in it.
    for module, file in known.items():
        if file.name == "__init__.py":
            graph[module] = {name for name in graph[module] if not name.startswith(f"{module}.")}
    TopologicalSorter(graph).prepare()  # raises CycleError, with the circle


def test_imports_point_down():
    known = modules()
    up = [
        f"{module} imports {other}"
        for module, file in known.items()
        for other in imports(module, file)
        if FLOOR_OF[other.partition(".")[0]] < FLOOR_OF[module.partition(".")[0]]
    ]
    assert not up


def test_every_folder_has_a_floor():
    packages = {file.parent.name for file in ROOT.glob("*/__init__.py")}
    assert packages - {"tests", "docs", "benchmarks", "examples"} <= set(FLOOR_OF)
