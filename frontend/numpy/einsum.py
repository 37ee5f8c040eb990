"""
`einsum`: sums of products said with letters for axes. Two operands at a time are one matrix product; diagonals are
views; an axis that one operand alone has is summed first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ...dialects import graph
from ...errors import StepwellError
from ..recording import promoted, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .elementwise import multiply
from .manipulation import expand_dims, reshape, transpose
from .matrices import diagonal
from .products import matmul
from .reductions import sum

Labels = tuple[str | int, ...]
"""An axis is a letter, or the number, counted from the last, of one that `...` stands for: -1, -2 …"""


@traceable
def einsum(subscripts: str, /, *operands: TensorLike) -> Tensor:
    """
    `numpy.einsum` of a string: a letter for each axis, `...` for any axes in front, which broadcast. A letter twice in one
    operand takes the diagonal; letters that are not behind `->` are summed over. Without `->` the result has the letters
    that stand once, in alphabetical order.

    Operands are promoted to a common dtype. Of more than two, `numpy.einsum_path` says in which order they are joined.

    Raises StepwellError for letters with different extents, and for more or fewer letters than axes.

    >>> sw.einsum("ij,j->i", [[1, 2], [3, 4]], [10, 1])
    array([12, 34])
    """
    if not isinstance(subscripts, str) or not operands:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise StepwellError(
            f"found {subscripts!r:.60} and {len(operands)} operands in einsum, expected a string such as "
            "'ij,jk->ik' and its operands"
        )
    tensors = promoted(*operands)
    inputs, output = _parsed(subscripts, tensors)
    terms = [_Term(*pair).with_diagonals() for pair in zip(tensors, inputs, strict=True)]
    _check_extents(terms, subscripts)
    for chosen in _order(subscripts, tensors):
        taken = [terms.pop(number) for number in sorted(chosen, reverse=True)]
        joined = taken.pop()
        while taken:
            term = taken.pop()
            later = (label for each in (*terms, *taken) for label in each.labels)
            pair = _in_order(joined, term, output)
            joined = _product(*pair, {*output, *later})
        terms.append(joined.summed({*output, *(label for term in terms for label in term.labels)}))
    (term,) = terms
    return transpose(term.tensor, [term.labels.index(label) for label in output])


def _parsed(subscripts: str, tensors: Sequence[Tensor]) -> tuple[list[Labels], Labels]:
    """The labels of each operand and of the result. Raises StepwellError for what is no einsum of these."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(tensors):
        raise StepwellError(
            f"found {len(tensors)} operands for the {len(parts)} in '{subscripts}', expected as many of each"
        )
    inputs = [
        _labels(part, tensor.ndim, subscripts) for part, tensor in zip(parts, tensors, strict=True)
    ]
    dots = sorted({label for labels in inputs for label in labels if isinstance(label, int)})
    used = [label for labels in inputs for label in labels if isinstance(label, str)]
    if not arrow:
        return inputs, (*dots, *sorted(label for label in set(used) if used.count(label) == 1))
    output = _labels(right, len(dots) + len(right.replace("...", "")), subscripts)
    letters = [label for label in output if isinstance(label, str)]
    if len(set(letters)) < len(letters) or not {*letters} <= {*used}:
        raise StepwellError(
            f"found '{right}' for the result in '{subscripts}', expected each letter once, and letters of operands"
        )
    return inputs, output


def _labels(part: str, rank: int, subscripts: str) -> Labels:
    """The labels of one operand's axes."""
    before, dots, behind = part.partition("...")
    letters = before + behind
    hidden = rank - len(letters)
    if (letters and not letters.isalpha()) or hidden < 0 or (hidden and not dots):
        raise StepwellError(
            f"found '{part}' in '{subscripts}' for a tensor of {rank} axes, expected a letter for each, or '...' for "
            "those that are left; mend the string"
        )
    return (*before, *range(-hidden, 0), *behind)


def _check_extents(terms: Sequence[_Term], subscripts: str) -> None:
    """Raise StepwellError for axes of one label that do not broadcast."""
    found: dict[str | int, int] = {}
    for term in terms:
        for label, extent in zip(term.labels, term.tensor.shape, strict=True):
            known = found.setdefault(label, extent)
            if known != extent and 1 not in (known, extent):
                raise StepwellError(
                    f"found extents {known} and {extent} for '{label if isinstance(label, str) else '...'}' in "
                    f"'{subscripts}', expected equal ones, or 1; mend the operands"
                )
            found[label] = extent if known == 1 else known


