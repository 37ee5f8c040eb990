"""
Contractions: statements that add up (or otherwise join) products of two operands, and the roles of their axes.

The roles are those of BLIS and of tensor contraction in general: M axes are the left operand's and the result's,
N axes the right operand's and the result's, K axes are summed over, batch axes are everybody's. In a convolution
the left operand (the image) is read through windows: subscripts such as `oh * s + kh * d - p` add up an axis of M and
one of K, which is a window axis then, go in steps, or leave the image, where it has another value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute

from ...dialects.combiner import Combiner
from ...dialects.dtypes import bit_width, is_float, significand_bits
from ...frozen import frozen
from ...lazy import cached_property
from .inlining import can_inline, read_through
from .kernel import Access, Home, KernelFacts, Statement, Subscript


@frozen
class Contraction:
    """
    One contraction. Axes are numbers of the statement's axes, in the order of its loops.

    `initialised` is the statement that sets the result before the first update, None when there is none or it
    is not a nest over just the result's axes; `finished` the one that alone reads the result, element by element, or the
    first of several in one nest. `computed` are the statements before that compute an operand, element by element, which
    nothing else reads.
    """

    facts: KernelFacts
    number: int
    left: Access
    right: Access
    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    window: tuple[int, ...]
    """those of K that share a subscript of the left operand with an axis of M"""
    initialised: int | None
    finished: int | None
    computed: tuple[int, ...] = ()

    @cached_property
    def statement(self) -> Statement:
        return self.facts.statements[self.number]

    @cached_property
    def result(self) -> Access:
        return self.statement.write

    def extent(self, axes: tuple[int, ...]) -> int:
        """The product of the axes' extents, which are numbers: contractions of others are not found."""
        product, every = 1, self.statement.axes
        for axis in axes:
            size = every[axis].extent
            product *= size if isinstance(size, int) else 1
        return product

    @property
    def is_product(self) -> bool:
        """Whether all subscripts are single axes, as in products of matrices."""
        accesses = (self.left, self.right, self.result)
        return all(access.is_permutation and not access.is_guarded for access in accesses)

    @cached_property
    def parallel(self) -> tuple[int, ...]:
        """The axes of the result."""
        return tuple(sorted((*self.batch, *self.m, *self.n)))

    @cached_property
    def left_bytes(self) -> int:
        return self.facts.element_bytes(self.left)

    @cached_property
    def right_bytes(self) -> int:
        return self.facts.element_bytes(self.right)

    @property
    def is_fused(self) -> bool:
        """Whether a product and the sum that it goes into are one instruction."""
        return arith.MulfOp.name in dict(self.statement.operations)

    @property
    def exact_terms(self) -> int:
        """
        How many products of integers of 8 or 16 bits have a sum that is exact in f32, in every order: all partial
        sums are at most 2^24, below which f32 holds every integer. 0 where the sums are of something else.
        """
        extended = (self.left.extension, self.right.extension)
        names = {arith.ExtSIOp.name, arith.ExtUIOp.name, arith.MuliOp.name}
        if (
            self.statement.combiner != "add"
            or None in extended
            or self._element(self.result) != i32
        ):
            return 0
        if not {name for name, _ in self.statement.operations} <= names:
            return 0
        if dict(self.statement.operations)[arith.MuliOp.name] != 1:
            return 0
        return (1 << significand_bits(f32)) // (
            self._greatest(self.left) * self._greatest(self.right)
        )

    def _greatest(self, access: Access) -> int:
        """The largest magnitude of an operand's integers."""
        bits, extension = bit_width(self._element(access)), access.extension
        is_signed = extension is not None and extension.operation == arith.ExtSIOp.name
        return 1 << (bits - 1) if is_signed else (1 << bits) - 1

    def _element(self, access: Access) -> Attribute:
        return self.facts.buffers[access.buffer].element

    @cached_property
    def result_bytes(self) -> int:
        return self.facts.element_bytes(self.result)

    def stride(self, access: Access, axis: int) -> int | None:
        return self.facts.stride(access, axis)

    def maker(self, operand: Access) -> int | None:
        """The statement that computes an operand; None where the operand is stored before."""
        written = {self.facts.statements[n].write.buffer: n for n in self.computed}
        return written.get(operand.buffer)

    def sources(self, operand: Access) -> tuple[Access, ...]:
        """What is read for an element of an operand: the operand itself, or what it is computed from."""
        maker = self.maker(operand)
        return (operand,) if maker is None else read_through(self.facts.statements[maker], operand)

    @property
    def is_symmetric(self) -> bool:
        """
        Whether the result is a symmetric matrix in every order of its sums, which may be chosen: both operands are one
        buffer, read alike along M and along N, and their product is all that is added up.
        """
        if len(self.m) != 1 or len(self.n) != 1 or self.left.buffer != self.right.buffer:
            return False
        (m,), (n,), axes = self.m, self.n, self.statement.axes
        products = (arith.MulfOp.name, arith.MuliOp.name)
        is_product = [name for name, _ in self.statement.operations if name not in products] == []
        along = [self.result.dimension_of(axis) for axis in (m, n)]
        rank = len(self.result.subscripts)
        is_last = sorted(axis for axis in along if axis is not None) == [rank - 2, rank - 1]
        swapped = replace(
            self.left, subscripts=tuple(_swapped(s, m, n) for s in self.left.subscripts)
        )
        is_square = axes[m].extent == axes[n].extent
        return (
            self.statement.reassociates
            and is_product
            and is_last
            and is_square
            and swapped == self.right
        )

    @cached_property
    def streams(self) -> tuple[int, ...]:
        """
        The buffers that a tile goes to, or has to do with when it is finished, element by element and where rows of it
        are rows in memory: the result, or what is made of it and what is added to it, as in a residual block.
        """
        if self.finished is None:
            return (self.result.buffer,)
        statements = [self.facts.statements[number] for number in self.facts.nest(self.finished)]
        found = [
            access.buffer
            for each in statements
            for access in (each.write, *each.reads)
            if access.buffer != self.result.buffer
            and access.is_permutation
            and self.facts.stride(access, len(each.axes) - 1) == 1
            and all(access.moves_along(n) for n, a in enumerate(each.axes) if a.extent != 1)
        ]
        return tuple(dict.fromkeys(found))

    @property
    def may_skip_padding(self) -> bool:
        """
        Whether terms whose element of the left operand is outside of it add nothing: zero, in products with what is finite.
        """
        return adds_nothing_outside(self.facts, self.statement, self.left, (self.right,))

    def turned(self) -> Contraction:
        """The same with left and right exchanged: `Cᵀ = Bᵀ Aᵀ`."""
        return replace(self, left=self.right, right=self.left, m=self.n, n=self.m)


