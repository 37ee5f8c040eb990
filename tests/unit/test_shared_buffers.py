"""Kernels that follow one another are dealt to threads along the dimensions by which the program's threads share buffers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.dialects import loop
from stepwell.driver.options import Options
from stepwell.frontend.lowered import Lowered
from stepwell.targets.target import Target
from stepwell.transforms.step_support.nest import loops_around
from stepwell.tuning.session import Session
from stepwell.tuning.threads import COPYING, run_on_threads
from stepwell.universe import make_context
from xdsl.dialects import func
from xdsl.parser import Parser

RNG = np.random.default_rng(3)
TARGET = "sapphire-rapids"


def _weights(*shape: int) -> np.ndarray:
    return (RNG.random(shape, np.float32) - 0.5) / np.sqrt(np.prod(shape[1:]))


V, D, W = _weights(96, 16, 1, 1), _weights(96, 1, 3, 3), _weights(24, 96, 1, 1)
A, B = _weights(20, 20, 3, 3), _weights(20, 20, 3, 3)


def _residual(x: Any) -> Any:
    """The layers of an inverted residual block, on rows of an image."""
    wide = sw.clip(sw.conv(x, V), 0, 6)
    return sw.conv(sw.clip(sw.conv(wide, D, stride=2, groups=96), 0, 6), W)


def _two_layers(x: Any) -> Any:
    return sw.relu(sw.conv(sw.relu(sw.conv(x, A, padding=1)), B, padding=1))


STRIP = RNG.random((1, 16, 15, 113), np.float32)
IMAGE = RNG.random((1, 20, 96, 128), np.float32)


def _text(f: Callable[..., Any], x: np.ndarray, threads: int) -> str:
    lowered = sw.jit(f, target=TARGET).lower(x)
    options = replace(Options(target=TARGET), threads=threads)
    return Lowered(lowered.module(str(lowered.level)), options=options).as_text("loop")


def _on_threads(text: str) -> dict[str, list[str]]:
    """The loops on threads of each kernel, in the order of the program's text."""
    kernels = re.split(r"func\.func private @", text)[1:]
    found = {kernel.split("(")[0]: re.findall(r'threads "(\S+)"', kernel) for kernel in kernels}
    return {name: loops for name, loops in found.items() if loops}


def test_channels_that_a_depthwise_layer_reads_are_dealt_out_by_the_layer_before():
    expand, depthwise, *_ = _on_threads(_text(_residual, STRIP, 2)).values()
    assert all(name.startswith("f.") for name in expand), expand
    assert depthwise == ["c.init"]


NESTS = """
func.func private @k(%x: memref<16x96x128xf32> {{stepwell.shared = {x} : i64}}, %y: memref<16x96x129xf32> {{stepwell.result, stepwell.shared = {y} : i64}}) {{
  loop.for parallel "f" %f = 0 to 16 {{
    {buffer}
    loop.for parallel "front" %a = 0 to 128 {{
      %0 = loop.load %x[%f, 0, %a] : memref<16x96x128xf32>
      loop.store %0, %y[%f, 0, %a + 1] : memref<16x96x129xf32>
    }}
    loop.for parallel "row" %i = 1 to 95 {{
      loop.for parallel "b" %b = 0 to 128 {{
        %1 = loop.load %x[%f, %i, %b] : memref<16x96x128xf32>
        loop.store %1, %y[%f, %i, %b + 1] : memref<16x96x129xf32>
      }}
    }}
    loop.for parallel "back" %c = 0 to 128 {{
      %2 = loop.load %x[%f, 95, %c] : memref<16x96x128xf32>
      loop.store %2, %y[%f, 95, %c + 1] : memref<16x96x129xf32>
    }}
  }}
  loop.for parallel "border" %h = 0 to {border} {{
    loop.for parallel "g" %g = 0 to {others} {{
      %3 = arith.constant 0.0 : f32
      loop.store %3, %y[{at}, 0] : memref<16x96x129xf32>
    }}
  }}
  func.return
}}
"""


SECONDS = 50e-6 / (16 * 96 * 128) / COPYING
"""With which these nests take 50 us: what sums nothing up is charged by the element."""


def _scheduled(
    x: int, y: int, *, by_channels: bool = True, buffer: str = "", seconds: float = SECONDS
) -> list[tuple[str, bool, int]]:
    """The loops of these nests in order: their names, whether they are on threads, and how many are around them."""
    sizes = (16, 96, "%h, %g") if by_channels else (94, 16, "%g, %h + 1")
    border, others, at = sizes
    text = NESTS.format(x=x, y=y, border=border, others=others, at=at, buffer=buffer)
    module = Parser(make_context(), text).parse_module()
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    run_on_threads(Session(module, function), Target.of(TARGET), seconds)
    module.verify()
    loops = [op for op in module.walk() if isinstance(op, loop.ForOp)]
    return [
        (op.loop_name.data, op.mode is not None, len(loops_around(op)))
        for op in loops
        if op.mode is not None or not loops_around(op)
    ]


def test_the_loop_by_which_threads_share_is_made_the_outermost_one():
    found = {name: (on_threads, depth) for name, on_threads, depth in _scheduled(1, 1)}
    assert found["row"] == (True, 0)
    assert "f" in found and any(name.startswith("f.") for name in found), (
        "front and back stand beside"
    )


def test_a_loop_stays_beside_a_buffer_that_is_made_there():
    moved = _scheduled(1, 1)
    kept = _scheduled(1, 1, buffer="%t = loop.alloc stack : memref<128xf32>")
    assert ("row", True, 0) in moved and ("row", True, 0) not in kept


def test_no_loop_moves_where_threads_share_by_the_outermost_one():
    assert [name for name, *_ in _scheduled(0, 0)] == ["f", "border"]


def test_what_is_soon_done_runs_on_threads_where_one_would_wait_for_what_others_have():
    """3 us of one core are not worth a team by themselves."""
    short = SECONDS * 3 / 50
    assert ("f", True, 0) in _scheduled(0, 0, seconds=short)
    alone = NESTS.replace("stepwell.shared = {x} : i64", "").replace(
        ", stepwell.shared = {y} : i64", ""
    )
    module = Parser(
        make_context(), alone.format(buffer="", border=16, others=96, at="%h, %g")
    ).parse_module()
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    run_on_threads(Session(module, function), Target.of(TARGET), short)
    assert not any(isinstance(op, loop.ForOp) and op.mode is not None for op in module.walk())


def test_what_lies_beside_what_threads_write_is_written_by_them():
    assert ("border", True, 0) in _scheduled(0, 0)
    assert ("border", True, 0) not in _scheduled(0, 0, by_channels=False)


@pytest.mark.parametrize(("f", "x"), [(_residual, STRIP), (_two_layers, IMAGE)])
def test_one_thread_shares_nothing(f: Callable[..., Any], x: np.ndarray):
    text = _text(f, x, 1)
    assert "stepwell.shared" not in text
    assert "stepwell.shared" in _text(f, x, 2)


@pytest.mark.parametrize(("f", "x"), [(_residual, STRIP), (_two_layers, IMAGE)])
def test_two_threads_compute_what_one_does(f: Callable[..., Any], x: np.ndarray):
    one, two = (sw.jit(f, threads=threads) for threads in (1, 2))
    expected = one(x)
    for _ in range(20):
        np.testing.assert_allclose(two(x), expected, rtol=1e-4, atol=1e-5)
