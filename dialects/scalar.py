"""
Scalar computation on the element types of the graph level, in `arith` and `math`.

The one place that knows which operation on a signless type means what a NumPy function means on a
signed, unsigned or boolean one.
"""

from __future__ import annotations

from typing import Literal, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    f32,
    f64,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from .dtypes import bit_width, is_bool, is_float, is_narrow_float, is_unsigned, signless
from .leaf_operations import inserted, leaf
from .upstream.arith import RemFOp

Predicate = Literal["eq", "ne", "lt", "le", "gt", "ge"]

_FLOAT_PREDICATES: dict[Predicate, str] = {
    # Ordered, as NumPy's are: false where an operand is NaN. Only `ne` is then true.
    "eq": "oeq",
    "ne": "une",
    "lt": "olt",
    "le": "ole",
    "gt": "ogt",
    "ge": "oge",
}

NONPOSITIVE = "stepwell.nonpositive"
"""
Attribute of a `math.exp` whose operand is proved to be at most 0, but for rounding, or NaN: a cheaper polynomial
will do.
"""

NAN_LEFT_OPEN = "stepwell.nan_left_open"
"""
Attribute of a maximum whose users are NaN where one of its elements is, whatever the maximum is then: it may be that of the
numbers. (With `fp=fast`, which promises that there is no NaN, they may be anything.)
"""

SECOND_IS_NUMBER = "stepwell.second_is_number"
"""
Attribute of an `arith.maxnumf` whose second operand is never NaN: a comparison and a choice do what it says. Of a `vector.reduction`
by it: what the lanes are joined with is never NaN.
"""

BETWEEN = "stepwell.between"
"""Attribute of an operation on floats: two numbers that all lanes of its result are proved to be between, ends included."""

EXACT = "stepwell.exact"
"""
Attribute of an operation on floats that keeps its rounding whatever `fp` says: the quotients and remainders of
floats are right only when each step is.
"""

ANY_ORDER = "stepwell.any_order"
"""
Attribute of an addition by which loops of a definition sum numbers up in no particular order: it may be reassociated
where `fp` lets reductions be.
"""


