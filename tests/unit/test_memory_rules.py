"""The rules for kernels that memory bounds: rows, reductions, and what passes the caches."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import stepwell as sw
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.runtime.engine import LARGE_BYTES, aligned_empty
from stepwell.targets.core import Cache
from stepwell.targets.target import Target

SIZES = (1, 2, 3, 5, 7, 17, 31, 33, 100)
RNG = np.random.default_rng(0)


def floats(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


@pytest.fixture
def small_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose caches a few thousand elements overflow, and whose rates are those of a core with a fast L3."""
    have_small_caches(monkeypatch, "zen4")


def have_small_caches(monkeypatch: pytest.MonkeyPatch, rates: str) -> None:
    """The same, with the rates of another core."""
    caches = (Cache(1, 8 << 10), Cache(2, 8 << 10), Cache(3, 16 << 10))
    host, fast = Target.host(), Target.of(rates)
    vectors = {"vector_bits": host.vector_bits, "vector_registers": host.core.vector_registers}
    core = replace(fast.core, caches=caches, **vectors)
    machine = replace(host, core=core, found=fast.found)
    monkeypatch.setattr(Target, "parse", staticmethod(lambda name: machine))


def numpy_softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def numpy_layer_norm(x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def layer_norm(x: sw.Tensor) -> sw.Tensor:
    ones = np.ones(x.shape[-1], np.float32)
    return sw.layer_norm(x, ones, 0 * ones)


ROWS: dict[str, tuple[Callable[..., sw.Tensor], Callable[[np.ndarray], np.ndarray]]] = {
    "softmax": (lambda x: sw.softmax(x, axis=-1), numpy_softmax),
    "layer norm": (layer_norm, numpy_layer_norm),
    "sum": (lambda x: sw.sum(x, axis=1), lambda x: x.sum(1)),
    "max": (lambda x: sw.max(x, axis=1), lambda x: x.max(1)),
    "sum of columns": (lambda x: sw.sum(x, axis=0), lambda x: x.sum(0)),
    "min of columns": (lambda x: sw.min(x, axis=0), lambda x: x.min(0)),
    "transpose": (sw.transpose, np.transpose),
    "elements": (lambda x: x * x + 1, lambda x: x * x + 1),
}


@pytest.mark.usefixtures("small_caches")
@pytest.mark.parametrize(
    ("name", "columns"),
    [
        (name, columns)
        for name in ROWS
        for columns in (SIZES if name == "softmax" else (1, 17, 100))
    ],
)
def test_sizes(name: str, columns: int) -> None:
    ours, numpys = ROWS[name]
    x = floats({1: 33, 7: 1, 31: 2, 100: 66}.get(columns, 6), columns)
    np.testing.assert_allclose(sw.jit(ours)(x), numpys(x), rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("axis", "columns", "fp"),
    [(n % 2, columns, "contract") for n, columns in enumerate(SIZES)]
    + [(axis, 33, fp) for axis in (0, 1) for fp in ("strict", "fast")],
)
def test_extremes_of_special_values(axis: int, columns: int, fp: str) -> None:
    """NaN wins wherever it stands, infinities are kept, and a zero is found whatever its sign."""
    specials = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0], np.float32)
    both = sw.jit(lambda x: (sw.max(x, axis=axis), sw.min(x, axis=axis)), fp=fp)
    for value in specials:
        for others in (floats(5, columns), np.full((5, columns), -0.0, np.float32)):
            for place in {0, columns // 2, columns - 1}:
                x = others.copy()
                x[3, place] = value
                most, least = both(x)
                np.testing.assert_array_equal(most, x.max(axis))
                np.testing.assert_array_equal(least, x.min(axis))


def test_a_sum_over_rows_is_dealt_to_threads() -> None:
    """Each has a part of the summation, or of the results where these are many."""
    total = sw.jit(lambda x: sw.sum(x, axis=0), target="x86-64-v4")
    tall, wide = (total.lower(np.zeros(s, np.float32)) for s in ((2001, 300), (300, 9001)))
    assert 'loop.for parallel threads "i.part"' in tall.as_text("loop")
    assert 'loop.for parallel threads "j.part"' in wide.as_text("loop")
    assert 'loop.for parallel vector "j.lane"' in tall.as_text("loop")
    assert 'loop.for parallel vector "j.lane"' in wide.as_text("loop")
    strict = sw.jit(lambda x: sw.sum(x, axis=0), fp="strict", target="x86-64-v4")
    assert "i.part" not in strict.lower(np.zeros((2001, 300), np.float32)).as_text("loop")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(2001, 300), (2048, 64), (300, 9001), (4099, 33), (17, 9000)])
