"""What core-expand-math does to the IR: which operations, in which mode, of which types."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import stepwell as sw
from stepwell.errors import StepwellError
from stepwell.interpreters.harness import interpret
from stepwell.runtime.jit import compile_module
from stepwell.transforms.core.expand_math import CoreExpandMathPass, expand_math
from stepwell.transforms.core.polynomials.functions import FUNCTIONS, table
from stepwell.universe import make_context
from xdsl.parser import Parser

from .polynomial_kernels import (
    DTYPES,
    GELU,
    SIGMOID,
    body,
    error,
    expanded,
    loop,
    samples,
    special,
)

NAMES = [function.name for function in FUNCTIONS.values()] + ["sigmoid", "gelu"]
REMAINING = ("math.fma", "math.absf", "math.copysign", "math.trunc")


def parsed(text: str):
    return Parser(make_context(), text).parse_module()


def transcendental(module) -> list[str]:
    return [
        op.name for op in module.walk() if op.name.startswith("math.") and op.name not in REMAINING
    ]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("lanes", [0, 8])
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_interpreted_as_compiled(name: str, element: str, lanes: int):
    """Bit for bit, also when the text is parsed again."""
    module = expanded(loop(body(name), element, 40, lanes))
    again = parsed(str(module))
    assert again.is_structurally_equivalent(module)
    dtype = DTYPES[element]
    numbers = np.concatenate([special(dtype), np.random.default_rng(0).normal(0, 3, 21)])
    x = numbers.astype(dtype)
    p, y = x[::-1].copy(), np.zeros(40, dtype)
    compile_module(again)(x, p, y)
    _, _, wanted = interpret(module, [x, p, np.zeros(40, dtype)])
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(np.signbit(y[~np.isnan(y)]), np.signbit(wanted[~np.isnan(y)]))


@pytest.mark.parametrize("name", NAMES)
def test_no_fast_math_flags(name: str):
    """Whatever the operation allowed."""
    text = re.sub(r"(math\.\w+ [^:]*) :", r"\1 fastmath<fast> :", loop(body(name), "f32", 8, 8))
    module = expanded(text)
    assert "fastmath" not in "".join(
        line for line in str(module).splitlines() if "stepwell.libm" not in line
    )


@pytest.mark.parametrize("name", NAMES)
def test_strict_changes_nothing(name: str):
    text = loop(body(name), "f64", 8, 4)
    assert str(expanded(text, "strict")) == str(parsed(text))


@pytest.mark.parametrize("name", NAMES)
def test_a_second_time_changes_nothing(name: str):
    module = expanded(loop(body(name), "f32", 8, 8))
    before = str(module)
    expand_math(module, "contract")
    assert str(module) == before


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_fast_has_no_way_out_to_the_library(name: str):
    text = loop(body(name), "f32", 8, 8)
    assert transcendental(expanded(text)) == [f"math.{name}"]
    assert transcendental(expanded(text, "fast")) == []


@pytest.mark.parametrize("type_", ["f16", "vector<2x4xf32>", "vector<4xf16>"])
def test_other_types_stay(type_: str):
    text = f"func.func @main(%x: {type_}) -> {type_} {{ %r = math.exp %x : {type_} return %r : {type_} }}"
    assert transcendental(expanded(text)) == ["math.exp"]


def test_what_has_no_polynomial_is_called_by_lane():
    x = np.linspace(-1, 1, 16)
    y = np.empty_like(x)
    compile_module(expanded(loop("%r = math.atan %v : T", "f64", 16, 8)))(x, x, y)
    np.testing.assert_allclose(y, np.arctan(x), rtol=1e-15)


@pytest.mark.parametrize("lanes", [0, 8])
@pytest.mark.parametrize("element", DTYPES)
def test_an_exponential_of_nonpositive_numbers_is_the_same(element: str, lanes: int):
    """Bit for bit, with subnormal results, and for what rounding leaves above 0."""
    dtype = DTYPES[element]
    x = np.concatenate(
        [samples("exp", dtype, 4000), special(dtype), np.array([70, 1e-6, -0.0], dtype)]
    )
    x = np.resize(x[~(x > 70)], 12000)
    found = []
    for operation in ("math.exp %v : T", "math.exp %v {stepwell.nonpositive} : T"):
        y = np.empty_like(x)
        compile_module(expanded(loop(f"%r = {operation}", element, x.size, lanes)))(x, x, y)
        found.append(y)
    np.testing.assert_array_equal(*found)
    assert np.isnan(found[1]).any() and (found[1] == 0).any()
    assert ((found[1] > 0) & (found[1] < np.finfo(dtype).tiny)).any()


def test_unknown_mode():
    with pytest.raises(
        StepwellError, match="found fp='loose', expected one of strict, contract, fast"
    ):
        CoreExpandMathPass(fp="loose").apply(make_context(), parsed("builtin.module {}"))


GELU_FORMS = [
    GELU,
    GELU.replace("%root, ", "").replace("%v, %root", "%root, %v"),
    GELU.replace("%half, %v", "%v, %half").replace("%h, %s", "%s, %h"),
    GELU.replace("%h = arith.mulf %half, %v", "%h = arith.mulf %s, %v").replace(
        "%r = arith.mulf %h, %s", "%r = arith.mulf %half, %h"
    ),
]


@pytest.mark.parametrize("form", range(4))
@pytest.mark.parametrize("lanes", [0, 8])
def test_gelu_is_recognised(form: int, lanes: int):
    assert "math.erf" in GELU_FORMS[form]
    module = expanded(loop(GELU_FORMS[form], "f32", 16, lanes))
    x = np.linspace(-12, -4, 16, dtype=np.float32)
    y = np.empty_like(x)
    compile_module(module)(x, x, y)
    assert (y < 0).all()  # erf(x / √2) is -1 in f32 below -5.5


@pytest.mark.parametrize(
    "change", [("%half, %v", "%half, %w"), ("%v, %root", "%v, %half"), ("%one, %f", "%half, %f")]
)
def test_what_is_not_gelu_is_not_changed_to_it(change: tuple[str, str]):
    operations = GELU.replace(*change)
    assert operations != GELU
    x = np.linspace(-2, 2, 16)
    got, wanted = np.empty_like(x), np.empty_like(x)
    text = loop(operations, "f64", 16, 8)
    compile_module(expanded(text))(x, x + 1, got)
    compile_module(parsed(text))(x, x + 1, wanted)
    np.testing.assert_allclose(got, wanted, rtol=1e-13)


def test_sigmoid_keeps_a_used_exponential():
    operations = SIGMOID.replace("%r =", "%q =") + "\n%r = arith.addf %q, %e : T"
    x = np.linspace(-3, 3, 16)
    y = np.empty_like(x)
    compile_module(expanded(loop(operations, "f64", 16, 8)))(x, x, y)
    np.testing.assert_allclose(y, 1 / (1 + np.exp(-x)) + np.exp(-x), rtol=1e-15)


def test_nested_idioms():
    """gelu(sigmoid(x)): the second is matched on what the first has become."""
    inner = SIGMOID.replace("%r", "%q")
    outer = GELU.replace("%v", "%q").replace("%s", "%s2")
    module = expanded(loop(inner + outer, "f64", 16, 8))
    assert transcendental(module) == []
    x = np.linspace(-3, 3, 16)
    y = np.empty_like(x)
    compile_module(module)(x, x, y)
    q = 1 / (1 + np.exp(-x))
    wanted = [0.5 * v * (1 + math.erf(v * 0.5**0.5)) for v in q]
    np.testing.assert_allclose(y, wanted, rtol=1e-14)


def test_the_page_has_the_table():
    page = Path(__file__).parents[2] / "docs" / "math.md"
    assert all(f"| {name} |" in table() for name in NAMES)
    assert table() in page.read_text()


def test_from_the_top():
    """The graph's sigmoid and gelu reach the pass in the form that it knows."""
    x = np.array([-95.0, -88.9, -13.0, -5.5, -1.0, 0.3, 9.0], np.float32)
    for function, name in ((sw.sigmoid, "sigmoid"), (sw.gelu, "gelu")):
        y = sw.jit(function)(x)
        errors = [error(name, a, b, np.float32) for a, b in zip(x, y, strict=True)]
        assert max(errors) <= 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", [sw.pow, sw.arctan2])
def test_operand_that_a_loop_does_not_change(function, dtype):
    """What is computed of it before the loop gives the same bits as what is computed beside each of the others."""
    x = np.concatenate([special(dtype), [2.5, -3.0]]).astype(dtype)
    y = np.resize(np.concatenate([special(dtype), [3.0, -2.0, 0.5]]), 37).astype(dtype)
    rows = np.repeat(x[:, None], len(y), axis=1), np.repeat(y[None, :], len(x), axis=0)
    wanted = sw.jit(function)(*rows)
    np.testing.assert_array_equal(sw.jit(lambda x, y: function(x[:, None], y))(x, y), wanted)
