"""
Every plan that is proposed for a product can be carried out, and computes what NumPy does.

A rule takes the cheapest plan only; a tuner takes others, and another machine has other cheapest ones. So a plan is
drawn from all that are proposed, for cores that differ in vectors, registers and caches. `make test` runs a fixed
share; `STEPWELL_PLAN_CASES=1000 pytest tests/differential/test_contraction_plans.py` more of them, other ones each
time.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import stepwell as sw
from differential.campaigns import campaign
from hypothesis import given
from hypothesis import strategies as st
from stepwell.analysis.facts import facts_of_loops
from stepwell.dialects import loop
from stepwell.driver.options import Options
from stepwell.frontend.text import parse_text
from stepwell.targets.core import Cache
from stepwell.targets.target import Target
from stepwell.transforms.loop.vectorize import STRIDED
from stepwell.transforms.remarks import listening
from stepwell.tuning.families import Choice, Contractions
from stepwell.tuning.rules import kernels, schedule_with
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

ASKED = int(os.environ.get("STEPWELL_PLAN_CASES", "0"))
PROPOSALS = 300
MOST_WORK = 1 << 21


# Cores


def _here(name: str) -> Target:
    """This machine as LLVM knows it, with the core and the rates of another: what has code that runs here."""
    other, host = Target.parse(name), Target.host()
    lanes = min(other.core.vector_bits, host.core.vector_bits)
    return replace(
        host,
        name=name,
        core=replace(other.core, vector_bits=lanes),
        cores=other.cores,
        found=other.found,
    )


def _small(name: str, times: int = 1) -> Target:
    """The same with caches that some thousand elements overflow, or so many `times` more, so that products go by blocks."""
    target = _here(name)
    sizes = (times * kibibytes << 10 for kibibytes in (2, 8, 32))
    caches = tuple(Cache(1 + n, size, (4, 8, 8)[n]) for n, size in enumerate(sizes))
    return target.with_core(caches=caches)


TARGETS = {
    name: target
    for name, target in (
        *((name, Target.parse(name)) for name in ("x86-64-v2", "x86-64-v3", "x86-64-v4")),
        *((name, _here(name)) for name in ("zen3", "sapphire-rapids")),
        *((f"small {name}", _small(name)) for name in ("x86-64-v2", "zen3", "sapphire-rapids")),
    )
    if target.runs_here
}


LARGER = {
    name: target
    for name in ("zen3", "zen5", "sapphire-rapids")
    if (target := _small(name, 16)).runs_here
}
"""Their L2 keeps a block of a few panels."""


# Products


@dataclass(frozen=True)
class Product:
    """A function of arrays for both libraries, its inputs, and how many terms its sums have."""

    text: str
    function: Callable[..., Any]
    """its first argument is `stepwell` or `numpy`"""
    inputs: tuple[Array, ...]
    constant: frozenset[int]
    """the numbers of the inputs that are compiled in"""
    terms: int

    def __repr__(self) -> str:
        shapes = ", ".join(
            f"{'constant ' if n in self.constant else ''}{x.dtype}{list(x.shape)}"
            for n, x in enumerate(self.inputs)
        )
        return f"{self.text} of {shapes}"

    @property
    def given(self) -> list[int]:
        return [n for n in range(len(self.inputs)) if n not in self.constant]

    def lowered(self, target: Target) -> sw.Lowered:
        def function(*arguments: Any) -> Any:
            every: list[Any] = list(self.inputs)
            for number, argument in zip(self.given, arguments, strict=True):
                every[number] = argument
            return self.function(sw, *every)

        return sw.jit(function, target=target).lower(*(self.inputs[n] for n in self.given))

    def check(self, module: ModuleOp, target: Target, threads: int) -> None:
        """Compile scheduled loops, run them, and compare all results."""
        low = sw.Lowered(module, options=Options(target))
        found = low.compile(threads=threads)(*(self.inputs[n] for n in self.given))
        wide = [x.astype(np.float64) if x.dtype == np.float32 else x for x in self.inputs]
        wanted = self.function(np, *wide)
        one_result = not isinstance(wanted, tuple)
        pairs = [(found, wanted)] if one_result else list(zip(found, wanted, strict=True))
        for one, other in pairs:
            self._compare(one, other)

    def _compare(self, found: Array, wanted: Array) -> None:
        if not np.issubdtype(found.dtype, np.floating):
            np.testing.assert_array_equal(found, wanted)
            return
        tolerance = 16 * (math.sqrt(self.terms) + 8) * float(np.finfo(found.dtype).eps)
        scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale)


def _tensordot(library: Any, a: Any, b: Any) -> Any:
    """The sum of `a[i, k, l] * b[k, l, j]` over k and l, as a reduction of a product."""
    product = library.expand_dims(a, 3) * library.expand_dims(b, 0)
    return library.sum(product, axis=(1, 2))


KINDS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a @ b": lambda _, a, b: a @ b,
    "a.T @ b": lambda library, a, b: library.swapaxes(a, -1, -2) @ b,
    "a @ b.T": lambda library, a, b: a @ library.swapaxes(b, -1, -2),
    "a.T @ b.T": lambda library, a, b: library.swapaxes(a, -1, -2) @ library.swapaxes(b, -1, -2),
    "(a @ b).T": lambda library, a, b: library.swapaxes(a @ b, -1, -2),
    "a[1:] @ b": lambda _, a, b: a[..., 1:, :] @ b,
    "a[:, 1:] @ b[1:]": lambda _, a, b: a[..., 1:] @ b[..., 1:, :],
    "a @ b[:, 1:]": lambda _, a, b: a @ b[..., 1:],
    "a[0] @ b[1]": lambda _, a, b: a[0] @ b[1],
    "tensordot": _tensordot,
}
ALONE: dict[str, Callable[[Any, Any], Any]] = {
    "a @ a": lambda _, a: a @ a,
    "a @ a.T": lambda library, a: a @ library.swapaxes(a, -1, -2),
    "a.T @ a": lambda library, a: library.swapaxes(a, -1, -2) @ a,
    "a[1:] @ a[:-1].T": lambda library, a: a[..., 1:, :] @ library.swapaxes(a[..., :-1, :], -1, -2),
}


def _padded(library: Any, x: Any, axis: int) -> Any:
    """The array without its last element along an axis, and a number in front."""
    short = x[..., :-1, :] if axis == -2 else x[..., :-1]
    widths = [(0, 0)] * x.ndim
    widths[axis] = (1, 0)
    return library.pad(short, widths, constant_values=2)


OPERANDS: dict[str, Callable[[Any, Any], Any]] = {
    "computed": lambda library, x: library.maximum(x, 0) + x,
    "scaled by rows": lambda _, x: x * x[..., :1],
    "shifted by columns": lambda _, x: x + x[..., :1, :],
    "chosen": lambda library, x: library.where(x > 0, x, 1),
    "rows padded": lambda library, x: _padded(library, x, -2),
    "columns padded": lambda library, x: _padded(library, x, -1),
}
"""What is done to an operand, element by element, before the product."""

ENDINGS: dict[str, Callable[..., Any]] = {
    "": lambda _, c, bias: c,
    "+ row": lambda _, c, bias: c + bias[..., :1, :],
    "+ column": lambda _, c, bias: c + bias[..., :1],
    "+ residual": lambda _, c, bias: c + bias,
    "clipped": lambda library, c, bias: library.maximum(c + bias[..., :1, :], 0),
    "read elsewhere": lambda library, c, bias: (c, library.maximum(c, 0)),
    "read twice": lambda library, c, bias: (c * c, library.sum(c, axis=-1)),
}


def extents() -> st.SearchStrategy[int]:
    """Sizes at and beside multiples of vectors and of tiles of 6, 14 and 4 rows."""
    known = [2, 3, 5, 7, 12, 14, 15, 16, 17, 24, 28, 31, 32, 33, 42, 47, 48, 64, 65, 96, 100, 130]
    return st.one_of(st.integers(1, 12), st.sampled_from(known), st.sampled_from(known))


def _array(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    if np.issubdtype(dtype, np.floating):
        return rng.uniform(-1, 1, shape).astype(dtype)
    return rng.integers(-5, 6, shape).astype(dtype)


def _shapes(kind: str, m: int, n: int, k: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    match kind:
        case "a.T @ b":
            return (k, m), (k, n)
        case "a @ b.T":
            return (m, k), (n, k)
        case "a.T @ b.T":
            return (k, m), (n, k)
        case "a[1:] @ b":
            return (m + 1, k), (k, n)
        case "a[:, 1:] @ b[1:]":
            return (m, k + 1), (k + 1, n)
        case "a @ b[:, 1:]":
            return (m, k), (k, n + 1)
        case "a[0] @ b[1]":
            return (2, m, k), (2, k, n)
        case "tensordot":
            return (m, 3, k), (3, k, n)
        case _:
            return (m, k), (k, n)


@st.composite
def products(draw: st.DrawFn) -> Product:
    """A product of two arrays or of one with itself, of a batch now and then, with work on its result."""
    dtype = draw(st.sampled_from((np.float32, np.float32, np.float64, np.int32)))
    kind = draw(st.sampled_from([*KINDS, *ALONE]))
    ending = draw(st.sampled_from(list(ENDINGS)))
    computed = draw(st.lists(st.sampled_from(["", "", *OPERANDS]), min_size=2, max_size=2))
    batch = draw(st.sampled_from(("", "", "batched", "shared", "shared left")))
    entries = draw(st.integers(2, 3))
    m, n, k = (draw(extents()) for _ in range(3))
    if draw(st.integers(0, 3)) == 0:
        k = draw(st.sampled_from((200, 333, 1030)))
    k = max(min(k, MOST_WORK // (m * n * entries)), 1)
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    lead = (entries,) if batch and kind not in ("tensordot", "a[0] @ b[1]") else ()
    if kind in ALONE:
        shape = {"a @ a": (m, m), "a[1:] @ a[:-1].T": (m + 1, k)}.get(kind, (m, k))
        inputs = [_array(rng, (*lead, *shape), dtype)]
        function: Any = ALONE[kind]
        k = max(shape)
    else:
        left, right = _shapes(kind, m, n, k)
        left = left if batch == "shared left" else (*lead, *left)
        right = right if batch == "shared" else (*lead, *right)
        inputs = [_array(rng, left, dtype), _array(rng, right, dtype)]
        function = KINDS[kind]
    operands = len(inputs)
    result = function(np, *inputs).shape
    inputs.append(_array(rng, result, dtype))
    constant = draw(st.sets(st.integers(0, operands - 1), max_size=operands - 1))

    def whole(library: Any, *xs: Any) -> Any:
        made = [
            OPERANDS[how](library, x) if how else x
            for how, x in zip(computed, xs[:operands], strict=False)
        ]
        return ENDINGS[ending](library, function(library, *made), xs[operands])

    text = f"{batch} {kind} {ending} {computed[:operands]}".strip()
    return Product(text, whole, tuple(inputs), frozenset(constant), 3 * k)


# Plans


def proposed(kernel: func.FuncOp, target: Target) -> list[Choice]:
    return Contractions().propose(facts_of_loops(kernel).facts, target, PROPOSALS)


def scheduled(module: ModuleOp, target: Target, share: float) -> list[Choice]:
    """
    Schedule the products of a module by the plans that stand at a share of all, 0 for the first; these.

    Fails when a plan cannot be carried out.
    """
    chosen: list[Choice] = []
    for kernel in kernels(module):
        choices = proposed(kernel, target)
        if not choices:
            continue
        choice = choices[int(share * len(choices))]
        remarks: list[Any] = []
        with listening(remarks.append):
            session = schedule_with(module, kernel, choice, target)
        assert session is not None, f"{choice}\n{[str(remark) for remark in remarks]}"
        module.verify()
        chosen.append(choice)
    return chosen


@campaign(25, ASKED)
@given(
    products(), st.sampled_from(sorted(TARGETS)), st.floats(0, 1, exclude_max=True), st.booleans()
)
def test_any_plan_computes_the_product(product: Product, name: str, share: float, both: bool):
    target = TARGETS[name]
    module = product.lowered(target).unscheduled()
    chosen = scheduled(module, target, share)
    try:
        for threads in (1, 2) if both else (1,):
            product.check(module, target, threads)
    except Exception as error:
        error.add_note(f"{product} for {name} as {'; '.join(map(str, chosen))}")
        raise


@st.composite
def wide_products(draw: st.DrawFn) -> Product:
    """A product of enough columns that pieces of B's rows are apart, and of enough terms that tiles ask for them ahead."""
    dtype = draw(st.sampled_from((np.float32, np.float64)))
    kind = draw(st.sampled_from(("a @ b", "a.T @ b", "a @ b[:, 1:]", "a[1:] @ b")))
    ending = draw(st.sampled_from(list(ENDINGS)))
    m, n, k = (draw(st.integers(*between)) for between in ((12, 70), (513, 640), (300, 460)))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    inputs = [_array(rng, shape, dtype) for shape in _shapes(kind, m, n, k)]
    inputs.append(_array(rng, (m, n), dtype))

    def whole(library: Any, left: Any, right: Any, other: Any) -> Any:
        return ENDINGS[ending](library, KINDS[kind](library, left, right), other)

    return Product(f"{kind} {ending}".strip(), whole, tuple(inputs), frozenset(), 3 * k)


