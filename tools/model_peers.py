"""What other runtimes compute of a model, and how far our results are from theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StepwellError
from ..spelling import one_line

if TYPE_CHECKING:
    from ..frontend.onnx.reading import Model

Array = np.ndarray[Any, Any]
Run = Callable[[Mapping[str, Array]], Sequence[Array]]

TOLERANCE = 1e-4
"""Of an output's scale: what other orders of summation make of f32 over the depth of a network."""


def default_peer() -> str:
    """ONNX Runtime where it is installed, the onnx package's evaluator elsewhere."""
    return "onnxruntime" if find_spec("onnxruntime") else "reference"


def results_elsewhere(peer: str, model: Model, inputs: Mapping[str, Array]) -> Sequence[Array]:
    """The outputs of a model in another runtime. Raises StepwellError for a model that it cannot run."""
    try:
        return PEERS[peer](model)(inputs)
    except StepwellError:
        raise
    except Exception as error:  # each runtime has its own
        raise StepwellError(
            f"found that {peer} cannot run the model, expected it to: {one_line(str(error), 300)}",
            where=model.name,
        ) from error


def check_results(model: Model, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> str:
    """
    The line that says with what our outputs of a model agree.

    Raises StepwellError, naming the output, where one differs by more than TOLERANCE of its scale.
    """
    peer = default_peer()
    largest = 0.0
    expected = results_elsewhere(peer, model, inputs)
    for (name, found), other in zip(outputs.items(), expected, strict=True):
        error = relative_error(found, other)
        if not error <= TOLERANCE:
            doubt = (
                ""
                if peer == "onnxruntime"
                else "; the evaluator may be wrong: onnxruntime, if installed, decides"
            )
            raise StepwellError(
                f"the compiled model disagrees with {peer}: output '{one_line(name, 60)}' differs by {error:.3g} of its "
                f"scale (tolerance {TOLERANCE:g}); `stepwell compare` names the first node that does{doubt}",
                where=model.name,
            )
        largest = max(largest, error)
    return f"check: agrees with {peer}, largest difference {largest:.3g} of an output's scale (tolerance {TOLERANCE:g})"


def relative_error(found: Array, expected: Array) -> float:
    """
    The largest difference over the largest finite magnitude that is expected; infinite for other shapes, for integers
    that are not equal, and where only one is finite.
    """
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return float("inf")
    if expected.size == 0:
        return 0.0
    if expected.dtype.kind not in "fV":
        return 0.0 if np.array_equal(found, expected) else float("inf")
    own, other = found.astype(np.float64), expected.astype(np.float64)
    same = (own == other) | (np.isnan(own) & np.isnan(other))
    if not np.isfinite(own[~same]).all() or not np.isfinite(other[~same]).all():
        return float("inf")
    scale = float(np.abs(other[np.isfinite(other)]).max(initial=0.0)) or 1.0
    return float(np.abs(own[~same] - other[~same]).max(initial=0.0)) / scale


def _onnxruntime(model: Model) -> Run:
    try:
        runtime: Any = import_module("onnxruntime")
    except ImportError:
        raise StepwellError(
            "found no onnxruntime, expected it installed; install it, or give --against reference"
        ) from None
    options = runtime.SessionOptions()
    # Node by node, as the model is written.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4  # errors are raised
    session = runtime.InferenceSession(
        model.proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda inputs: session.run(None, dict(inputs))


def _reference(model: Model) -> Run:
    reference: Any = import_module("onnx.reference")
    evaluator = reference.ReferenceEvaluator(_in_inference(model.proto))
    return lambda inputs: evaluator.run(None, dict(inputs))


def _in_inference(proto: Any) -> Any:
    """
    The model with a momentum of 1 in its batch normalizations. In inference they do not use it, but the evaluator mixes
    statistics of the batch into those of the model by it, in versions 9 to 13 of the operator set.
    """
    copy = type(proto)()
    copy.CopyFrom(proto)
    for node in copy.graph.node:
        if node.op_type == "BatchNormalization" and not node.domain:
            kept = [one for one in node.attribute if one.name != "momentum"]
            del node.attribute[:]
            node.attribute.extend(kept)
            momentum = node.attribute.add()
            momentum.name, momentum.type, momentum.f = "momentum", momentum.FLOAT, 1.0
    return copy


PEERS: dict[str, Callable[[Any], Run]] = {"onnxruntime": _onnxruntime, "reference": _reference}
