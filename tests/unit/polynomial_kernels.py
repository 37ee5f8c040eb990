"""Kernels of one function each, samples for it and its exact values, for the tests of polynomial math."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
from mpmath import mp, mpf
from stepwell.runtime.jit import compile_module
from stepwell.transforms.core.expand_math import expand_math
from stepwell.universe import make_context
from xdsl.parser import Parser

DTYPES = {"f32": np.float32, "f64": np.float64}
LANES = 8

SIGMOID = """
    %n = arith.negf %v : T
    %e = math.exp %n : T
    %s = arith.addf %one, %e : T
    %r = arith.divf %one, %s : T"""
GELU = """
    %z = arith.mulf %v, %root : T
    %f = math.erf %z : T
    %s = arith.addf %one, %f : T
    %h = arith.mulf %half, %v : T
    %r = arith.mulf %h, %s : T"""


def body(name: str) -> str:
    """The operations from %v (and %w) to %r, of type T; %one, %half and %root are constants."""
    if name in ("pow", "atan2"):
        return f"%r = math.{name.replace('pow', 'powf')} %v, %w : T"
    return {"sigmoid": SIGMOID, "gelu": GELU}.get(name, f"%r = math.{name} %v : T")


def loop(operations: str, element: str, size: int, lanes: int) -> str:
    """A function of %x, %p and %y: y = f(x, p)."""
    type_ = f"vector<{lanes}x{element}>" if lanes else element
    buffer = f"memref<{size}x{element}>"
    dialect, suffix = ("vector", f"{buffer}, {type_}") if lanes else ("memref", buffer)
    constants = "".join(
        f"%{word} = arith.constant {f'dense<{value}>' if lanes else value} : {type_}\n"
        for word, value in (("one", "1.0"), ("half", "0.5"), ("root", "0.70710678118654752"))
    )
    return f"""
func.func @main(%x: {buffer}, %p: {buffer}, %y: {buffer}) {{
  %c0 = arith.constant 0 : index
  %size = arith.constant {size} : index
  %step = arith.constant {lanes or 1} : index
  {constants}
  scf.for %i = %c0 to %size step %step {{
    %v = {dialect}.load %x[%i] : {suffix}
    %w = {dialect}.load %p[%i] : {suffix}
    {operations.replace(": T", f": {type_}")}
    {dialect}.store %r, %y[%i] : {suffix}
  }}
  return
}}"""


def expanded(text: str, fp: str = "contract"):
    module = Parser(make_context(), text).parse_module()
    expand_math(module, fp)
    module.verify()
    return module


def run(name: str, x: np.ndarray, p: np.ndarray | None = None, lanes: int = LANES) -> np.ndarray:
    """The function, compiled, of as many numbers as there are."""
    element = "f32" if x.dtype == np.float32 else "f64"
    padded = np.concatenate([x, np.ones(-len(x) % LANES, x.dtype)])
    other = np.ones_like(padded) if p is None else np.resize(p, len(padded))
    y = np.empty_like(padded)
    compile_module(expanded(loop(body(name), element, len(padded), lanes)))(padded, other, y)
    return y[: len(x)]


# region: samples

_SPAN = {
    "exp": (-110, 90, -750, 712),
    "exp2": (-152, 129, -1080, 1025),
    "expm1": (-20, 90, -40, 712),
    "tanh": (-10, 10, -21, 21),
    "sigmoid": (-106, 20, -747, 40),
    "erf": (-4.2, 4.2, -6.5, 6.5),
    "gelu": (-15, 9, -39, 9),
    "sin": (-300, 300, -300, 300),
    "cos": (-300, 300, -300, 300),
    "tan": (-300, 300, -300, 300),
    "atan": (-9, 9, -9, 9),
    "asin": (-1, 1, -1, 1),
    "acos": (-1, 1, -1, 1),
    "sinh": (-90, 90, -711, 711),
    "cosh": (-90, 90, -711, 711),
    "asinh": (-30, 30, -1e9, 1e9),
    "acosh": (1, 30, 1, 1e9),
    "atanh": (-1, 1, -1, 1),
}
"""Where the values are that are neither trivial nor infinite, for f32 and for f64."""


def samples(name: str, dtype: type, count: int, seed: int = 0) -> np.ndarray:
    """Uniform, log-spaced, near 1, of random bits, and the boundaries."""
    random = np.random.default_rng(seed)
    single = dtype == np.float32
    span = _SPAN.get(name, (0, 30, 0, 30))
    low, high = span[:2] if single else span[2:]
    info = np.finfo(dtype)
    bits = random.integers(0, 2**32 if single else 2**64, count, np.uint64, endpoint=False)
    boundaries = np.array([low, high, 1, 0.75, 2.5, 0.5**0.5, 2**0.5, np.pi / 4, np.log(2) / 2])
    boundaries = np.concatenate([boundaries, special(dtype), _limits(dtype)])
    boundaries = boundaries.astype(dtype)
    around = [boundaries]
    for direction in (np.inf, -np.inf):
        with np.errstate(over="ignore"):
            around.append(np.nextafter(boundaries, dtype(direction)))
    parts = [
        random.uniform(low, high, count),
        np.geomspace(info.smallest_subnormal, abs(high) or 1, count)
        * random.choice([-1, 1], count),
        1 + random.choice([-1, 1], count) * np.exp2(random.uniform(-info.nmant, -0.5, count)),
        bits.astype(np.uint32 if single else np.uint64).view(dtype),
        *around,
    ]
    with np.errstate(all="ignore"):
        return np.concatenate([part.astype(dtype) for part in parts])


def special(dtype: type) -> np.ndarray:
    info = np.finfo(dtype)
    numbers = [0.0, 1.0, np.inf, info.max, info.tiny, info.smallest_subnormal, 2.0, 3.0, 0.5]
    return np.array([*numbers, *(-n for n in numbers), np.nan], dtype)


def _limits(dtype: type) -> np.ndarray:
    """Where results overflow, become subnormal and vanish."""
    info = np.finfo(dtype)
    edges = np.log([float(info.max), float(info.tiny), float(info.smallest_subnormal)])
    return np.concatenate(
        [edges, edges / np.log(2), np.sqrt(-2 * edges[1:]), -np.sqrt(-2 * edges[1:])]
    )


# endregion
# region: exact values

mp.prec = 160


def _log(function: Callable[[mpf], mpf], start: int = 0) -> Callable[[mpf], mpf]:
    def of(x: mpf) -> mpf:
        if x < start:
            return mp.nan
        return -mp.inf if x == start else function(x)

    return of


def _within(function: Callable[[mpf], mpf], low: float, high: float) -> Callable[[mpf], mpf]:
    """A function that is NaN outside of an interval, and a limit at its ends."""

    def of(x: mpf) -> mpf:
        return function(x) if low <= x <= high else mp.nan

    return of


def _exponentially(function: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    """Within mpmath's patience."""
    return lambda x: function(min(max(x, mpf(-2000)), mpf(2000)))


