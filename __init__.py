"""
Stepwell: a tensor compiler whose every level is IR that prints, parses, verifies and runs.

    import stepwell as sw

    @sw.jit
    def mlp(x, w1, b1, w2):
        return sw.softmax(sw.relu(x @ w1 + b1) @ w2, axis=-1)

Everything is loaded when it is first used, so that importing the package takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .errors import PerformanceWarning, StepwellError
    from .frontend.array_api.namespace import array_api
    from .frontend.control_flow import cond, fori_loop, map, scan, switch, while_loop
    from .frontend.debugging import debug_callback, debug_print, disable_jit
    from .frontend.jit import JitFunction, jit
    from .frontend.load import load
    from .frontend.lowered import Lowered
    from .frontend.schedule import Schedule
    from .frontend.structure import register_pytree_node
    from .frontend.tensor import Tensor
    from .frontend.torch.export import from_torch
    from .interpreters.harness import interpret
    from .runtime.executable import Executable
    from .targets.target import Target

_PLACES = {
    "Executable": "runtime.executable",
    "JitFunction": "frontend.jit",
    "Lowered": "frontend.lowered",
    "PerformanceWarning": "errors",
    "Schedule": "frontend.schedule",
    "StepwellError": "errors",
    "Target": "targets.target",
    "Tensor": "frontend.tensor",
    "array_api": "frontend.array_api.namespace",
    "cond": "frontend.control_flow",
    "debug_callback": "frontend.debugging",
    "debug_print": "frontend.debugging",
    "disable_jit": "frontend.debugging",
    "fori_loop": "frontend.control_flow",
    "from_torch": "frontend.torch.export",
    "interpret": "interpreters.harness",
    "jit": "frontend.jit",
    "load": "frontend.load",
    "map": "frontend.control_flow",
    "register_pytree_node": "frontend.structure",
    "scan": "frontend.control_flow",
    "switch": "frontend.control_flow",
    "while_loop": "frontend.control_flow",
}
"""Where the public names stand that are not functions of arrays."""

__all__ = [
    "Executable",
    "JitFunction",
    "Lowered",
    "PerformanceWarning",
    "Schedule",
    "StepwellError",
    "Target",
    "Tensor",
    "__version__",
    "array_api",
    "cond",
    "debug_callback",
    "debug_print",
    "disable_jit",
    "fori_loop",
    "from_torch",
    "interpret",
    "jit",
    "load",
    "map",
    "register_pytree_node",
    "scan",
    "switch",
    "while_loop",
]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        value = getattr(import_module(f".{_PLACES[name]}", __name__), name)
    elif name.startswith("_"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    else:
        value = import_module(".frontend.public", __name__).public(name, __all__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    names = import_module(".frontend.public", __name__).every_name()
    return sorted({*__all__, *names})