def test_sums_over_many_rows(shape: tuple[int, int], threads: int) -> None:
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
    both = sw.jit(lambda x: (sw.sum(x, axis=0), sw.max(x, axis=0))).lower(x)
    total, most = both.compile(threads=threads)(x)
    np.testing.assert_array_equal(total, x.sum(axis=0))
    np.testing.assert_array_equal(most, x.max(axis=0))


def test_strict_extremes_tell_zeros_apart() -> None:
    x = np.full((2, 100), -0.0, np.float32)
    x[1, 40] = 0.0
    most = sw.jit(lambda x: sw.max(x, axis=1), fp="strict")(x)
    np.testing.assert_array_equal(np.signbit(most), [True, False])


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("columns", [1, 2, 17, 100])
def test_softmax_of_special_values(columns: int) -> None:
    softmax = sw.jit(lambda x: sw.softmax(x, axis=-1))
    for value in (np.nan, np.inf, -np.inf, -0.0, 3e38, -3e38):
        x = floats(4, columns)
        x[1, columns // 2] = value
        np.testing.assert_allclose(softmax(x), numpy_softmax(x), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 2), (5, 17), (33, 129), (2, 1000)])
@pytest.mark.parametrize("axis", [0, 1])
def test_maxima_of_what_is_a_number(element: str, rows: int, columns: int, axis: int) -> None:
    axes, size = (f"[%i = {rows}]", f"[%j = {columns}]"), rows if axis else columns
    module = parse_text(
        f"""
        func.func @main(%x: tensor<{rows}x{columns}x{element}>) -> tensor<{size}x{element}> {{
          %r = te.compute {axes[1 - axis]} maxnum {axes[axis]} (%a = %x[%i, %j]) : (tensor<{rows}x{columns}x{element}>) -> tensor<{size}x{element}> {{
            te.yield %a : {element}
          }}
          func.return %r : tensor<{size}x{element}>
        }}"""
    )
    rng = np.random.default_rng(columns)
    x = rng.standard_normal((rows, columns)).astype(f"f{int(element[1:]) // 8}")
    x[rng.random(x.shape) < 0.5] = np.nan
    expected = np.fmax.reduce(x, axis=axis, initial=-np.inf)
    np.testing.assert_array_equal(interpret(module, [x])[0], expected)
    np.testing.assert_array_equal(sw.load(str(module)).compile()(x), expected)


def divisions(function: Callable[..., sw.Tensor], fp: str, *shapes: tuple[int, ...]) -> list[str]:
    low = sw.jit(function, fp=fp).lower(*(floats(*shape) for shape in shapes))
    return [
        line.split("arith.divf")[1] for line in low.as_text("loop").splitlines() if "divf" in line
    ]


def test_divisions_by_a_sum_are_products_with_its_reciprocal() -> None:
    def softmax(x: sw.Tensor) -> sw.Tensor:
        return sw.softmax(x, axis=-1)

    assert "fastmath<arcp>" in divisions(softmax, "contract", (9, 40))[0]
    assert "fastmath" not in divisions(softmax, "strict", (9, 40))[0]
    # Others stay as they are: of elements, by an argument, and of one element a row.
    assert "fastmath" not in divisions(lambda x, y: x / y, "contract", (9, 40), (9, 1))[0]
    mean = divisions(lambda x: sw.mean(x, axis=1), "contract", (9, 40))
    assert not any("fastmath" in line for line in mean)


# What passes the caches.


@pytest.mark.usefixtures("small_caches")
@pytest.mark.parametrize("name", ["softmax", "layer norm", "transpose", "elements"])
def test_large_results_are_stored_past_the_caches(name: str) -> None:
    ours, numpys = ROWS[name]
    x = floats(64, 960)  # rows that data bound, and not the sums of each
    low = sw.jit(ours).lower(x)
    assert low.script().count("schedule.nontemporal") == 1
    expected = numpys(x)
    for threads in (1, 2):
        run = low.compile(threads=threads)
        for offset in (0, 4, 16, 64):
            memory = aligned_empty(x.nbytes + 64)[offset : offset + x.nbytes]
            out = memory.view(np.float32).reshape(expected.shape)
            np.testing.assert_allclose(run(x, out=out), expected, rtol=2e-4, atol=1e-5)