def _order(subscripts: str, tensors: Sequence[Tensor]) -> list[tuple[int, ...]]:
    """Which operands are joined next, by their positions; what they give is the last one then."""
    if len(tensors) <= 2:
        return [tuple(range(len(tensors)))]
    shapes = [np.broadcast_to(np.float32(0), tensor.shape) for tensor in tensors]
    path = np.einsum_path(subscripts, *shapes, optimize="greedy")[0]
    return [tuple(step) for step in path[1:]]


@dataclass(frozen=True, eq=False)
class _Term:
    """A tensor, and the label of each of its axes."""

    tensor: Tensor
    labels: Labels

    def with_diagonals(self) -> _Term:
        """Each label once."""
        term = self
        for label in dict.fromkeys(self.labels):
            while term.labels.count(label) > 1:
                first = term.labels.index(label)
                second = term.labels.index(label, first + 1)
                term = term._diagonal(first, second)
        return term

    def _diagonal(self, first: int, second: int) -> _Term:
        one, other = self.tensor.shape[first], self.tensor.shape[second]
        label = self.labels[first]
        if one != other and 1 in (one, other):
            return self.without(first if one == 1 else second)
        if one != other:
            raise StepwellError(
                f"found extents {one} and {other} for '{label}' in one operand, expected equal ones"
            )
        rest = [each for n, each in enumerate(self.labels) if n not in (first, second)]
        return _Term(diagonal(self.tensor, 0, first, second), (*rest, label))

    def without(self, axis: int) -> _Term:
        """Without an axis of extent 1."""
        labels = (*self.labels[:axis], *self.labels[axis + 1 :])
        return _Term(record(graph.SqueezeOp, self.tensor, (axis,)), labels)

    def summed(self, kept: set[str | int]) -> _Term:
        """Summed over all labels but those."""
        axes = tuple(axis for axis, label in enumerate(self.labels) if label not in kept)
        if not axes:
            return self
        total = sum(self.tensor, axes, self.tensor.dtype)
        return _Term(total, tuple(label for label in self.labels if label in kept))

    def ordered(self, *groups: Labels) -> Tensor:
        """With the axes in groups, of which the last two are one axis each."""
        order = [self.labels.index(label) for group in groups for label in group]
        shape = [self.tensor.shape[axis] for axis in order]
        ends = [len(groups[0]), len(groups[0]) + len(groups[1])]
        joined = [prod(shape[ends[0] : ends[1]]), prod(shape[ends[1] :])]
        return reshape(transpose(self.tensor, order), (*shape[: ends[0]], *joined))


def _in_order(a: _Term, b: _Term, output: Labels) -> tuple[_Term, _Term]:
    """
    Two terms to multiply, first the one whose own labels the result has further in front.

    Rows of a product stand before its columns, so that the product need not be transposed then.
    """
    own = next((label for label in output if (label in a.labels) != (label in b.labels)), None)
    return (b, a) if own in b.labels else (a, b)


def _product(a: _Term, b: _Term, kept: set[str | int]) -> _Term:
    """Two terms multiplied, and summed over the labels that are not kept."""
    a, b = a.summed({*b.labels, *kept}), b.summed({*a.labels, *kept})
    shared = [label for label in a.labels if label in b.labels and label not in kept]
    for label in shared:
        # A sum over an axis that one of them has one element of is a sum of the other's elements.
        axes = a.labels.index(label), b.labels.index(label)
        sizes = a.tensor.shape[axes[0]], b.tensor.shape[axes[1]]
        if sizes[0] != sizes[1]:
            a, b = (a.without(axes[0]), b) if sizes[0] == 1 else (a, b.without(axes[1]))
            return _product(a, b, kept)
    batch = tuple(label for label in a.labels if label in b.labels and label in kept)
    rows = tuple(label for label in a.labels if label not in b.labels)
    columns = tuple(label for label in b.labels if label not in a.labels)
    labels = (*batch, *rows, *columns)
    if not shared:
        return _Term(multiply(_broadcastable(a, labels), _broadcastable(b, labels)), labels)
    summed = tuple(shared)
    product = matmul(a.ordered(batch, rows, summed), b.ordered(batch, summed, columns))
    return _Term(reshape(product, [_extent(label, a, b) for label in labels]), labels)


def _extent(label: str | int, *terms: _Term) -> int:
    """The extent of a label in terms that broadcast."""
    sizes = [term.tensor.shape[term.labels.index(label)] for term in terms if label in term.labels]
    return next((size for size in sizes if size != 1), 1)


def _broadcastable(term: _Term, labels: Labels) -> Tensor:
    """A term's tensor with an axis for every label, of extent 1 for those that it does not have."""
    order = [term.labels.index(label) for label in labels if label in term.labels]
    missing = [axis for axis, label in enumerate(labels) if label not in term.labels]
    moved = transpose(term.tensor, order)
    return expand_dims(moved, missing) if missing else moved
