"""Where in its files the tensors of a model are."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import StepwellError
from ...runtime.program_record import contents_digest
from .reading import Model
from .recall import Note, TensorPlace
from .tensors import tensor_array

LEAST_BYTES = 1 << 10
"""Smaller constants are kept with the program: to note where they are takes about as much."""


def note_of(model: Model, data: bytes) -> Note:
    """What is to be noted of a model that was imported, in a file of these bytes."""
    files = {"": 0}
    places: dict[str, TensorPlace] = {}
    end = 0
    for tensor in model.proto.graph.initializer:
        try:
            array = tensor_array(tensor, model.folder)
        except StepwellError:
            continue  # of an input that was given otherwise
        if isinstance(array, np.memmap):
            name = Path(str(array.filename)).relative_to(model.folder or "").as_posix()
            file, offset = files.setdefault(name, len(files)), array.offset
        else:
            # Initializers stand in the file in their order: each is looked for behind the one before. Wherever its
            # bytes are found, they are the ones.
            raw = tensor.raw_data
            file, offset = 0, _place(raw, data, end) if len(raw) >= LEAST_BYTES else -1
            if offset < 0:
                continue
            end = offset + len(raw)
        places[contents_digest(array)] = TensorPlace(file, offset, array.dtype.name, array.size)
    return Note(tuple(files)[1:], places)


def _place(raw: bytes, data: bytes, start: int) -> int:
    """`data.find(raw, start)`, which studies the whole of `raw` before it looks, where a comparison at once is enough."""
    begin = raw[:LEAST_BYTES]
    offset = data.find(begin, start)
    while offset >= 0 and not data.startswith(raw, offset):
        offset = data.find(begin, offset + 1)
    return offset
