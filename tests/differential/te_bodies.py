"""
The bodies of random computes at level te, as text, with the value of each scalar; and what reductions join.

Evaluated with NumPy, without Stepwell: see te_programs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import Any

import numpy as np

Array = np.ndarray

DTYPES: dict[str, np.dtype] = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i8": np.dtype(np.int8),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "i1": np.dtype(np.bool_),
}


def is_float(element: str) -> bool:
    return element.startswith("f")


# Scalars in bodies


@dataclass(frozen=True)
class Scalar:
    """A value in a body: an array over the iteration space, or one that broadcasts to it."""

    name: str
    type: str
    value: Any


def number_text(value: Any, element: str) -> str:
    if element == "i1":
        return "true" if value else "false"
    return f"{float(value)!r} : {element}" if is_float(element) else f"{int(value)} : {element}"


def _quotient(a: Any, b: Any) -> Any:
    """Rounded towards zero; 0 for a divisor of 0; the quotient that does not fit wraps."""
    a, b = np.broadcast_arrays(np.asarray(a), np.asarray(b))
    divisor = np.where((b == 0) | (b == -1), 1, b).astype(b.dtype)
    floor = a // divisor
    rounded = floor + ((a % divisor != 0) & ((a < 0) != (divisor < 0))).astype(a.dtype)
    return np.where(b == 0, 0, np.where(b == -1, -a, rounded)).astype(a.dtype)


def _remainder(a: Any, b: Any) -> Any:
    """With the sign of the dividend; 0 for a divisor of 0."""
    a, b = np.broadcast_arrays(np.asarray(a), np.asarray(b))
    return np.where(b == 0, 0, a - _quotient(a, b) * b).astype(a.dtype)


BINARY: dict[str, tuple[tuple[str, Callable[[Any, Any], Any]], ...]] = {
    "f": (
        ("addf", np.add),
        ("subf", np.subtract),
        ("mulf", np.multiply),
        ("maximumf", np.maximum),
        ("minimumf", np.minimum),
    ),
    "i": (
        ("addi", np.add),
        ("subi", np.subtract),
        ("muli", np.multiply),
        ("maxsi", np.maximum),
        ("minsi", np.minimum),
        ("andi", np.bitwise_and),
        ("ori", np.bitwise_or),
        ("xori", np.bitwise_xor),
        ("divsi", lambda a, b: _quotient(a, b)),
        ("remsi", lambda a, b: _remainder(a, b)),
    ),
    "b": (("andi", np.logical_and), ("ori", np.logical_or), ("xori", np.logical_xor)),
}
_COMPARISONS: dict[str, tuple[tuple[str, Callable[[Any, Any], Any]], ...]] = {
    "f": (("olt", np.less), ("oge", np.greater_equal), ("oeq", np.equal), ("une", np.not_equal)),
    "i": (("slt", np.less), ("sge", np.greater_equal), ("eq", np.equal), ("ne", np.not_equal)),
    "b": (("eq", np.equal), ("ne", np.not_equal)),
}
_ROUNDED: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("math.tanh", np.tanh),
    ("math.exp", np.exp),
    ("math.absf", np.abs),
)


def family(element: str) -> str:
    return "b" if element == "i1" else element[0]


@dataclass
class Body:
    """The body of a compute, line by line, with the value of each name."""

    rng: Random
    prefix: str
    is_exact: bool
    lines: list[str] = field(default_factory=list)
    scalars: list[Scalar] = field(default_factory=list)

    def emit(self, operation: str, element: str, value: Any) -> Scalar:
        scalar = Scalar(f"%{self.prefix}v{len(self.lines)}", element, value)
        self.lines.append(f"{scalar.name} = {operation}")
        return scalar

    def constant(self, value: Any, element: str) -> Scalar:
        text = number_text(value, element)
        return self.emit(f"arith.constant {text}", element, DTYPES[element].type(value))

    def binary(
        self, name: str, function: Callable[[Any, Any], Any], a: Scalar, b: Scalar
    ) -> Scalar:
        value = np.asarray(function(a.value, b.value), DTYPES[a.type])
        return self.emit(f"arith.{name} {a.name}, {b.name} : {a.type}", a.type, value)

    def clamped(self, a: Scalar, low: int, high: int) -> Scalar:
        """`a` between two numbers, a NaN as it is."""
        if a.type == "i1":
            return a
        if is_float(a.type):
            top = self.binary("minimumf", np.minimum, a, self.constant(high, a.type))
            return self.binary("maximumf", np.maximum, top, self.constant(low, a.type))
        top = self.binary("minsi", np.minimum, a, self.constant(high, a.type))
        return self.binary("maxsi", np.maximum, top, self.constant(low, a.type))

    def cast(self, a: Scalar, to: str) -> Scalar:
        """`a` as a value of another type. Floats are clamped and rounded down before they become integers."""
        source, target = family(a.type), family(to)
        if a.type == to:
            return a
        if target == "b":
            zero = self.constant(0, a.type)
            name = "arith.cmpf une" if source == "f" else "arith.cmpi ne"
            value = np.not_equal(a.value, zero.value)
            return self.emit(f"{name}, {a.name}, {zero.name} : {a.type}", to, value)
        if source == "f" and target == "i":
            a = self.clamped(a, -8, 8)
            operation = "fptosi"
        elif source in "ib" and target == "f":
            operation = "uitofp" if source == "b" else "sitofp"
        else:
            wider = DTYPES[to].itemsize > DTYPES[a.type].itemsize or source == "b"
            names = {"f": ("extf", "truncf"), "i": ("extsi", "trunci"), "b": ("extui", "")}
            operation = names[source][0 if wider else 1]
        with np.errstate(all="ignore"):
            value = np.nan_to_num(a.value) if operation == "fptosi" else np.asarray(a.value)
            value = value.astype(DTYPES[to])
        return self.emit(f"arith.{operation} {a.name} : {a.type} to {to}", to, value)

    def index_as(self, iterator: Scalar, to: str) -> Scalar:
        value = np.asarray(iterator.value, DTYPES[to])
        return self.emit(f"arith.index_cast {iterator.name} : index to {to}", to, value)

    def of_type(self, element: str) -> Scalar:
        """Some value of this type."""
        fitting = [scalar for scalar in self.scalars if scalar.type == element]
        if fitting and self.rng.random() < 0.8:
            return self.rng.choice(fitting)
        others = [s for s in self.scalars if s.type != "index" and s.type != element]
        if others and self.rng.random() < 0.8:
            return self.cast(self.rng.choice(others), element)
        return self.constant(self.rng.randrange(2 if element == "i1" else 4), element)

    def step(self, element: str) -> Scalar:
        """One random operation that gives this type."""
        kind = family(element)
        choice = self.rng.randrange(8)
        if choice == 0 and not (is_float(element) and not self.is_exact):
            compared = self.rng.choice(
                [*(s.type for s in self.scalars if s.type != "index"), element]
            )
            if not is_float(compared) or self.is_exact:
                condition = self.compare(compared)
                a, b = self.of_type(element), self.of_type(element)
                value = np.where(condition.value, a.value, b.value).astype(DTYPES[element])
                text = f"arith.select {condition.name}, {a.name}, {b.name} : {element}"
                return self.emit(text, element, value)
        if choice == 1 and is_float(element) and not self.is_exact:
            name, function = self.rng.choice(_ROUNDED)
            a = self.clamped(self.of_type(element), -3, 3)
            return self.emit(f"{name} {a.name} : {element}", element, function(a.value))
        iterators = [s for s in self.scalars if s.type == "index"]
        if choice == 2 and iterators and kind == "i":
            return self.index_as(self.rng.choice(iterators), element)
        name, function = self.rng.choice(BINARY[kind])
        return self.binary(name, function, self.of_type(element), self.of_type(element))

    def compare(self, element: str) -> Scalar:
        name, function = self.rng.choice(_COMPARISONS[family(element)])
        a, b = self.of_type(element), self.of_type(element)
        operation = "cmpf" if is_float(element) else "cmpi"
        text = f"arith.{operation} {name}, {a.name}, {b.name} : {element}"
        return self.emit(text, "i1", function(a.value, b.value))


# Reductions


def combine(combiner: str, a: Any, b: Any) -> Any:
    """The two values joined, by the definition of the combiner."""
    is_bool = np.asarray(a).dtype == np.bool_
    match combiner:
        case "add":
            return np.logical_xor(a, b) if is_bool else a + b
        case "mul":
            return np.logical_and(a, b) if is_bool else a * b
        case "and":
            return a & b
        case "or":
            return a | b
        case "max" | "min":
            if is_bool:  # as signed numbers true is -1
                return np.logical_and(a, b) if combiner == "max" else np.logical_or(a, b)
            return np.maximum(a, b) if combiner == "max" else np.minimum(a, b)
        case "maxnum":
            return np.fmax(a, b)
        case _:
            greater = combiner == "umax"
            if is_bool:
                return np.logical_or(a, b) if greater else np.logical_and(a, b)
            unsigned = f"u{a.dtype.itemsize}"
            function = np.maximum if greater else np.minimum
            return function(a.view(unsigned), b.view(unsigned)).view(a.dtype)


def identity(combiner: str, dtype: np.dtype) -> Any:
    match combiner:
        case "add" | "or" | "umax":
            return dtype.type(0)
        case "mul":
            return dtype.type(1)
        case "and" | "umin":
            return dtype.type(True) if dtype == np.bool_ else np.array(-1).astype(dtype)[()]
        case _:
            if dtype == np.bool_:
                return np.bool_(combiner == "max")
            if dtype.kind == "f":
                return dtype.type(np.inf if combiner == "min" else -np.inf)
            return dtype.type(getattr(np.iinfo(dtype), "min" if combiner == "max" else "max"))


def reduced(combiner: str, values: Array, num_parallel: int) -> Array:
    """The trailing axes of `values` joined in row-major order, one point after the other."""
    shape = values.shape[:num_parallel]
    flat = values.reshape(*shape, prod(values.shape[num_parallel:]))
    result = np.full(shape, identity(combiner, values.dtype), values.dtype)
    for point in range(flat.shape[-1]):
        result = np.asarray(combine(combiner, result, flat[..., point]), values.dtype)
    return result


def arg_reduced(combiner: str, values: Array, indices: Array, num_parallel: int) -> Array:
    shape = values.shape[:num_parallel]
    count = prod(values.shape[num_parallel:])
    if count == 0:
        return np.zeros(shape, indices.dtype)
    values, indices = values.reshape(*shape, count), indices.reshape(*shape, count)
    best, place = values[..., 0], indices[..., 0]
    for point in range(1, count):
        new, index = values[..., point], indices[..., point]
        beyond = new > best if combiner == "argmax" else new < best
        both_nan = (new != new) & (best != best)
        better = beyond | ((new != new) & (best == best))
        take = better | (((new == best) | both_nan) & (index < place))
        best, place = np.where(take, new, best), np.where(take, index, place)
    return place
