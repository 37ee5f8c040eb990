"""The files beside a model that its tensors are in. Loaded where nothing of the `onnx` package is."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import StepwellError
from ...spelling import one_line


def external_path(location: str, folder: Path | None, what: str) -> Path:
    """The file that external data is in: a plain file inside of the model's folder, by no symbolic link."""
    shown = one_line(location, 80)
    if folder is None:
        raise StepwellError(
            f"found {what} in the file '{shown}', expected its bytes in the model: it was not read from a "
            "file; load the model by its path"
        )
    parts = Path(location).parts
    if not location or os.path.isabs(location) or ".." in parts or "\0" in location:
        raise StepwellError(
            f"found {what} in the file '{shown}', expected a file inside of the model's folder; move it there"
        )
    try:
        path = folder
        for part in parts:
            path = path / part
            if path.is_symlink():
                raise StepwellError(
                    f"found {what} in the file '{shown}', which is behind a symbolic link, expected a plain "
                    "file inside of the model's folder; copy it there"
                )
        is_file = path.is_file()
    except OSError:  # a name that is too long
        path, is_file = folder, False
    if not is_file:
        raise StepwellError(
            f"found no file '{shown}', which {what} is in, expected it beside the model; copy it there"
        )
    return path
