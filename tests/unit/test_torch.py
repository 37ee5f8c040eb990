"""Modules of PyTorch as programs, and torch.compile with our backend. Left out where PyTorch is not installed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.errors import StepwellError

try:
    import onnxscript  # noqa: F401
    import torch
    from torch import nn
    from torch.utils import _pytree
except ImportError:
    torch: Any = None

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch or onnxscript is not installed")


def test_what_to_install_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stepwell.frontend.torch.package.find_spec", lambda name: None)
    message = "found no package 'torch', .*; pip install 'stepwell\\[torch\\]'$"
    with pytest.raises(StepwellError, match=message):
        sw.from_torch(None, ())


if torch is not None:

    class Nested(nn.Module):
        """Dictionaries and tuples in and out, a buffer, updates in place of what is computed."""

        def __init__(self) -> None:
            super().__init__()
            self.linear, self.norm = nn.Linear(4, 3), nn.BatchNorm1d(3)
            self.register_buffer("shift", torch.ones(3))

        def forward(self, given):
            x = given["a"]
            y = self.norm(self.linear(x))
            y.add_(self.shift)
            y[:, 0] = 5
            return {"o": y.relu(), "p": (y, x * given["b"])}

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.cells = nn.Embedding(10, 6), nn.LSTM(6, 8, 2, bidirectional=True)

        def forward(self, x):
            outputs, (state, _) = self.cells(self.words(x))
            return outputs, state

    class Kept(nn.Module):
        def forward(self, x):
            x.add_(1)
            return x * 2

    class Unknown(nn.Module):
        def forward(self, x):
            return torch.linalg.svd(x)[1]

    def modules():
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        convolutions = (
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        return {
            "nested": (Nested(), ({"a": torch.randn(2, 4), "b": torch.randn(2, 4)},)),
            "convolutions": (
                nn.Sequential(*convolutions, nn.Flatten(), nn.Linear(128, 5)),
                torch.randn(2, 3, 8, 8),
            ),
            "transformer": (
                nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
                torch.randn(2, 5, 16),
            ),
            "recurrent": (Recurrent(), torch.randint(0, 10, (2, 7))),
        }


@needs_torch
@pytest.mark.parametrize("name", ["nested", "convolutions", "transformer", "recurrent"])
def test_modules(name: str):
    module, inputs = modules()[name]
    low = sw.from_torch(module, inputs)
    assert module.training
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    with torch.no_grad():
        expected = _pytree.tree_leaves(module.eval()(*arguments))
    found = low.compile(opt="quick")(*(leaf.numpy() for leaf in _pytree.tree_leaves(arguments)))
    found = found if isinstance(found, tuple) else (found,)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), 1e-4, 1e-5)


@needs_torch
def test_modes_of_parts_are_as_they_were():
    module = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2).eval())
    sw.from_torch(module, torch.ones(1, 2))
    assert [part.training for part in module.modules()] == [True, True, False]


@needs_torch
def test_what_is_refused():
    for module, message in (
        (Kept(), "found module Kept that updates input 'x' in place"),
        (Unknown(), "found module Unknown, which torch.onnx refuses .*linalg_svd"),
    ):
        with pytest.raises(StepwellError, match=message):
            sw.from_torch(module, torch.ones(3, 3))
    with pytest.raises(StepwellError, match=r"found a function, expected a torch.nn.Module"):
        sw.from_torch(lambda x: x, torch.ones(3))


@needs_torch
def test_compiled_modules():
    module = modules()["convolutions"][0].eval()
    compiled = torch.compile(module, backend="stepwell")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for batch in (2, 3, 4):  # from the second on with open extents
            x = torch.randn(batch, 3, 8, 8)
            torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-5)
        module[0].weight.mul_(2)  # the weights that are compiled in are out of date
        torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-5)


@needs_torch
def test_what_the_backend_refuses_is_left_to_pytorch():
    def broken(x):
        y = x * 2
        torch._dynamo.graph_break()
        return torch.linalg.svd(y)[1], y.relu()

    x = torch.randn(3, 3)
    compiled = torch.compile(broken, backend="stepwell")
    with (
        torch.no_grad(),
        pytest.warns(UserWarning, match="leaves a graph to PyTorch: .*linalg_svd"),
    ):
        found = compiled(x)
    torch.testing.assert_close(found, broken(x))
    weight = torch.ones(3, requires_grad=True)
    with (
        torch.enable_grad(),  # where another test has torch record none
        pytest.warns(UserWarning, match="found gradients to be recorded, expected inference"),
    ):
        torch.compile(lambda x: (x * weight).sum(), backend="stepwell")(x).backward()
    torch.testing.assert_close(weight.grad, x.sum(0))
