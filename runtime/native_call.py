"""
Calls of compiled code without Python in between: a function of CPython's C API that checks the arrays, makes
the result and runs the code. Only a large result, and several of them, which it finds in a tuple, are made by a function
of Python. Code without a result writes its inputs in place.

Whatever it does not take at once it leaves to the general way, by returning NotImplemented. The fields that it reads
are those of `PyObject`, of `PyTupleObject` and of NumPy's `PyArrayObject_fields` (`ndarraytypes.h`). Before the first
use they are compared with what Python says of an array: where anything differs, nothing is called this way.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from ..analysis.call_signature import ArgSpec
from ..lowering.llvm_text import EXTERNAL_ALIGNMENT
from .engine import LARGE_BYTES, array_maker, link_for_good, scratch_memory

MOST_ARENA = 1 << 15
"""Bytes of scratch memory that come from the stack, of which threads may have little."""

MOST_KEPT = 1 << 20
"""
Bytes that are kept with the function, for one call at a time. To fill more takes many times the two microseconds of a call with
Python in between.
"""

MOST_ARRAYS = 16
"""Inputs, or results."""

TYPE, DATA, RANK, SHAPE, DTYPE, FLAGS = 8, 16, 24, 32, 56, 64
"""Offsets of an array's fields."""

ITEMS = 24
"""Offset of a tuple's first item."""

CONTIGUOUS_AND_ALIGNED = 0x0101
"""NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED."""

WRITABLE = 0x0400
"""NPY_ARRAY_WRITEABLE."""

PY_ARRAY_EMPTY = 184
"""The place of PyArray_Empty in NumPy's table of functions, the same since 1.0."""

METH_FASTCALL = 0x80

MAKER = 4
"""Which word of a specification is the address of what makes a large result, or a tuple of several."""

ARENA = MAKER + 1
"""Which word is the address of the scratch memory that is kept: 0 while a call has it."""

FIRST_INPUT = ARENA + 1
"""Words of a specification before the inputs': the code's address, the result's dtype, rank and shape, its maker, its arena."""

INPUT_WORDS = 3
"""What it says of an input: its dtype, its rank and the address of its shape."""


