"""Kernels touch nothing beyond the ends of what they are called with: there are pages there that end the process."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.targets.target import Target

from .guarded_arrays import guarded
from .test_forks import status_of_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX lets pages be protected")

Function = Callable[..., Any]
Shapes = list[tuple[int, ...]]

LINEAR, CUBIC = {"mode": "linear"}, {"mode": "cubic"}
ANTIALIASED = {"mode": "linear", "antialias": True}


def resized(size: tuple[int, int], last: bool = False, **how: Any) -> Function:
    axes = (1, 2) if last else (2, 3)
    return lambda x: sw.nn.resize(x, size, axes=axes, **how)


RESIZED: dict[str, tuple[Function, Shapes]] = {
    f"{'_'.join(map(str, (*how.values(), *size)))}{'_channels_last' if last else ''}": (
        resized(size, last, **how),
        [(2, 9, 13, 3) if last else (2, 3, 9, 13)],
    )
    for how in ({}, LINEAR, CUBIC, ANTIALIASED)
    for size in ((18, 26), (21, 5), (4, 31))
    for last in (False, True)
}


def attention(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    scores = q @ sw.swapaxes(k, -1, -2) * np.float32(0.3)
    return sw.softmax(scores if mask is None else scores + mask, axis=-1) @ v


def causal(q: Any, k: Any, v: Any) -> Any:
    scores = q @ sw.swapaxes(k, -1, -2)
    rows, columns = np.arange(q.shape[-2])[:, None], np.arange(k.shape[-2])
    return sw.softmax(sw.where(columns <= rows, scores, np.float32(-1e9)), axis=-1) @ v


def grouped(q: Any, k: Any, v: Any) -> Any:
    """Two heads of queries for each of keys."""
    q = q.reshape(q.shape[0], -1, 2, *q.shape[2:])
    return attention(q, k[:, :, None], v[:, :, None])


OPERANDS: Shapes = [(2, 4, 37, 20), (2, 4, 29, 20), (2, 4, 29, 24)]

ATTENTION: dict[str, tuple[Function, Shapes]] = {
    "plain": (attention, OPERANDS),
    "mask": (attention, [*OPERANDS, (2, 1, 37, 29)]),
    "row_mask": (attention, [*OPERANDS, (2, 1, 1, 29)]),
    "causal": (causal, [(1, 2, 67, 17)] * 3),
    "grouped": (grouped, [(2, 4, 37, 20), (2, 2, 29, 20), (2, 2, 29, 24)]),
    "one_query": (attention, [(3, 1, 33), (3, 133, 33), (3, 133, 19)]),
    "long": (attention, [(1, 1, 261, 9), (1, 1, 1029, 9), (1, 1, 1029, 7)]),
    "one_operand": (lambda x: attention(x, x, x), [(3, 41, 23)]),
}


def by_rows(length: int) -> Shapes:
    return [(5, 3, length), (length,), (length,)]


NORMS: dict[str, tuple[Function, Shapes]] = {
    **{f"layer_norm_{n}": (sw.layer_norm, by_rows(n)) for n in (1, 7, 33, 130, 1021)},
    **{f"rms_norm_{n}": (sw.rms_norm, by_rows(n)[:2]) for n in (7, 33, 130)},
    "group_norm": (lambda x, s, b: sw.group_norm(x, 3, s, b), [(2, 6, 5, 7), (6,), (6,)]),
    "instance_norm": (sw.instance_norm, [(2, 6, 5, 7), (6,), (6,)]),
    "batch_norm": (
        lambda x, s, b, m, v: sw.batch_norm(x, s, b, m, v * v),
        [(2, 6, 5, 7), *[(6,)] * 4],
    ),
    "local_response_norm": (lambda x: sw.local_response_norm(x, 3), [(2, 6, 5, 7)]),
    "lp_normalize": (lambda x: sw.lp_normalize(x), [(7, 37)]),
    "mean_variance_normalize": (lambda x: sw.mean_variance_normalize(x), [(2, 3, 5, 7)]),
    "softmax": (lambda x: sw.softmax(x, axis=-1), [(9, 53)]),
    "softmax_of_columns": (lambda x: sw.softmax(x, axis=0), [(53, 9)]),
    "log_softmax": (lambda x: sw.log_softmax(x, axis=-1), [(9, 53)]),
    "with_residual": (lambda x, y, s, b: sw.layer_norm(x + y, s, b), [(5, 3, 77), *by_rows(77)]),
    "before_product": (
        lambda x, s, b, w: sw.layer_norm(x, s, b) @ w,
        [(21, 37), (37,), (37,), (37, 19)],
    ),
}


IMAGE = (2, 6, 11, 13)

OTHERS: dict[str, tuple[Function, Shapes]] = {
    "product": (lambda a, b: a @ b, [(37, 53), (53, 41)]),
    "transposed_product": (lambda a, b: a.T @ b.T, [(53, 37), (41, 53)]),
    "large_product": (lambda a, b: sw.relu(a @ b), [(203, 301), (301, 129)]),
    "convolution": (lambda x, w: sw.conv(x, w, padding=1), [IMAGE, (5, 6, 3, 3)]),
    "strided_convolution": (lambda x, w: sw.conv(x, w, stride=2), [IMAGE, (7, 6, 1, 1)]),
    "depthwise": (lambda x, w: sw.conv(x, w, padding=1, groups=6), [IMAGE, (6, 1, 3, 3)]),
    "max_pool": (lambda x: sw.max_pool(x, 3, stride=2), [IMAGE]),
    "average_pool": (lambda x: sw.average_pool(x, 2), [IMAGE]),
    "transposition": (lambda x: sw.transpose(x, (0, 2, 3, 1)), [IMAGE]),
    "running_sum": (lambda x: sw.cumsum(x, axis=-1), [(9, 53)]),
    "sort": (lambda x: sw.sort(x, axis=-1), [(9, 53)]),
    "mean_of_columns": (lambda x: sw.mean(x, axis=0), [(53, 9)]),
    "window": (lambda x: x[:, 1:] - x[:, :-1], [(9, 53)]),
    "flipped": (lambda x: x[::-1, ::-2], [(9, 53)]),
    "joined": (lambda x, y: sw.concatenate([sw.exp(x), y], axis=1), [(9, 5), (9, 8)]),
}

TARGETS = pytest.mark.parametrize("target", ["host", "x86-64-v3"])
"""The latter has no masks for lanes of a register: it loads and stores parts of vectors otherwise."""


def check(
    function: Function, shapes: Shapes, dtype: Any = np.float32, target: str = "host"
) -> None:
    """What a kernel makes of arrays is the same beside such pages."""
    if target != "host" and not Target.host().triple.startswith("x86"):
        pytest.skip("another architecture")
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    call = sw.jit(function, cache=False).lower(*arrays).compile(threads=1, target=target)
    expected = np.asarray(call(*arrays))

    def look() -> None:
        for ends in (True, False):
            result = guarded(np.zeros_like(expected), ends=ends)
            call(*[guarded(array, ends=ends) for array in arrays], out=result)
            np.testing.assert_array_equal(result, expected)

    assert status_of_child(look) == 0


@TARGETS
@pytest.mark.parametrize("case", RESIZED)
@pytest.mark.sampled(6, by="target")
def test_resizing(case: str, target: str) -> None:
    check(*RESIZED[case], target=target)


@pytest.mark.parametrize("dtype", [np.float16, np.uint8])
@pytest.mark.parametrize("how", [{}, LINEAR])
def test_resizing_narrow_elements(how: dict[str, Any], dtype: Any) -> None:
    check(resized((17, 25), **how), [(1, 3, 9, 13)], dtype)


@TARGETS
@pytest.mark.parametrize("case", ATTENTION)
@pytest.mark.sampled(4, by="target")
def test_attention(case: str, target: str) -> None:
    check(*ATTENTION[case], target=target)


@TARGETS
@pytest.mark.parametrize("case", NORMS)
@pytest.mark.sampled(6, by="target")
def test_normalization(case: str, target: str) -> None:
    check(*NORMS[case], target=target)


@TARGETS
@pytest.mark.parametrize("case", OTHERS)
@pytest.mark.sampled(5, by="target")
def test_others(case: str, target: str) -> None:
    check(*OTHERS[case], target=target)


@pytest.mark.parametrize(("function", "shapes"), [ATTENTION["plain"], NORMS["layer_norm_33"]])
def test_half_precision(function: Function, shapes: Shapes) -> None:
    check(function, shapes, np.float16)


@pytest.mark.parametrize(("ends", "place"), [(True, 1), (False, -1)])
def test_the_pages_end_who_touches_them(ends: bool, place: int) -> None:
    array = guarded(np.arange(5, dtype=np.float32), ends=ends)
    there = array.ctypes.data + (array.nbytes if place > 0 else -1)

    def read() -> None:
        faulthandler.disable()  # which would say so at length
        ctypes.string_at(there, 1)

    assert os.WTERMSIG(status_of_child(read)) in (signal.SIGSEGV, signal.SIGBUS)
