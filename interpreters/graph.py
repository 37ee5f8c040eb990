"""`graph` operations are interpreted by the NumPy function that each gives of itself."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import InterpreterFunctions
from xdsl.ir import Operation

from ..dialects.interfaces import ReferenceSemantics
from .evaluators import Evaluator, with_evaluators


def reference_functions(module: ModuleOp) -> InterpreterFunctions:
    """
    Functions for the operations in the module that state their own semantics.

    They are found by their interface, so a new operation needs nothing here.
    """
    kinds = {type(op) for op in module.walk() if isinstance(op, ReferenceSemantics)}
    return _functions(frozenset(kinds))()


@lru_cache(maxsize=64)
def _functions(operations: frozenset[type[Operation]]) -> type[InterpreterFunctions]:
    @with_evaluators(dict.fromkeys(operations, _reference))
    class ReferenceFunctions(InterpreterFunctions):
        """Operations that state their own semantics."""

    return ReferenceFunctions


def _reference(op: Operation) -> Evaluator:
    assert isinstance(op, ReferenceSemantics)
    reference = op.reference
    single = len(op.results) == 1

    def evaluate(*arrays: np.ndarray) -> Any:
        results = reference(*arrays)
        values = results if isinstance(results, tuple) else (results,)
        checked = tuple(np.asarray(value) for value in values)
        return checked[0] if single else checked

    return evaluate
