"""Operations and kernels that are equal but for their operands are made once and copied."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.levels import Level
from stepwell.analysis.structure import Structure, kernel_structure
from stepwell.dialects import te
from stepwell.driver.pipelines import as_shown
from stepwell.frontend.lowered import Lowered
from stepwell.lowering import te_definitions
from stepwell.transforms.graph import outline_repeats


def weights(layers: int) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((17, 17)).astype(np.float32) / 4 for _ in range(layers)]


def network(x: Any, weights: list[Any]) -> Any:
    for number, w in enumerate(weights):
        h = sw.layer_norm(x @ w, w[0], w[1], eps=1e-5)
        x = x + sw.softmax(h * (1.0 + number // 2), axis=-1)
    return x


def lowered(layers: int) -> tuple[Lowered, np.ndarray, list[Any]]:
    own = weights(layers)

    def stack(x: Any) -> Any:
        return network(x, own)

    x = np.ones((5, 17), np.float32)
    return sw.jit(stack, opt="quick").lower(x), x, own


def test_layers_with_other_weights_have_their_own_numbers() -> None:
    low, x, own = lowered(5)
    expected = sw.jit(network, opt="quick")(x, own)
    np.testing.assert_allclose(low.compile()(x), expected, rtol=1e-5)


def test_what_is_copied_is_what_would_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = lowered(4)[0].as_text("te")
    count = 0

    def never_equal(*_: object) -> int:
        nonlocal count
        count += 1
        return count

    monkeypatch.setattr(te_definitions, "_key", never_equal)
    monkeypatch.setattr(
        "stepwell.transforms.te.fuse.plan_structure", lambda plan: (never_equal(), ())
    )
    assert lowered(4)[0].as_text("te") == copied and count > 20


def blocks(x: Any, weights: list[Any]) -> Any:
    """Layers with a product in the middle and a residual sum, as those of transformers are."""
    for w in weights:
        h = sw.layer_norm(x, w[0], w[1], eps=1e-5)
        x = x + sw.relu(h @ w + w[2]) @ (w / 2)
    return x


def normalised_blocks(x: Any, weights: list[Any]) -> Any:
    """Layers that normalise their results, as BERT's do: a product and the residual sum after it need each of these."""
    for w in weights:
        x = sw.layer_norm(x + sw.relu(x @ w + w[2]) @ (w / 2), w[0], w[1], eps=1e-5)
    return x


@pytest.mark.parametrize("layers", [5, 6])
@pytest.mark.parametrize("network", [blocks, normalised_blocks])
def test_repeated_parts_have_the_kernels_that_they_would_have(
    network: Callable[..., Any], layers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = weights(layers)
    x = np.linspace(-1, 1, 85, dtype=np.float32).reshape(5, 17)
    low = sw.jit(lambda x: network(x, own), opt="quick").lower(x)
    found = kernels_of(low)
    once = sum(op.name == "func.call" for op in low.module("te").walk())
    assert once == layers
    expected = sw.jit(network, opt="quick")(x, own)
    np.testing.assert_allclose(low.compile()(x), expected, rtol=1e-4)
    monkeypatch.setattr(outline_repeats, "find_repeat", lambda *_: None)
    assert kernels_of(sw.jit(lambda x: network(x, own), opt="quick").lower(x)) == found


def kernels_of(low: Lowered) -> list[Structure]:
    """What the kernels of a program are but for names, in order."""
    shown = as_shown(low.module("te"), Level.TE, low.options)
    assert len(list(shown.ops)) == 1
    return [kernel_structure(op) for op in shown.walk() if isinstance(op, te.KernelOp)]