def adds_nothing_outside(
    facts: KernelFacts, statement: Statement, image: Access, factors: Sequence[Access]
) -> bool:
    """
    Whether what a reduction joins leaves its result as it is where the element of an operand is outside of that: it is the
    reduction's identity there; of sums, zero itself, or times what is finite.
    """
    if not image.is_guarded or statement.combiner is None or not statement.reassociates:
        return False
    element = facts.buffers[statement.write.buffer].element
    done = {name for name, _ in statement.operations}
    if statement.combiner in (Combiner.MAX, Combiner.MIN, Combiner.MAXNUM):
        return (
            not done and image.outside == Combiner(statement.combiner).identity(element).value.data
        )
    names = {arith.MulfOp.name, arith.MuliOp.name, arith.ExtFOp.name}
    return (
        statement.combiner == Combiner.ADD
        and image.outside == 0
        and done <= names
        and (not is_float(element) or all(facts.buffers[f.buffer].is_finite for f in factors))
    )


def find_contractions(facts: KernelFacts) -> list[Contraction]:
    """
    The products among a kernel's statements, oriented so that the result's innermost axis is one of N.

    Only of static extents, and with subscripts that are single axes: those with windows are convolutions.
    """
    found = [_product(facts, number) for number in range(len(facts.statements))]
    return [contraction for contraction in found if contraction is not None]


