"""examples/networks.py: a three-layer network and a transformer block, beside NumPy and the installed peers."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import stepwell as sw
from stepwell.tools import bench_peers
from stepwell.tools.bench_case import Request, prepare

FILE = Path(__file__).parents[2] / "examples" / "networks.py"
SHAPES = {
    "mlp": {"x": "128x784xf32"},
    "transformer": {"x": "128x768xf32", "mask": "128x128xf32"},
}


@pytest.fixture(scope="module")
def networks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("networks", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def inputs(rows: int, width: int) -> np.ndarray:
    return np.random.default_rng(rows).standard_normal((rows, width)).astype(np.float32)


def test_mlp(networks: ModuleType):
    x = inputs(37, 784)
    found = sw.jit(networks.mlp)(x)
    np.testing.assert_allclose(found, networks.mlp_numpy(x), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-5)


def test_a_causal_transformer_block(networks: ModuleType):
    """At an odd number of positions; what a position gives does not depend on those after it."""
    x = inputs(37, 768)
    mask = np.triu(np.full((37, 37), -np.inf, np.float32), 1)
    block = sw.jit(networks.transformer)
    found = block(x, mask)
    np.testing.assert_allclose(found, networks.transformer_numpy(x, mask), rtol=1e-3, atol=1e-4)
    later = x.copy()
    later[20:] = 0
    again = block(later, mask)
    np.testing.assert_allclose(again[:20], found[:20], rtol=1e-4, atol=1e-5)
    assert not np.allclose(again[20:], found[20:], atol=1e-2)


@pytest.mark.parametrize("name", SHAPES)
def test_peers_compute_the_same(name: str):
    """As `stepwell bench` calls them."""
    prepared = prepare(Request(f"{FILE}:{name}", SHAPES[name], "", in_suite=False))
    ours = prepared.lowered.compile(threads=1)(*prepared.arrays)
    compared: list[str] = []
    for peer in bench_peers.PEERS:
        if bench_peers.missing(peer):
            continue
        loaded = bench_peers.load(peer, prepared, 1)
        assert loaded is not None
        call, results = loaded
        (found,) = results(call())
        np.testing.assert_allclose(found, ours, rtol=1e-3, atol=1e-4, err_msg=peer)
        compared.append(peer)
    assert "numpy" in compared


def test_a_transformer_block_takes_little_more_memory_than_what_is_alive(networks: ModuleType):
    x, mask = np.zeros((128, 768), np.float32), np.zeros((128, 128), np.float32)
    (plan,) = sw.jit(networks.transformer, opt="quick").lower(x, mask).memory_plans()
    assert plan.lower_bound <= plan.total <= 1.1 * plan.lower_bound


def test_a_transformer_block_is_seven_calls_at_most(networks: ModuleType):
    """
    Queries, keys and values are parts of one product's result, and attention is one kernel that reads all three. What
    moves heads is a view.
    """
    low = sw.jit(networks.transformer, target="zen4").lower(inputs(128, 768), inputs(128, 128))
    calls = re.findall(r"func\.call @([\w.]+)", str(low.unscheduled()))
    assert len(calls) <= 7
    assert any(re.search("max_exp_sum.*matmul_matmul", name) for name in calls)
