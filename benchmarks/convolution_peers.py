"""
Convolution layers in ONNX Runtime, OpenVINO and PyTorch, each on one thread and in every layout that it can be given.

A network keeps its activations in the layout that a library's convolutions want, so that a layer by itself must not pay
for the way there and back: `convolutions.py` takes the fastest layout of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from layers import Layer, placed

Array = np.ndarray[Any, Any]


class Peer(NamedTuple):
    """A layer in a library and a layout."""

    library: str
    layout: str
    call: Callable[[], Any]
    result: Callable[[], Array]
    """what a call gives, as networks have it, (n, c, h, w)"""


def peers(layer: Layer) -> Iterator[Peer]:
    yield from onnxruntime(layer)
    yield from openvino(layer)
    yield from torch(layer)


def onnxruntime(layer: Layer) -> Iterator[Peer]:
    """
    Images (n, c, h, w), and channels in blocks of a vector, which are how ONNX Runtime has activations inside of a network:
    the operator that it puts there itself, of its own domain.
    """
    image, weights = layer.arrays()
    call = _session(layer, image, weights)
    yield Peer("ONNX Runtime", "nchw", call, lambda: np.array(call()))
    block = _block()
    if layer.channels % block or layer.outputs % block:
        return
    if layer.groups not in (1, layer.channels):
        return
    shape = (1, layer.channels // block, block, layer.image, layer.image)
    blocked = image.reshape(shape).transpose(0, 1, 3, 4, 2).reshape(image.shape)
    inner = block if layer.groups == 1 else 1
    shape = (layer.outputs // block, block, -1, inner, layer.kernel, layer.kernel)
    filters = weights.reshape(shape).transpose(0, 2, 4, 5, 3, 1).reshape(weights.shape)
    arrays = (placed(blocked), placed(filters))
    inside = _session(layer, *arrays, domain="com.microsoft.nchwc")

    def result() -> Array:
        found = inside().reshape(1, layer.outputs // block, layer.result, layer.result, block)
        shape = (1, layer.outputs, layer.result, layer.result)
        return found.transpose(0, 1, 4, 2, 3).reshape(shape)

    yield Peer("ONNX Runtime", "nchwc", inside, result)


def _block() -> int:
    import stepwell as sw

    return sw.Target.of("host").core.lanes(4)


def _model(layer: Layer, image: Array, weights: Array, domain: str) -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    node = helper.make_node(
        "Conv",
        ["x", "w"],
        ["y"],
        domain=domain,
        strides=[layer.stride] * 2,
        pads=[layer.border] * 4,
        dilations=[layer.dilation] * 2,
        group=layer.groups,
    )
    result = (1, layer.outputs, layer.result, layer.result)
    graph = helper.make_graph(
        [node],
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, image.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
        [numpy_helper.from_array(weights, "w")],
    )
    sets = [helper.make_opsetid("", 17)]
    sets += [helper.make_opsetid(domain, 1)] if domain else []
    model = helper.make_model(graph, opset_imports=sets, ir_version=8)
    return model.SerializeToString()


def _session(layer: Layer, image: Array, weights: Array, domain: str = "") -> Callable[[], Array]:
    """A call with the arrays bound, so that nothing is copied or made in it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        _model(layer, image, weights, domain), options, ["CPUExecutionProvider"]
    )
    binding = session.io_binding()
    given = onnxruntime.OrtValue.ortvalue_from_numpy(image)
    binding.bind_ortvalue_input("x", given)
    binding.bind_output("y", "cpu")
    session.run_with_iobinding(binding)
    (found,) = binding.get_outputs()
    binding.bind_ortvalue_output("y", found)

    def call() -> Array:
        session.run_with_iobinding(binding)
        return found.numpy()

    return call


def openvino(layer: Layer) -> Iterator[Peer]:
    """Images (n, c, h, w), and with channels innermost."""
    import openvino as ov

    image, weights = layer.arrays()
    core, proto = ov.Core(), _model(layer, image, weights, "")
    for layout, order in (("nchw", (0, 1, 2, 3)), ("nhwc", (0, 2, 3, 1))):
        model = core.read_model(proto)
        if layout == "nhwc":
            steps = ov.preprocess.PrePostProcessor(model)
            for port in (steps.input(), steps.output()):
                port.tensor().set_layout(ov.Layout("NHWC"))
                port.model().set_layout(ov.Layout("NCHW"))
            model = steps.build()
        settings = {
            "INFERENCE_NUM_THREADS": 1,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
            "ENABLE_CPU_PINNING": False,
        }
        request = core.compile_model(model, "CPU", settings).create_infer_request()
        given = placed(image.transpose(order))
        request.set_input_tensor(ov.Tensor(given, shared_memory=True))
        back = tuple(int(n) for n in np.argsort(order))

        def result(request: Any = request, back: tuple[int, ...] = back, _: Any = given) -> Array:
            request.infer()
            return np.array(request.get_output_tensor().data).transpose(back)

        yield Peer("OpenVINO", layout, request.infer, result)


def torch(layer: Layer) -> Iterator[Peer]:
    """A frozen module on (n, c, h, w), a module with channels innermost, and oneDNN's own blocked layout."""
    import torch
    from torch.utils import mkldnn

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    image, weights = map(torch.from_numpy, layer.arrays())
    module = _module(layer, weights)
    frozen = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(module, image)))
    yield Peer("PyTorch", "nchw", lambda: frozen(image), lambda: frozen(image).numpy())
    last = torch.channels_last
    columns = image.contiguous(memory_format=last)
    inner = _module(layer, weights).to(memory_format=last)
    yield Peer(
        "PyTorch", "nhwc", lambda: inner(columns), lambda: inner(columns).contiguous().numpy()
    )
    # A product with the identity leaves its result in the layout that convolutions want.
    same = torch.nn.Conv2d(layer.channels, layer.channels, 1, bias=False).eval()
    same.weight.data = torch.eye(layer.channels).reshape(layer.channels, layer.channels, 1, 1)
    blocked = mkldnn.to_mkldnn(same)(image.to_mkldnn())
    inside = mkldnn.to_mkldnn(module)
    yield Peer(
        "PyTorch", "blocked", lambda: inside(blocked), lambda: inside(blocked).to_dense().numpy()
    )


def _module(layer: Layer, weights: Any) -> Any:
    import torch

    module = torch.nn.Conv2d(
        layer.channels,
        layer.outputs,
        layer.kernel,
        layer.stride,
        layer.border,
        layer.dilation,
        layer.groups,
        bias=False,
    )
    module.weight.data = weights
    return module.eval()
