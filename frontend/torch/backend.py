"""
The backend "stepwell" of `torch.compile`, for inference: `torch.compile(model, backend="stepwell")`.

PyTorch finds it by the entry point `torch_dynamo_backends`. It is handed graphs between graph breaks, and compiles each for the
shapes it is called with. What Stepwell refuses runs as it does without it, after one warning that says what was found.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ...errors import StepwellError
from ...frozen import frozen
from .export import imported
from .package import as_numpy, as_torch, torch_package

_Key = tuple[Any, ...]


def stepwell_backend(graph: Any, example_inputs: Sequence[Any], **options: Any) -> Any:
    """What `torch.compile` calls with a graph; `options` are those of `Lowered.compile`: target, threads, opt."""
    return torch_package().compiler.disable(_Graph(graph, options))


@frozen
class _Compiled:
    """A graph for inputs of certain shapes. Its weights are constants, as they were at these versions."""

    executable: Any
    inputs: tuple[int, ...]
    """Which arguments it takes."""
    versions: tuple[tuple[Any, int], ...]
    """Each weight and its version, which PyTorch counts up with every update in place."""

    @property
    def is_current(self) -> bool:
        return all(weight._version == version for weight, version in self.versions)

    def __call__(self, arguments: Sequence[Any]) -> Any:
        arrays = [as_numpy(arguments[number]) for number in self.inputs]
        results: Any = self.executable(*arrays)
        each = cast("tuple[Any, ...]", results) if isinstance(results, tuple) else (results,)
        return tuple(as_torch(np.asarray(result)) for result in each)


class _Graph:
    """A graph of torch.compile with what it was compiled to, by the shapes of its arguments."""

    def __init__(self, graph: Any, options: dict[str, Any]):
        self._graph = graph
        self._options = options
        self._compiled: dict[_Key, _Compiled | None] = {}
        placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
        self._is_weight = [_is_static(node) for node in placeholders]

    def __call__(self, *arguments: Any) -> Any:
        torch = torch_package()
        tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            self._warn(
                "gradients to be recorded, expected inference; call it under torch.no_grad()"
            )
            return self._graph(*arguments)
        key = tuple(_key_of(torch, value) for value in arguments)
        found = self._compiled.get(key)
        if key not in self._compiled or (found is not None and not found.is_current):
            found = self._compiled[key] = self._compile(torch, arguments)
        return self._graph(*arguments) if found is None else found(arguments)

    def _compile(self, torch: Any, arguments: Sequence[Any]) -> _Compiled | None:
        """The graph for such arguments, or None, after a warning, where it is refused."""
        from ..lowered import Lowered

        inputs = tuple(
            number
            for number, value in enumerate(arguments)
            if isinstance(value, torch.Tensor) and not self._is_weight[number]
        )
        weights = [
            value
            for number, value in enumerate(arguments)
            if isinstance(value, torch.Tensor) and self._is_weight[number]
        ]
        # Versions first: of an update meanwhile the next call makes another.
        versions = tuple((weight, weight._version) for weight in weights)
        try:
            if any(arguments[number].device.type != "cpu" for number in inputs):
                raise StepwellError("found tensors of another device, expected those of the CPU")
            module = _with_constants(torch, self._graph, arguments, inputs)
            program = imported(module, tuple(arguments[n].detach() for n in inputs), "graph")
            return _Compiled(Lowered(program).compile(**self._options), inputs, versions)
        except StepwellError as error:
            self._warn(error.message.removeprefix("found "))
            return None

    def _warn(self, found: str) -> None:
        warnings.warn(f"stepwell leaves a graph to PyTorch: found {found}", stacklevel=3)


def _is_static(placeholder: Any) -> bool:
    """Whether an argument of a graph is a parameter or a buffer of the module."""
    return "_dynamo_static_input_type" in placeholder.meta.get("tensor_dict", {})


def _key_of(torch: Any, value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return tuple(value.shape), value.dtype, value.device.type


def _with_constants(torch: Any, graph: Any, arguments: Sequence[Any], inputs: Sequence[int]) -> Any:
    """The graph as a module of its inputs, with all other arguments in it."""

    class Bound(torch.nn.Module):
        def __init__(self) -> None:
            torch.nn.Module.__init__(self)
            self.graph = graph
            for number, value in enumerate(arguments):
                if number not in inputs and isinstance(value, torch.Tensor):
                    self.register_buffer(f"weight{number}", value.detach())

        def forward(self, *given: Any) -> Any:
            values = dict(zip(inputs, given, strict=True))
            return self.graph(
                *(
                    values[number] if number in values else getattr(self, f"weight{number}", value)
                    for number, value in enumerate(arguments)
                )
            )

    return Bound().eval()
