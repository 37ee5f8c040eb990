"""What several test files need."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stepwell.cache import folder
from stepwell.cache.store import Store
from stepwell.frontend.text import parse_text
from stepwell.lowering.core_to_llvm import lowered_to_llvm
from stepwell.runtime.executable import Executable
from stepwell.runtime.jit import compile_module


def _mlir_opt() -> str | None:
    beside = Path(sysconfig.get_paths()["purelib"]) / "mlir" / "bin" / "mlir-opt"
    return str(beside) if beside.exists() else shutil.which("mlir-opt")


@pytest.fixture(scope="session")
def compiled() -> Callable[..., Executable]:
    """
    Compiles level-4 text by way of printed level-5 text, which must be a fixed point and, where MLIR's
    own tool is installed, verify there.
    """
    tool = _mlir_opt()

    def compile_text(text: str, entry: str | None = None) -> Executable:
        lowered = lowered_to_llvm(parse_text(text))
        lowered.verify()
        printed = str(lowered)
        again = parse_text(printed)
        assert str(again) == printed
        if tool is not None:
            done = subprocess.run(
                [tool], input=printed, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
        return compile_module(again, entry=entry)

    return compile_text


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The store that compilations use in this test."""
    monkeypatch.setenv(folder.VARIABLE, str(tmp_path / "cache"))
    found = folder.compiled_store()
    assert found is not None
    return found


@pytest.fixture(scope="module")
def kept_code(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What one process of a file's tests has compiled the next one takes: for tests of processes, which are not of the compiler."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(folder.VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield
