"""
Random programs at level te, as text, together with what they compute.

What a program computes is evaluated with NumPy while its text is made, from the meaning of the text and
without Stepwell, so that nothing is compared with itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

import numpy as np

from .te_bodies import (
    BINARY,
    DTYPES,
    Array,
    Body,
    Scalar,
    arg_reduced,
    family,
    is_float,
    number_text,
    reduced,
)

EXTENTS = (0, 1, 1, 2, 2, 3, 3, 5, 7, 17, 31, 33)
MAX_ELEMENTS = 400
MAX_POINTS = 900


@dataclass(frozen=True)
class Tensor:
    """A value of the program: its name in the text, and its contents."""

    name: str
    type: str
    array: Array

    is_scalar: bool = False

    @property
    def text_type(self) -> str:
        return self.type if self.is_scalar else tensor_text(self.array.shape, self.type)


@dataclass
class Program:
    """
    A function `@main` at te, its inputs and its results.

    `is_exact` says that every order of every sum gives the same bits: values are small whole numbers.
    Otherwise `magnitude` is the greatest one met on the way, to which rounding errors are relative.
    """

    text: str
    inputs: list[Array]
    expected: list[Array]
    is_exact: bool
    magnitude: float


def tensor_text(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


# Affine subscripts


@dataclass(frozen=True)
class Subscript:
    """An affine expression: its text, and its value for arrays of iterator values."""

    text: str
    value: Callable[[Sequence[Array]], Any]
    low: int
    high: int


def random_subscript(rng: Random, names: Sequence[str], extents: Sequence[int]) -> Subscript:
    """An expression over the iterators and bounds it stays in, for extents none of which is 0."""
    if not names or rng.random() < 0.1:
        constant = rng.randrange(0, 3)
        return Subscript(str(constant), lambda _: constant, constant, constant)
    d = rng.randrange(len(names))
    name, last = f"%{names[d]}", extents[d] - 1
    match rng.randrange(9):
        case 0 | 1 | 2:
            return Subscript(name, lambda g: g[d], 0, last)
        case 3:
            return Subscript(f"{last} - {name}", lambda g: last - g[d], 0, last)
        case 4:
            k, c = rng.choice((1, 2, 3)), rng.randrange(-2, 3)
            text = f"{name} * {k} + {c}" if rng.random() < 0.5 else f"{c} + {k} * {name}"
            return Subscript(text, lambda g: g[d] * k + c, c, last * k + c)
        case 5:
            e = rng.randrange(len(names))
            k = rng.choice((1, 2, -1))
            low, high = sorted((0, (extents[e] - 1) * k))
            text = f"{name} - %{names[e]}" if k == -1 else f"{name} + %{names[e]} * {k}"
            return Subscript(text, lambda g: g[d] + g[e] * k, low, last + high)
        case 6:
            k = rng.choice((1, 2, 3))
            return Subscript(f"{name} floordiv {k}", lambda g: g[d] // k, 0, last // k)
        case 7:
            k, c = rng.choice((1, 2, 3)), rng.randrange(-2, 3)
            return Subscript(f"({name} + {c}) mod {k}", lambda g: (g[d] + c) % k, 0, k - 1)
        case _:
            e, k = rng.randrange(len(names)), rng.choice((2, 3, 5))
            flat = f"%{names[e]} * {extents[d]} + {name}"
            top = (extents[e] - 1) * extents[d] + last

            def flattened(g: Sequence[Array]) -> Any:
                return g[e] * extents[d] + g[d]

            match rng.randrange(3):
                case 0:
                    return Subscript(
                        f"({flat}) floordiv {k}", lambda g: flattened(g) // k, 0, top // k
                    )
                case 1:
                    return Subscript(f"({flat}) mod {k}", lambda g: flattened(g) % k, 0, k - 1)
                case _:
                    high = -(-top // k)
                    return Subscript(
                        f"({flat}) ceildiv {k}", lambda g: -(-flattened(g) // k), 0, high
                    )


def fitting_subscript(
    rng: Random, names: Sequence[str], extents: Sequence[int], size: int
) -> Subscript | None:
    """One that stays in an axis of this size, or None when none was found."""
    same = [n for n in range(len(names)) if extents[n] == size]
    if same and rng.random() < 0.6:
        d = rng.choice(same)
        return Subscript(f"%{names[d]}", lambda g: g[d], 0, size - 1)
    for _ in range(8):
        candidate = random_subscript(rng, names, extents)
        if candidate.low >= 0 and candidate.high < size:
            return candidate
    if size == 0:
        return None
    constant = rng.randrange(size)
    return Subscript(str(constant), lambda _: constant, constant, constant)


# Programs


class ProgramMaker:
    """Makes one program. All choices are drawn from `rng`."""

    def __init__(self, rng: Random, *, max_computes: int = 6):
        self.rng = rng
        self.is_exact = rng.random() < 0.7
        self.favourite = rng.choice(("f32", "f32", "f64", "i32", "i64", "i8", "i1"))
        self.tensors: list[Tensor] = []
        self.scalars: list[Scalar] = []
        self.lines: list[str] = []
        self.magnitude = 1.0
        self.max_computes = max_computes

    def make(self) -> Program:
        rng = self.rng
        arguments = [self.argument(n) for n in range(rng.randrange(1, 4))]
        self.tensors += arguments
        if rng.random() < 0.2:
            arguments.append(self.scalar_argument())
        for _ in range(rng.randrange(2)):
            self.tensor_constant()
        for _ in range(rng.randrange(2)):
            self.scalar_constant()
        for n in range(rng.randrange(1, self.max_computes + 1)):
            self.compute(n)
        results = [self.tensors[-1]]
        for _ in range(rng.randrange(3)):
            results.append(rng.choice(self.tensors))
        rng.shuffle(results)
        signature = ", ".join(f"{t.name}: {t.text_type}" for t in arguments)
        types = ", ".join(t.text_type for t in results)
        body = "\n".join(f"  {line}" for line in self.lines)
        text = (
            f"func.func @main({signature}) -> ({types}) {{\n{body}\n"
            f"  func.return {', '.join(t.name for t in results)} : {types}\n}}\n"
        )
        return Program(
            text,
            [t.array for t in arguments],
            [t.array for t in results],
            self.is_exact,
            self.magnitude,
        )

    def shape(self) -> tuple[int, ...]:
        while True:
            rank = self.rng.choice((0, 1, 1, 2, 2, 2, 3, 4))
            shape = tuple(self.rng.choice(EXTENTS) for _ in range(rank))
            if prod(shape) <= MAX_ELEMENTS and (0 not in shape or self.rng.random() < 0.2):
                return shape

    def element(self) -> str:
        return self.favourite if self.rng.random() < 0.7 else self.rng.choice(tuple(DTYPES))

    def contents(self, shape: tuple[int, ...], element: str) -> Array:
        generator = np.random.default_rng(self.rng.randrange(1 << 30))
        if element == "i1":
            return generator.integers(0, 2, shape).astype(np.bool_)
        if is_float(element) and not self.is_exact:
            array = np.asarray(generator.uniform(-2, 2, shape).astype(DTYPES[element]))
        else:
            array = np.asarray(generator.integers(-4, 5, shape).astype(DTYPES[element]))
        if is_float(element) and array.size and self.rng.random() < 0.1:
            flat = array.reshape(-1)
            flat[self.rng.randrange(flat.size)] = self.rng.choice((np.nan, np.inf, -np.inf))
        return array

    def argument(self, number: int) -> Tensor:
        element = self.element()
        return Tensor(f"%x{number}", element, self.contents(self.shape(), element))

    def scalar_argument(self) -> Tensor:
        element = self.rng.choice(("f32", "f64", "i32", "i64", "i8", "i1"))
        value = DTYPES[element].type(self.rng.randrange(2))
        self.scalars.append(Scalar("%s", element, value))
        return Tensor("%s", element, np.asarray(value), is_scalar=True)

    def tensor_constant(self) -> None:
        element = self.rng.choice(("f32", "i32", "i1", "i64"))
        array = np.nan_to_num(self.contents(self.shape(), element))
        if array.size == 0 or array.size > 40:
            return
        tensor = Tensor(f"%k{len(self.lines)}", element, array)
        text = str(array.tolist()).lower()
        self.lines.append(f"{tensor.name} = arith.constant dense<{text}> : {tensor.text_type}")
        self.tensors.append(tensor)

    def scalar_constant(self) -> None:
        element = self.rng.choice(tuple(DTYPES))
        value = DTYPES[element].type(self.rng.randrange(2))
        name = f"%c{len(self.lines)}"
        self.lines.append(f"{name} = arith.constant {number_text(value, element)}")
        self.scalars.append(Scalar(name, element, value))

    def extents(self, sources: Sequence[Tensor]) -> tuple[int, ...]:
        """Some extents, more often than not those of the sources."""
        known = [extent for tensor in sources for extent in tensor.array.shape]
        while True:
            count = self.rng.choice((0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4))
            some = known if known and self.rng.random() < 0.8 else EXTENTS
            extents = tuple(self.rng.choice(some) for _ in range(count))
            if prod(extents) <= MAX_POINTS and (0 not in extents or self.rng.random() < 0.3):
                return extents

    def compute(self, number: int) -> None:
        """Append a compute: its text to `lines`, its tensor to `tensors`."""
        kind = self.rng.choice(
            ("general", "general", "general", "movement", "epilogue", "epilogue")
        )
        recent = self.tensors[-3:]
        sources = [
            self.rng.choice(recent if self.rng.random() < 0.7 else self.tensors)
            for _ in range(1 if kind == "movement" else self.rng.choice((0, 1, 1, 2, 2, 3)))
        ]
        if kind == "epilogue":
            sources = [self.tensors[-1], *sources]
            self.compute_over(number, sources, sources[0].array.shape, 0, is_epilogue=True)
            return
        extents = self.extents(sources)
        reduced = 0
        if extents and kind == "general" and self.rng.random() < 0.65:
            reduced = self.rng.randrange(1, min(len(extents), 2) + 1)
        self.compute_over(number, sources, extents, reduced, is_movement=kind == "movement")

    def compute_over(
        self,
        number: int,
        sources: Sequence[Tensor],
        extents: tuple[int, ...],
        reduced: int,
        *,
        is_epilogue: bool = False,
        is_movement: bool = False,
    ) -> None:
        rng = self.rng
        num_parallel = len(extents) - reduced
        names = [f"{'ijlmn'[d]}{number if rng.random() < 0.2 else ''}" for d in range(len(extents))]
        grids = list(np.ogrid[*(slice(extent) for extent in extents)]) if extents else []
        body = Body(rng, f"b{number}", self.is_exact, scalars=list(self.scalars))
        body.scalars += [
            Scalar(f"%{n}", "index", grid) for n, grid in zip(names, grids, strict=True)
        ]
        reads: list[tuple[str, Tensor]] = []
        for position, source in enumerate(sources):
            name = f"%r{number}_{position}"
            if is_epilogue and position == 0:
                reads.append(
                    (f"{name} = {source.name}[{', '.join(f'%{n}' for n in names)}]", source)
                )
                body.scalars.append(Scalar(name, source.type, source.array))
            else:
                reads.append(self.read(body, name, source, names, extents))
        element = sources[0].type if is_movement else self.element()
        combiner = self.combiner(element) if reduced else None
        with np.errstate(all="ignore"):
            if is_movement:
                array = self.moved(body, extents)
            else:
                array = self.finish(body, element, combiner, extents, num_parallel)
        tensor = Tensor(f"%t{number}", element, array)
        head = self.compute_text(tensor, reads, names, extents, num_parallel, combiner)
        self.lines += [head, *(f"  {line}" for line in body.lines), "}"]
        self.tensors.append(tensor)

    def moved(self, body: Body, extents: tuple[int, ...]) -> Array:
        read = body.scalars[-1]
        body.lines.append(f"te.yield {read.name} : {read.type}")
        return np.array(np.broadcast_to(np.asarray(read.value), extents))

    def compute_text(
        self,
        tensor: Tensor,
        reads: Sequence[tuple[str, Tensor]],
        names: Sequence[str],
        extents: Sequence[int],
        num_parallel: int,
        combiner: str | None,
    ) -> str:
        iterators = [f"%{n} = {e}" for n, e in zip(names, extents, strict=True)]
        for n in range(num_parallel, len(names)):
            if self.rng.random() < 0.1:
                value = f"%n{len(self.lines)}"
                self.lines.append(f"{value} = arith.constant {extents[n]} : index")
                iterators[n] = f"%{names[n]} = {value}"
        space = f"[{', '.join(iterators[:num_parallel])}]"
        if combiner is not None:
            space += f" {combiner} [{', '.join(iterators[num_parallel:])}]"
        texts, types = ", ".join(r[0] for r in reads), ", ".join(r[1].text_type for r in reads)
        return f"{tensor.name} = te.compute {space} ({texts}) : ({types}) -> {tensor.text_type} {{"

    def combiner(self, element: str) -> str:
        choices = ["add", "add", "mul", "max", "min"]
        if not is_float(element):
            choices += ["umax", "umin", "and", "or"]
        else:
            choices.append("maxnum")
        if element in ("i32", "i64"):
            choices += ["argmax", "argmin"]
        return self.rng.choice(choices)

    def read(
        self,
        body: Body,
        name: str,
        source: Tensor,
        names: Sequence[str],
        extents: Sequence[int],
    ) -> tuple[str, Tensor]:
        """The text of a read; what it sees is added to the body's values."""
        shape = source.array.shape
        if self.rng.random() < 0.1 and 0 not in shape and 0 not in extents:
            self.opaque_read(body, name, source)
            return f"{name} = {source.name}", source
        padded = self.rng.random() < 0.25
        if 0 in extents and 0 not in shape:
            padded = True  # the subscripts below are bounded for extents that are not 0
        subscripts: list[Subscript] = []
        for size in shape:
            positive = [max(extent, 1) for extent in extents]
            subscript = fitting_subscript(self.rng, names, positive, size)
            if subscript is None or (padded and self.rng.random() < 0.5):
                padded = True
                subscript = random_subscript(self.rng, names, positive)
            subscripts.append(subscript)
        grids = [s.value for s in body.scalars if s.type == "index"]
        index = [np.asarray(s.value(grids)) for s in subscripts]
        text = f"{name} = {source.name}[{', '.join(s.text for s in subscripts)}]"
        if not padded:
            body.scalars.append(Scalar(name, source.type, source.array[tuple(index)]))
            return text, source
        pad = DTYPES[source.type].type(self.rng.randrange(2))
        inside: Any = np.True_
        for positions, size in zip(index, shape, strict=True):
            inside = inside & (positions >= 0) & (positions < size)
        values = np.full(np.shape(inside), pad, DTYPES[source.type])
        if np.any(inside):
            clipped = [np.clip(p, 0, n - 1) for p, n in zip(index, shape, strict=True)]
            values = np.where(inside, source.array[tuple(clipped)], pad)
        body.scalars.append(Scalar(name, source.type, values))
        return f"{text} else {number_text(pad, source.type)}", source

    def opaque_read(self, body: Body, name: str, source: Tensor) -> None:
        """Elements of the whole tensor at indices that the body computes."""
        texts: list[str] = []
        index: list[Any] = []
        for size in source.array.shape:
            number = body.cast(body.of_type("i32"), "i64")
            below = body.binary("minsi", np.minimum, number, body.constant(size - 1, "i64"))
            inside = body.binary("maxsi", np.maximum, below, body.constant(0, "i64"))
            cast = body.emit(f"arith.index_cast {inside.name} : i64 to index", "index", None)
            texts.append(cast.name)
            index.append(inside.value)
        value = source.array[tuple(index)] if index else source.array[()]
        text = f"tensor.extract {name}[{', '.join(texts)}] : {source.text_type}"
        body.scalars.append(body.emit(text, source.type, value))

    def finish(
        self,
        body: Body,
        element: str,
        combiner: str | None,
        extents: tuple[int, ...],
        num_parallel: int,
    ) -> Array:
        """Operations that use every read, the `te.yield`, and the tensor that comes out."""
        is_arg = combiner is not None and combiner.startswith("arg")
        value_type = self.rng.choice(("f32", "f64", "i8", "i32", "i64")) if is_arg else element
        last: Scalar | None = None
        for read in [s for s in body.scalars if s.name.startswith("%r")]:
            read = body.cast(read, value_type)
            operator = self.rng.choice(BINARY[family(value_type)])
            last = read if last is None else body.binary(*operator, last, read)
        for _ in range(self.rng.randrange(3)):
            new = body.step(value_type)
            operator = self.rng.choice(BINARY[family(value_type)])
            last = new if last is None else body.binary(*operator, last, new)
            body.scalars.append(last)
        last = body.of_type(value_type) if last is None else last
        if self.is_exact or combiner == "mul":
            bound = 1 if combiner == "mul" else 64
            last = body.clamped(last, -bound, bound)
        values = np.broadcast_to(np.asarray(last.value, DTYPES[value_type]), extents)
        if is_arg:
            index = body.index_as(
                self.rng.choice([s for s in body.scalars if s.name[1] in "ijlmn"]), element
            )
            body.lines.append(f"te.yield {last.name}, {index.name} : {value_type}, {element}")
            indices = np.broadcast_to(np.asarray(index.value, DTYPES[element]), extents)
            return arg_reduced(combiner or "", values, indices, num_parallel)
        body.lines.append(f"te.yield {last.name} : {element}")
        self.note_magnitude(values, extents)
        return np.array(values) if combiner is None else reduced(combiner, values, num_parallel)

    def note_magnitude(self, values: Array, extents: Sequence[int]) -> None:
        if values.dtype.kind == "f" and values.size:
            finite = np.abs(values[np.isfinite(values)].astype(np.float64))
            self.magnitude = max(self.magnitude, float(np.max(finite, initial=0)) * prod(extents))


def random_program(seed: int, *, max_computes: int = 6) -> Program:
    return ProgramMaker(Random(seed), max_computes=max_computes).make()
