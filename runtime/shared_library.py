"""Shared libraries of object code, linked by the system's C compiler."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from stat import S_ISREG

from ..errors import StepwellError


def link_shared_library(code: bytes, path: Path, *, openmp: bool = False) -> None:
    """
    Link object code into a shared library with the C compiler, and with its OpenMP library.

    It is made beside the path, and takes the place of a file that is there when it is whole; what is no file, as a device, is
    written to. Raises StepwellError when there is no C compiler or it fails, and OSError when nothing can be written there.
    """
    compiler = next(
        (found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None
    )
    if compiler is None:
        raise StepwellError(
            f"cannot write '{path}': found no C compiler, expected cc, gcc or clang on the PATH to link "
            "with; install one or write a .o"
        )
    options = ["-fopenmp"] if openmp else []
    takes_place = _is_file_or_none(path)
    target = path.resolve()
    beside = target.parent if takes_place else None
    with tempfile.TemporaryDirectory(prefix=".linking-", dir=beside) as folder:
        object_file, library = Path(folder) / "code.o", Path(folder) / "library.so"
        object_file.write_bytes(code)
        done = subprocess.run(
            [compiler, "-shared", *options, "-o", str(library), str(object_file), "-lm"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            what = " ".join(done.stderr.split())
            raise StepwellError(f"cannot link '{path}': {compiler} says {what}; write a .o instead")
        if takes_place:
            library.replace(target)
        else:
            target.write_bytes(library.read_bytes())


def _is_file_or_none(path: Path) -> bool:
    """Whether a path is that of a file, or of nothing yet. Raises OSError for links that go round in a circle."""
    try:
        return S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True
