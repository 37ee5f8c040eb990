"""Systems that allow a process no more threads, as containers bound their number: all is done in the one there is."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import onnx
import pytest
import stepwell as sw
from onnx import TensorProto, numpy_helper
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from stepwell.cache.store import Store
from stepwell.runtime import in_threads, side_by_side
from stepwell.runtime.side_by_side import WorkersAhead, workers
from stepwell.targets import pages_ahead
from stepwell.targets.pages_ahead import PagesAhead


@pytest.fixture(autouse=True)
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", fail)


def test_items_are_done_here(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(in_threads, "allowed_cpus", lambda: range(3))
    assert in_threads.in_threads(lambda n: n * n, range(5)) == [0, 1, 4, 9, 16]


def test_jobs_are_done_here():
    answers: list[float] = []
    with workers(1) as processes:
        processes.run(abs, [-1.0, -2.0], lambda _, answer: answers.append(answer))
    assert answers == [1.0, 2.0]


def test_no_process_starts_that_nothing_would_end(monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(side_by_side, "_started", fail)
    assert WorkersAhead(2).taken() == []


def test_pages_are_asked_for_when_they_are_written(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pages_ahead, "allowed_cpus", lambda: range(2))
    with PagesAhead(1 << 24) as pages:
        array = pages.regions(1 << 24).empty(1 << 24)
    array.fill(1)
    assert array.sum() == 1 << 24


def test_a_model_is_loaded_and_kept(store: Store, tmp_path: Path):
    weight = np.random.default_rng(0).standard_normal((20, 30)).astype(np.float32)
    graph = make_graph(
        [make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [make_tensor_value_info("x", TensorProto.FLOAT, (3, 20))],
        [make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weight, "w")],
    )
    onnx.save(make_model(graph, opset_imports=[make_opsetid("", 18)]), tmp_path / "m.onnx")
    x = np.ones((3, 20), np.float32)
    for is_kept in (False, True):
        low = sw.load(tmp_path / "m.onnx", opt="quick")
        result: Any = low.compile()(x)
        assert (low.timings[-1][0] == "cache") == is_kept
        np.testing.assert_allclose(result, x @ weight, rtol=1e-5)
