"""Attributes of the loop dialect: what a loop is, how it runs, where a buffer lives, what an argument is."""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.str_enum import StrEnum


class LoopKind(StrEnum):
    """What is known of a loop's iterations."""

    PARALLEL = "parallel"
    """no iteration depends on another"""
    REDUCTION = "reduction"
    """iterations depend on each other only through an associative update"""
    SERIAL = "serial"
    """they must run in order, or nothing is known"""


class RunMode(StrEnum):
    """How a loop will run; without one it runs plainly, one iteration after the other."""

    THREADS = "threads"
    VECTOR = "vector"
    UNROLL = "unroll"


class Scope(StrEnum):
    """Where a scratch buffer lives."""

    REGISTER = "register"
    STACK = "stack"
    THREAD = "thread"
    ARENA = "arena"


@irdl_attr_definition
class LoopKindAttr(EnumAttribute[LoopKind], SpacedOpaqueSyntaxAttribute):
    name = "loop.kind"


@irdl_attr_definition
class RunModeAttr(EnumAttribute[RunMode], SpacedOpaqueSyntaxAttribute):
    name = "loop.mode"


kind_attribute = lru_cache(LoopKindAttr)
mode_attribute = lru_cache(RunModeAttr)


@irdl_attr_definition
class ScopeAttr(EnumAttribute[Scope], SpacedOpaqueSyntaxAttribute):
    name = "loop.scope"


RESULT = "stepwell.result"
"""Argument attribute: this buffer is a result, written by the function and not read before."""

ARENA = "stepwell.arena"
"""Argument attribute: scratch memory the caller provides, 64-byte aligned, undefined contents."""

CONSTANT = "stepwell.constant"
"""Argument attribute of a kernel: its callers pass constants, whose contents are known when the program is loaded."""

CONSTANT_BYTES = "stepwell.constant_bytes"
"""
Attribute of a module at te and below: how many bytes of constants its program has, rounded up to a power of two. A program of
less than a mebibyte has none.
"""

FINITE = "stepwell.finite"
"""
Argument attribute: no element of what callers pass is infinite or no number, so that a product with zero is zero. Kernels
have it that read something through a guard.
"""

OWN = "stepwell.own"
"""
Argument attribute: a buffer of the program's own stands here, which a kernel is given that is looked at apart from its
program.
"""

SHARED = "stepwell.shared"
"""
Argument attribute of a kernel: along which dimension of this buffer the threads of the program share it, each with a part of
its own, so that a kernel whose threads do so too finds in each core's cache what the one before has left there.
"""

ALONE = "stepwell.alone"
"""Attribute of a kernel: one thread has all of its iterations, as others would wait longer for what is in its cache than they would help."""

LOAD = "stepwell.load"
"""
Attribute of a function that takes nothing and is to be run once before any other of the module, and of the globals that
such functions fill, which are constants to all others.
"""

UNSIGNED = "stepwell.unsigned"
"""Argument or result attribute: the elements are unsigned for the caller, though the type is signless."""

NAME = "stepwell.name"
"""Argument or result attribute: what the caller calls it, where the IR could not print that as a name of its own."""

MODE = "stepwell.mode"
"""Attribute of an `scf.for`: how the loop it came from was marked to run."""

UNROLLED = "stepwell.unrolled"
"""
Attribute of a loop whose body a schedule has written out several times (`unroll` by a factor, `unroll_and_jam`), and of
the `scf.for` that it becomes. LLVM neither unrolls it further nor makes vectors of its iterations: the copies were chosen
for the registers there are.
"""

MARK = UnitAttr()

NEEDED = "stepwell.needed"
"""
What is needed of results in a step of a loop: an argument's map from the number of the step to the least and the greatest
index along the first axis, the second and so on. Other elements need not be written. Of a kernel at te: such a map for
each result.
"""

STEP = "stepwell.step"
"""Argument attribute: the number of the step of the loop in which the function is called."""