class _MethodDef(ctypes.Structure):
    """CPython's `PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def native_call(
    inputs: Sequence[ArgSpec],
    results: Sequence[ArgSpec],
    address: int,
    arena_bytes: int,
    code: object,
) -> Callable[..., Any] | None:
    """
    A function of the inputs, in order, that runs the code at `address` and returns its new result, a tuple of several, None
    without any, or NotImplemented where an input is not an aligned, contiguous array of its shape and dtype, which can be
    written where there is no result, or another call has the scratch memory.

    None where there is no input, or something is open or by value. `code` is what the code stays loaded
    with; the function holds it.
    """
    specs = (*inputs, *results)
    if not inputs or max(len(inputs), len(results)) > MOST_ARRAYS or arena_bytes > MOST_KEPT:
        return None
    if any(spec.scalar or not spec.is_static for spec in specs):
        return None
    maker = _maker(results)
    is_kept = arena_bytes > MOST_ARENA
    scratch = 1 << (arena_bytes - 1).bit_length() if arena_bytes and not is_kept else 0
    method = _method(len(inputs), len(results), scratch, maker is not None, is_kept=is_kept)
    if method is None:
        return None
    new_function = ctypes.pythonapi.PyCFunction_NewEx
    new_function.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    new_function.restype = ctypes.py_object
    words = _specification(address, results[:1], inputs)
    words.code = code
    if maker:
        words.maker = maker
        words[MAKER] = id(maker)
    if is_kept:
        words.arena = scratch_memory(arena_bytes)
        words[ARENA] = words.arena.ctypes.data
    return new_function(ctypes.addressof(method), words, None)


def _maker(results: Sequence[ArgSpec]) -> Callable[[], Any] | None:
    """What makes a large result, or a tuple of several; None for a small one, which needs nothing of Python, and for none."""
    makers = [
        array_maker(_shape(spec), spec.dtype, (i, len(results))) for i, spec in enumerate(results)
    ]
    if not makers:
        return None
    if len(makers) == 1:
        size = prod(_shape(results[0])) * results[0].dtype.itemsize
        return makers[0] if size >= LARGE_BYTES else None
    if len(makers) == 2:  # as most are that are not one
        first, second = makers
        return lambda: (first(), second())
    return lambda: tuple([make() for make in makers])


class _Specification(np.ndarray):
    """Words that a function compares its arguments with, and what they have the address of."""

    maker: Callable[[], Any]
    code: object
    arena: np.ndarray


def _shape(spec: ArgSpec) -> tuple[int, ...]:
    return tuple(extent or 0 for extent in spec.shape)


def _specification(
    address: int, result: Sequence[ArgSpec], inputs: Sequence[ArgSpec]
) -> _Specification:
    """
    What the function compares its arguments with, and makes its result by, if there is one; it is the function's `__self__`.
    Shapes stand at its end.
    """
    specs = (*result, *inputs)
    of_inputs = range(FIRST_INPUT, FIRST_INPUT + INPUT_WORDS * len(inputs), INPUT_WORDS)
    firsts = (*(1 for _ in result), *of_inputs)
    start = FIRST_INPUT + INPUT_WORDS * len(inputs)
    words = np.zeros(start + sum(len(spec.shape) for spec in specs), np.int64)
    words[0], place = address, start
    for first, spec in zip(firsts, specs, strict=True):
        shape = words[place : place + len(spec.shape)]
        shape[:] = _shape(spec)
        dtype = np.empty(0, spec.dtype).dtype  # the one that arrays have, which lives for ever
        words[first : first + INPUT_WORDS] = id(dtype), len(spec.shape), shape.ctypes.data
        place += len(spec.shape)
    return words.view(_Specification)


@cache
def _method(
    inputs: int, results: int, arena_bytes: int, is_made: bool, *, is_kept: bool
) -> _MethodDef | None:
    """
    The function for so many inputs and results, which a function of Python makes or not; the code it calls is given the
    address of so much scratch memory on the stack, or of what is kept.
    """
    symbols = _symbols()
    if symbols is None:
        return None
    text = _text(inputs, results, arena_bytes, is_made, is_kept=is_kept)
    # All of LLVM's passes take ten milliseconds, as long as for many a kernel, and calls are no faster.
    addresses = link_for_good(text, symbols, ("call",), quick=True)
    return _MethodDef(b"call", addresses["call"], METH_FASTCALL, None)


@cache
def _symbols() -> dict[str, int] | None:
    """The addresses that the functions use; None where arrays or functions are not as they expect."""
    names = ("Py_IncRef", "PyEval_SaveThread", "PyEval_RestoreThread", "PyObject_CallNoArgs")
    if sys.implementation.name != "cpython" or not _fields_are_known():
        return None
    try:
        symbols = {
            name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
            for name in names
        }
        empty = _array_empty()
    except (AttributeError, ImportError, ValueError):
        return None
    others = {"NdArray": id(np.ndarray), "NotImplemented": id(NotImplemented), "None": id(None)}
    return None if empty is None else symbols | others | {"PyArray_Empty": empty}


def _fields_are_known() -> bool:
    """Whether arrays have their fields where they are expected."""
    if object.__basicsize__ != 16 or np.ndarray.__basicsize__ < FLAGS + 4:
        return False
    for array in (np.zeros((2, 3), np.float32), np.zeros((5, 4))[::2, 1:], np.array(1, np.int8)):
        shape = _read(id(array) + SHAPE, ctypes.c_void_p)
        found = (
            _read(id(array) + TYPE, ctypes.c_void_p),
            _read(id(array) + DATA, ctypes.c_void_p),
            _read(id(array) + DTYPE, ctypes.c_void_p),
            _read(id(array) + FLAGS, ctypes.c_int),
            tuple((ctypes.c_int64 * array.ndim).from_address(shape)) if array.ndim else (),
        )
        expected = (
            id(np.ndarray),
            array.ctypes.data,
            id(array.dtype),
            array.flags.num,
            array.shape,
        )
        if _read(id(array) + RANK, ctypes.c_int) != array.ndim or found != expected:
            return False
    pair = object(), object()
    items = (ctypes.c_void_p * 2).from_address(id(pair) + ITEMS)
    return tuple(items) == tuple(map(id, pair))


def _read(address: int, type_: Any) -> Any:
    return type_.from_address(address).value


def _array_empty() -> int | None:
    """The address of NumPy's PyArray_Empty, when it does as it should."""
    numpy = import_module("numpy._core._multiarray_umath")
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.argtypes, pointer_of.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    table = pointer_of(numpy._ARRAY_API, None)
    address = _read(table + PY_ARRAY_EMPTY * ctypes.sizeof(ctypes.c_void_p), ctypes.c_void_p)
    dtype, shape = np.dtype(np.float32), (ctypes.c_int64 * 2)(3, 5)
    types = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))  # it takes a reference
    made = ctypes.PYFUNCTYPE(ctypes.py_object, *types)(address)(2, shape, id(dtype), 0)
    is_right = type(made) is np.ndarray and made.shape == (3, 5) and made.dtype == dtype
    return address if is_right else None


