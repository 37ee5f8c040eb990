"""
What a transcendental function costs: nanoseconds per element of a loop over 4096 numbers in L1.

    python benchmarks/math_speed.py [--type f64] [--lanes 8] [exp tanh …]

Our polynomials on vectors (fp=contract) beside the C library by scalar calls (fp=strict) and NumPy. The least
of 31, the three interleaved.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from stepwell.runtime.engine import aligned
from stepwell.runtime.jit import compile_module
from stepwell.transforms.core.expand_math import expand_math
from stepwell.universe import make_context
from xdsl.parser import Parser

SIZE = 4096
SWEEPS = 200
"""Over the same numbers in one call, which costs as much as several sweeps."""

BODIES = {
    "sigmoid": """
    %n = arith.negf %v : T
    %e = math.exp %n : T
    %one = arith.constant ONE : T
    %s = arith.addf %one, %e : T
    %r = arith.divf %one, %s : T""",
    "gelu": """
    %c = arith.constant ROOT : T
    %half = arith.constant HALF : T
    %one = arith.constant ONE : T
    %z = arith.mulf %v, %c : T
    %f = math.erf %z : T
    %s = arith.addf %one, %f : T
    %h = arith.mulf %half, %v : T
    %r = arith.mulf %h, %s : T""",
    "pow": "%r = math.powf %v, %v : T",
}

NUMPY: dict[str, Callable[[np.ndarray], np.ndarray] | None] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "erf": None,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "atan": np.arctan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "pow": lambda x: x**x,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "gelu": None,
}


def kernel(name: str, element: str, lanes: int, size: int = SIZE, sweeps: int = SWEEPS) -> str:
    """A function of %x and %y, which computes all of y = f(x) as often as there are sweeps."""
    type_ = f"vector<{lanes}x{element}>" if lanes else element
    buffer = f"memref<{size}x{element}>"
    dialect, suffix = ("vector", f"{buffer}, {type_}") if lanes else ("memref", buffer)
    body = BODIES.get(name, f"%r = math.{name} %v : T")
    for word, value in (("ROOT", "0.7071067811865476"), ("HALF", "0.5"), ("ONE", "1.0")):
        body = body.replace(f"constant {word}", f"constant {f'dense<{value}>' if lanes else value}")
    return f"""
func.func @main(%x: {buffer}, %y: {buffer}) {{
  %zero = arith.constant 0 : index
  %size = arith.constant {size} : index
  %step = arith.constant {lanes or 1} : index
  %one_more = arith.constant 1 : index
  %sweeps = arith.constant {sweeps} : index
  scf.for %sweep = %zero to %sweeps step %one_more {{
    scf.for %i = %zero to %size step %step {{
      %v = {dialect}.load %x[%i] : {suffix}
      {body.replace(": T", f": {type_}")}
      {dialect}.store %r, %y[%i] : {suffix}
    }}
  }}
  return
}}"""


def compiled(
    name: str, element: str, lanes: int, size: int = SIZE, sweeps: int = SWEEPS
) -> Callable[..., object]:
    module = Parser(make_context(), kernel(name, element, lanes, size, sweeps)).parse_module()
    expand_math(module, "contract" if lanes else "strict")
    return compile_module(module)


def fastest(calls: list[Callable[[], object]], rounds: int = 31) -> list[float]:
    """Nanoseconds per element of each, interleaved."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, record in zip(calls, times, strict=True):
            start = time.perf_counter_ns()
            call()
            record.append((time.perf_counter_ns() - start) / SWEEPS / SIZE)
    return [min(record) for record in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--type", choices=("f32", "f64"), default="f32")
    parser.add_argument("--lanes", type=int, default=16)
    parser.add_argument("functions", nargs="*")
    args = parser.parse_args()
    dtype = np.float32 if args.type == "f32" else np.float64
    x = aligned(np.random.default_rng(0).uniform(0.01, 8, SIZE).astype(dtype))
    print(f"{'ns per element':14} {'ours':>8} {'libm':>8} {'NumPy':>8}")
    for name in args.functions or NUMPY:
        function = NUMPY[name]
        ours, libm = compiled(name, args.type, args.lanes), compiled(name, args.type, 0)
        y = aligned(np.zeros_like(x))
        calls = [lambda f=ours, y=y: f(x, y), lambda f=libm, y=y: f(x, y)]
        if function is not None:
            calls.append(lambda f=function: [f(x) for _ in range(SWEEPS)])
        numbers = fastest(calls)
        print(f"{name:14} " + " ".join(f"{number:8.3f}" for number in numbers))


if __name__ == "__main__":
    main()
