"""How lit runs the tests of tests/filecheck: `lit tests/filecheck` from the repository's root."""

import os
import sys
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

config.environment["STEPWELL_CACHE"] = "off"  # tests are of the compiler, not of what it has kept

_PYTHON = f'"{sys.executable}"'
for _tool, _module in (
    ("stepwell-opt", "stepwell.tools.opt"),
    ("stepwell", "stepwell.tools.cli"),
    ("filecheck", "filecheck"),
):
    # A whole word of the command line, and no part of a path.
    config.substitutions.append((rf"(?<![\w./-]){_tool}(?![\w./-])", f"{_PYTHON} -m {_module}"))
