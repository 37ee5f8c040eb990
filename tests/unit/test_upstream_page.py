"""The programs of docs/upstream.md do what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import stepwell as sw

PAGE = (Path(__file__).parents[2] / "docs" / "upstream.md").read_text()
PAIRS = re.findall(r"```mlir\n(.*?)```\n\n```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_example(number: int):
    text, code = PAIRS[number]
    exec(compile(code, "docs/upstream.md", "exec"), {"text": text})


def test_a_path_is_no_text(tmp_path: Path):
    with pytest.raises(sw.StepwellError, match="found no such file"):
        sw.load("missing.mlir")
    path = tmp_path / "f.mlir"
    path.write_text(PAIRS[0][0])
    assert sw.load(path).level == "te"