@campaign(10, ASKED)
@given(
    wide_products(),
    st.sampled_from(sorted(LARGER)),
    st.floats(0, 1, exclude_max=True),
    st.booleans(),
)
def test_tiles_that_pack_compute_the_product(
    product: Product, name: str, share: float, both: bool
) -> None:
    """Of the plans whose first tiles pack what they use, any one."""
    target = LARGER[name]
    module = product.lowered(target).unscheduled()
    scheduled_so = 0
    for kernel in kernels(module):
        choices = [choice for choice in proposed(kernel, target) if "first tiles" in str(choice)]
        if choices:
            choice = choices[int(share * len(choices))]
            assert schedule_with(module, kernel, choice, target) is not None, str(choice)
            module.verify()
            scheduled_so += 1
    assert scheduled_so, f"no plan for {product} packs in tiles for {name}"
    for threads in (1, 2) if both else (1,):
        product.check(module, target, threads)


# Names

WORDS = (
    *(
        "i",
        "j",
        "k",
        "i.tile",
        "j.tile",
        "i.row",
        "j.column",
        "i.init",
        "i.init.back",
        "j.each",
        "k.one",
    ),
    *(
        "k.block",
        "k.step",
        "k.lane",
        "i.panel",
        "j.block",
        "i.block",
        "right.in0",
        "tile.out1",
        "c0",
    ),
    *(
        "left",
        "right",
        "tile",
        "tile1",
        "panel",
        "panel3",
        "a_1",
        "b",
        "matmul",
        "right_back",
        "left.copy",
    ),
)


def renamed(text: str, random: Random) -> str:
    """The text with other names for all its loops and values, of those that steps give as well."""
    for pattern in (r'(?<=")[a-z][\w.]*(?=" %)', r"(?<=%)[a-z][\w.]*"):
        names = list(dict.fromkeys(re.findall(pattern, text)))
        words = random.sample(
            [*WORDS, *(f"{word}_{n}" for word in WORDS for n in (1, 2))], len(names)
        )
        others = dict(zip(names, words, strict=True))
        text = re.sub(pattern, lambda match, others=others: others[match[0]], text)
    return text


def without_names(module: ModuleOp) -> str:
    """The text of the same loops when nothing has a name but by its place."""
    copy, count = module.clone(), 0
    for op in copy.walk():
        if isinstance(op, loop.ForOp):
            op.loop_name = StringAttr(str(count))
            op.attributes.pop(STRIDED, None)  # a list of buffers' names
            count += 1
        blocks = (block for region in op.regions for block in region.blocks)
        for value in (*op.results, *(argument for block in blocks for argument in block.args)):
            value.name_hint = None
            if isinstance(value.type, MemRefType):
                loop.set_buffer_name(value, None)
    return str(copy)


@campaign(12, ASKED)
@given(
    products(), st.sampled_from(sorted(TARGETS)), st.floats(0, 1, exclude_max=True), st.randoms()
)
def test_names_decide_nothing(product: Product, name: str, share: float, random: Random):
    target = TARGETS[name]
    module = product.lowered(target).unscheduled()
    other = parse_text(renamed(str(module), random), "renamed.mlir")
    assert without_names(other) == without_names(module)
    found = [scheduled(each, target, share) for each in (module, other)]
    assert [str(choice) for choice in found[0]] == [str(choice) for choice in found[1]]
    assert without_names(other) == without_names(module)
