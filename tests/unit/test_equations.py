"""Every equation of the graph level's tables keeps values, as far as its class says, wherever it is used."""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.dialects import graph
from stepwell.dialects.dtypes import element_type, float_limits
from stepwell.dialects.graph.expressions import Expr, erf, maximum, minimum
from stepwell.interpreters.harness import interpret
from stepwell.transforms.graph.recognize_activations import GraphRecognizeActivationsPass
from stepwell.transforms.graph.recognize_normalizations import GraphRecognizeNormalizationsPass
from stepwell.transforms.graph.reduce_strength import GraphReduceStrengthPass
from stepwell.transforms.graph.rules import apply_rules
from stepwell.transforms.graph.scale_late import GraphScaleLatePass
from stepwell.transforms.graph.simplify import GraphSimplifyPass
from stepwell.transforms.graph.terms import Apply, Constant, Setting, Term, Variable, built
from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Block, Region
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

PASSES = (
    GraphSimplifyPass,
    GraphReduceStrengthPass,
    GraphRecognizeActivationsPass,
    GraphRecognizeNormalizationsPass,
    GraphScaleLatePass,
)
RULES = [pytest.param(rule, each.numerics, id=str(rule)) for each in PASSES for rule in each.RULES]

DTYPES = [np.dtype(t) for t in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int32)]
NUMBERS = (0.5, 2, -1.5, 3, 6, 0, -4, 0.25, 1e-3, 1)
"""What constants are: powers of two, numbers of elements, and others."""

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def leaves(term: Term) -> list[Term | Setting]:
    """The variables, constants and settings, from left to right."""
    if not isinstance(term, Apply):
        return [term]
    inner = [leaf for operand in term.operands for leaf in leaves(operand)]
    return [*inner, *(x for _, x in term.settings if isinstance(x, Constant | Setting))]


def has_product(term: Term) -> bool:
    return isinstance(term, Apply) and (
        term.op is graph.MatmulOp or any(map(has_product, term.operands))
    )


def setting(name: str, rank: int, rng: np.random.Generator):
    if name == "axes":
        return tuple(np.flatnonzero(rng.random(rank) < 0.6).tolist()) or (rank - 1,)
    if name == "axis":
        return int(rng.integers(rank))
    if name == "epsilon":
        return 1e-3
    return bool(rng.integers(2))


def program(before: Apply, dtype: np.dtype, shape: tuple[int, ...], rng: np.random.Generator):
    """A function of one term, with random constants and settings, and inputs for it."""
    found = leaves(before)
    variables = {leaf.name: leaf for leaf in found if isinstance(leaf, Variable)}
    element = element_type(dtype)
    shapes = [shape[-1:] if name in ("scale", "bias") else shape for name in variables]
    types = [
        TensorType(leaf.element or element, each)
        for leaf, each in zip(variables.values(), shapes, strict=True)
    ]
    block = Block(arg_types=types)
    builder = Builder(InsertPoint.at_end(block))
    bound = {name: Expr(arg, builder) for name, arg in zip(variables, block.args, strict=True)}
    for leaf in found:
        if isinstance(leaf, Constant):
            bound[leaf.name] = dtype.type(rng.choice(NUMBERS))
        elif isinstance(leaf, Setting):
            bound[leaf.name] = setting(leaf.name, len(shape), rng)
    like = next(Expr(arg, builder) for arg in block.args if arg.type == TensorType(element, shape))
    result = built(before, bound, builder, like)
    builder.insert(func.ReturnOp(result.value))
    function = func.FuncOp("f", (types, [result.type]), Region(block))
    module = ModuleOp([function])
    module.verify()
    inputs = [
        rng.random(each) < 0.5 if leaf.element else (rng.standard_normal(each) * 3).astype(dtype)
        for leaf, each in zip(variables.values(), shapes, strict=True)
    ]
    return module, inputs


@pytest.mark.parametrize(("rule", "numerics"), RULES)
@settings(max_examples=12, deadline=None)
@given(st.data())
def test_keeps_values(rule, numerics, data):
    exact = numerics == "exact"
    dtype = data.draw(st.sampled_from(DTYPES if exact else DTYPES[:-1]))
    is_product = has_product(rule.before)
    shapes = [(3, 3), (6,), (2, 3, 3)] if is_product else [(2, 3), (6,), (1, 2, 3)]
    shape = data.draw(st.sampled_from(shapes))
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    # Integers are not divided, nor scaled by a fraction, scales of products of 16 bits stay before them, and powers
    # of 16 bits stay powers; floats are whatever the rule says.
    is_power = rule.before.op is graph.PowOp
    may_stay = dtype == np.int32 or ((is_product or is_power) and dtype.itemsize == 2)
    for _ in range(20 if may_stay else 400):
        try:
            module, inputs = program(rule.before, dtype, shape, rng)
        except (VerifyException, OverflowError):
            continue
        original = module.clone()
        apply_rules(module, [rule])
        if not module.is_structurally_equivalent(original):
            break
    else:
        assert may_stay
        return
    module.verify()
    (expected,) = interpret(original, inputs)
    (found,) = interpret(module, inputs)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if exact:
        assert np.array_equal(found, expected, equal_nan=dtype.kind != "i")
        return
    wide, other = found.astype(np.float64), expected.astype(np.float64)
    # The sums of a rule have numbers of up to 12 beside those of the inputs.
    # The terms of a product may be much larger than their sum, and one element's are as large as another's.
    most = np.max(np.abs(other), initial=0, where=np.isfinite(other))
    scale = np.maximum(np.abs(other), max(512, 64 * most) if is_product else 16)
    close = np.abs(wide - other) <= 16 * float(float_limits(dtype).eps) * scale
    assert np.all(close | (np.isnan(wide) & np.isnan(other)) | (wide == other))


def chain(count: int) -> ModuleOp:
    """Sums, gelus and clips, one behind the other."""
    block = Block(arg_types=[TensorType(f32, [3])])
    x = start = Expr(block.args[0], Builder(InsertPoint.at_end(block)))
    while len(block.ops) < count:
        x = x * 0.5 * (erf(x / 2**0.5) + 1.0)
        x = minimum(maximum(x + start, 0.0), 6.0) * 2.0 * 0.25
    start.builder.insert(func.ReturnOp(x.value))
    return ModuleOp([func.FuncOp("f", (block.arg_types, [x.type]), Region(block))])


def test_a_fixed_point_takes_linear_time():
    """Counted in calls of the matcher, which a second sweep over what is new may double."""

    def calls(count: int) -> tuple[int, int]:
        module, made = chain(count), 0

        def count_call(frame: Any, event: str, arg: Any) -> None:
            nonlocal made
            made += event == "call"

        sys.setprofile(count_call)
        try:
            for each in PASSES:
                apply_rules(module, each.RULES)
        finally:
            sys.setprofile(None)
        return made, len(list(module.walk()))

    few, left = calls(200)
    many, many_left = calls(400)
    assert left < 100 and many_left < 2 * left
    assert many < 2.2 * few