class ScalarBuilder:
    """
    Emits the computation of one element.

    `type` is the element type at the graph level, signedness included; arguments and results have its
    signless form unless a method says otherwise.
    """

    def __init__(self, builder: Builder, type: Attribute):
        self.builder = builder
        self.type = type
        self.signless = signless(type)
        self.is_float = is_float(type)
        self.is_bool = is_bool(type)
        self.is_unsigned = is_unsigned(type)
        self.width = bit_width(type)

    def of_type(self, type: Attribute) -> ScalarBuilder:
        """A builder at the same place for another element type."""
        return self if type == self.type else ScalarBuilder(self.builder, type)

    def emit(self, op: Operation) -> SSAValue:
        """Insert an operation of one result; the result."""
        (result,) = inserted(self.builder, op).results
        return result

    def _op(
        self, floating: type[Operation], signed: type[Operation], unsigned: type[Operation] | None
    ) -> type[Operation]:
        if self.is_float:
            return floating
        return unsigned if unsigned is not None and self.is_unsigned else signed

    def _binary(self, op: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit(leaf(op, (a, b), (a.type,)))

    # Constants.

    def constant(self, value: float | int | bool) -> SSAValue:
        """The number as a constant of this type; integers out of range wrap."""
        if self.is_float:
            number = FloatAttr(float(value), cast(AnyFloat, self.type))
            return self.emit(leaf(arith.ConstantOp, (), (self.type,), {"value": number}))
        type_ = cast("IntegerType | IndexType", self.signless)
        attr = IntegerAttr(int(value), type_, truncate_bits=True)
        return self.emit(leaf(arith.ConstantOp, (), (type_,), {"value": attr}))

    def _int_min(self) -> SSAValue:
        return self.constant(-(2 ** (self.width - 1)))

    # Arithmetic. On i1 it is NumPy's: addition is `or`, multiplication is `and`.

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        integer = arith.OrIOp if self.is_bool else arith.AddiOp
        return self._binary(arith.AddfOp if self.is_float else integer, a, b)

    def in_any_order(self, joined: SSAValue) -> SSAValue:
        """A value that is joined with others, of floats too, whose order does not matter."""
        if self.is_float and isinstance(joined.owner, Operation):
            joined.owner.attributes[ANY_ORDER] = UnitAttr()
        return joined

    def accumulate(self, total: SSAValue, part: SSAValue) -> SSAValue:
        """The next total of a sum of floats whose order does not matter."""
        op = arith.AddfOp(total, part)
        op.attributes[ANY_ORDER] = UnitAttr()
        return self.emit(op)

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._binary(arith.SubfOp if self.is_float else arith.SubiOp, a, b)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        integer = arith.AndIOp if self.is_bool else arith.MuliOp
        return self._binary(arith.MulfOp if self.is_float else integer, a, b)

    def div(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """IEEE division; floats only."""
        return self._binary(arith.DivfOp, a, b)

    def neg(self, a: SSAValue) -> SSAValue:
        if self.is_float:
            return self.emit(arith.NegfOp(a))
        return self.sub(self.constant(0), a)

    def abs(self, a: SSAValue) -> SSAValue:
        """The absolute value; of the least integer, itself."""
        if self.is_float:
            return self.emit(math.AbsFOp(a))
        return a if self.is_unsigned else self.emit(math.AbsIOp(a))

    def floor_div(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`numpy.floor_divide`. On integers x/0 is 0, and the least one by -1 is itself."""
        if self.is_float:
            return self._float_floor_div(a, b)
        divisor, is_zero = self._safe_divisor(a, b)
        zero = self.constant(0)
        if self.is_unsigned:
            quotient = self._binary(arith.DivUIOp, a, divisor)
            return quotient if is_zero is None else self.select(is_zero, zero, quotient)
        quotient = self._binary(arith.DivSIOp, a, divisor)
        remainder = self._binary(arith.RemSIOp, a, divisor)
        lower = self.sub(quotient, self.constant(1))
        floored = self.select(self._crosses_zero(remainder, divisor), lower, quotient)
        return floored if is_zero is None else self.select(is_zero, zero, floored)

    def mod(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`numpy.mod`: the sign is the divisor's. On integers x mod 0 is 0."""
        if self.is_float:
            return self._float_mod(a, b)
        divisor, _ = self._safe_divisor(a, b)
        if self.is_unsigned:
            return self._binary(arith.RemUIOp, a, divisor)
        remainder = self._binary(arith.RemSIOp, a, divisor)
        raised = self.add(remainder, divisor)
        return self.select(self._crosses_zero(remainder, divisor), raised, remainder)

    def _safe_divisor(self, a: SSAValue, b: SSAValue) -> tuple[SSAValue, SSAValue | None]:
        """The divisor with 1 in place of what would trap, and whether it was 0; None where it is a number that never is."""
        if _is_harmless_divisor(b):
            return b, None
        one = self.constant(1)
        is_zero = self.compare("eq", b, self.constant(0))
        if self.is_unsigned:
            return self.select(is_zero, one, b), is_zero
        overflows = self.emit(
            arith.AndIOp(
                self.compare("eq", a, self._int_min()), self.compare("eq", b, self.constant(-1))
            )
        )
        traps = self.emit(arith.OrIOp(is_zero, overflows))
        return self.select(traps, one, b), is_zero

    def _crosses_zero(self, remainder: SSAValue, divisor: SSAValue) -> SSAValue:
        """Whether a nonzero remainder's sign is not the divisor's: the truncated quotient is too high."""
        zero = self.constant(0)
        signs = self.emit(arith.XOrIOp(remainder, divisor))
        return self.emit(
            arith.AndIOp(self.compare("ne", remainder, zero), self.compare("lt", signs, zero))
        )

    def exactly(self, op: Operation) -> SSAValue:
        """Insert an operation of one result that no `fp` may relax."""
        op.attributes[EXACT] = UnitAttr()
        return self.emit(op)

    def _fmod_crosses(self, remainder: SSAValue, b: SSAValue) -> SSAValue:
        """Whether a nonzero remainder's sign is not the divisor's: the truncated quotient is too high."""
        zero = self.constant(0)
        differ = self.emit(
            arith.XOrIOp(self.compare("lt", remainder, zero), self.compare("lt", b, zero))
        )
        return self.emit(arith.AndIOp(self.compare("ne", remainder, zero), differ))

    def _float_mod(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """NumPy's `npy_divmod` for floats: a zero result has the divisor's sign."""
        remainder = self.emit(RemFOp(a, b))
        raised = self.exactly(arith.AddfOp(remainder, b))
        raised = self.select(self._fmod_crosses(remainder, b), raised, remainder)
        signed_zero = self.emit(math.CopySignOp(self.constant(0), b))
        is_zero = self.compare("eq", remainder, self.constant(0))
        return self.select(is_zero, signed_zero, raised)

    def _float_floor_div(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """NumPy's `npy_divmod` for floats: (a - fmod)/b is nearly an integer and snapped to it."""
        remainder = self.emit(RemFOp(a, b))
        one = self.constant(1)
        plain = self.exactly(arith.DivfOp(a, b))
        whole = self.exactly(arith.SubfOp(a, remainder))
        near = self.exactly(arith.DivfOp(whole, b))
        lower = self.exactly(arith.SubfOp(near, one))
        near = self.select(self._fmod_crosses(remainder, b), lower, near)
        floored = self.floor(near)
        rest = self.exactly(arith.SubfOp(near, floored))
        above = self.exactly(arith.AddfOp(floored, one))
        snapped = self.select(self.compare("gt", rest, self.constant(0.5)), above, floored)
        signed_zero = self.emit(math.CopySignOp(self.constant(0), plain))
        snapped = self.select(self.compare("eq", near, self.constant(0)), signed_zero, snapped)
        return self.select(self.compare("eq", b, self.constant(0)), plain, snapped)

    def pow(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """
        `numpy.power`. Integers wrap; to a negative exponent all but 1 and -1 give 0 (NumPy raises).
        """
        if self.is_float:
            return self.emit(math.PowFOp(a, b))
        if self.width >= 32:
            return self._pow_of_halves(a, b) if self.is_unsigned else self.emit(math.IPowIOp(a, b))
        wide = self.of_type(i32)
        return wide.cast_to(
            wide.emit(math.IPowIOp(self.cast_to(a, i32), self.cast_to(b, i32))), self.type
        )

    def _pow_of_halves(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`(a ** (b // 2)) ** 2 * a ** (b % 2)`, as `math.ipowi` takes an exponent with the top bit for negative."""
        one = self.constant(1)
        half = self.emit(math.IPowIOp(a, self.emit(arith.ShRUIOp(b, one))))
        is_odd = self.compare("eq", self.emit(arith.AndIOp(b, one)), one)
        return self.mul(self.mul(half, half), self.select(is_odd, a, one))

    def maximum(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The greater; NaN where either is."""
        if self.is_bool:
            return self.emit(arith.OrIOp(a, b))
        return self._binary(self._op(arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp), a, b)

    def minimum(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The lesser; NaN where either is."""
        if self.is_bool:
            return self.emit(arith.AndIOp(a, b))
        return self._binary(self._op(arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp), a, b)

    # Bits; integers and i1 only.

    def bit_and(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit(arith.AndIOp(a, b))

    def bit_or(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit(arith.OrIOp(a, b))

    def bit_xor(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit(arith.XOrIOp(a, b))

    def bit_not(self, a: SSAValue) -> SSAValue:
        return self.emit(arith.XOrIOp(a, self.constant(1 if self.is_bool else -1)))

    def shift_left(self, a: SSAValue, by: SSAValue) -> SSAValue:
        """The bits moved up; all leave by a shift of the width or more, or by a negative number, as in NumPy."""
        is_far = self._is_far(by)
        moved = self.emit(arith.ShLIOp(a, self.select(is_far, self.constant(0), by)))
        return self.select(is_far, self.constant(0), moved)

    def shift_right(self, a: SSAValue, by: SSAValue) -> SSAValue:
        """The bits moved down, copies of the sign behind them; of far shifts these alone are left, as in NumPy."""
        is_far = self._is_far(by)
        if self.is_unsigned:
            moved = self.emit(arith.ShRUIOp(a, self.select(is_far, self.constant(0), by)))
            return self.select(is_far, self.constant(0), moved)
        most = self.constant(self.width - 1)
        return self.emit(arith.ShRSIOp(a, self.select(is_far, most, by)))

    def _is_far(self, by: SSAValue) -> SSAValue:
        """Whether a shift is by the width or more; read without a sign, a negative number is."""
        return self.emit(arith.CmpiOp(by, self.constant(self.width), "uge"))

    # Comparison and choice.

    def compare(self, predicate: Predicate, a: SSAValue, b: SSAValue) -> SSAValue:
        """An i1. On floats false where an operand is NaN, but `ne` true, as in NumPy."""
        if self.is_float:
            return self.emit(arith.CmpfOp(a, b, _FLOAT_PREDICATES[predicate]))
        if predicate in ("eq", "ne"):
            return self.emit(arith.CmpiOp(a, b, predicate))
        return self.emit(arith.CmpiOp(a, b, ("u" if self.is_unsigned else "s") + predicate))

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit(arith.SelectOp(condition, a, b))

    # Functions of floats.

    def ceil(self, a: SSAValue) -> SSAValue:
        return self.emit(math.CeilOp(a)) if self.is_float else a

    def floor(self, a: SSAValue) -> SSAValue:
        return self.emit(math.FloorOp(a)) if self.is_float else a

    def round_even(self, a: SSAValue) -> SSAValue:
        return self.emit(math.RoundEvenOp(a)) if self.is_float else a

    def exp(self, a: SSAValue, *, is_nonpositive: bool = False) -> SSAValue:
        op = math.ExpOp(a)
        if is_nonpositive:
            op.attributes[NONPOSITIVE] = UnitAttr()
        return self.emit(op)

    def log(self, a: SSAValue) -> SSAValue:
        return self.emit(math.LogOp(a))

    def sqrt(self, a: SSAValue) -> SSAValue:
        return self.emit(math.SqrtOp(a))

    def sin(self, a: SSAValue) -> SSAValue:
        return self.emit(math.SinOp(a))

    def cos(self, a: SSAValue) -> SSAValue:
        return self.emit(math.CosOp(a))

    def tanh(self, a: SSAValue) -> SSAValue:
        return self.emit(math.TanhOp(a))

    def erf(self, a: SSAValue) -> SSAValue:
        return self.emit(math.ErfOp(a))

    def reciprocal(self, a: SSAValue) -> SSAValue:
        return self.div(self.constant(1), a)

    def sigmoid(self, a: SSAValue) -> SSAValue:
        """1 / (1 + exp(-a)): where exp overflows, 1/inf is the right 0."""
        return self.reciprocal(self.add(self.constant(1), self.exp(self.neg(a))))

    # Conversion.

    def cast_to(self, a: SSAValue, target: Attribute) -> SSAValue:
        """
        `a` as the element type `target`. Integers wrap; floats become integers by truncation, saturating,
        NaN becoming 0; anything but zero becomes true. From and to f16 and bf16 the way is through f32; from f64
        there is one rounding only.
        """
        if target == self.type:
            return a
        if is_narrow_float(self.type):
            wide = self.emit(arith.ExtFOp(a, f32))
            return self.of_type(f32).cast_to(wide, target)
        if is_narrow_float(target) and self.type not in (f32, f64):
            return self.of_type(f32).cast_to(self.cast_to(a, f32), target)
        if is_bool(target):
            return self.compare("ne", a, self.constant(0))
        to = signless(target)
        if self.is_float:
            return self.emit(self._cast_of_float(a, target, to))
        if is_float(target):
            op = arith.UIToFPOp if self.is_unsigned else arith.SIToFPOp
            return self.emit(op(a, to))  # pyright: ignore[reportArgumentType]
        return self._cast_of_integer(a, to)

    def _cast_of_float(self, a: SSAValue, target: Attribute, to: Attribute) -> Operation:
        if is_float(target):
            return (arith.ExtFOp if bit_width(to) > self.width else arith.TruncFOp)(a, to)
        op = arith.FPToUIOp if is_unsigned(target) else arith.FPToSIOp
        return op(a, to)  # pyright: ignore[reportArgumentType]

    def _cast_of_integer(self, a: SSAValue, to: Attribute) -> SSAValue:
        width = bit_width(to)
        type_ = cast(IntegerType, to)
        if width == self.width:
            return a
        if width < self.width:
            return self.emit(arith.TruncIOp(a, type_))
        return self.emit((arith.ExtUIOp if self.is_unsigned else arith.ExtSIOp)(a, type_))

    def from_index(self, index: SSAValue) -> SSAValue:
        """An `index` as this type; integers wrap."""
        if self.is_float:
            wide = IntegerType(64)
            return ScalarBuilder(self.builder, wide).cast_to(
                self.emit(arith.IndexCastOp(index, wide)), self.type
            )
        return self.emit(arith.IndexCastOp(index, self.signless))


def _is_harmless_divisor(value: SSAValue) -> bool:
    """Whether a divisor is a number by which every integer can be divided: neither 0 nor -1, which overflows."""
    op = value.owner
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, IntegerAttr):
        return False
    return op.value.value.data not in (0, -1)
