"""
Exports networks from PyTorch to ONNX files: ResNet-50, MobileNet-V2 and V3, EfficientNet-B0, ViT-B/16 (torchvision's), a
BERT encoder of two layers with masks, a GPT block with rotary embedding and past keys, a U-Net with transposed
convolutions, and a tagger on LSTMs. Weights are drawn from a seed: outputs mean nothing, but every operation is there.

    python benchmarks/export_models.py build/models/exported [NAME …]
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

try:
    import torch
    from torch import Tensor, nn
except ModuleNotFoundError:
    sys.exit(
        "error: found no PyTorch, expected it, as its networks are exported; pip install torch"
    )

SEED = 20


class Export(NamedTuple):
    """A network and what it is traced with."""

    network: nn.Module
    inputs: dict[str, Tensor]
    outputs: list[str]
    open_axes: dict[str, dict[int, str]] = {}
    """By input, the axes whose extents stay open, and the names of these."""


def torchvision_models() -> Any:
    """
    `torchvision.models`, also beside a PyTorch without CUDA: its compiled operators cannot be loaded there, and its
    import fails because one of them, which no classifier uses, is not declared.
    """
    try:
        from torchvision import models
    except RuntimeError:
        for name in [name for name in sys.modules if name.startswith("torchvision")]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "FRAGMENT")
        for operator in ("nms", "qnms"):
            library.define(f"{operator}(Tensor boxes, Tensor scores, float threshold) -> Tensor")
        from torchvision import models
    return models


def image_classifier(name: str, open_axes: dict[int, str] | None = None) -> Export:
    """A classifier of torchvision, for one image of 224 by 224, or with axes whose extents stay open."""
    network = torchvision_models().get_model(name, weights=None)
    axes = {"image": open_axes} if open_axes else {}
    return Export(network, {"image": torch.randn(1, 3, 224, 224)}, ["logits"], axes)


class Attention(nn.Module):
    """Self-attention of several heads, with a mask that is added to the scores."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def split(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        return x.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (self.split(layer(x)) for layer in (self.query, self.key, self.value))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + mask
        mixed = (scores.softmax(-1) @ v).transpose(1, 2)
        return self.out(mixed.reshape(x.shape))


class BertLayer(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.attention = Attention(width, heads)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.norms[0](x + self.attention(x, mask))
        return self.norms[1](x + self.outer(nn.functional.gelu(self.inner(x))))


class Bert(nn.Module):
    """Embeddings of tokens, segments and positions, and two layers (Devlin et al., 2018)."""

    def __init__(self, vocabulary: int = 1000, width: int = 768, heads: int = 12):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.segments = nn.Embedding(2, width)
        self.positions = nn.Embedding(512, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(BertLayer(width, heads) for _ in range(2))

    def forward(self, tokens: Tensor, segments: Tensor, is_token: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1])
        x = self.tokens(tokens) + self.segments(segments) + self.positions(positions)
        x = self.norm(x)
        mask = (1.0 - is_token[:, None, None, :].to(x.dtype)) * -10000.0
        for layer in self.layers:
            x = layer(x, mask)
        return x


class GptBlock(nn.Module):
    """One block for one more token: rotary positions, past keys and values, RMS norms, a gated feed-forward."""

    def __init__(self, width: int = 256, heads: int = 4):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * width, width, bias=False)
        self.scales = nn.ParameterList(torch.ones(width) for _ in range(2))

    def norm(self, x: Tensor, number: int) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scales[number]

    def rotated(self, x: Tensor, position: Tensor) -> Tensor:
        half = self.size // 2
        frequency = 1.0 / (10000.0 ** (torch.arange(half, dtype=torch.float32) / half))
        angle = position[:, None].to(torch.float32) * frequency[None, :]
        first, second = x[..., :half], x[..., half:]
        cos, sin = angle.cos(), angle.sin()
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)

    def forward(
        self, x: Tensor, position: Tensor, past_keys: Tensor, past_values: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        batch, length, width = x.shape
        parts = self.qkv(self.norm(x, 0)).reshape(batch, length, 3, self.heads, self.size)
        q, k, v = (part.squeeze(2).transpose(1, 2) for part in parts.split(1, dim=2))
        q, k = self.rotated(q, position), self.rotated(k, position)
        keys, values = torch.cat([past_keys, k], 2), torch.cat([past_values, v], 2)
        weights = (q @ keys.transpose(-1, -2) / math.sqrt(self.size)).softmax(-1)
        x = x + self.out((weights @ values).transpose(1, 2).reshape(batch, length, width))
        y = self.norm(x, 1)
        x = x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))
        return x, keys, values


