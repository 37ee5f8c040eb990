"""
xDSL's values and operations are compared and found by their identity, through methods of Python's, and kinds of affine expressions
by their names. An object's own methods say the same in a fraction of the time.
"""

from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind
from xdsl.irdl import IRDLOperation


def compare_as_objects() -> None:
    """Give these classes the methods of any object."""
    for kind in (SSAValue, BlockArgument, IRDLOperation):
        for method in ("__eq__", "__hash__"):
            setattr(kind, method, getattr(object, method))
    AffineBinaryOpKind.__hash__ = object.__hash__
