"""Stepwell as a backend of ONNX: the interface that `onnx.backend.test` and other tools of ONNX call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from onnx import ModelProto
from onnx.backend.base import Backend, BackendRep

from ...driver.options import Options
from ...errors import StepwellError
from .model_function import ModelFunction
from .reading import checked_model


class StepwellBackendRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, function: ModelFunction):
        self._function = function

    def run(self, inputs: Any, **kwargs: Any) -> tuple[np.ndarray, ...]:
        """The outputs of the model for its inputs, in order or by name."""
        if isinstance(inputs, Mapping):
            return self._function(**cast("Mapping[str, Any]", inputs))
        several = isinstance(inputs, list | tuple)
        return self._function(*cast("Sequence[Any]", inputs if several else [inputs]))


class StepwellBackend(Backend):
    """Runs models on the CPU, compiled for the host."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> StepwellBackendRep:
        """
        A model made ready to run. `kwargs` are those of `stepwell.jit`: `target`, `fp`, `opt`, `cache`, `winograd`,
        `threads`.

        Raises StepwellError for a model that is not valid, and for another device than the CPU.
        """
        if not cls.supports_device(device):
            raise StepwellError(f"found device '{device}', expected 'CPU'; run the model there")
        threads: int | None = kwargs.pop("threads", None)
        name = model.graph.name or "model"
        return StepwellBackendRep(
            ModelFunction(checked_model(model, name), Options(**kwargs), threads)
        )

    @classmethod
    def run_model(cls, model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> Any:
        """The outputs of a model that is run once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether it is the CPU."""
        return device.split(":")[0] == "CPU"
