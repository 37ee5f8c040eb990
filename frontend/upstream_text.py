"""Programs in upstream's dialects on tensors, brought to the level of ours that says the same."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..analysis.verify import verify
from ..dialects import te
from ..dialects.shaped import is_tensor
from ..universe import make_context, multiverse

_WAYS_IN = {
    "stablehlo": "convert-stablehlo-to-graph",
    "chlo": "convert-stablehlo-to-graph",
    "tosa": "convert-tosa-to-graph",
    "linalg": "convert-linalg-to-te",
    "tensor": "convert-linalg-to-te",
    "arith": "convert-linalg-to-te",
    "math": "convert-linalg-to-te",
}
"""For a dialect of operations on tensors the pass that brings it in."""


def bring_in(module: ModuleOp) -> None:
    """
    Convert, in place, what is written in upstream's dialects on tensors; nothing where there is none.

    Raises StepwellError for an operation that has no counterpart.
    """
    found = {_WAYS_IN[name] for op in module.walk() if (name := _upstream_dialect(op)) is not None}
    for name in dict.fromkeys(_WAYS_IN.values()):
        if name in found:
            multiverse().all_passes[name]()().apply(make_context(), module)
            verify(module)


def _upstream_dialect(op: Operation) -> str | None:
    """The dialect of an operation that some pass brings in."""
    name = op.dialect_name()
    if name not in _WAYS_IN:
        return None
    is_ours = isinstance(op, arith.ConstantOp) or isinstance(op.parent_op(), te.ComputeOp)
    on_tensors = name not in ("arith", "math") or any(map(is_tensor, op.results))
    return name if on_tensors and not is_ours else None
