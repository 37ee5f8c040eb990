"""A model that is compiled when it is called, as often as there are shapes that it is called with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...analysis.levels import Level
from ...driver.options import Options
from ...errors import StepwellError
from ..arrays import as_array
from ..lowered import Lowered
from .bounded import cut, marked_extents
from .importer import import_model
from .input_needed import InputNeeded
from .reading import Model, shortened


class ModelFunction:
    """
    A model as a function of its inputs, by position or by name; it returns its outputs as a tuple.

    It is compiled anew for each combination of shapes, and of the values of those inputs that decide a shape
    inside of the model, such as the second input of Reshape. Raises StepwellError for a model that cannot be
    imported, and for wrong arguments.
    """

    def __init__(self, model: Model, options: Options, threads: int | None = None):
        self._model = model
        self._options = options
        self._threads = threads
        initialized = {one.name for one in model.proto.graph.initializer}
        self.inputs = [one.name for one in model.proto.graph.input if one.name not in initialized]
        self.outputs = [one.name for one in model.proto.graph.output]
        self._constant: list[str] = []
        """Inputs whose values are compiled for."""
        self._compiled: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<ModelFunction {self._model.name}({', '.join(self.inputs)})>"

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[np.ndarray, ...]:
        arrays = self._by_name(args, kwargs)
        key = self._key(arrays)
        run = self._compiled.get(key)
        if run is None:
            run = self._compile(arrays)
            self._compiled[self._key(arrays)] = run
        returned: Any = run(*(arrays[name] for name in self.inputs if name not in self._constant))
        return cast(
            "tuple[np.ndarray, ...]", returned if isinstance(returned, tuple) else (returned,)
        )

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The model for the shapes of these inputs, at every level; inputs that decide shapes are constants."""
        return self._lowered(self._by_name(args, kwargs))

    def _compile(self, arrays: Mapping[str, np.ndarray]) -> Any:
        lowered = self._lowered(arrays)
        run: Any = lowered.compile(threads=self._threads)
        cuts = marked_extents(lowered.module("graph"))
        if not cuts:
            return run

        def run_and_cut(*arguments: Any) -> tuple[np.ndarray, ...]:
            return cut(run(*arguments), cuts)

        return run_and_cut

    def _lowered(self, arrays: Mapping[str, np.ndarray]) -> Lowered:
        while True:
            shapes = {name: array.shape for name, array in arrays.items()}
            constants = {name: arrays[name] for name in self._constant}
            try:
                module = import_model(self._model, shapes, constants)
            except InputNeeded as error:
                if not set(error.inputs) - set(self._constant):
                    raise
                self._constant += [one for one in error.inputs if one not in self._constant]
                continue
            name = Path(self._model.name).stem
            return Lowered(module, level=Level.GRAPH, name=name, options=self._options)

    def _by_name(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        values = dict(zip(self.inputs, args, strict=False))
        unknown = [name for name in kwargs if name not in self.inputs or name in values]
        values.update(kwargs)
        if len(args) > len(self.inputs) or unknown or len(values) < len(self.inputs):
            expected = ", ".join(map(shortened, self.inputs))
            raise StepwellError(
                f"found {len(args)} inputs by position and {list(kwargs)} by name, expected each of {expected}; "
                "mend the call",
                where=self._model.name,
            )
        return {name: as_array(values[name], f"input '{shortened(name)}'") for name in self.inputs}

    def _key(self, arrays: Mapping[str, np.ndarray]) -> Any:
        shapes = tuple((array.shape, array.dtype) for array in arrays.values())
        return shapes, tuple(arrays[name].tobytes() for name in self._constant)
