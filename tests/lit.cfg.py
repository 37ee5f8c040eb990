"""How lit runs the tests of tests/filecheck: `lit tests/filecheck` from the repository's root."""

import os
import socket
import subprocess
import sys
import tempfile
from typing import Any

import lit.formats

config: Any = globals()["config"]  # put there by lit

_ROOT = os.path.dirname(os.path.abspath(__file__))

config.name = "stepwell"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["unit", "differential", "inputs"]
config.test_source_root = _ROOT
config.test_exec_root = os.path.join(os.path.dirname(_ROOT), "build", "lit")

# The tools run with the Python that runs lit, whether or not the package has been installed.
for _variable in ("PYTHONPATH", "STEPWELL_DEBUG", "LD_LIBRARY_PATH"):
    if _variable in os.environ:
        config.environment[_variable] = os.environ[_variable]

# Tests are of the compiler, not of what it has kept, and no plan follows what `stepwell probe` has measured here.
config.environment["STEPWELL_CACHE"] = "off"
config.environment["XDG_CACHE_HOME"] = os.path.join(os.path.dirname(_ROOT), "build", "cache")

# Calls wait in the socket until the server has started. It ends when the other end of its standard input is closed:
# with lit and its workers, which inherit it.
_SOCKET = os.path.join(tempfile.mkdtemp(), "tools")
_SERVER_INPUT, _KEPT_OPEN = os.pipe()
with socket.socket(socket.AF_UNIX) as _listener:
    _listener.bind(_SOCKET)
    _listener.listen(64)
    _SERVER = subprocess.Popen(
        [sys.executable, os.path.join(_ROOT, "tool_server.py"), str(_listener.fileno()), _SOCKET],
        stdin=_SERVER_INPUT,
        pass_fds=[_listener.fileno()],
        env=config.environment,
    )
os.close(_SERVER_INPUT)

# Isolated and without site-packages, which the call does not need and which take longer to find than it takes.
_CALL = f'"{sys.executable}" -I -S "{os.path.join(_ROOT, "tool_call.py")}" "{_SOCKET}"'
for _tool, _module in (
    ("stepwell-opt", "stepwell.tools.opt"),
    ("stepwell", "stepwell.tools.cli"),
    ("filecheck", "filecheck.main"),
):
    # A whole word of the command line, and no part of a path.
    config.substitutions.append((rf"(?<![\w./-]){_tool}(?![\w./-])", f"{_CALL} {_module}"))
