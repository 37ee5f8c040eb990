"""What the body of a compute yields for the elements of its results."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TypeVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, traits_def, var_operand_def
from xdsl.traits import IsTerminator, OpTrait, Pure
from xdsl.utils.exceptions import VerifyException

from ..by_position import by_position
from ..combiner import Combiner
from ..dtypes import ELEMENT_TYPES, is_bool, is_element_type, is_float, signless
from ..leaf_operations import fill
from .text import types_text


def verify_element(what: str, element: Attribute) -> None:
    if not is_element_type(element) or element != signless(element):
        names = ", ".join(str(type_) for type_ in ELEMENT_TYPES if type_ == signless(type_))
        raise VerifyException(f"found {what} of type {element}, expected one of {names}; cast it")


def verify_term(element: Attribute, combiner: Combiner | None, types: Sequence[Attribute]) -> None:
    """What is yielded for a result with such elements."""
    if combiner is not None and combiner.is_arg:
        is_index = not is_float(element) and not is_bool(element)
        if len(types) != 2 or types[1] != element or not is_index:
            raise VerifyException(
                f"found an {combiner} that yields ({types_text(types)}) for elements of "
                f"{element}, expected a value and an index of that type, an integer; mend it"
            )
    elif list(types) != [element]:
        raise VerifyException(
            f"found a body that yields ({types_text(types)}), expected one value of {element}; "
            "cast it or mend the result type"
        )
    verify_element("a yielded value", types[0])
    if combiner is not None and not combiner.is_defined_on(types[0]):
        raise VerifyException(
            f"found combiner '{combiner}' over values of {types[0]}, expected one defined on them; "
            "choose another"
        )


_T = TypeVar("_T")


def dealt(
    yielded: Sequence[_T], combiners: Sequence[Combiner], count: int
) -> tuple[tuple[_T, ...], ...]:
    """What is yielded, by results: two values for an arg-reduction, one for any other."""
    sizes = [1 + combiner.is_arg for combiner in combiners] or [1] * count
    values = iter(yielded)
    return tuple(tuple(islice(values, size)) for size in sizes)


class _EndsBodies(OpTrait):
    """Stands in operations of its dialect, and in no function: this must end in what its calls return."""

    def verify(self, op: Operation) -> None:
        parent = op.parent_op()
        if parent is not None and not parent.name.startswith("te."):
            raise VerifyException(
                f"found '{op.name}' at the end of a block of '{parent.name}', expected it in an operation of te; "
                "end a function with func.return"
            )


@by_position
@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends the body of a compute with the element's value, or of a kernel with its results."""

    name = "te.yield"

    values = var_operand_def()
    traits = traits_def(IsTerminator(), _EndsBodies(), Pure())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue | Operation):
        fill(self, [SSAValue.get(value) for value in values])
