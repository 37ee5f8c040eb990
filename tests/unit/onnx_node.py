"""One node as a model, and what Stepwell and ONNX Runtime compute of it."""

import numpy as np
from onnx import ValueInfoProto
from onnx.helper import (
    make_graph,
    make_model,
    make_node,
    make_opsetid,
    make_tensor_value_info,
    np_dtype_to_tensor_dtype,
)
from onnx.numpy_helper import from_array
from stepwell.frontend.onnx.backend import StepwellBackend


def model_of(
    operator, attributes, arrays, outputs=("y0",), *, known=(), domain="com.microsoft", opset=18
):
    """
    The model of a node whose inputs are these arrays, and after them weights that are `known`, without those that are None;
    and the inputs by name.
    """
    inputs = {f"x{i}": np.asarray(one) for i, one in enumerate(arrays) if one is not None}
    weights = {f"w{i}": np.asarray(one) for i, one in enumerate(known) if one is not None}
    places = [f"x{i}" for i in range(len(arrays))] + [f"w{i}" for i in range(len(known))]
    names = [name if name in inputs or name in weights else "" for name in places]
    node = make_node(operator, names, outputs, "n", domain=domain, **attributes)
    graph = make_graph(
        [node],
        "g",
        [
            make_tensor_value_info(name, np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in inputs.items()
        ],
        [ValueInfoProto(name=name) for name in outputs if name],
        [from_array(array, name) for name, array in weights.items()],
    )
    opsets = [make_opsetid("", opset), make_opsetid("com.microsoft", 1)]
    return make_model(graph, opset_imports=opsets, ir_version=9), inputs


def found_of(model, inputs):
    """What Stepwell computes."""
    return StepwellBackend.prepare(model, opt="quick", threads=1, cache=False).run(inputs)


def runtime_results(model, inputs):
    """What ONNX Runtime computes on one thread, or None where it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, inputs)
