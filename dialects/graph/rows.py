"""The interface of operations that do the same to each row of a tensor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from ..shaped import shape_of


class RowWise(Operation, ABC):
    """
    An operation that may work on rows: along the last axis alone, with all leading axes treated alike.

    Such an operation is also one on a matrix whose rows are those of the leading axes, which is what
    `graph-flatten-rows` makes of it.
    """

    @abstractmethod
    def row_operands(self) -> Sequence[SSAValue] | None:
        """
        The operands that have the leading axes of the result, while all others have a last axis at most (leading
        extents of 1 aside); None where rows are not treated alike.
        """

    def row_properties(self) -> Mapping[str, Attribute]:
        """The properties of the same operation on matrices."""
        return self.properties


def is_parameter(value: SSAValue) -> bool:
    """Whether a value is the same for each row."""
    return all(extent == 1 for extent in shape_of(value)[:-1])
