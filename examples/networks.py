"""
Two networks as Python functions, each with what NumPy, PyTorch and an ONNX model do for the same result.

    stepwell bench examples/networks.py:mlp --shape x=128x784xf32
    stepwell bench examples/networks.py:transformer --shape x=128x768xf32 --shape mask=128x128xf32

`mlp` is three layers, 784 → 512 → 512 → 10. `transformer` is one block of GPT-2's size and order: a width of 768,
12 heads, normalization before attention and before the two layers of 3072, whose gelu is by tanh. (Radford et al.,
"Language Models are Unsupervised Multitask Learners", 2019.)

Weights are constants, compiled in, from a seed: uniform, and as large as keeps the variance of what passes through
a layer. There are no files to fetch, and what is computed says nothing. The ONNX models are for the shapes above;
the other functions take any number of rows.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import stepwell as sw

ROWS = 128
"""Images, or positions of a text: what the ONNX models take."""

LAYERS = (784, 512, 512, 10)
WIDTH, HEADS, INNER = 768, 12, 3072
EPSILON = 1e-5
OPSET = 20
"""The first with Gelu."""


def uniform(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """A matrix of layer weights: a variance of 1 / rows."""
    return (rng.uniform(-1, 1, (rows, columns)) * np.sqrt(3 / rows)).astype(np.float32)


def near(rng: np.random.Generator, count: int, centre: float) -> np.ndarray:
    """A vector of biases (about 0) or of scales (about 1)."""
    return (centre + rng.uniform(-0.1, 0.1, count)).astype(np.float32)


def mlp_weights() -> dict[str, np.ndarray]:
    """w1 (784, 512), b1 (512,) and so on, float32."""
    rng = np.random.default_rng(1)
    weights: dict[str, np.ndarray] = {}
    for layer, (inputs, outputs) in enumerate(pairwise(LAYERS), 1):
        weights |= {f"w{layer}": uniform(rng, inputs, outputs), f"b{layer}": near(rng, outputs, 0)}
    return weights


def transformer_weights() -> dict[str, np.ndarray]:
    """Of queries, keys, values, the product after attention, both layers and both normalizations, float32."""
    rng = np.random.default_rng(2)
    shapes = dict.fromkeys("qkvo", (WIDTH, WIDTH)) | {"1": (WIDTH, INNER), "2": (INNER, WIDTH)}
    weights: dict[str, np.ndarray] = {}
    for name, (inputs, outputs) in shapes.items():
        weights |= {f"w{name}": uniform(rng, inputs, outputs), f"b{name}": near(rng, outputs, 0)}
    for layer in "12":
        weights |= {f"scale{layer}": near(rng, WIDTH, 1), f"shift{layer}": near(rng, WIDTH, 0)}
    return weights


MLP = mlp_weights()
BLOCK = transformer_weights()


# Three layers.


def mlp(x):
    """Probabilities of 10 classes: (rows, 784) → (rows, 10)."""
    h = sw.relu(x @ MLP["w1"] + MLP["b1"])
    h = sw.relu(h @ MLP["w2"] + MLP["b2"])
    return sw.softmax(h @ MLP["w3"] + MLP["b3"], axis=-1)


def mlp_numpy(x):
    h = np.maximum(x @ MLP["w1"] + MLP["b1"], 0)
    h = np.maximum(h @ MLP["w2"] + MLP["b2"], 0)
    return softmax_numpy(h @ MLP["w3"] + MLP["b3"])


def mlp_torch(x):
    import torch

    w = torch_weights("mlp")
    h = torch.addmm(w["b1"], x, w["w1"]).relu_()
    h = torch.addmm(w["b2"], h, w["w2"]).relu_()
    return torch.addmm(w["b3"], h, w["w3"]).softmax(-1)


def mlp_onnx():
    nodes = [
        ("Gemm", "x w1 b1", "z1"),
        ("Relu", "z1", "h1"),
        ("Gemm", "h1 w2 b2", "z2"),
        ("Relu", "z2", "h2"),
        ("Gemm", "h2 w3 b3", "z3"),
        ("Softmax", "z3", "y", {"axis": -1}),
    ]
    return onnx_model(nodes, {"x": (ROWS, LAYERS[0])}, (ROWS, LAYERS[-1]), MLP)


# A transformer block.


def transformer(x, mask):
    """
    One block: (positions, 768) → (positions, 768).

    `mask` (positions, positions) is added to the scores: 0 where a position may look, and -inf, or a large
    negative number, where it may not. In every row one place at least is to be seen.
    """
    w = BLOCK
    positions = x.shape[0]

    def heads(t):
        return sw.transpose(sw.reshape(t, (positions, HEADS, WIDTH // HEADS)), (1, 0, 2))

    h = sw.layer_norm(x, w["scale1"], w["shift1"], eps=EPSILON)
    q, k, v = (heads(h @ w[f"w{each}"] + w[f"b{each}"]) for each in "qkv")
    scores = q @ sw.swapaxes(k, -1, -2) * np.float32((WIDTH // HEADS) ** -0.5) + mask
    mixed = sw.transpose(sw.softmax(scores, axis=-1) @ v, (1, 0, 2))
    x = x + (sw.reshape(mixed, (positions, WIDTH)) @ w["wo"] + w["bo"])
    h = sw.layer_norm(x, w["scale2"], w["shift2"], eps=EPSILON)
    return x + (sw.gelu(h @ w["w1"] + w["b1"], approximate="tanh") @ w["w2"] + w["b2"])


def transformer_numpy(x, mask):
    w = BLOCK
    positions = x.shape[0]

    def heads(t):
        return t.reshape(positions, HEADS, WIDTH // HEADS).transpose(1, 0, 2)

    h = layer_norm_numpy(x, w["scale1"], w["shift1"])
    q, k, v = (heads(h @ w[f"w{each}"] + w[f"b{each}"]) for each in "qkv")
    scores = q @ k.transpose(0, 2, 1) * np.float32((WIDTH // HEADS) ** -0.5) + mask
    mixed = (softmax_numpy(scores) @ v).transpose(1, 0, 2).reshape(positions, WIDTH)
    x = x + (mixed @ w["wo"] + w["bo"])
    h = layer_norm_numpy(x, w["scale2"], w["shift2"])
    return x + (gelu_numpy(h @ w["w1"] + w["b1"]) @ w["w2"] + w["b2"])


def transformer_torch(x, mask):
    import torch
    from torch.nn import functional

    w = torch_weights("transformer")
    positions = x.shape[0]

    def heads(t):
        return t.view(1, positions, HEADS, WIDTH // HEADS).transpose(1, 2)

    h = functional.layer_norm(x, (WIDTH,), w["scale1"], w["shift1"], EPSILON)
    q, k, v = (heads(torch.addmm(w[f"b{each}"], h, w[f"w{each}"])) for each in "qkv")
    mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    mixed = mixed.transpose(1, 2).reshape(positions, WIDTH)
    x = torch.addmm(w["bo"], mixed, w["wo"]).add_(x)
    h = functional.layer_norm(x, (WIDTH,), w["scale2"], w["shift2"], EPSILON)
    h = functional.gelu(torch.addmm(w["b1"], h, w["w1"]), approximate="tanh")
    return torch.addmm(w["b2"], h, w["w2"]).add_(x)


def transformer_onnx():
    split = np.array([ROWS, HEADS, WIDTH // HEADS])
    constants = {
        "split": split,
        "merge": np.array([ROWS, WIDTH]),
        "factor": np.float32((WIDTH // HEADS) ** -0.5),
    }
    norm = {"axis": -1, "epsilon": EPSILON}
    nodes = [("LayerNormalization", "x scale1 shift1", "h1", norm)]
    # Keys are transposed as the product wants them.
    for each, axes in (("q", (1, 0, 2)), ("k", (1, 2, 0)), ("v", (1, 0, 2))):
        nodes += [
            ("Gemm", f"h1 w{each} b{each}", f"{each}0"),
            ("Reshape", f"{each}0 split", f"{each}1"),
            ("Transpose", f"{each}1", each, {"perm": axes}),
        ]
    nodes += [
        ("MatMul", "q k", "s0"),
        ("Mul", "s0 factor", "s1"),
        ("Add", "s1 mask", "s2"),
        ("Softmax", "s2", "p", {"axis": -1}),
        ("MatMul", "p v", "m0"),
        ("Transpose", "m0", "m1", {"perm": (1, 0, 2)}),
        ("Reshape", "m1 merge", "m2"),
        ("Gemm", "m2 wo bo", "m3"),
        ("Add", "x m3", "x1"),
        ("LayerNormalization", "x1 scale2 shift2", "h2", norm),
        ("Gemm", "h2 w1 b1", "g0"),
        ("Gelu", "g0", "g1", {"approximate": "tanh"}),
        ("Gemm", "g1 w2 b2", "g2"),
        ("Add", "x1 g2", "y"),
    ]
    inputs = {"x": (ROWS, WIDTH), "mask": (ROWS, ROWS)}
    return onnx_model(nodes, inputs, (ROWS, WIDTH), {**BLOCK, **constants})


# What they share.


def softmax_numpy(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    e /= e.sum(-1, keepdims=True)
    return e


def layer_norm_numpy(x: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    variance = np.square(centred).mean(-1, keepdims=True)
    centred /= np.sqrt(variance + np.float32(EPSILON))
    return centred * scale + shift


def gelu_numpy(x: np.ndarray) -> np.ndarray:
    inner = np.float32(np.sqrt(2 / np.pi)) * (x + np.float32(0.044715) * (x * x * x))
    return np.float32(0.5) * x * (1 + np.tanh(inner))


TORCH_WEIGHTS: dict[str, dict[str, Any]] = {}


def torch_weights(network: str) -> dict[str, Any]:
    """The weights as PyTorch's tensors, on the memory of NumPy's."""
    import torch

    if network not in TORCH_WEIGHTS:
        weights = {"mlp": MLP, "transformer": BLOCK}[network]
        TORCH_WEIGHTS[network] = {key: torch.from_numpy(value) for key, value in weights.items()}
    return TORCH_WEIGHTS[network]


def onnx_model(
    nodes: list[tuple[Any, ...]],
    inputs: dict[str, tuple[int, ...]],
    output: tuple[int, ...],
    constants: dict[str, np.ndarray],
) -> Any:
    """Nodes are an operator, the names of its inputs, that of its output `y` in the end, and attributes."""
    from onnx import TensorProto, helper, numpy_helper

    def declared(name: str, shape: tuple[int, ...]) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(
        [
            helper.make_node(
                operator, names.split(), [result], **(attributes[0] if attributes else {})
            )
            for operator, names, result, *attributes in nodes
        ],
        "network",
        [declared(name, shape) for name, shape in inputs.items()],
        [declared("y", output)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
