"""
Compiled functions as Python callables.

A call checks every array before native code runs, and allocates nothing but its results. Everything a
call needs that is not its own is immutable or taken from a pool, so that threads may share an
Executable; the GIL is released while native code runs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..analysis.call_signature import ArgSpec, FunctionSignature
from ..errors import StepwellError
from ..lowering.llvm_text import LLVMText
from .arguments import add_native, checked_output, in_place, prepare, scalar
from .engine import LoadedCode, NativeCode, new_array, scratch_memory
from .native_call import native_call
from .quick_call import quick_call

if TYPE_CHECKING:
    from ..targets.target import Target

_CTYPES: dict[str, Any] = {
    "b": {1: ctypes.c_bool},
    "i": {1: ctypes.c_int8, 2: ctypes.c_int16, 4: ctypes.c_int32, 8: ctypes.c_int64},
    "u": {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64},
    "f": {4: ctypes.c_float, 8: ctypes.c_double},
}


def _ctype(dtype: np.dtype) -> Any:
    return _CTYPES[dtype.kind][dtype.itemsize]


class ArenaPool:
    """
    Scratch memory for concurrent calls: each takes an arena and gives it back.

    At most as many arenas exist as calls have run at the same time.
    """

    def __init__(self, size: int):
        self._size = size
        self._free: list[tuple[int, np.ndarray]] = []  # append and pop are atomic

    def take(self) -> tuple[int, np.ndarray]:
        """An arena: its address, a multiple of 64, and the array that owns it."""
        try:
            return self._free.pop()
        except IndexError:
            arena = scratch_memory(self._size)
            return arena.ctypes.data, arena

    def give_back(self, arena: tuple[int, np.ndarray]) -> None:
        self._free.append(arena)


class Executable:
    """
    A compiled function.

    A function with marked results is called with its inputs, in order or by name, and returns an array
    or a tuple of arrays; `out=` gives arrays to write to instead of new ones. A function without marks
    (hand-written text) reads and writes its memref arguments in place and returns its scalar or None.

    Arrays may be anything NumPy, DLPack or the buffer protocol describes; those that are not contiguous,
    aligned and of native byte order are copied. A 0-d input may be a Python number.

    It can be pickled, code and constants with it; it runs where the processor has the target's instructions.

    Raises StepwellError, before native code runs, for a wrong number, shape, dtype or name of arguments.

    >>> double = sw.jit(lambda x: x * 2, opt="quick").lower(np.ones(2)).compile()
    >>> double(np.array([1.0, 2.0]))
    array([2., 4.])
    """

    def __init__(self, signature: FunctionSignature, native: NativeCode):
        self.signature = signature
        self.native = native
        self._code: LoadedCode = native.load((signature.name,))  # unloaded with this object
        self._in_place = signature.convention == "inout"
        self._results = () if self._in_place else signature.results
        returned = signature.results[sum(not spec.scalar for spec in signature.inputs) :]
        self._returned = returned if self._in_place else ()
        if len(self._returned) > 1 or any(not spec.scalar for spec in self._returned):
            raise StepwellError(
                f"found '{signature.name}' returning {', '.join(map(str, returned))}, expected at most one "
                "scalar; write the others to memref arguments"
            )
        self._function = self._prototype()(self._code.addresses[signature.name])
        self._arenas = ArenaPool(signature.arena_bytes) if signature.arena_bytes else None
        self._count = len(signature.inputs)
        self.native_call = None if self._returned else self._native_call()
        """the call without Python in between, where there is one; see `runtime/native_call.py`"""

    @property
    def name(self) -> str:
        return self.signature.name

    def __repr__(self) -> str:
        return f"<Executable {self.signature} for {self.native.target}>"

    def __reduce__(self) -> tuple[Any, ...]:
        native = self.native
        source = self._code.snapshot(native.source)
        objects = dict(zip(source.modules, native.objects(), strict=True))
        about = (native.target, native.quick, objects)
        return _restored, (self.signature, source, *about)

    def llvm_ir(self) -> str:
        """The optimised LLVM IR."""
        return self.native.llvm_ir()

    def assembly(self) -> str:
        """The assembly of the code that runs."""
        return self.native.assembly()

    def _prototype(self) -> Any:
        """The C function type: a pointer and the open sizes of each array, scalars by value."""
        types: list[Any] = []
        for spec in (*self.signature.inputs, *self._results):
            if spec.scalar:
                types.append(_ctype(spec.dtype))
            else:
                types += [ctypes.c_void_p] + [ctypes.c_int64] * spec.shape.count(None)
        if self.signature.arena_bytes:
            types.append(ctypes.c_void_p)
        # An i1 is returned in the lowest bit of a byte whose other bits are not defined.
        result = None
        if self._returned:
            dtype = self._returned[0].dtype
            result = ctypes.c_uint8 if dtype.kind == "b" else _ctype(dtype)
        return ctypes.CFUNCTYPE(result, *types)

    # Calls.

    @cached_property
    def _quick(self) -> Callable[..., Any]:
        """It takes this object: a function that knew it would be a cycle, and keep the code until GC."""
        if any(spec.dtype.kind == "b" for spec in self._returned):
            return Executable._general  # one bit of what native code returns
        arenas = (self._arenas.take, self._arenas.give_back) if self._arenas else None
        function = quick_call(self.signature.inputs, self._results, self._function, arenas)
        return function or Executable._general

    @cached_property
    def _into(self) -> Callable[..., Any] | None:
        if self._in_place:
            return None
        arenas = (self._arenas.take, self._arenas.give_back) if self._arenas else None
        inputs, results = self.signature.inputs, self._results
        return quick_call(inputs, results, self._function, arenas, into=True)

    def _native_call(self) -> Callable[..., Any] | None:
        address = self._code.addresses[self.signature.name]
        arena_bytes = self.signature.arena_bytes
        return native_call(self.signature.inputs, self._results, address, arena_bytes, self._code)

    def __call__(self, *args: Any, out: Any = None, **by_name: Any) -> Any:
        if self.native_call is not None and out is None and not by_name:
            result = self.native_call(*args)
            if result is not NotImplemented:
                return result
        if by_name or len(args) != self._count:
            args = self._positional(args, by_name)
        if out is None:
            return self._quick(self, *args)
        if self._into is not None:
            return self._into(self, out, *args)
        return self._general(*args, out=out)

    def _run(self, arguments: list[Any]) -> Any:
        if self._arenas is None:
            return self._function(*arguments)
        arena = self._arenas.take()
        try:
            return self._function(*arguments, arena[0])
        finally:
            self._arenas.give_back(arena)

    def _general(self, *args: Any, out: Any = None) -> Any:
        """Any call with as many arguments as there are inputs."""
        if self._in_place:
            return self._call_in_place(args, out)
        arguments: list[Any] = []
        inputs: list[np.ndarray] = []  # alive until the call returns
        for spec, value in zip(self.signature.inputs, args, strict=True):
            if spec.scalar:
                arguments.append(scalar(self.name, spec, value))
            else:
                array = prepare(self.name, spec, value)
                inputs.append(array)
                add_native(arguments, spec, array)
        results = self._outputs(out, inputs)
        for spec, result in zip(self._results, results, strict=True):
            add_native(arguments, spec, result)
        self._run(arguments)
        return results[0] if len(results) == 1 else tuple(results)

    def _call_in_place(self, args: Sequence[Any], out: Any) -> Any:
        if out is not None:
            raise StepwellError(
                f"'{self.name}' writes its arguments in place, expected no out=; pass the arrays themselves"
            )
        arguments: list[Any] = []
        for spec, value in zip(self.signature.inputs, args, strict=True):
            if spec.scalar:
                arguments.append(scalar(self.name, spec, value))
            else:
                add_native(arguments, spec, in_place(self.name, spec, value))
        result = self._run(arguments)
        if self._returned and self._returned[0].dtype.kind == "b":
            return bool(result & 1)
        return result

    def _positional(self, args: Sequence[Any], by_name: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments in order. Raises StepwellError for missing, unknown and repeated ones."""
        specs = self.signature.inputs
        names = [spec.name for spec in specs]
        expected = f"{len(specs)} ({', '.join(names)})" if names else "none"
        if len(args) > len(specs):
            raise StepwellError(
                f"'{self.name}' was called with {len(args)} arguments, expected {expected}; pass fewer"
            )
        values = dict(zip(names, args, strict=False))
        for name, value in by_name.items():
            if name not in names or name in values:
                problem = "twice" if name in values else "that it does not have"
                raise StepwellError(
                    f"'{self.name}' was called with argument '{name}' {problem}, expected {expected}; "
                    "mend the call"
                )
            values[name] = value
        if len(values) < len(specs):
            missing = ", ".join(name for name in names if name not in values)
            raise StepwellError(
                f"'{self.name}' was called without {missing}, expected {expected}; pass every argument"
            )
        return tuple(values[name] for name in names)

    def _outputs(self, out: Any, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """New arrays, or those of `out` when they may be written to."""
        specs = self._results
        if out is None:
            return [self._new_output(spec, (i, len(specs))) for i, spec in enumerate(specs)]
        several = isinstance(out, tuple | list)
        given = list(cast("Sequence[Any]", out)) if several else [out]
        if len(given) != len(specs):
            raise StepwellError(
                f"'{self.name}' was called with {len(given)} arrays in out=, expected {len(specs)}; "
                "pass one for each result"
            )
        taken: list[np.ndarray] = list(inputs)
        for spec, array in zip(specs, given, strict=True):
            taken.append(checked_output(self.name, spec, array, taken))
        return taken[len(inputs) :]

    def _new_output(self, spec: ArgSpec, beside: tuple[int, int]) -> np.ndarray:
        if not spec.is_static:
            raise StepwellError(
                f"result '{spec.name}' of '{self.name}' has the open shape {spec}, expected out= with an "
                "array for it; pass one"
            )
        return new_array(cast("tuple[int, ...]", spec.shape), spec.dtype, beside)


def _restored(
    signature: FunctionSignature,
    source: LLVMText,
    target: Target,
    quick: bool,
    objects: Mapping[str, bytes],
) -> Executable:
    """A pickled Executable. Raises StepwellError where its code does not run."""
    if not target.runs_here:
        raise StepwellError(
            f"found '{signature.name}' compiled for {target}, expected code for this machine; compile it here"
        )
    return Executable(signature, NativeCode(source, target, quick=quick, objects=objects))
