"""
The stub `__init__.pyi`: where each public name stands, for type checkers and editors.

    python tests/package_stub.py > __init__.pyi
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import stepwell as sw
from stepwell.frontend import public
from stepwell.frontend.public import Namespace

_HEAD = '''"""Written by `python tests/package_stub.py > __init__.pyi`; a test keeps it so. Do not edit."""

from typing import Any

'''


def stub() -> str:
    """The text of the stub."""
    modules = [*public._NUMPY, *public._NN, public.introspection]
    lines = [_import(f".{place}", name) for name, place in sorted(sw._PLACES.items())]
    others: list[str] = []
    for name in public.every_name():
        value = getattr(sw, name)
        home = next((one for one in modules if vars(one).get(name) is value), None)
        if home is not None:
            lines.append(_import(_relative(home), name))
        else:
            others.append(_declared(name, value))
    lines.append(_import("._version", "__version__"))
    return _HEAD + "".join(sorted(lines)) + "\n" + "".join(others)


def _import(place: str, name: str) -> str:
    return f"from {place} import {name} as {name}\n"


def _relative(module: ModuleType) -> str:
    return module.__name__.removeprefix("stepwell")


def _declared(name: str, value: Any) -> str:
    if isinstance(value, type) and value.__module__ == "numpy":
        return f"from numpy import {value.__name__} as {name}\n"
    kind = "float" if isinstance(value, float) else "None" if value is None else "Any"
    return f"{name}: {'Any' if isinstance(value, Namespace) else kind}\n"


if __name__ == "__main__":
    print(stub(), end="")
