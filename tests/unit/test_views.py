"""What NumPy has as a view of another array: an assignment that would be seen in the other one is refused, never dropped."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw

X = np.arange(6.0).reshape(2, 3)


def compiled(function: Callable[[Any], Any], x: np.ndarray = X) -> Any:
    return sw.jit(function, opt="quick", cache=False)(x.copy())


def rows(x: Any) -> Any:
    x = x + 0
    for row in x:
        row[0] = 5
    return x


def parts(x: Any) -> Any:
    x = x + 0
    for part in np.split(x, 3, axis=1):
        part[0] = 5
    return x


def backwards(x: Any) -> Any:
    x = x + 0
    np.flip(x)[0] = 5
    return x


def real_part(x: Any) -> Any:
    x = x + 0
    x.real[0] = 5
    return x


def complex_row(x: Any) -> Any:
    x = x + 1j
    row = x[0]
    row[0] = 5
    return x


def complex_argument(x: Any) -> Any:
    x[0] = 5
    return x


@pytest.mark.parametrize("function", [rows, parts, backwards, real_part, complex_row])
def test_an_assignment_into_a_view_is_refused(function: Callable[[Any], Any]):
    with pytest.raises(sw.StepwellError, match="which NumPy has as a view of another array, exp"):
        compiled(function)


def test_an_assignment_into_a_complex_argument_is_refused():
    with pytest.raises(sw.StepwellError, match="an argument, which belongs to the caller"):
        compiled(complex_argument, X + 1j)


@pytest.mark.parametrize(
    "make", [lambda z: z + 1, np.conj, lambda z: z * 1, lambda z: z.copy(), copy.copy]
)
def test_complex_values_that_are_computed_share_no_part(make: Callable[[Any], Any]):
    def function(z: Any) -> Any:
        other = make(z)
        other[0] = 5 + 6j
        return z, other

    z = X + 1j
    for found, wanted in zip(compiled(function, z), function(z.copy()), strict=True):
        np.testing.assert_array_equal(found, wanted)


def slice_returned(x: Any) -> Any:
    x = x + 0
    part = x[:, 1:]
    x[0] = 5
    return part


def slice_used(x: Any) -> Any:
    x = x + 0
    part = x[0][1:]
    x[0] = 5
    return part * 2


def transposed(x: Any) -> Any:
    x = x + 0
    other = x.T
    x[0] = 5
    return other.copy()


def joined(x: Any) -> Any:
    x = x + 0
    first, second = x
    x[0] = 5
    return sw.concatenate([first, second])


def swapped_rows(x: Any) -> Any:
    x = x + 0
    x[0], x[1] = x[1], x[0]
    return x


@pytest.mark.parametrize("function", [slice_returned, slice_used, transposed, joined, swapped_rows])
def test_a_view_of_what_has_been_assigned_into_is_not_used(function: Callable[[Any], Any]):
    """In NumPy it has the new elements."""
    with pytest.raises(sw.StepwellError, match="which has been assigned into since"):
        compiled(function)


def swapped_numbers(x: Any) -> Any:
    x = x[0] + 0
    x[0], x[1] = x[1], x[0]
    return x


def copied(x: Any) -> Any:
    x = x + 0
    part = x[0].copy()
    x[0] = 5
    return x + part


def copied_by_python(x: Any) -> Any:
    x = x + 0
    one, other = copy.copy(x), copy.deepcopy(x)
    one[0] = 5
    other[1] = 6
    return x + one * other


def not_used_again(x: Any) -> Any:
    x = x + 0
    first, second = x
    total = first + second
    x[0] = total
    x[1, 1:] *= 2
    return x


def taken_after(x: Any) -> Any:
    x = x + 0
    x[0] = 5
    return x[0] + x.T[1, 1]


def selected(x: Any) -> Any:
    x = x + 0
    part = x[[1, 0]]
    x[0] = 5
    return part


@pytest.mark.parametrize(
    "function", [swapped_numbers, copied, copied_by_python, not_used_again, taken_after, selected]
)
def test_what_numpy_computes_alike_is_computed(function: Callable[[Any], Any]):
    np.testing.assert_array_equal(compiled(function), function(X.copy()))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.put(x, [1], [5]),
        lambda x: np.copyto(x, 2),
        lambda x: np.fill_diagonal(x, 2),
        lambda x: np.putmask(x, x > 1, 2),
        lambda x: np.put_along_axis(x, np.array([[0], [1]]), 9, 1),
    ],
)
def test_functions_of_numpy_that_write_into_an_argument_are_refused(call: Callable[[Any], Any]):
    """Their results, new values in Stepwell, would be dropped by who has called NumPy's."""

    def function(x: Any) -> Any:
        x = x + 0
        call(x)
        return x

    with pytest.raises(sw.StepwellError, match=r"traced values do not change; write x = stepw"):
        compiled(function)