def _atanh(x: mpf) -> mpf:
    return mp.sign(x) * mp.inf if abs(x) == 1 else mp.atanh(x)


EXACT: dict[str, Callable[[mpf], mpf]] = {
    "exp": mp.exp,
    "exp2": lambda x: mpf(2) ** x,
    "expm1": mp.expm1,
    "log": _log(mp.log),
    "log2": _log(lambda x: mp.log(x) / mp.ln2),
    "log10": _log(mp.log10),
    "log1p": _log(lambda x: mp.log1p(x) if abs(x) < 1 else mp.log(1 + x), -1),
    "tanh": mp.tanh,
    "erf": mp.erf,
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "atan": mp.atan,
    "asin": _within(mp.asin, -1, 1),
    "acos": _within(mp.acos, -1, 1),
    "sinh": _exponentially(mp.sinh),
    "cosh": _exponentially(mp.cosh),
    "asinh": mp.asinh,
    "acosh": _within(mp.acosh, 1, mp.inf),
    "atanh": _within(_atanh, -1, 1),
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "gelu": lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2 if abs(x) < 200 else max(x, mpf(0)),
}
AT_INFINITY: dict[str, tuple[float, float]] = {
    "exp": (0, np.inf),
    "exp2": (0, np.inf),
    "expm1": (-1, np.inf),
    "log": (np.nan, np.inf),
    "log2": (np.nan, np.inf),
    "log10": (np.nan, np.inf),
    "log1p": (np.nan, np.inf),
    "tanh": (-1, 1),
    "erf": (-1, 1),
    "sin": (np.nan, np.nan),
    "cos": (np.nan, np.nan),
    "tan": (np.nan, np.nan),
    "atan": (-np.pi / 2, np.pi / 2),
    "asin": (np.nan, np.nan),
    "acos": (np.nan, np.nan),
    "sinh": (-np.inf, np.inf),
    "cosh": (np.inf, np.inf),
    "asinh": (-np.inf, np.inf),
    "acosh": (np.nan, np.inf),
    "atanh": (np.nan, np.nan),
    "sigmoid": (0, 1),
    "gelu": (np.nan, np.inf),
}
"""The values at -∞ and ∞."""
ODD = (
    "expm1",
    "log1p",
    "tanh",
    "erf",
    "sin",
    "gelu",
    "tan",
    "atan",
    "asin",
    "sinh",
    "asinh",
    "atanh",
)
"""Those that keep the sign of zero."""


def error(name: str, x: float, y: float, dtype: type) -> float:
    """How far y is from the function's value at x, in units in the last place; inf where a limit is missed."""
    x, y = float(x), float(y)
    if np.isnan(x):
        return 0.0 if np.isnan(y) else np.inf
    if np.isinf(x):
        wanted = dtype(AT_INFINITY[name][int(x > 0)])
        same = (np.isnan(wanted) and np.isnan(y)) or (
            y == wanted and np.signbit(y) == np.signbit(wanted)
        )
        return 0.0 if same else np.inf
    if x == 0 and name in ODD:
        return 0.0 if y == 0 and np.signbit(x) == np.signbit(y) else np.inf
    return distance(EXACT[name](mpf(x)), y, dtype)


def distance(exact: mpf, y: float, dtype: type) -> float:
    """|exact - y| in units of the last place of `exact`, rounded; overflow must give infinity."""
    if mpmath.isnan(exact) or np.isnan(y):
        return 0.0 if mpmath.isnan(exact) and np.isnan(y) else np.inf
    info = np.finfo(dtype)
    largest = mpf(float(info.max))
    half_unit = mpf(2) ** (info.maxexp - info.nmant - 2)
    if abs(exact) >= largest + half_unit:
        return 0.0 if np.isinf(y) and (y > 0) == (exact > 0) else _beyond(exact, y, half_unit)
    if np.isinf(y):
        return float((largest + 2 * half_unit - abs(exact)) / (2 * half_unit))
    exponent = mp.frexp(exact)[1] - 1 if exact != 0 else info.minexp
    unit = mpf(2) ** (max(exponent, info.minexp) - info.nmant)
    return float(abs(exact - mpf(y)) / unit)


def _beyond(exact: mpf, y: float, half_unit: mpf) -> float:
    """A finite result where infinity is right: how far below it."""
    return float(abs(exact - mpf(y)) / (2 * half_unit)) if np.isfinite(y) else np.inf


# endregion