@pytest.mark.usefixtures("small_caches")
def test_what_stays_in_the_caches() -> None:
    def script(function: Callable[..., sw.Tensor], *shape: int) -> str:
        return sw.jit(function).lower(floats(*shape)).script()

    softmax = ROWS["softmax"][0]
    assert "nontemporal" not in script(softmax, 8, 96)  # it fits
    assert "nontemporal" not in script(softmax, 64, 97)  # rows begin within lines
    assert "nontemporal" not in script(ROWS["sum of columns"][0], 64, 96)  # read again


def test_rows_that_are_read_twice_are_fetched_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the exponentials are computed, a row ahead, where rows come slowly."""
    have_small_caches(monkeypatch, "icelake-server")
    x = floats(128, 256)
    low = sw.jit(ROWS["softmax"][0]).lower(x)
    (asked,) = (line for line in low.script().splitlines() if "schedule.prefetch" in line)
    distance = int(asked.rpartition("distance = ")[2])
    lanes = next(line for line in low.script().splitlines() if 'outer = "exp.block"' in line)
    assert 'at = "exp.block"' in asked and f"factor = {256 // distance} " in lanes
    np.testing.assert_allclose(low.compile()(x), numpy_softmax(x), rtol=2e-4, atol=1e-5)
    assert "prefetch" not in sw.jit(lambda x: sw.sum(x, axis=1)).lower(x).script()


@pytest.mark.usefixtures("small_caches")
def test_values_of_rows_make_no_transposition() -> None:
    """What is read along the rows alone is one element for all lanes."""

    def scaled(x: sw.Tensor) -> sw.Tensor:
        return (x - sw.mean(x, axis=1, keepdims=True)) * sw.max(x, axis=1, keepdims=True)

    x = floats(64, 96)
    low = sw.jit(scaled).lower(x)
    assert "vector.shuffle" not in low.as_text("core")
    expected = (x - x.mean(1, keepdims=True)) * x.max(1, keepdims=True)
    np.testing.assert_allclose(low.compile()(x), expected, rtol=1e-4, atol=1e-5)


def test_large_results_begin_with_a_cache_line() -> None:
    count = LARGE_BYTES // 4
    double = sw.jit(lambda x: x + x)
    for size in (count - 1, count, count + 1, 4 * count):
        x = floats(size)
        found = double(x)
        np.testing.assert_array_equal(found, x + x)
        assert size < count or found.ctypes.data % 64 == 0


@pytest.mark.parametrize("function", [sw.softmax, sw.log_softmax])
@pytest.mark.parametrize("axis", [0, 1])
def test_exponentials_of_a_softmax_cannot_overflow(
    function: Callable[..., sw.Tensor], axis: int
) -> None:
    x = floats(6, 40)
    low = sw.jit(lambda x: function(x * 0.5, axis=axis)).lower(x)
    text = low.as_text("loop")
    assert text.count("math.exp") == text.count("stepwell.nonpositive") > 0
    assert "stepwell" not in sw.jit(lambda x: sw.exp(x)).lower(x).as_text("te")


@pytest.mark.usefixtures("small_caches")
def test_what_the_next_kernel_reads_stays_in_the_caches() -> None:
    """The sums of columns need all of the elements before them, so that there are two kernels."""

    def two(x: sw.Tensor) -> sw.Tensor:
        y = sw.exp(x)
        return y / sw.sum(y, axis=0)

    small, large = (sw.jit(two).lower(floats(rows, 32)).script() for rows in (66, 400))
    assert small.count("schedule.nontemporal") == 1
    assert large.count("schedule.nontemporal") == 2
    x = floats(66, 32)
    np.testing.assert_allclose(sw.jit(two)(x), np.exp(x) / np.exp(x).sum(0), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_signed_integers_are_widened_in_lanes(dtype: type) -> None:
    """Sums of narrow integers are wider ones; to widen has no effects, so that threads may do it too."""
    x = RNG.integers(-100, 100, (900, 700)).astype(dtype)
    cases = [
        (lambda x: sw.sum(x, axis=-1), x.sum(-1)),
        (lambda x: sw.transpose(x).astype(np.int64) + 1, x.T.astype(np.int64) + 1),
    ]
    for function, expected in cases:
        low = sw.jit(function).lower(x)
        text = low.as_text("core")
        assert "scf.parallel" in text
        assert "arith.extsi" in text and re.search(r"arith.extsi .* to vector<", text)
        assert np.array_equal(low.compile()(x), expected)