_MATCHES = f"""
@NdArray = external global i8
@NotImplemented = external global i8
@None = external global i8
declare void @Py_IncRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyArray_Empty(i32, ptr, ptr, i32)
declare ptr @PyObject_CallNoArgs(ptr)

; Whether an object is an array with some flags, of a dtype, rank and shape.
define internal i1 @matches(ptr %a, ptr %wanted, i32 %wanted.flags) alwaysinline {{
  %type.at = getelementptr i8, ptr %a, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %is.array = icmp eq ptr %type, @NdArray
  br i1 %is.array, label %array, label %no
array:
  %flags.at = getelementptr i8, ptr %a, i64 {FLAGS}
  %flags = load i32, ptr %flags.at
  %both = and i32 %flags, %wanted.flags
  %is.plain = icmp eq i32 %both, %wanted.flags
  %dtype.at = getelementptr i8, ptr %a, i64 {DTYPE}
  %dtype = load i64, ptr %dtype.at
  %wanted.dtype = load i64, ptr %wanted
  %is.dtype = icmp eq i64 %dtype, %wanted.dtype
  %rank.at = getelementptr i8, ptr %a, i64 {RANK}
  %rank.short = load i32, ptr %rank.at
  %rank = sext i32 %rank.short to i64
  %wanted.rank.at = getelementptr i64, ptr %wanted, i64 1
  %wanted.rank = load i64, ptr %wanted.rank.at
  %is.rank = icmp eq i64 %rank, %wanted.rank
  %some = and i1 %is.plain, %is.dtype
  %all = and i1 %some, %is.rank
  br i1 %all, label %shape, label %no
shape:
  %extents.at = getelementptr i8, ptr %a, i64 {SHAPE}
  %extents = load ptr, ptr %extents.at
  %wanted.extents.at = getelementptr i64, ptr %wanted, i64 2
  %wanted.extents = load ptr, ptr %wanted.extents.at
  br label %axes
axes:
  %axis = phi i64 [ 0, %shape ], [ %next, %extent ]
  %done = icmp eq i64 %axis, %rank
  br i1 %done, label %yes, label %extent
extent:
  %extent.at = getelementptr i64, ptr %extents, i64 %axis
  %extent.is = load i64, ptr %extent.at
  %wanted.extent.at = getelementptr i64, ptr %wanted.extents, i64 %axis
  %wanted.extent = load i64, ptr %wanted.extent.at
  %is.extent = icmp eq i64 %extent.is, %wanted.extent
  %next = add i64 %axis, 1
  br i1 %is.extent, label %axes, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}
"""


