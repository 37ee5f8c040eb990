"""What users of NumPy, JAX, PyTorch and Numba type first that is not here: each ends in one line that says what to write."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import stepwell as sw

X = np.arange(6, dtype=np.float32).reshape(2, 3)
SQUARE = np.eye(3, dtype=np.float32)


def traced(function, *arrays):
    return lambda: sw.jit(function).lower(*(arrays or (X,)))


NEEDS_ELEMENTS: dict[str, tuple[Any, str]] = {
    "format": (lambda x: f"{x.sum():.3f}", "found a formatted tensor: .*stepwell.debug_print"),
    "percent": (lambda x: "%.3f" % x.sum(), r"found float\(\) of a tensor"),  # noqa: UP031
    "float": (lambda x: x * float(x.sum()), "x.astype"),
    "math": (lambda x: math.sin(x.sum()), "stepwell's functions in place of those of math"),
    "int": (lambda x: x * int(x.sum()), r"found int\(\) of a tensor"),
    "complex": (lambda x: complex(x.sum()), r"found complex\(\) of a tensor"),
    "if": (lambda x: x if x.sum() > 0 else -x, "stepwell.where.*stepwell.cond"),
    "and": (lambda x: x > 0 and x < 1, "& | ~ for 'and', 'or'"),
    "chain": (lambda x: 0 < x < 1, "found a branch on a tensor"),
    "not": (lambda x: not x, "found a branch on a tensor"),
    "max": (lambda x: max(x, 0), "found a branch on a tensor"),
    "sum": (lambda x: sum(sw.tile(x, (99, 1))), "found a long loop over a tensor.*stepwell.sum"),
    "for": (lambda x: [row for row in sw.tile(x, (99, 1))], "stepwell.scan is a real loop"),  # noqa: C416
    "parts of a number": (lambda x: list(x.sum()), "found a loop over a tensor without axes"),
    "in": (lambda x: x if 3 in x else -x, r"write \(x == value\).any\(\)"),
    "range": (lambda x: [x for _ in range(x.sum())], "stepwell.fori_loop for loops"),
    "list index": (lambda x: [1, 2][x.sum()], "stepwell.take"),
    "len": (lambda x: len(x.sum()), r"found len\(\) of a tensor without axes"),
    "set": (lambda x: {x}, "found the hash of a tensor"),
    "item": (lambda x: x.sum().item(), r"found .item\(\) of a tensor"),
    "asarray": (lambda x: np.asarray(x), "stepwell.asarray or stepwell.stack"),
    "array of sums": (lambda x: np.array([x.sum(), x.mean()]), "stepwell.stack"),
    "into zeros": (lambda x: np.zeros(3).__setitem__(0, x[0, 0]), "found float"),
    "vectorize": (
        lambda x: np.vectorize(abs)(x),
        "a function of whole arrays in place of numpy.vectorize",
    ),
    "pickle": (lambda x: x.__reduce__(), "found a pickled tensor"),
    "dtype": (lambda x: setattr(x, "dtype", np.float64), r"write x = x.astype\(dtype\)"),
    "del": (lambda x: x.__delitem__(0), "write x = stepwell.delete"),
    "shape": (lambda x: setattr(x, "shape", (3, 2)), r"write x = x.reshape\(\(3, 2\)\)"),
}


@pytest.mark.parametrize("name", NEEDS_ELEMENTS)
def test_what_needs_elements_says_what_to_write(name: str):
    function, message = NEEDS_ELEMENTS[name]
    with pytest.raises(sw.StepwellError, match=message) as caught:
        traced(function)()
    assert str(caught.value).startswith(f"{__file__}:")
    assert "\n" not in str(caught.value)
    assert "traced" in str(caught.value)


def test_a_printed_tensor_says_that_it_is_traced(capsys: pytest.CaptureFixture[str]):
    traced(lambda x: print(x) or x)()
    shown = (
        "Tensor(float32[2, 3]), traced: it has no elements yet (stepwell.debug_print shows them)\n"
    )
    assert capsys.readouterr().out == shown


OTHER_MISTAKES: dict[str, tuple[Any, str]] = {
    "a parameter of PyTorch": (
        traced(lambda x: sw.sum(x, dim=0)),
        r"found a wrong call of stepwell.sum \(got an unexpected keyword argument 'dim'\), expected sum\(x, /, "
        r"axis=None, .*; here it is 'axis'",
    ),
    "a parameter of a method": (
        traced(lambda x: x.sum(0, keepdim=True)),
        r"found a wrong call of a traced value's sum \(got an unexpected keyword argument 'keepdim'\), expected sum\(axis",
    ),
    "a misspelt parameter": (
        traced(lambda x: sw.argmax(x, keepdimss=1)),
        "did you mean 'keepdims'",
    ),
    "too few arguments": (
        lambda: sw.add(X),
        r"found a wrong call of stepwell.add .*expected add\(x, y",
    ),
    "a ufunc's at": (
        traced(lambda x: np.add.at(x, 0, 1)),
        r"write x = x.at\[indices\].add\(values\)",
    ),
    "a ufunc's at by stepwell's name": (
        lambda: sw.add.at(X, 0, 1),
        r"write x = x.at\[indices\].add\(values\)",
    ),
    "a ufunc's reduceat": (traced(lambda x: np.add.reduceat(x, [0])), "write stepwell.cumsum"),
    "a ufunc's out": (traced(lambda x: np.exp(x, out=x)), r"y = stepwell.exp\(x\)"),
    "a matrix": (lambda: sw.jit(sw.exp)(np.asmatrix(X)), "write @ for products"),
    "where of a condition": (
        traced(lambda x: np.where(x > 0)),
        r"stepwell.nonzero\(condition, size=n\)",
    ),
    "a recursion": (
        traced(lambda x: (lambda f: f(f, x))(lambda f, x: f(f, x - 1))),
        "found a recursion that does not end while '<lambda>' is traced",
    ),
    "a tensor kept by a global": (
        lambda: (lambda kept: (traced(lambda x: kept.append(x) or x)(), float(kept[0])))([]),
        r"found float\(\) of a tensor: .* was kept when its function had been traced",
    ),
    "JAX's static_argnums": (
        lambda: sw.jit(lambda x, n: x, static_argnums=1),
        "found static_argnums= in jit, expected a function, and of options target, threads, fp, opt, cache, winograd; numbers",
    ),
    "Numba's fastmath": (lambda: sw.jit(fastmath=True), "write fp='fast'"),
    "Numba's types": (lambda: sw.jit("f4(f4)"), "found types of arguments in jit"),
    "a misspelt option": (lambda: sw.jit(thread=2), "did you mean 'threads'"),
    "options without names": (lambda: sw.jit(lambda x: x, "host"), "options without their names"),
    "a set": (lambda: sw.jit(lambda x, s: x)(X, {1}), "found a set for argument 's'"),
    "objects": (
        lambda: sw.jit(lambda x: x)(np.array([None])),
        "found dtype object for argument 'x'",
    ),
    "text": (lambda: sw.jit(lambda x: x)(np.array(["a"])), "found dtype <U1 for argument 'x'"),
    "a missing argument": (lambda: sw.jit(lambda x, y: x)(X), "missing a required argument: 'y'"),
    "a mask as an index": (traced(lambda x: x[x > 1]), "stepwell.where"),
    "a traced end of a slice": (
        traced(lambda x, n: x[:n], X, np.int64(1)),
        "stepwell.dynamic_slice",
    ),
    "an assignment to an argument": (
        traced(lambda x: x.__setitem__(0, 1)),
        r"write x = x.at\[...\].set\(value\), or copy it first",
    ),
    "numpy.linalg.eigvals": (
        traced(np.linalg.eigvals, SQUARE),
        "found|expected a function to compile",
    ),
    "rows of other lengths as an index": (
        traced(lambda x: x[[[0, 1], [1]]]),
        r"found the list .* as an index.* write x\[rows, columns\]",
    ),
    "None as an operand": (traced(lambda x: x == None), "ask `x is None` before"),  # noqa: E711
    "an extent below 0": (
        lambda: sw.zeros(-3),
        r"found shape \[-3\], expected extents of at least 0",
    ),
    "an assignment to x.at": (
        traced(lambda x: x.at.__setitem__(0, 1)),
        r"found an assignment to x.at\[key\], .* write x = x.at\[key\].set\(value\)",
    ),
    "arithmetic with x.at": (
        traced(lambda x: x.at[0] + 1),
        r"found add of x.at\[key\], expected a",
    ),
    "another way of x.at": (traced(lambda x: x.at[0].apply(sw.sin)), r"found x.at\[key\].apply"),
    "a state of fori_loop": (
        traced(lambda x: sw.fori_loop(0, 3, lambda i, s: None, x)),
        "found a state of fori_loop that a step returns in another nesting",
    ),
    "numpy.save": (traced(lambda x: np.save("f", x)), "call NumPy's on results"),
    "out=": (traced(lambda x: np.add(x, x, out=np.zeros((2, 3)))), "found numpy.add with out="),
}


@pytest.mark.parametrize("name", OTHER_MISTAKES)
def test_a_mistake_is_one_line(name: str):
    run, message = OTHER_MISTAKES[name]
    with pytest.raises(sw.StepwellError, match=message) as caught:
        run()
    assert str(caught.value).startswith(f"{__file__}:")
    assert "\n" not in str(caught.value)


ATTRIBUTES: dict[str, tuple[Any, str]] = {
    "a misspelt function": (lambda: sw.concatenat, "did you mean 'concatenate' or 'concat'"),
    "a misspelt loop": (lambda: sw.while_lop, "did you mean 'while_loop'"),
    "jax.vmap": (lambda: sw.vmap, "there is no automatic batching yet; .* stepwell.map"),
    "jax.grad": (lambda: sw.grad, "there are no automatic gradients yet"),
    "jax.lax": (lambda: sw.lax, "stepwell itself has scan"),
    "jax.numpy": (lambda: sw.numpy, "stepwell itself has NumPy's names"),
    "numba.njit": (lambda: sw.njit, "use stepwell.jit"),
    "numba.prange": (lambda: sw.prange, "stepwell.fori_loop"),
    "torch's conv2d": (lambda: sw.nn.conv2d, "use stepwell.nn.conv"),
    "torch's attention": (lambda: sw.nn.scaled_dot_product_attention, "write stepwell.softmax"),
    "torch.cat": (lambda: sw.cat, "use stepwell.concatenate"),
    "numpy.random.rand": (lambda: sw.random.rand, r"key = stepwell.random.PRNGKey\(seed\)"),
    "sort in place": (traced(lambda x: x.sort()), r"it sorts in place; use stepwell.sort\(x\)"),
    "a misspelt method": (traced(lambda x: x.reshap(3, 2)), "did you mean 'reshape'"),
    "a function as a method": (traced(lambda x: x.tanh()), r"write stepwell.tanh\(x\)"),
    "torch's mm": (traced(lambda x: x.mm(x)), "use x @ y"),
    "torch's unsqueeze": (traced(lambda x: x.unsqueeze(0)), "use stepwell.expand_dims"),
    "torch's to": (traced(lambda x: x.to("cuda")), "there is one device"),
    "jax's block_until_ready": (traced(lambda x: x.block_until_ready()), "leave it out"),
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute_that_there_is_not_names_what_there_is(name: str):
    run, message = ATTRIBUTES[name]
    with pytest.raises(AttributeError, match=message) as caught:
        run()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("function", [lambda x: x + 1 / 0, lambda x: x.size(), lambda x: next(x)])
def test_an_exception_of_the_function_says_that_it_was_traced(function):
    with pytest.raises((ZeroDivisionError, TypeError)) as caught:
        traced(function)()
    (note,) = caught.value.__notes__
    assert note.startswith(f"{__file__}:")
    assert (
        "raised while '<lambda>' was traced for x: float32[2, 3]; arrays are traced values there"
        in note
    )


@pytest.mark.parametrize("names", [np, sw], ids=["numpy's", "stepwell's"])
def test_reductions_scans_and_outer_products_of_ufuncs_are_ours(names):
    def program(x, names=names):
        return (
            names.add.reduce(x),
            names.maximum.reduce(x, axis=1, keepdims=True),
            names.add.accumulate(x),
            names.minimum.accumulate(x, 1),
            names.subtract.outer(x[0], x),
        )

    traced = sw.jit(lambda x: program(x), opt="quick")
    for found, wanted in zip(traced(X), program(X, np), strict=True):
        np.testing.assert_array_equal(found, wanted)
