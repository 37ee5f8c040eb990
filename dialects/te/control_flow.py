"""Control flow over tensors that are defined element by element: what is in the regions becomes kernels as elsewhere."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from ..control_flow import If, Scan, While


@irdl_op_definition
class ScanOp(Scan):
    """A recurrence: `Scan`, each step of which calls kernels."""

    name = "te.scan"


@irdl_op_definition
class WhileOp(While):
    """A loop that calls kernels as long as a flag holds: `While`."""

    name = "te.while"


@irdl_op_definition
class IfOp(If):
    """One of two sequences of kernels: `If`."""

    name = "te.if"
