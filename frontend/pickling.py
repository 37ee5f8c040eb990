"""
Jitted functions on their way to other processes: by name where the other one can import them, else with their code,
which cloudpickle makes bytes of (joblib brings one along).
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..errors import StepwellError


def named(module: str, path: str) -> Any:
    """What a module, if it is loaded, has under a dotted path; None where there is nothing."""
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def is_importable(value: object, function: Any) -> bool:
    """Whether another process finds `value` under the name of `function`: not in the script that this one runs."""
    module = str(getattr(function, "__module__", "__main__"))
    path = str(getattr(function, "__qualname__", ""))
    return module != "__main__" and named(module, path) is value


def code_of(function: Callable[..., Any]) -> bytes:
    """A function as bytes. Raises StepwellError where nothing here can make them."""
    for package in ("cloudpickle", "joblib.externals.cloudpickle"):
        try:
            return import_module(package).dumps(function)
        except ImportError:
            continue
    name = getattr(function, "__qualname__", repr(function))
    raise StepwellError(
        f"found the function '{name}' to pickle, which other processes cannot import, expected one at the top of a "
        "module; move it there, or install cloudpickle"
    )


def function_of(code: bytes) -> Callable[..., Any]:
    """The function that `code_of` made bytes of."""
    return pickle.loads(code)
