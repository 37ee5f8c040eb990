"""
One process that has imported the command-line tools, and a fork of it for each run of one: lit starts some thousand
processes, of which each would import the compiler anew, which takes longer than most tests.

    python tests/tool_server.py LISTENER SOCKET   # the server; it ends with its standard input
    python tests/tool_call.py SOCKET MODULE …     # a run of MODULE.main(), in the place of `python -m MODULE …`

LISTENER is the descriptor of a socket that listens already, SOCKET its path, in a folder of its own that is removed.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import traceback
from importlib import import_module

TOOLS = ("stepwell.tools.opt", "stepwell.tools.cli", "filecheck.main")


def main() -> None:
    _, descriptor, path = sys.argv
    with socket.socket(fileno=int(descriptor)) as listener:
        _import_tools()
        _serve(listener)
    os.unlink(path)
    os.rmdir(os.path.dirname(path))


def _import_tools() -> None:
    """Import the tools, and what they import when it is first used: our dialects and passes."""
    for name in TOOLS:
        import_module(name)
    universe = import_module("stepwell.universe")
    universe.make_context()
    ours = universe.STEPWELL_UNIVERSE
    for load in (*ours.all_dialects.values(), *ours.all_passes.values()):
        load()
    gc.collect()
    gc.freeze()  # pages that the collector does not write to stay shared with the forks


def _serve(listener: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks answer themselves, nobody waits for them
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        connection, _ = listener.accept()
        with connection:
            if os.fork() == 0:
                listener.close()
                _answer(connection)


def _answer(connection: socket.socket) -> None:
    """Run what a call asks for in its folder, with its environment and its streams; send its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    first, streams, _, _ = socket.recv_fds(connection, 4096, 3)
    request = json.loads(first + b"".join(iter(lambda: connection.recv(1 << 16), b"")))
    for standard, stream in enumerate(streams):
        os.dup2(stream, standard)
        os.close(stream)
    # Not those of the server, which know whether its own can be sought in.
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    status = _run(request["module"], request["arguments"])
    connection.sendall(str(status).encode())
    os._exit(0)


def _run(module: str, arguments: list[str]) -> int:
    """The exit status of `python -m MODULE ARGUMENTS`."""
    sys.argv = [module, *arguments]
    try:
        status = import_module(module).main()
    except SystemExit as stop:
        status = stop.code
        if isinstance(status, str):
            print(status, file=sys.stderr)
    except BaseException:  # as the interpreter does with what nobody catches
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status if isinstance(status, int) else int(status is not None)


if __name__ == "__main__":
    main()