def convolutions(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1),
        nn.BatchNorm2d(after),
        nn.ReLU(),
        nn.Conv2d(after, after, 3, padding=1),
        nn.BatchNorm2d(after),
        nn.ReLU(),
    )


class UNet(nn.Module):
    """Down by pooling, up by transposed convolutions, joined at each scale (Ronneberger et al., 2015)."""

    def __init__(self, width: int = 16):
        super().__init__()
        self.down1, self.down2 = convolutions(3, width), convolutions(width, 2 * width)
        self.bottom = convolutions(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.up1 = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.join2, self.join1 = convolutions(4 * width, 2 * width), convolutions(2 * width, width)
        self.classes = nn.Conv2d(width, 2, 1)

    def forward(self, image: Tensor) -> Tensor:
        pool = nn.functional.max_pool2d
        first = self.down1(image)
        second = self.down2(pool(first, 2))
        bottom = self.bottom(pool(second, 2))
        second = self.join2(torch.cat([self.up2(bottom), second], 1))
        first = self.join1(torch.cat([self.up1(second), first], 1))
        return self.classes(first)


class Tagger(nn.Module):
    """A label for each token, by LSTMs in both directions."""

    def __init__(self, vocabulary: int = 500, width: int = 64, labels: int = 9):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, bidirectional=True, batch_first=True)
        self.labels = nn.Linear(2 * width, labels)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.labels(self.lstm(self.tokens(tokens))[0])


def bert() -> Export:
    tokens = torch.randint(0, 1000, (2, 32))
    is_token = torch.ones(2, 32, dtype=torch.int64)
    is_token[1, 20:] = 0
    inputs = {"tokens": tokens, "segments": torch.zeros_like(tokens), "is_token": is_token}
    return Export(Bert(), inputs, ["hidden"])


def gpt() -> Export:
    past = torch.randn(1, 4, 16, 64)
    inputs = {
        "x": torch.randn(1, 1, 256),
        "position": torch.tensor([16]),
        "past_keys": past,
        "past_values": torch.randn_like(past),
    }
    open_axes = {name: {2: "past"} for name in ("past_keys", "past_values")}
    return Export(GptBlock(), inputs, ["y", "keys", "values"], open_axes)


MODELS: dict[str, Callable[[], Export]] = {
    "resnet50": lambda: image_classifier("resnet50", {0: "batch"}),
    "mobilenet_v2": lambda: image_classifier("mobilenet_v2"),
    "mobilenet_v3": lambda: image_classifier("mobilenet_v3_large"),
    "efficientnet_b0": lambda: image_classifier("efficientnet_b0"),
    "vit_b_16": lambda: image_classifier("vit_b_16"),
    "bert": bert,
    "gpt": gpt,
    "unet": lambda: Export(UNet(), {"image": torch.randn(1, 3, 96, 128)}, ["classes"]),
    "tagger": lambda: Export(Tagger(), {"tokens": torch.randint(0, 500, (1, 20))}, ["labels"]),
}


def prepared(name: str) -> Export:
    """The network, for inference, with its weights drawn from the seed."""
    torch.manual_seed(SEED)
    found = MODELS[name]()
    network = found.network.eval()
    with torch.no_grad():
        for module in network.modules():
            # Statistics as of a trained network: those of a new one would let batch norms do nothing.
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_(0, 0.1)
                module.running_var.uniform_(0.8, 1.2)
        for weights in network.parameters():
            # torchvision's ViT begins with a last layer of zeros, and every result would be right.
            if weights.ndim > 1 and not weights.any():
                weights.normal_(0, 0.02)
    return found


def export(name: str, folder: Path) -> Path:
    """Write `folder/NAME.onnx`; its path."""
    found = prepared(name)
    path = folder / f"{name}.onnx"
    torch.onnx.export(
        found.network,
        tuple(found.inputs.values()),
        str(path),
        input_names=list(found.inputs),
        output_names=found.outputs,
        dynamic_axes=found.open_axes,
        opset_version=17,
        dynamo=False,
        # As the network was written: what an exporter folds is what an importer has to fold otherwise.
        training=torch.onnx.TrainingMode.PRESERVE,
        do_constant_folding=False,
    )
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)}; else all"
    )
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in MODELS]
    if unknown:
        parser.error(f"found {unknown[0]!r}, expected one of {', '.join(MODELS)}")
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in args.names or MODELS:
        print(export(name, args.folder))


if __name__ == "__main__":
    main()
