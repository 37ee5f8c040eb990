"""The functions of a module while it is lowered."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import llvm
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Operation, Region

from ...errors import StepwellError
from .properties import EXTERNAL, function_without_body


class Symbols:
    """
    The functions of a module: those there are, and those that lowering adds, declared or outlined.

    `threads` is how many run an `scf.parallel`: 0 leaves it to `omp_get_max_threads`, 1 needs none. `vector_bits` are those of a
    vector register, or 0 where that is not known. `own_loads` says whether each of two registers loads what goes into all lanes.
    """

    def __init__(
        self,
        types: Mapping[str, FunctionType],
        threads: int = 0,
        vector_bits: int = 0,
        *,
        own_loads: bool = False,
    ):
        self.types = types
        self.threads = threads
        self.vector_bits = vector_bits
        self.own_loads = own_loads
        self.declared: dict[str, llvm.FuncOp] = {}
        self.outlined: list[llvm.FuncOp] = []
        self._numbers: dict[str, int] = {}

    def new_name(self, stem: str) -> str:
        """A name for an outlined function: the stem and a number."""
        while True:
            number = self._numbers.get(stem, 0)
            self._numbers[stem] = number + 1
            name = f"{stem}{number}"
            if not any(taken.startswith(name) for taken in self.types):
                return name

    def declare(self, name: str, function_type: llvm.LLVMFunctionType, op: Operation) -> None:
        """Make sure that `name` is declared with this type. Raises StepwellError on a clash."""
        if name in self.types:
            raise StepwellError(
                f"'{op.name}' needs the C function '{name}', but the module defines a function of that "
                "name; rename it",
                op=op,
            )
        if name not in self.declared:
            self.declared[name] = declared = function_without_body(name, function_type, EXTERNAL)
            declared.add_region(Region())