def _load(name: str, base: str, offset: int, type_: str = "ptr") -> list[str]:
    return [
        f"  %{name}.at = getelementptr i8, ptr %{base}, i64 {offset}",
        f"  %{name} = load {type_}, ptr %{name}.at",
    ]


_TAKEN = [
    f"  %arena.at = getelementptr i8, ptr %spec, i64 {8 * ARENA}",
    "  %arena = atomicrmw xchg ptr %arena.at, ptr null acquire",
    "  %is.taken = icmp eq ptr %arena, null",
    "  br i1 %is.taken, label %no, label %free",
    "free:",
]
_GIVEN_BACK = ["  store atomic ptr %arena, ptr %arena.at release, align 8"]

_SMALL = [
    *_load("dtype", "spec", 8),
    *_load("rank", "spec", 16, "i32"),
    *_load("shape", "spec", 24),
    "  call void @Py_IncRef(ptr %dtype)",
    "  %result = call ptr @PyArray_Empty(i32 %rank, ptr %shape, ptr %dtype, i32 0)",
]
_MADE = [
    *_load("maker", "spec", 8 * MAKER),
    "  %result = call ptr @PyObject_CallNoArgs(ptr %maker)",
]
_NONE = [
    "  call void @Py_IncRef(ptr @None)",
    "  %result = getelementptr i8, ptr @None, i64 0",
]


def _results(count: int) -> list[str]:
    """The addresses of the results' data."""
    if count == 0:
        return []
    if count == 1:
        return _load("into0", "result", DATA)
    lines: list[str] = []
    for n in range(count):
        lines += _load(f"r{n}", "result", ITEMS + 8 * n)
        lines += _load(f"into{n}", f"r{n}", DATA)
    return lines


def _text(inputs: int, results: int, arena_bytes: int, is_made: bool, *, is_kept: bool) -> str:
    """The LLVM IR of `PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t nargs)`."""
    flags = CONTIGUOUS_AND_ALIGNED | (0 if results else WRITABLE)
    lines = [
        "define ptr @call(ptr %self, ptr %args, i64 %nargs) {",
        *(
            [f"  %arena = alloca [{arena_bytes} x i8], align {EXTERNAL_ALIGNMENT}"]
            if arena_bytes
            else []
        ),
        f"  %is.count = icmp eq i64 %nargs, {inputs}",
        "  br i1 %is.count, label %counted, label %no",
        "counted:",
        *_load("spec", "self", DATA),
    ]
    for n in range(inputs):
        lines += [
            *_load(f"a{n}", "args", 8 * n),
            f"  %wanted{n} = getelementptr i64, ptr %spec, i64 {FIRST_INPUT + INPUT_WORDS * n}",
            f"  %matches{n} = call i1 @matches(ptr %a{n}, ptr %wanted{n}, i32 {flags})",
            f"  br i1 %matches{n}, label %input{n}, label %no",
            f"input{n}:",
            *_load(f"data{n}", f"a{n}", DATA),
        ]
    passed = [f"ptr %data{n}" for n in range(inputs)]
    passed += [f"ptr %into{n}" for n in range(results)]
    passed += ["ptr %arena"] if arena_bytes or is_kept else []
    return _MATCHES + "\n".join(
        [
            *lines,
            *(_TAKEN if is_kept else []),
            *(_MADE if is_made else _SMALL if results else _NONE),
            "  %failed = icmp eq ptr %result, null",
            "  br i1 %failed, label %end, label %run",
            "run:",
            *_results(results),
            *_load("code", "spec", 0),
            "  %thread = call ptr @PyEval_SaveThread()",
            f"  call void %code({', '.join(passed)})",
            "  call void @PyEval_RestoreThread(ptr %thread)",
            "  br label %end",
            "end:",
            *(_GIVEN_BACK if is_kept else []),
            "  ret ptr %result",
            "no:",
            "  call void @Py_IncRef(ptr @NotImplemented)",
            "  ret ptr @NotImplemented",
            "}",
        ]
    )
