"""Predictions that passes ask for many at a time: of equal kernels once, and by whoever makes them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from stepwell.analysis.plans import predictions
from stepwell.analysis.plans.operation_cost import predicted_alone, predicted_alone_each
from stepwell.dialects.graph import MatmulOp
from stepwell.targets.target import Target
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

TARGET = Target.of("zen4")


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictions, "_known", {})


def product(n: int) -> MatmulOp:
    block = Block(arg_types=[TensorType(f32, (n, n)), TensorType(f32, (n, n))])
    return MatmulOp(*block.args)


def test_equal_kernels_are_predicted_once():
    expected = [predicted_alone(product(n), {1}, TARGET) for n in (64, 96)]
    predictions._known.clear()
    batches: list[int] = []

    def spread(function: Callable[[Any], Any], jobs: Sequence[Any]) -> list[Any]:
        batches.append(len(jobs))
        return [function(pickle.loads(pickle.dumps(job))) for job in jobs]

    asked = [(product(n), {1}) for n in (64, 96, 64)]
    with predictions.predicting_by(spread):
        found = predicted_alone_each(asked, TARGET)
        assert predicted_alone_each(asked, TARGET) == found
    assert found == [*expected, expected[0]]
    assert batches == [2]
