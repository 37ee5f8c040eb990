"""How the values of reduction iterations are joined: the combiners of `te.compute` and their facts."""

from __future__ import annotations

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.str_enum import StrEnum

from .dtypes import is_bool, is_float, numpy_dtype
from .scalar import SECOND_IS_NUMBER


class Combiner(StrEnum):
    """
    An associative and commutative way to join values, of signless types as `arith` has them.

    `max` and `min` propagate NaN and compare integers as signed; `umax` and `umin` as unsigned. `maxnum` is the greatest
    float that is a number, -inf where there is none.
    """

    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"
    MAXNUM = "maxnum"
    UMAX = "umax"
    UMIN = "umin"
    AND = "and"
    OR = "or"
    ARGMAX = "argmax"
    ARGMIN = "argmin"

    @property
    def is_arg(self) -> bool:
        """
        Whether the body yields a value and its index, and the result is the index of the extreme value.

        Of equal values the smallest index wins, and NaN wins over numbers, as in NumPy. Integers
        compare as signed. The index of an empty reduction is 0.
        """
        return self in (Combiner.ARGMAX, Combiner.ARGMIN)

    @property
    def is_extreme(self) -> bool:
        """Whether it keeps the greatest or the least value."""
        return self in (
            Combiner.MAX,
            Combiner.MIN,
            Combiner.MAXNUM,
            Combiner.UMAX,
            Combiner.UMIN,
        )

    def is_defined_on(self, type_: Attribute) -> bool:
        """Whether values of this element type can be joined."""
        if not is_float(type_):
            return self is not Combiner.MAXNUM
        return self not in (Combiner.UMAX, Combiner.UMIN, Combiner.AND, Combiner.OR)

    def identity(self, type_: Attribute) -> FloatAttr | IntegerAttr:
        """
        The value that leaves others of `type_` as they are; for an arg-reduction, of its values.

        Raises ValueError when the combiner is not defined on the type.
        """
        if not self.is_defined_on(type_):
            raise ValueError(f"combiner '{self}' is not defined on {type_}")
        dtype = numpy_dtype(type_)
        if is_float(type_):
            values = {
                Combiner.ADD: 0.0,
                Combiner.MUL: 1.0,
                Combiner.MAX: -np.inf,
                Combiner.MIN: np.inf,
                Combiner.MAXNUM: -np.inf,
                Combiner.ARGMAX: -np.inf,
                Combiner.ARGMIN: np.inf,
            }
            return FloatAttr(values[self], type_)  # pyright: ignore[reportArgumentType, reportCallIssue]
        # As a signed number the one bit of an i1 is 0 or -1.
        low, high = (1, 0) if is_bool(type_) else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        ones = 1 if is_bool(type_) else -1
        value = {
            Combiner.ADD: 0,
            Combiner.MUL: 1,
            Combiner.MAX: low,
            Combiner.MIN: high,
            Combiner.UMAX: 0,
            Combiner.UMIN: ones,
            Combiner.AND: ones,
            Combiner.OR: 0,
            Combiner.ARGMAX: low,
            Combiner.ARGMIN: high,
        }[self]
        return IntegerAttr(int(value), type_)  # pyright: ignore[reportArgumentType, reportCallIssue]

    def combine(
        self,
        builder: Builder,
        old: SSAValue,
        new: SSAValue,
        flags: arith.FastMathFlagsAttr | None = None,
    ) -> SSAValue:
        """
        Insert the operation that joins a value with what was joined before, which starts as the identity (not for
        arg-reductions; see `combine_arg`).

        Of extremes of floats the new value stands first: x86 asks the first operand alone whether it is NaN, which need not
        wait for the update before.
        """
        if is_float(old.type):
            float_op = {
                Combiner.ADD: arith.AddfOp,
                Combiner.MUL: arith.MulfOp,
                Combiner.MAX: arith.MaximumfOp,
                Combiner.MIN: arith.MinimumfOp,
                Combiner.MAXNUM: arith.MaxnumfOp,
            }[self]
            operands = (new, old) if self.is_extreme else (old, new)
            op = builder.insert(float_op(*operands, flags))
            if self is Combiner.MAXNUM:
                op.attributes[SECOND_IS_NUMBER] = UnitAttr()
            return op.results[0]
        integer_op = {
            Combiner.ADD: arith.AddiOp,
            Combiner.MUL: arith.MuliOp,
            Combiner.MAX: arith.MaxSIOp,
            Combiner.MIN: arith.MinSIOp,
            Combiner.UMAX: arith.MaxUIOp,
            Combiner.UMIN: arith.MinUIOp,
            Combiner.AND: arith.AndIOp,
            Combiner.OR: arith.OrIOp,
        }[self]
        return builder.insert(integer_op(old, new)).results[0]

    def combine_arg(
        self,
        builder: Builder,
        best: tuple[SSAValue, SSAValue],
        new: tuple[SSAValue, SSAValue],
    ) -> tuple[SSAValue, SSAValue]:
        """Insert the operations that keep the better of two (value, index) pairs."""
        better = self._better(builder, new[0], best[0])
        tie = self._tie(builder, new[0], best[0])
        earlier = builder.insert(arith.CmpiOp(new[1], best[1], "slt")).result
        wins = builder.insert(arith.AndIOp(tie, earlier)).result
        take = builder.insert(arith.OrIOp(better, wins)).result
        return (
            builder.insert(arith.SelectOp(take, new[0], best[0])).result,
            builder.insert(arith.SelectOp(take, new[1], best[1])).result,
        )

    def _better(self, builder: Builder, new: SSAValue, best: SSAValue) -> SSAValue:
        greater = self is Combiner.ARGMAX
        if not is_float(new.type):
            return builder.insert(arith.CmpiOp(new, best, "sgt" if greater else "slt")).result
        beyond = builder.insert(arith.CmpfOp(new, best, "ogt" if greater else "olt")).result
        new_nan = builder.insert(arith.CmpfOp(new, new, "uno")).result
        best_number = builder.insert(arith.CmpfOp(best, best, "ord")).result
        first_nan = builder.insert(arith.AndIOp(new_nan, best_number)).result
        return builder.insert(arith.OrIOp(beyond, first_nan)).result

    def _tie(self, builder: Builder, new: SSAValue, best: SSAValue) -> SSAValue:
        if not is_float(new.type):
            return builder.insert(arith.CmpiOp(new, best, "eq")).result
        equal = builder.insert(arith.CmpfOp(new, best, "oeq")).result
        new_nan = builder.insert(arith.CmpfOp(new, new, "uno")).result
        best_nan = builder.insert(arith.CmpfOp(best, best, "uno")).result
        both_nan = builder.insert(arith.AndIOp(new_nan, best_nan)).result
        return builder.insert(arith.OrIOp(equal, both_nan)).result
