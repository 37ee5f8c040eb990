"""
A process that compiles modules of LLVM IR for another: `python -m stepwell.runtime.llvm_worker`.

It reads what LLVM is told as a line of JSON, then modules, and answers each with its object code: both as eight bytes
of length, in little-endian order, and so many bytes. It ends with its input, and where LLVM refuses a module.
"""

from __future__ import annotations

import json
import sys
from typing import IO

from .codegen import CodeGenerator

LENGTH_BYTES = 8


def send(data: bytes, to: IO[bytes]) -> None:
    to.write(len(data).to_bytes(LENGTH_BYTES, "little") + data)
    to.flush()


def receive(source: IO[bytes]) -> bytes | None:
    """What the other side has sent; None when it has ended, or ends in the middle."""
    length = source.read(LENGTH_BYTES)
    if len(length) < LENGTH_BYTES:
        return None
    size = int.from_bytes(length, "little")
    data = source.read(size)
    return data if len(data) == size else None


def main() -> None:
    generator = CodeGenerator(**json.loads(sys.stdin.buffer.readline()))
    while (text := receive(sys.stdin.buffer)) is not None:
        send(generator.object_code(text.decode()), sys.stdout.buffer)


if __name__ == "__main__":
    main()
