"""Kernels that follow one another are dealt to threads along the dimensions by which the program's threads share buffers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import facts_of_loops
from stepwell.analysis.plans.threads import pays
from stepwell.analysis.sharing import Kernel
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


BLOCKED = """
func.func @main(%x: tensor<1x2x28x28x16xf32>) -> tensor<1x2x28x28x16xf32> {
  %v = graph.constant dense<0.01> : tensor<12x16x2x16x1x1xf32>
  %d = graph.constant dense<0.02> : tensor<12x3x3x16xf32>
  %w = graph.constant dense<0.01> : tensor<2x16x12x16x1x1xf32>
  %a = graph.blocked_conv %x, %v strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] blocks = 16, 16 : tensor<1x2x28x28x16xf32>, tensor<12x16x2x16x1x1xf32> -> tensor<1x12x28x28x16xf32>
  %b = graph.blocked_depthwise_conv %a, %d strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] : tensor<1x12x28x28x16xf32>, tensor<12x3x3x16xf32> -> tensor<1x12x28x28x16xf32>
  %y = graph.blocked_conv %b, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] blocks = 16, 16 : tensor<1x12x28x28x16xf32>, tensor<2x16x12x16x1x1xf32> -> tensor<1x2x28x28x16xf32>
  func.return %y : tensor<1x2x28x28x16xf32>
}
"""
"""An inverted residual block with its channels in blocks."""


def _blocked(size: int, threads: int, target: str = TARGET) -> Lowered:
    text = BLOCKED.replace("28", str(size))
    module = Parser(make_context(), text).parse_module()
    return Lowered(module, options=replace(Options(target=target), threads=threads))


def test_windows_over_blocks_of_channels_are_dealt_out_by_blocks_of_rows():
    """Rows of all three layers are with one thread; inside of a block of them the order is that of one thread."""
    expand, depthwise, project = _on_threads(_blocked(28, 2).as_text("loop")).values()
    assert depthwise == ["oh.block"]
    for loops in (expand, project):
        assert all(name.startswith("oh") for name in loops), loops
    text = _blocked(28, 2).as_text("loop")
    assert re.search(r'threads "oh.block" .* step 7 \{\s*loop.for parallel "c\S*"', text)


def test_a_plan_that_copies_images_is_not_taken_where_threads_have_rows():
    """
    Where a copy of each channel's image is made, blocks of rows cannot be dealt out around it, and by channels each thread would wait for
    half of what the other one has.
    """
    _, depthwise, _ = _on_threads(_blocked(14, 2, f"{TARGET}:cores=2").as_text("loop")).values()
    assert depthwise == ["oh.block"]


def _short_chain(count: int, channels: int, size: int) -> Callable[[Any], Any]:
    weights = [_weights(channels, channels, 1, 1) for _ in range(count)]

    def f(x: Any) -> Any:
        for w in weights:
            x = sw.relu(
                sw.conv(sw.relu(sw.conv(x, w)), DEPTHWISE[:channels], padding=1, groups=channels)
            )
        return x

    return f


DEPTHWISE = _weights(64, 1, 3, 3)


def test_a_program_of_short_kernels_is_left_to_one_thread():
    """Of kernels of some microseconds, each with about as many lines to move as it has work, none is dealt out."""
    x = RNG.random((1, 8, 24, 96), np.float32)
    text = _text(_short_chain(6, 8, 24), x, 2)
    assert "stepwell.alone" in text and not _on_threads(text)
    large = _text(_short_chain(6, 64, 56), RNG.random((1, 64, 56, 56), np.float32), 2)
    assert "stepwell.alone" not in large and _on_threads(large)


def test_rows_that_are_not_as_many_for_each_thread_stay_together():
    """Of 27 rows one thread would have more than the other; by channels both have as many."""
    _, depthwise, _ = _on_threads(_blocked(27, 2).as_text("loop")).values()
    assert depthwise == ["c.init"]


def test_two_threads_compute_blocks_of_rows_as_one_does():
    x = RNG.random((1, 2, 28, 28, 16), np.float32)
    one, two = (_blocked(28, n) for n in (1, 2))
    host = [Lowered(low.module("graph"), options=Options()) for low in (one, two)]
    expected, found = (low.compile(threads=n)(x) for n, low in zip((1, 2), host, strict=True))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_kernel_that_is_soon_done_is_dealt_out_where_one_thread_would_wait():
    """The copy takes one core less than two starts of a team, and half of what it reads is in the other one's cache."""
    text = """
func.func private @k(%x: memref<48x784xf32>, %y: memref<48x784xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 48 {
    loop.for parallel "j" %j = 0 to 784 {
      %0 = loop.load %x[%i, %j] : memref<48x784xf32>
      loop.store %0, %y[%i, %j] : memref<48x784xf32>
    }
  }
  func.return
}
"""
    module = Parser(make_context(), text).parse_module()
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    kernel = Kernel.of("k", facts_of_loops(function).facts, Target.parse(f"{TARGET}:cores=2"), 2)
    assert not pays(kernel.seconds) and kernel.ways
