"""The graph of a model as it is recorded: constants and operations have the names they have in the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
)
from xdsl.ir import Operation, SSAValue

from ...dialects.loop import NAME
from ...spelling import one_line
from ..array_memory import check_memory
from ..tensor import Tensor
from ..tracing import Trace


class ModelTrace(Trace):
    """A Trace whose operations stand at nodes of the model in the file `filename`."""

    def __init__(self, filename: str):
        super().__init__()
        self._filename = StringAttr(filename)
        self._place: LocationAttr | None = None
        self._names: dict[int, str] = {}
        self.argument_names: dict[SSAValue, str] = {}

    def stand_at(self, label: str, number: int) -> None:
        """What is recorded from now on is of the node `label`, the model's node of this number."""
        line = FileLineColLoc(self._filename, IntAttr(number), IntAttr(1))
        self._place = NameLoc(StringAttr(label), line)

    def return_to(self, place: LocationAttr | None) -> None:
        """What is recorded from now on stands where it did before, at what `location` was then."""
        self._place = place

    def location(self) -> LocationAttr | None:
        return self._place

    def name_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Let constants that are made of these arrays have their names."""
        self._names.update((id(array), name) for name, array in arrays.items())

    def record(
        self, make: Callable[..., Operation], *args: Any, **kwargs: Any
    ) -> tuple[Tensor, ...]:
        """As of any recording; no value of a model may be larger than the machine's memory."""
        results = super().record(make, *args, **kwargs)
        for result in results:
            check_memory(result.shape, result.dtype, "a value")
        return results

    def hint_of(self, value: object) -> str | None:
        return self._names.get(id(value))

    def model_input(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> Tensor:
        """A new argument, which the model calls `name`."""
        check_memory(shape, dtype, f"input '{one_line(name, 60)}'")
        tensor = self.argument(shape, dtype, name)
        self.argument_names[tensor.value] = name
        return tensor

    def model_module(self, results: Sequence[Tensor], names: Sequence[str]) -> ModuleOp:
        """The module of the function `main`, whose arguments and results have the names they have in the model."""
        module = self.module(results)
        (function,) = module.ops
        assert isinstance(function, func.FuncOp)
        arguments = [self.argument_names[arg] for arg in function.args]
        function.arg_attrs = ArrayAttr(
            DictionaryAttr({} if arg.name_hint == name else {NAME: StringAttr(name)})
            for name, arg in zip(arguments, function.args, strict=True)
        )
        function.res_attrs = ArrayAttr(DictionaryAttr({NAME: StringAttr(name)}) for name in names)
        return module

    def inputs_of(self, tensor: Tensor) -> list[str]:
        """The inputs of the model that a value is computed from."""
        seen: set[SSAValue] = set()
        waiting: list[SSAValue] = [tensor.value]
        while waiting:
            value = waiting.pop()
            if value not in seen:
                seen.add(value)
                waiting += value.owner.operands if isinstance(value.owner, Operation) else ()
        return [name for value, name in self.argument_names.items() if value in seen]
