"""
A process that works for another: `python -m stepwell.runtime.worker PIPE [MODULE …]`.

It imports the modules and sends an empty answer to the pipe, whose number it is told, then reads requests from its input and answers each: both as
eight bytes of length, in little-endian order, and so many bytes. A request is a function and what it is called with, pickled by the process that has started this one; the
answer what it returns. It ends with its input, and where the function raises.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
from importlib import import_module
from typing import IO

from ..driver.garbage import collect_much

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
    pipe, *modules = sys.argv[1:]
    answers = os.fdopen(int(pipe), "wb")
    for name in modules:
        import_module(name)
    # IR is cyclic: it is collected between requests, where there is much of it. What is remembered from one request
    # for the next stays, and is not walked again.
    gc.disable()
    gc.freeze()
    send(b"", answers)  # ready
    while (request := receive(sys.stdin.buffer)) is not None:
        function, argument = pickle.loads(request)
        send(pickle.dumps(function(argument)), answers)
        del function, argument
        collect_much()


if __name__ == "__main__":
    main()
