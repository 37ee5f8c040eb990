"""How an operation of the graph level writes its definition as loops over buffers, one statement after another."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...frozen import frozen
from .. import loop
from ..dtypes import signless
from ..loop import LoopKind, RunMode
from ..scalar import ScalarBuilder
from .text import axis_names

Index: TypeAlias = int | SSAValue
Bound: TypeAlias = Index | tuple[AffineMap, Sequence[SSAValue]]
Form: TypeAlias = Sequence[tuple[int, Index]]
"""A sum of products, of a number and a number or a variable of a loop each."""


@frozen
class Cell:
    """A scalar that statements change."""

    buffer: SSAValue
    writer: LoopBuilder

    def get(self) -> SSAValue:
        return self.writer.load(self.buffer, [])

    def set(self, value: SSAValue) -> None:
        self.writer.store(value, self.buffer, [])


@dataclass
class LoopBuilder:
    """Appends loops, loads and stores. Element types are those of the graph level, with their signs."""

    builder: Builder

    def scalar(self, element: Attribute) -> ScalarBuilder:
        """A builder of computations with scalars of a type."""
        return ScalarBuilder(self.builder, element)

    @property
    def index(self) -> ScalarBuilder:
        return self.scalar(IndexType())

    @contextmanager
    def loop(
        self,
        name: str,
        lower: Bound,
        upper: Bound,
        kind: LoopKind = LoopKind.SERIAL,
        *,
        step: int = 1,
        mode: RunMode | None = None,
    ) -> Generator[SSAValue]:
        """
        What is written inside runs for each number from `lower` up to, without, `upper`, in steps of `step`; the number.

        The name gets a number where a loop around has it.
        """
        name = self._unused(name)
        op = self.builder.insert(loop.ForOp(name, lower, upper, step=step, kind=kind, mode=mode))
        terminator = op.body.block.last_op
        assert terminator is not None
        around = self.builder.insertion_point
        self.builder.insertion_point = InsertPoint.before(terminator)
        yield op.induction_variable
        self.builder.insertion_point = around

    def _unused(self, name: str) -> str:
        """A name that no loop around has: this one, or this with the first number that makes it one."""
        around = self.builder.insertion_point.block.parent_op()
        names: set[str] = set()
        while around is not None:
            if isinstance(around, loop.ForOp):
                names.add(around.loop_name.data)
            around = around.parent_op()
        found = name
        for number in count(1):
            if found not in names:
                break
            found = f"{name}_{number}"
        return found

    @contextmanager
    def loops(
        self,
        extents: Sequence[int],
        names: Sequence[str] | None = None,
        kind: LoopKind = LoopKind.SERIAL,
    ) -> Generator[list[SSAValue]]:
        """Loops inside of one another, over so many numbers each."""
        with ExitStack() as stack:
            pairs = zip(axis_names(len(extents)) if names is None else names, extents, strict=True)
            yield [stack.enter_context(self.loop(name, 0, extent, kind)) for name, extent in pairs]

    @contextmanager
    def when(self, name: str, condition: SSAValue) -> Generator[None]:
        """What is written inside runs where an i1 holds: a loop of one iteration, or none."""
        b = self.index
        with self.loop(name, 0, b.select(condition, b.constant(1), b.constant(0))):
            yield

    def load(self, buffer: SSAValue, indices: Sequence[Index]) -> SSAValue:
        """An element. At numbers and variables of loops alone it is one that analyses understand."""
        if all(map(_is_affine, indices)):
            return self.builder.insert(loop.LoadOp(buffer, indices)).result
        return self.builder.insert(memref.LoadOp.get(buffer, self._values(indices))).res

    def store(self, value: SSAValue, buffer: SSAValue, indices: Sequence[Index]) -> None:
        """Write an element."""
        if all(map(_is_affine, indices)):
            self.builder.insert(loop.StoreOp(value, buffer, indices))
        else:
            self.builder.insert(memref.StoreOp.get(value, buffer, self._values(indices)))

    def load_at(self, buffer: SSAValue, subscripts: Sequence[Form]) -> SSAValue:
        """An element at sums of multiples of variables of loops."""
        return self.builder.insert(loop.LoadOp(buffer, *_affine(subscripts))).result

    def store_at(self, value: SSAValue, buffer: SSAValue, subscripts: Sequence[Form]) -> None:
        """Write an element at sums of multiples of variables of loops."""
        self.builder.insert(loop.StoreOp(value, buffer, *_affine(subscripts)))

    def _values(self, indices: Sequence[Index]) -> list[SSAValue]:
        return [self.index.constant(i) if isinstance(i, int) else i for i in indices]

    def scratch(self, element: Attribute, shape: Sequence[int], hint: str) -> SSAValue:
        """A buffer of undefined contents that lives where it is made."""
        type_ = MemRefType(signless(element), shape)
        buffer = self.builder.insert(loop.AllocOp(loop.Scope.ARENA, type_)).buffer
        buffer.name_hint = hint
        return buffer

    def cell(self, element: Attribute, initial: SSAValue, hint: str) -> Cell:
        """A scalar variable, with its first value."""
        type_ = MemRefType(signless(element), ())
        buffer = self.builder.insert(loop.AllocOp(loop.Scope.REGISTER, type_)).buffer
        buffer.name_hint = hint
        cell = Cell(buffer, self)
        cell.set(initial)
        return cell


def _affine(forms: Sequence[Form]) -> tuple[AffineMap, list[SSAValue]]:
    """The map of sums of products, and what it is over."""
    values = list(dict.fromkeys(v for form in forms for _, v in form if isinstance(v, SSAValue)))
    sums: list[AffineExpr] = []
    for form in forms:
        total = AffineExpr.constant(sum(n * v for n, v in form if isinstance(v, int)))
        for factor, value in form:
            if isinstance(value, SSAValue):
                total = total + AffineExpr.dimension(values.index(value)) * factor
        sums.append(total)
    return AffineMap(len(values), 0, tuple(sums)), values


def _is_affine(index: Index) -> bool:
    if isinstance(index, int):
        return True
    return isinstance(index, BlockArgument) and isinstance(index.owner.parent_op(), loop.ForOp)