def find_convolutions(facts: KernelFacts) -> list[Contraction]:
    """
    The contractions among a kernel's statements whose left operand may be read through windows, products of several
    axes included. There is always an axis of M and one of K; depthwise ones have none of N.
    """
    found = [_convolution(facts, number) for number in range(len(facts.statements))]
    return [contraction for contraction in found if contraction is not None]


def _product(facts: KernelFacts, number: int) -> Contraction | None:
    made = _contraction(facts, number)
    if made is None or not made.is_product or not (made.m and made.n and made.k):
        return None
    if not any(made.stride(made.result, axis) == 1 for axis in made.n):
        return made.turned()
    return made


def _convolution(facts: KernelFacts, number: int) -> Contraction | None:
    made = _contraction(facts, number)
    if made is None:
        return None
    filters = [one for one in (made, made.turned()) if _is_filter(one.right, one.k)]
    # Of a product's operands the constant one is packed only once.
    filters.sort(key=lambda one: facts.buffers[one.right.buffer].home is not Home.CONSTANT)
    if not filters or not filters[0].left.is_affine:
        return None
    made = filters[0]
    if not made.m or not made.k:
        return None
    window = (axis for axis in made.k if _shares(made.left, axis, made.m))
    return replace(made, window=tuple(window))


def _swapped(subscript: Subscript | None, m: int, n: int) -> Subscript | None:
    """A subscript with two axes in each other's place."""
    if subscript is None:
        return None
    by = list(subscript.coefficients)
    by[m], by[n] = by[n], by[m]
    return replace(subscript, coefficients=tuple(by))


def _is_filter(access: Access, summed: tuple[int, ...]) -> bool:
    """
    Whether the elements are there for all iterations, and each summed axis moves along a dimension of its own. Others
    may share one, as groups and their output channels do.
    """
    first = access.subscripts[0] if access.subscripts else None  # a number has none
    every = range(len(first.coefficients)) if first else ()
    is_whole = access.is_affine and not access.is_guarded
    return is_whole and not any(_shares(access, axis, every) for axis in summed)


def _shares(access: Access, axis: int, others: Iterable[int]) -> bool:
    """Whether a subscript moves with the axis and with one of others."""
    moving = [s.coefficients for s in access.subscripts if s is not None and s.coefficients[axis]]
    return any(by[other] for by in moving for other in others if other != axis)


def only_contraction(facts: KernelFacts, found: Sequence[Contraction]) -> Contraction | None:
    """
    The only one of those found in a kernel, where all other statements compute its operands, initialise it or finish it.
    """
    if len(found) != 1 or not facts.is_complete:
        return None
    (contraction,) = found
    before = list(contraction.computed)
    if contraction.initialised is not None:
        before.append(contraction.initialised)
    after = len(facts.statements) - contraction.number - 1
    finishing = 0 if contraction.finished is None else len(facts.nest(contraction.finished))
    # What is no such nest may stand behind, as long as it is one: it runs by itself.
    if before != list(range(contraction.number)) or (after > 1 and after != finishing):
        return None
    return contraction


def _contraction(facts: KernelFacts, number: int) -> Contraction | None:
    """The statement as a contraction of any kind, its operands in the order in which it reads them."""
    statement = facts.statements[number]
    if statement.combiner is None or len(statement.reads) != 2 or statement.extents is None:
        return None
    if not facts.is_perfect(number) or 0 in statement.extents:
        return None
    accesses = (*statement.reads, statement.write)
    if not statement.write.is_permutation or statement.write.is_guarded:
        return None
    parts = _roles(statement, accesses)
    if parts is None:
        return None
    batch, m, n, k = parts
    left, right = statement.reads
    initialised, finished = initialised_by(facts, number), finished_by(facts, number)
    computed = _computed(facts, number)
    return Contraction(
        facts, number, left, right, batch, m, n, k, (), initialised, finished, computed
    )


