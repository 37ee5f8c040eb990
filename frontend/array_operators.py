"""NumPy's operators, for classes whose objects stand for arrays."""

from __future__ import annotations

from typing import Any


class ArrayOperators:
    """The operators of `numpy.ndarray`; each is NumPy's function of that operator, as `_applied` calls it."""

    __slots__ = ()

    def _applied(self, name: str, *operands: Any) -> Any:
        """What the function of that name gives for the operands."""
        raise NotImplementedError

    def __neg__(self) -> Any:
        return self._applied("negative", self)

    def __pos__(self) -> Any:
        return self._applied("positive", self)

    def __abs__(self) -> Any:
        return self._applied("abs", self)

    def __invert__(self) -> Any:
        return self._applied("invert", self)

    def __add__(self, other: Any) -> Any:
        return self._applied("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._applied("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._applied("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._applied("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._applied("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._applied("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._applied("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._applied("divide", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._applied("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._applied("floor_divide", other, self)

    def __mod__(self, other: Any) -> Any:
        return self._applied("mod", self, other)

    def __divmod__(self, other: Any) -> Any:
        return self._applied("divmod", self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return self._applied("divmod", other, self)

    def __round__(self, decimals: int = 0) -> Any:
        return self._applied("round", self, decimals)

    def __rmod__(self, other: Any) -> Any:
        return self._applied("mod", other, self)

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        power = self._applied("power", self, other)
        return power if modulo is None else self._applied("mod", power, modulo)

    def __rpow__(self, other: Any) -> Any:
        return self._applied("power", other, self)

    def __matmul__(self, other: Any) -> Any:
        return self._applied("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._applied("matmul", other, self)

    def __and__(self, other: Any) -> Any:
        return self._applied("bitwise_and", self, other)

    def __rand__(self, other: Any) -> Any:
        return self._applied("bitwise_and", other, self)

    def __or__(self, other: Any) -> Any:
        return self._applied("bitwise_or", self, other)

    def __ror__(self, other: Any) -> Any:
        return self._applied("bitwise_or", other, self)

    def __xor__(self, other: Any) -> Any:
        return self._applied("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return self._applied("bitwise_xor", other, self)

    def __lshift__(self, other: Any) -> Any:
        return self._applied("left_shift", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return self._applied("left_shift", other, self)

    def __rshift__(self, other: Any) -> Any:
        return self._applied("right_shift", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return self._applied("right_shift", other, self)

    def __eq__(self, other: Any) -> Any:
        return self._applied("equal", self, other)

    def __ne__(self, other: Any) -> Any:
        return self._applied("not_equal", self, other)

    def __lt__(self, other: Any) -> Any:
        return self._applied("less", self, other)

    def __le__(self, other: Any) -> Any:
        return self._applied("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return self._applied("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return self._applied("greater_equal", self, other)
