"""Operations and kernels that are equal but for their operands are made once and copied."""

from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.frontend.lowered import Lowered
from stepwell.lowering import te_definitions


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
