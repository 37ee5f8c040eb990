"""
The kernels that `stepwell bench` measures by name, each with what NumPy, PyTorch and an ONNX model do for it.

    stepwell bench                      # all of them
    stepwell bench 'gemm-*' attention-128

f32 unless the name says otherwise. Weights are constants: compiled in by ours, initializers in ONNX models.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import stepwell as sw
from stepwell.tools.bench_arrays import generate_weight
from stepwell.tools.bench_case import Case

OPSET = 20

Nodes = list[tuple[Any, ...]]
"""ONNX nodes: operator, names of inputs, name of the output, attributes."""


def onnx_model(
    nodes: Nodes,
    arguments: Mapping[str, str],
    weights: Mapping[str, str],
    constants: Mapping[str, Any],
) -> Any:
    """The model of these nodes; the output is `y`."""
    from onnx import TensorProto, helper, numpy_helper

    types = {"f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE}

    def declared(name: str, text: str) -> Any:
        *extents, element = text.split("x")
        return helper.make_tensor_value_info(name, types[element], list(map(int, extents)))

    stored = {name: generate_weight(name, text) for name, text in weights.items()}
    stored |= {name: np.asarray(value) for name, value in constants.items()}
    element = types[next(iter(arguments.values())).rpartition("x")[2]]
    graph = helper.make_graph(
        [
            helper.make_node(
                operator, inputs.split(), [output], **(attributes[0] if attributes else {})
            )
            for operator, inputs, output, *attributes in nodes
        ],
        "kernel",
        [declared(name, text) for name, text in arguments.items()],
        [helper.make_tensor_value_info("y", element, None)],
        [numpy_helper.from_array(array, name) for name, array in stored.items()],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def case(
    name: str,
    ours: Callable[..., Any],
    arguments: Mapping[str, str],
    nodes: Nodes,
    *,
    constants: Mapping[str, Any] | None = None,
    weights: Mapping[str, str] | None = None,
    **peers: Any,
) -> Case:
    """A case whose ONNX model has these nodes."""
    model = partial(onnx_model, nodes, arguments, weights or {}, constants or {})
    return Case(name, ours, arguments, weights=weights or {}, onnx=model, **peers)


# Contractions.


def gemm(m: int, n: int, k: int, *, name: str, group: str = "gemm", element: str = "f32") -> Case:
    def matmul(a: Any, b: Any) -> Any:
        return a @ b

    return case(
        name,
        matmul,
        {"a": f"{m}x{k}x{element}", "b": f"{k}x{n}x{element}"},
        [("MatMul", "a b", "y")],
        numpy=matmul,
        torch=matmul,
        group=group,
    )


def random_shapes(count: int, largest: int = 3000) -> list[tuple[int, int, int]]:
    """The first half uniform, so mostly large, the others with logarithms that are: tall, wide and tiny."""
    generator = np.random.default_rng(2026)
    uniform = generator.integers(1, largest + 1, (count // 2, 3))
    logarithmic = np.exp(generator.uniform(0, np.log(largest), (count - count // 2, 3)))
    shapes = [*uniform.tolist(), *np.rint(logarithmic).astype(int).tolist()]
    return [(m, n, k) for m, n, k in shapes]


def transposed(which: str, size: int = 1024) -> Case:
    """The product of stored transposes: `tn` is aᵀ·b, `nt` a·bᵀ, `tt` aᵀ·bᵀ."""
    a_is, b_is = (letter == "t" for letter in which)

    def matmul(a: Any, b: Any) -> Any:
        return (a.T if a_is else a) @ (b.T if b_is else b)

    shape = f"{size}x{size}xf32"
    return case(
        f"gemm-{which}-{size}",
        matmul,
        {"a": shape, "b": shape},
        [("Gemm", "a b", "y", {"transA": int(a_is), "transB": int(b_is)})],
        numpy=matmul,
        torch=matmul,
        group="gemm-variants",
    )


def batched(batch: int, m: int, k: int, n: int) -> Case:
    def matmul(a: Any, b: Any) -> Any:
        return a @ b

    return case(
        f"gemm-batched-{batch}x{m}x{k}x{n}",
        matmul,
        {"a": f"{batch}x{m}x{k}xf32", "b": f"{batch}x{k}x{n}xf32"},
        [("MatMul", "a b", "y")],
        numpy=matmul,
        torch=matmul,
        group="gemm-variants",
    )


def matvec(size: int = 4096) -> Case:
    def product(a: Any, x: Any) -> Any:
        return a @ x

    return case(
        f"matvec-{size}",
        product,
        {"a": f"{size}x{size}xf32", "x": f"{size}xf32"},
        [("MatMul", "a x", "y")],
        numpy=product,
        torch=product,
        group="matvec",
    )


# Layers. NumPy has no erf, and so no gelu.


def _torch_gelu(x: Any, w: Any, b: Any) -> Any:
    import torch

    return torch.nn.functional.gelu(torch.addmm(b, x, w))


def linear_gelu(m: int = 128, k: int = 768, n: int = 3072, *, are_weights: bool) -> Case:
    matrices = {"w": f"{k}x{n}xf32", "b": f"{n}xf32"}
    arguments = {"x": f"{m}x{k}xf32"}
    return case(
        "linear-gelu" if are_weights else "linear-gelu-arguments",
        lambda x, w, b: sw.gelu(x @ w + b),
        arguments if are_weights else {**arguments, **matrices},
        [("MatMul", "x w", "xw"), ("Add", "xw b", "z"), ("Gelu", "z", "y")],
        weights=matrices if are_weights else {},
        torch=_torch_gelu,
        group="layers",
    )


def _numpy_softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    e /= e.sum(-1, keepdims=True)
    return e


def _numpy_mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    h = np.maximum(x @ w1 + b1, 0)
    h = np.maximum(h @ w2 + b2, 0)
    return _numpy_softmax(h @ w3 + b3)


def _torch_mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    import torch

    h = torch.addmm(b1, x, w1).relu_()
    h = torch.addmm(b2, h, w2).relu_()
    return torch.addmm(b3, h, w3).softmax(-1)


def _our_mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    h = sw.relu(x @ w1 + b1)
    h = sw.relu(h @ w2 + b2)
    return sw.softmax(h @ w3 + b3, axis=-1)


def mlp(batch: int = 128, sizes: tuple[int, ...] = (784, 512, 512, 10)) -> Case:
    weights: dict[str, str] = {}
    for number, (k, n) in enumerate(pairwise(sizes), 1):
        weights |= {f"w{number}": f"{k}x{n}xf32", f"b{number}": f"{n}xf32"}
    return case(
        "mlp",
        _our_mlp,
        {"x": f"{batch}x{sizes[0]}xf32"},
        [
            ("Gemm", "x w1 b1", "z1"),
            ("Relu", "z1", "h1"),
            ("Gemm", "h1 w2 b2", "z2"),
            ("Relu", "z2", "h2"),
            ("Gemm", "h2 w3 b3", "z3"),
            ("Softmax", "z3", "y", {"axis": -1}),
        ],
        weights=weights,
        numpy=_numpy_mlp,
        torch=_torch_mlp,
        group="layers",
    )


# Rows, elements, reductions and transposes.


def softmax(rows: int = 4096, columns: int = 1024) -> Case:
    return case(
        "softmax",
        lambda x: sw.softmax(x, axis=-1),
        {"x": f"{rows}x{columns}xf32"},
        [("Softmax", "x", "y", {"axis": -1})],
        numpy=_numpy_softmax,
        torch=lambda x: x.softmax(-1),
        group="memory",
    )


def _numpy_layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    variance = np.square(centred).mean(-1, keepdims=True)
    centred /= np.sqrt(variance + np.float32(1e-5))
    return centred * scale + bias


def _torch_layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    import torch

    return torch.nn.functional.layer_norm(x, (x.shape[-1],), scale, bias, 1e-5)


def layer_norm(rows: int = 4096, columns: int = 768) -> Case:
    return case(
        "layer-norm",
        lambda x, scale, bias: sw.layer_norm(x, scale, bias),
        {"x": f"{rows}x{columns}xf32"},
        [("LayerNormalization", "x scale bias", "y", {"axis": -1, "epsilon": 1e-5})],
        weights={"scale": f"{columns}xf32", "bias": f"{columns}xf32"},
        numpy=_numpy_layer_norm,
        torch=_torch_layer_norm,
        group="memory",
    )


def _numpy_gated(x: Any, y: Any) -> Any:
    return np.tanh(np.float32(1.5) * x + np.float32(0.5)) / (1 + np.exp(-y)) + x


def _torch_gated(x: Any, y: Any) -> Any:
    return (1.5 * x).add_(0.5).tanh_().mul_(y.sigmoid()).add_(x)


def gated(count: int = 1 << 22) -> Case:
    return case(
        "tanh-sigmoid",
        lambda x, y: sw.tanh(1.5 * x + 0.5) * sw.sigmoid(y) + x,
        {"x": f"{count}xf32", "s": f"{count}xf32"},
        [
            ("Mul", "x c", "a"),
            ("Add", "a d", "b"),
            ("Tanh", "b", "t"),
            ("Sigmoid", "s", "g"),
            ("Mul", "t g", "p"),
            ("Add", "p x", "y"),
        ],
        constants={"c": np.float32(1.5), "d": np.float32(0.5)},
        numpy=_numpy_gated,
        torch=_torch_gated,
        group="memory",
    )


def reduction(which: str, axis: int, size: int = 2048) -> Case:
    ours = {"sum": sw.sum, "max": sw.max}[which]
    return case(
        f"{which}-axis{axis}",
        lambda x: ours(x, axis=axis),
        {"x": f"{size}x{size}xf32"},
        [({"sum": "ReduceSum", "max": "ReduceMax"}[which], "x axes", "y", {"keepdims": 0})],
        constants={"axes": np.array([axis])},
        numpy=lambda x: getattr(x, which)(axis),
        torch=lambda x: x.sum(axis) if which == "sum" else x.amax(axis),
        group="memory",
    )


def transpose(name: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> Case:
    return case(
        name,
        lambda x: sw.transpose(x, axes),
        {"x": "x".join([*map(str, shape), "f32"])},
        [("Transpose", "x", "y", {"perm": axes})],
        numpy=lambda x: np.ascontiguousarray(x.transpose(axes)),
        torch=lambda x: x.permute(axes).contiguous(),
        group="memory",
    )


# Attention.


def _numpy_attention(q: Any, k: Any, v: Any) -> Any:
    scale = np.float32(q.shape[-1] ** -0.5)
    return _numpy_softmax(q @ k.swapaxes(-1, -2) * scale) @ v


def _torch_attention(q: Any, k: Any, v: Any) -> Any:
    import torch

    one_batch = (tensor.unsqueeze(0) for tensor in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(*one_batch).squeeze(0)


def attention(length: int, heads: int = 12, width: int = 64) -> Case:
    scale = np.float32(width**-0.5)
    shape = f"{heads}x{length}x{width}xf32"
    return case(
        f"attention-{length}",
        lambda q, k, v: sw.softmax(q @ sw.swapaxes(k, -1, -2) * scale, axis=-1) @ v,
        {"q": shape, "k": shape, "v": shape},
        [
            ("Transpose", "k", "kt", {"perm": (0, 2, 1)}),
            ("MatMul", "q kt", "qk"),
            ("Mul", "qk scale", "s"),
            ("Softmax", "s", "p", {"axis": -1}),
            ("MatMul", "p v", "y"),
        ],
        constants={"scale": scale},
        numpy=_numpy_attention,
        torch=_torch_attention,
        group="attention",
    )


CASES: tuple[Case, ...] = (
    *(gemm(n, n, n, name=f"gemm-{n}") for n in (256, 512, 1024, 2048)),
    *(
        gemm(m, n, k, name=f"gemm-{m}x{n}x{k}", group="gemm-random")
        for m, n, k in random_shapes(30)
    ),
    *(transposed(which) for which in ("tn", "nt", "tt")),
    gemm(1024, 1024, 1024, name="gemm-f64-1024", group="gemm-variants", element="f64"),
    batched(12, 128, 64, 128),
    matvec(),
    linear_gelu(are_weights=True),
    linear_gelu(are_weights=False),
    mlp(),
    softmax(),
    layer_norm(),
    gated(),
    *(reduction(which, axis) for which in ("sum", "max") for axis in (0, 1)),
    transpose("transpose-2048", (2048, 2048), (1, 0)),
    transpose("nchw-to-nhwc", (8, 64, 56, 56), (0, 2, 3, 1)),
    transpose("nhwc-to-nchw", (8, 56, 56, 64), (0, 3, 1, 2)),
    attention(128),
    attention(1024),
)
