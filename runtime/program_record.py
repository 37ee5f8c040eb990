"""
A compiled program as bytes, from which another process makes the same Executable: its signature and the text of its
modules. Their object code is found by that text (objects.py), and its constants by their contents.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from hashlib import sha256
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.call_signature import ArgSpec, FunctionSignature
from ..background import BackgroundThread
from ..cache.store import Store
from ..lowering.llvm_text import LLVMText
from ..targets.large_memory import LARGE_BYTES
from ..targets.pages_ahead import PagesAhead
from .engine import NativeCode, aligned_empty
from .executable import Executable
from .in_threads import in_threads

if TYPE_CHECKING:
    from ..targets.target import Target

KIND = "programs"
CONSTANTS_KIND = "constants"

_WORTH_A_THREAD = 1 << 20
"""Bytes of constants that take longer to hash, and to write, than a thread takes to start."""

_KEEPING = BackgroundThread()
_KEEPING.ends_before_forks()


def contents_digest(array: np.ndarray) -> str:
    """What arrays of equal elements in C order have in common, whatever their shapes."""
    digest = sha256(array.dtype.name.encode())
    digest.update(_bytes_of(array))
    return digest.hexdigest()


def _bytes_of(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _place_of(array: np.ndarray) -> tuple[int, int, str]:
    """Where the elements of an array in C order are: what arrays have in common that share all of them."""
    return array.ctypes.data, array.nbytes, array.dtype.name


def wait_until_kept() -> None:
    """Wait until all programs are kept that this process has compiled so far."""
    _KEEPING.wait()


class ProgramPlace:
    """
    Where a program is kept: under a key that says all that it is made from.

    `captured` are arrays that every process with that key has, by the digests of their contents: the others that the
    program reads are kept beside it.
    """

    def __init__(self, store: Store, key: str, captured: Mapping[str, np.ndarray]) -> None:
        self.store = store
        self._key = key
        self._captured = captured

    @property
    def key(self) -> str:
        return self._key

    @property
    def captured(self) -> Mapping[str, np.ndarray]:
        return self._captured

    def keep(self, signature: FunctionSignature, source: LLVMText) -> None:
        """
        Keep a program, whose constants are all there still: where they are large a thread does, while the program is used.

        What is lent may be changed then, and is kept now.
        """
        contiguous = [item for item in self.captured.items() if item[1].flags.c_contiguous]
        known = {_place_of(array): digest for digest, array in contiguous}
        digests: dict[str, str] = {}
        for name, array in source.external.items():
            digest = known.get(_place_of(array)) if array.flags.c_contiguous else None
            if digest is not None:
                digests[name] = digest
            elif name in source.lent:
                digests[name] = self._keep_constant(array)
        left = sum(array.nbytes for name, array in source.external.items() if name not in digests)
        work = partial(self._keep_program, self.key, signature, source, digests)
        if left < _WORTH_A_THREAD:
            work()
        else:
            _KEEPING.do(work)

    def _keep_program(
        self,
        key: str,
        signature: FunctionSignature,
        source: LLVMText,
        digests: Mapping[str, str],
    ) -> None:
        """Keep a program, and the constants of it whose digests are not known yet."""
        constants = {
            name: {
                "digest": digests.get(name) or self._keep_constant(array),
                "dtype": array.dtype.name,
                "shape": array.shape,
            }
            for name, array in source.external.items()
        }
        record = {
            "signature": asdict(signature),
            "text": source.text,
            "constants": constants,
            "imports": source.imports,
            "kernels": dict(source.kernels),
            "buffers": dict(source.buffers),
            "load": source.load,
            "until_loaded": sorted(source.until_loaded),
        }
        self.store.write(KIND, key, json.dumps(record, default=_plain).encode())

    def _keep_constant(self, array: np.ndarray) -> str:
        """Keep a constant that is not captured; its digest."""
        digest = contents_digest(array)
        if digest not in self.captured:
            self.store.write(CONSTANTS_KIND, digest, _bytes_of(array))
        return digest

    def find(self, target: str | Target, *, quick: bool = False) -> Executable | None:
        """The program; None where there is none, a constant of it is gone, or the target is another machine."""
        wait_until_kept()
        data = self.store.read(KIND, self.key) if _runs_here(target) else None
        if data is None:
            return None
        record = json.loads(data)
        until_loaded = frozenset[str](record["until_loaded"])
        constants: dict[str, dict[str, Any]] = record["constants"]
        sizes = {name: _bytes_in(said) for name, said in constants.items()}
        # Loading copies the large ones.
        copied = {n for n, size in sizes.items() if n not in until_loaded and size >= LARGE_BYTES}
        pages = PagesAhead(sum(record["buffers"].values()) + sum(sizes[name] for name in copied))

        def array_of(name: str) -> np.ndarray | None:
            is_kept = name not in until_loaded and name not in copied
            return self._constant(constants[name], is_kept=is_kept)

        # Most of the time goes to whether the bytes are those that were written; the most of them first.
        names = sorted(constants, key=lambda name: -sizes[name])
        arrays = dict(zip(names, in_threads(array_of, names), strict=True))
        external = {name: array for name in constants if (array := arrays[name]) is not None}
        if len(external) < len(constants):
            pages.let_go()
            return None
        source = LLVMText(
            record["text"],
            external,
            tuple(record["imports"]),
            record["kernels"],
            record["buffers"],
            tuple(record["load"]),
            until_loaded,
        )
        native = NativeCode(source, target, quick=quick, store=self.store, pages=pages)
        return Executable(_signature(record["signature"]), native)

    def _constant(self, said: dict[str, Any], *, is_kept: bool) -> np.ndarray | None:
        """
        A constant. One that `is_kept` is in memory of its own, since who has captured an array may change it; another is copied,
        or read for the last time, when the program is loaded.
        """
        array = self.captured.get(said["digest"])
        if array is not None:
            array = _aligned_copy(array) if is_kept else np.require(array, None, ("C", "A"))
            return array.reshape(said["shape"])
        contents = self._kept(said["digest"]) if is_kept else self._mapped(said["digest"])
        if contents is None:
            return None
        return contents.view(dtype_named(said["dtype"])).reshape(said["shape"])

    def _mapped(self, digest: str) -> np.ndarray | None:
        """The bytes of a constant that is read once, in the file."""
        data = self.store.map(CONSTANTS_KIND, digest)
        return None if data is None else np.frombuffer(data, np.uint8)

    def _kept(self, digest: str) -> np.ndarray | None:
        """The bytes of a small constant that code reads at each call: in memory of its own."""
        memory: list[np.ndarray] = []

        def allocate(size: int) -> memoryview:
            memory.append(aligned_empty(size))
            return memory[0].data

        found = self.store.read_into(CONSTANTS_KIND, digest, allocate)
        return memory[0] if found else None


def _bytes_in(said: dict[str, Any]) -> int:
    return prod(said["shape"]) * dtype_named(said["dtype"]).itemsize


def _aligned_copy(array: np.ndarray) -> np.ndarray:
    """A copy that code reads where it is."""
    copy = aligned_empty(array.nbytes).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _runs_here(target: str | Target) -> bool:
    if target == "host":
        return True
    from ..targets.target import Target  # late: most programs are for the host, and run without it

    return Target.of(target).runs_here


def dtype_named(name: str) -> np.dtype:
    """The dtype that calls itself so."""
    try:
        return np.dtype(name)
    except TypeError:  # NumPy has it from this package
        return np.dtype(getattr(import_module("ml_dtypes"), name))


def _plain(value: object) -> Any:
    if isinstance(value, np.dtype):
        return value.name
    raise TypeError(value)


def _signature(said: dict[str, Any]) -> FunctionSignature:
    inputs, results = (tuple(map(_spec, said[which])) for which in ("inputs", "results"))
    return FunctionSignature(said["name"], inputs, results, said["convention"], said["arena_bytes"])


def _spec(said: dict[str, Any]) -> ArgSpec:
    return ArgSpec(said["name"], tuple(said["shape"]), dtype_named(said["dtype"]), said["scalar"])