def _computed(facts: KernelFacts, number: int) -> tuple[int, ...]:
    """The statements that compute operands of a statement alone, in order."""
    found: set[int] = set()
    for read in facts.statements[number].reads:
        writers = facts.writers(read.buffer)
        if len(writers) != 1 or facts.readers(read.buffer) != [number]:
            continue
        (writer,) = writers
        is_computed = writer < number and bool(facts.statements[writer].reads)
        if is_computed and can_inline(facts, writer, guards=True):
            found.add(writer)
    return tuple(sorted(found))


_Roles = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def _roles(statement: Statement, accesses: tuple[Access, ...]) -> _Roles | None:
    """
    Batch, M, N and K axes, by which accesses each moves; None when some axis has another role.

    Loops of imported code are `serial`: whether their iterations may change places, the steps find out.
    """
    patterns = {
        (True, True, True): 0,
        (True, False, True): 1,
        (False, True, True): 2,
        (True, True, False): 3,
    }
    parts: tuple[list[int], ...] = ([], [], [], [])
    for number in range(len(statement.axes)):
        role = patterns.get(tuple(access.moves_along(number) for access in accesses))  # pyright: ignore[reportArgumentType]
        if role is None:
            return None
        parts[role].append(number)
    batch, m, n, k = (tuple(part) for part in parts)
    return batch, m, n, k


def initialised_by(facts: KernelFacts, number: int) -> int | None:
    """The statement right before that sets each element of the result."""
    result = facts.statements[number].write
    before = [n for n in facts.writers(result.buffer) if n != number]
    if before != [number - 1]:
        return None
    first = facts.statements[number - 1]
    is_whole = len(first.axes) == _rank(result) and facts.is_perfect(number - 1)
    return number - 1 if is_whole and first.combiner is None and _is_in_order(first.write) else None


def finished_by(facts: KernelFacts, number: int) -> int | None:
    """
    The statement right after, when it reads the result element by element and nothing else reads it; of several in
    one nest, the first.
    """
    result = facts.statements[number].write
    if number + 1 >= len(facts.statements):
        return None
    nest = facts.nest(number + 1)
    last = facts.statements[nest[0]]
    readers = facts.readers(result.buffer)
    if nest[0] != number + 1 or not readers or not set(readers) <= set(nest):
        return None
    if last.shared or any(s.shared for s in facts.statements[nest[-1] + 1 : nest[-1] + 2]):
        return None
    extents = [facts.statements[number].axes[axis].extent for axis in _moving_axes(result)]
    if [axis.extent for axis in last.axes] != extents:
        return None
    statements = [facts.statements[n] for n in nest]
    loads = [read for s in statements for read in s.reads if read.buffer == result.buffer]
    is_element_wise = all(s.combiner is None or _updates_each_once(s) for s in statements)
    is_whole = all(_rank(load) == len(extents) and _is_in_order(load) for load in loads)
    return nest[0] if is_element_wise and is_whole else None


def _updates_each_once(statement: Statement) -> bool:
    """Whether what looks like a reduction is work in place, such as `y[i, j] = y[i, j] + c[i, j]` of a residual."""
    write = statement.write
    return write.is_permutation and all(map(write.moves_along, range(len(statement.axes))))


def _rank(access: Access) -> int:
    """The dimensions whose subscripts are not numbers."""
    return sum(s is None or any(s.coefficients) for s in access.subscripts)


def _moving_axes(access: Access) -> list[int]:
    """The axes of the subscripts that are not numbers, in their order; none of one that is not affine."""
    moving = [s.coefficients for s in access.subscripts if s is not None and any(s.coefficients)]
    return [axis for by in moving for axis, factor in enumerate(by) if factor]


def _is_in_order(access: Access) -> bool:
    """Whether the subscripts that are no numbers are the axes of the statement, in their order."""
    moving = [s for s in access.subscripts if s is None or any(s.coefficients)]
    return all(
        s is not None and s.constant == 0 and s.coefficients == _unit(n, len(s.coefficients))
        for n, s in enumerate(moving)
    )


def _unit(at: int, length: int) -> tuple[int, ...]:
    return tuple(int(n == at) for n in range(length))
