"""
Models that an earlier process compiled, found by the contents of their files, without importing them again.

A note is kept of a model that was imported, under digests of its files and of what it was imported for: which other
files its tensors are in, and where in a file the elements of each tensor are. The program is kept as one of a function
is (see `program_record`), under a key that has the digests of all of these files. Its constants that are tensors of the
model are read from there again, so that no weight is on the disk twice.

Nothing of the `onnx` package or of xDSL is loaded here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...cache.folder import compiled_store
from ...cache.store import Store, key_of
from ...cache.version import compiler_version
from ...errors import StepwellError
from ...frozen import frozen
from ...runtime.program_record import ProgramPlace, contents_digest, dtype_named
from ..files import MappedFile
from .external_data import external_path

if TYPE_CHECKING:
    from ...driver.options import Options
    from ...targets.target import Target

KIND = "models"


@frozen
class TensorPlace:
    """Where the elements of a tensor are: in the file of this number, from a byte on."""

    file: int
    offset: int
    dtype: str
    count: int

    def array(self, files: Sequence[MappedFile]) -> np.ndarray:
        """The elements, shared with the file."""
        contents = files[self.file].contents
        return np.frombuffer(contents, dtype_named(self.dtype), self.count, self.offset)


@frozen
class Note:
    """What was learned of a model by importing it."""

    external: tuple[str, ...] = ()
    """The files of its external data, as the model names them."""
    tensors: Mapping[str, TensorPlace] = field(default_factory=dict[str, TensorPlace])
    """By the digests of their elements; the model's own file has number 0, and then come those of `external`."""


class ModelPlaces:
    """
    Where the programs of a model are kept, for one choice of shapes and constants.

    Which files there are besides the model's own is kept under the contents of this; all else under those of all.
    """

    def __init__(self, store: Store, file: MappedFile, shapes: str, constants: Sequence[str]):
        self._store = store
        self._files = [file]
        self._key = key_of(compiler_version(), KIND, file.digest, shapes, *constants)
        self._tensors: dict[str, TensorPlace] | None = None
        external = store.read(KIND, self._key)
        if external is None or not self._add_files(json.loads(external)):
            return
        tensors = store.read(KIND, self._whole_key)
        if tensors is not None:
            found = json.loads(tensors)
            self._tensors = {digest: TensorPlace(**place) for digest, place in found.items()}

    @property
    def is_known(self) -> bool:
        """Whether the model was imported, by this process or another."""
        return self._tensors is not None

    def keep(self, note: Note) -> None:
        """Note what importing the model has shown."""
        del self._files[1:]
        if not self._add_files(note.external):
            return
        self._tensors = dict(note.tensors)
        places = {digest: asdict(place) for digest, place in note.tensors.items()}
        self._store.write(KIND, self._whole_key, json.dumps(places).encode())
        self._store.write(KIND, self._key, json.dumps(note.external).encode())

    def place(self, options: Options, target: Target, threads: int | None) -> ProgramPlace | None:
        """Where the program that is compiled for these is kept; None for a model that was not imported."""
        if self._tensors is None:
            return None
        numerics = (options.fp, repr(options.winograd))
        about = (*numerics, options.opt, options.machine.profile(), target.profile())
        key = key_of(self._whole_key, *about, repr(threads))
        arrays = {digest: place.array(self._files) for digest, place in self._tensors.items()}
        return ProgramPlace(self._store, key, arrays)

    @property
    def _whole_key(self) -> str:
        return key_of(self._key, "files", *(file.digest for file in self._files))

    def _add_files(self, names: Sequence[str]) -> bool:
        """Whether all external data is there; what is wrong with it is said by importing the model."""
        path = self._files[0].path
        what = f"external data of '{path.name}'"
        try:
            self._files += [
                MappedFile(external_path(name, path.resolve().parent, what)) for name in names
            ]
        except StepwellError:
            return False
        return True


def places_of(
    file: MappedFile, shapes: Mapping[str, Any], constants: Mapping[str, Any]
) -> ModelPlaces | None:
    """Where programs of a model are kept; None where nothing is, and for shapes that are none."""
    store = compiled_store()
    if store is None:
        return None
    try:
        extents = {name: _extents(shapes[name]) for name in sorted(shapes)}
    except (TypeError, ValueError):
        return None  # what is wrong is said by importing the model
    said: list[str] = []
    for name in sorted(constants):
        array = np.asarray(constants[name])
        if array.dtype.hasobject:
            return None
        said += (name, str(array.shape), contents_digest(array))
    return ModelPlaces(store, file, repr(extents), said)


def _extents(given: Any) -> tuple[int, ...] | int:
    return (
        given if isinstance(given, int) else tuple(int(one) for one in cast("Sequence[Any]", given))
    )
