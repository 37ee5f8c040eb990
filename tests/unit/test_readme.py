"""The README tells the truth: its Python runs, and its ladder is what the compiler prints.

`python tests/unit/test_readme.py` writes the ladder anew.
"""

import re
import sys
from pathlib import Path

import pytest
from stepwell.analysis.levels import Level
from stepwell.driver.pass_manager import module_text
from stepwell.driver.pipelines import as_shown, lower_to
from stepwell.frontend.text import parse_file

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
RUNG = re.compile(r"<!-- ladder: (?P<level>\w+) -->\n```mlir\n(?P<text>.*?)```\n", re.DOTALL)
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)


def kernel_text(level: str) -> str:
    """The functions of examples/hidden.mlir at a level, without the module around them.

    From the loop level down, only the kernel: the function that calls it says nothing new.
    """
    module = parse_file(str(ROOT / "examples" / "hidden.mlir"))
    lower_to(module, Level(level))
    functions = [op for op in module.ops if level not in ("loop", "core") or op.sym_visibility]
    lines = "\n".join(module_text(op) for op in functions).splitlines()
    return "\n".join(lines) + "\n"


def rung(level: str) -> str:
    return te_text() if level == "te" else kernel_text(level)


def te_text() -> str:
    """At te, what fusion has made of the program."""
    module = parse_file(str(ROOT / "examples" / "hidden.mlir"))
    lower_to(module, Level.TE)
    return "\n".join(module_text(op) for op in as_shown(module, Level.TE).ops) + "\n"


@pytest.mark.parametrize("level", ["graph", "te", "loop", "core"])
def test_ladder_is_what_the_compiler_prints(level: str) -> None:
    shown = {match["level"]: match["text"] for match in RUNG.finditer(README.read_text())}
    assert shown[level] == rung(level)


@pytest.fixture(scope="module")
def python() -> list[str]:
    """The README's blocks of Python, which have been run: once, since they define operations."""
    blocks = PYTHON.findall(README.read_text())
    names: dict[str, object] = {"__name__": "readme"}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    return blocks


def test_python_of_the_readme_runs(python: list[str]) -> None:
    assert len(python) == 4


def test_an_operator_takes_fewer_than_thirty_lines_from_graph_to_onnx(
    python: list[str], tmp_path: Path
) -> None:
    import numpy as np
    import onnx
    import stepwell as sw

    helper = onnx.helper
    (block,) = [text for text in python if "LogCoshOp" in text]
    assert len([line for line in block.splitlines() if line.strip()]) < 30

    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [7]) for name in "xy")
    node = helper.make_node("LogCosh", ["x"], ["y"], domain="example")
    graph = helper.make_graph([node], "one", [x], [y])
    opset = [helper.make_opsetid("example", 1)]
    path = tmp_path / "one.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), str(path))
    values = np.linspace(-3, 3, 7, dtype=np.float32)
    found = sw.load(path).compile()(values)
    np.testing.assert_allclose(found, np.log(np.cosh(values)), atol=1e-6)


LINK = re.compile(r"\]\(([^)#]+)\)")


def test_links_lead_to_files() -> None:
    """And the README to every page of docs."""
    pages = [README, *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/README.md")]
    for page in pages:
        links = [link for link in LINK.findall(page.read_text()) if "://" not in link]
        assert [link for link in links if not (page.parent / link).exists()] == [], page
    linked = set(LINK.findall(README.read_text()))
    assert {f"docs/{page.name}" for page in ROOT.glob("docs/*.md")} <= linked


def update() -> None:
    def written(match: re.Match[str]) -> str:
        return f"<!-- ladder: {match['level']} -->\n```mlir\n{rung(match['level'])}```\n"

    README.write_text(RUNG.sub(written, README.read_text()))


if __name__ == "__main__":
    update()
    sys.exit(0)
