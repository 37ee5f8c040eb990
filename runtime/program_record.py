"""
A compiled program as bytes, from which another process makes the same Executable: its signature and the text of its
modules. Their object code is found by that text (objects.py), and its constants by their contents.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from importlib import import_module
from typing import Any

import numpy as np

from ..analysis.call_signature import ArgSpec, FunctionSignature
from ..cache.store import Store
from ..lowering.llvm_text import LLVMText
from ..targets.target import Target
from .engine import NativeCode
from .executable import Executable

KIND = "programs"
CONSTANTS_KIND = "constants"


def contents_digest(array: np.ndarray) -> str:
    """What arrays of equal elements in C order have in common, whatever their shapes."""
    digest = sha256(array.dtype.name.encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def keep_program(
    store: Store, key: str, executable: Executable, captured: Mapping[str, np.ndarray]
) -> None:
    """
    Keep a program under a key that says all that it was made from.

    `captured` are arrays, by the digests of their contents, that a process with that key has: the others that the
    program reads are kept beside it.
    """
    source = executable.native.source
    constants: dict[str, Any] = {}
    for name, array in source.external.items():
        digest = contents_digest(array)
        constants[name] = {"digest": digest, "dtype": array.dtype.name, "shape": array.shape}
        if digest not in captured:
            store.write(CONSTANTS_KIND, digest, np.ascontiguousarray(array).tobytes())
    record = {
        "signature": asdict(executable.signature),
        "text": source.text,
        "kernels": dict(source.kernels),
        "imports": source.imports,
        "constants": constants,
    }
    store.write(KIND, key, json.dumps(record, default=_plain).encode())


def kept_program(
    store: Store,
    key: str,
    captured: Mapping[str, np.ndarray],
    target: Target,
    *,
    quick: bool = False,
) -> Executable | None:
    """The program that was kept under a key; None where there is none, or a constant of it is gone."""
    data = store.read(KIND, key)
    if data is None:
        return None
    record = json.loads(data)
    external: dict[str, np.ndarray] = {}
    for name, constant in record["constants"].items():
        array = _constant(store, constant, captured)
        if array is None:
            return None
        external[name] = array
    source = LLVMText(record["text"], external, tuple(record["imports"]), record["kernels"])
    native = NativeCode(source, target, quick=quick, store=store)
    return Executable(_signature(record["signature"]), native)


def _constant(
    store: Store, said: dict[str, Any], captured: Mapping[str, np.ndarray]
) -> np.ndarray | None:
    """A copy of a constant: who has captured an array may change it."""
    array = captured.get(said["digest"])
    if array is not None:
        return np.array(array, order="C").reshape(said["shape"])
    data = store.read(CONSTANTS_KIND, said["digest"])
    return (
        None if data is None else np.frombuffer(data, _dtype(said["dtype"])).reshape(said["shape"])
    )


def _dtype(name: str) -> np.dtype:
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
    return ArgSpec(said["name"], tuple(said["shape"]), _dtype(said["dtype"]), said["scalar"])
