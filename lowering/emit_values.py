"""Types, constants and names as LLVM IR writes them."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from xdsl.backend.llvm.convert_type import convert_type
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    I32,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import LLVMTranslationException

from ..dialects.type_memo import remembered
from ..errors import StepwellError


def untranslatable(op: Operation, why: str) -> StepwellError:
    return StepwellError(f"cannot emit '{op.name}': it {why}", op=op)


# Types.


@remembered
def type_text(type_: Attribute) -> str:
    """`<8 x float>` and the like. Raises LLVMTranslationException for a type that LLVM does not have."""
    return str(convert_type(type_))


def type_of(op: Operation, type_: Attribute) -> str:
    """`type_text`, or a StepwellError that names the operation."""
    try:
        return type_text(type_)
    except LLVMTranslationException as error:
        raise untranslatable(op, f"has no translation to LLVM IR ({error})") from None


@remembered
def intrinsic_suffix(type_: Attribute) -> str:
    """How the name of an overloaded intrinsic ends for a type: `f32`, `v8f32`, `i64`, `p0`."""
    text = type_text(type_)
    if text.startswith("<"):
        count, element = text[1:-1].split(" x ")
        return f"v{count}{_SUFFIXES.get(element, element)}"
    return _SUFFIXES.get(text, text)


_SUFFIXES = {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}


# Constants.

_FORMATS = {"half": "e", "float": "f", "double": "d"}


def number_text(type_: str, value: int | float) -> str:
    """A number of a scalar type. LLVM reads any floating-point number as the bits of a double."""
    if type_ in _FORMATS:
        rounded = struct.unpack(_FORMATS[type_], struct.pack(_FORMATS[type_], value))[0]
        return f"0x{struct.unpack('Q', struct.pack('d', rounded))[0]:016X}"
    if type_ == "i1":
        return "true" if value else "false"
    return str(int(value))


@lru_cache(maxsize=4096)
def constant_text(type_: Attribute, value: Attribute) -> str:
    """
    The value of an `llvm.mlir.constant`, without its type.

    Raises LLVMTranslationException for what is neither a number nor a vector or array of them.
    """
    text = type_text(type_)
    match value:
        case IntegerAttr() | FloatAttr():
            return number_text(text, value.value.data)
        case DenseIntOrFPElementsAttr():
            element = text[1:-1].partition(" x ")[2]
            close = {"<": ">", "[": "]"}.get(text[0])
            if close is None or not _is_scalar(element):
                raise LLVMTranslationException(f"elements of type {type_}")
            numbers = [f"{element} {number_text(element, n)}" for n in _numbers(value)]
            if close == ">" and numbers.count(numbers[0]) == len(numbers):
                return f"splat ({numbers[0]})"
            return text[0] + ", ".join(numbers) + close
        case _:
            raise LLVMTranslationException(f"a constant that is a {value.name}")


def _is_scalar(type_: str) -> bool:
    return type_ in _FORMATS or type_.startswith("i")


def _numbers(value: DenseIntOrFPElementsAttr) -> Sequence[int | float]:
    return cast("Sequence[int | float]", value.get_values())


@remembered
def lane_numbers(mask: DenseArrayBase[I32]) -> str:
    """The mask of a `shufflevector`, with its type."""
    numbers = mask.get_values()
    text = ", ".join(f"i32 {number}" for number in numbers)
    return f"<{len(numbers)} x i32> " + (f"<{text}>" if any(numbers) else "zeroinitializer")


# Names.

_PLAIN = re.compile(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*")


@lru_cache(maxsize=4096)
def symbol(name: str) -> str:
    """`@name`, in quotes where it has characters that LLVM does not take for a name."""
    return f"@{name}" if _PLAIN.fullmatch(name) else f'@"{escaped(name.encode())}"'


def escaped(data: bytes) -> str:
    """Bytes as they stand between quotes."""
    return "".join(map(_BYTES.__getitem__, data))


_BYTES = [chr(n) if 32 <= n < 127 and chr(n) not in '"\\' else f"\\{n:02X}" for n in range(256)]


def fast_math(attr: Attribute | None) -> str:
    """Flags of the fast-math kind, each followed by a space."""
    return _flags(attr) if attr is not None else ""


@remembered
def _flags(attr: Attribute) -> str:
    flags = sorted(flag.value for flag in attr.data) if isinstance(attr, llvm.FastMathAttr) else ()
    return "".join(f"{flag} " for flag in flags)
