"""A function under schedule: its loops and buffers by name, and its dependences, kept until it changes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import AffineMapAttr, MemRefType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.dependence import Dependences
from ...analysis.frames import Frames
from ...analysis.operations import (
    body_of,
    is_of_scalars,
    operation_around,
    operations_in,
    operations_of,
)
from ...analysis.scop import Scop
from ...dialects import loop
from ...errors import StepwellError
from ...frozen import frozen
from ...lazy import cached_property
from ...spelling import did_you_mean, few_names
from .identities import Identities, Identity, Subject, subjects_in
from .settled import Settled


class Listing:
    """What is in a function as it is at one time, each kind looked for when it is first asked for."""

    def __init__(self, function: func.FuncOp):
        self._function = function

    @cached_property
    def operations(self) -> list[Operation]:
        """All operations, in textual order."""
        return operations_in(self._function)

    @cached_property
    def loops(self) -> list[loop.ForOp]:
        """All loops, in textual order."""
        return [op for op in self.operations if type(op) is loop.ForOp]

    @cached_property
    def loops_by_name(self) -> dict[str, list[loop.ForOp]]:
        found: dict[str, list[loop.ForOp]] = {}
        for op in self.loops:
            name: Any = op.properties["loop_name"]
            found.setdefault(name.data, []).append(op)
        return found

    @cached_property
    def buffers(self) -> list[SSAValue]:
        """Arguments first, then scratch buffers and views in textual order."""
        args = body_of(self._function).args
        found: list[SSAValue] = [arg for arg in args if type(arg.type) is MemRefType]
        for op in self.operations:
            if op.results and not _gives_none(type(op)):
                found += [result for result in op.results if type(result.type) is MemRefType]
        return found

    @cached_property
    def buffers_by_name(self) -> dict[str, list[SSAValue]]:
        found: dict[str, list[SSAValue]] = {}
        for value in self.buffers:
            name = loop.buffer_name(value)
            if name is not None:
                found.setdefault(name, []).append(value)
        return found


@cache
def _gives_none(kind: type[Operation]) -> bool:
    """Whether operations of a class never give buffers."""
    return kind is loop.LoadOp or is_of_scalars(kind)


class Nest:
    """One function of one block at the loop level."""

    def __init__(self, function: func.FuncOp):
        self.function = function
        self.identities = Identities()
        """What handles stand for, and which loops and buffers are copies."""
        self._frames: Frames | None = None
        self._dependences: Dependences | None = None
        self._have_moved = False
        """whether operations stand elsewhere in their blocks than these say, in the same order"""
        self.tidied = Settled()
        """operations whose expressions are as simple as can be"""
        self.is_tidy = False
        """whether that is so of all operations, and nothing has changed since"""
        self.simplified = Settled()
        """loops with bounds, and conditions, of which the same is true"""
        self.plain_maps: dict[int, AffineMapAttr] = {}
        """maps that are as simple as can be wherever they stand, by their identity"""
        self._listing: Listing | None = None
        """what is in it, as long as nothing changes"""
        self._is_changing = False

    def set_changing(self, is_changing: bool) -> bool:
        """Say whether the function is about to be rewritten, or to stay as it is for now; what was said before."""
        was_changing = self._is_changing
        self._is_changing = is_changing
        if is_changing:
            self._listing, self.is_tidy = None, False
        self._let_ask(not is_changing)
        return was_changing

    def _let_ask(self, is_open: bool) -> None:
        """Whether what is found when it is asked for is of the function as it is."""
        if self._dependences is not None:
            self._dependences.scop.is_open = is_open

    @property
    def listing(self) -> Listing:
        """What is in the function now: the same one as long as nothing changes it."""
        if self._listing is not None:
            return self._listing
        found = Listing(self.function)
        if not self._is_changing:
            self._listing = found
        return found

    def operations(self) -> list[Operation]:
        """The function's operations in textual order."""
        return self.listing.operations

    @property
    def frames(self) -> Frames:
        """What surrounds the function's blocks."""
        if self._frames is None:
            self._frames = Frames(self.function)
        return self._frames

    @property
    def dependences(self) -> Dependences:
        """The exact dependences; computed at the first question after a change."""
        if self._have_moved:
            self._forget_dependences()
        return self._found_dependences()

    @property
    def scop(self) -> Scop:
        """
        The accesses and what surrounds them: for who does not ask when they run. What touches no memory may have come
        between them since, and loops around nothing else.
        """
        return self._found_dependences().scop

    def _found_dependences(self) -> Dependences:
        if self._dependences is None:
            self._dependences = Dependences(self.function, self.frames, self.operations())
        return self._dependences

    def _forget_dependences(self) -> None:
        self._let_ask(False)
        self._dependences, self._have_moved = None, False

    def invalidate(self, *, keeps_accesses: bool = False) -> None:
        """
        The function has been rewritten: forget what may not hold any more; of dependences only where things stand, if all accesses
        are what they were.
        """
        has_others = self._frames is not None and self._frames.update()
        if has_others or not keeps_accesses:
            self._forget_dependences()
        else:
            self._have_moved = self._dependences is not None

    def take(self, function: func.FuncOp) -> None:
        """Another function is the one under schedule from now on."""
        self.function = function
        self._frames = self._dependences = None
        self._have_moved = self.is_tidy = False
        self._listing = None

    # Names.

    def loops(self) -> Iterator[loop.ForOp]:
        """All loops in textual order."""
        return iter(self.listing.loops)

    def loop(self, name: str) -> loop.ForOp:
        """The loop called `name`. Raises StepwellError when there is none, or more than one."""
        found = self.listing.loops_by_name.get(name, ())
        if len(found) == 1:
            return found[0]
        function = self.function.sym_name.data
        if found:
            raise StepwellError(
                f"{len(found)} loops of function '{function}' are called '{name}', expected one; "
                "give them different names",
                op=found[1],
            )
        names = [op.loop_name.data for op in self.loops()]
        raise StepwellError(
            f"function '{function}' has no loop '{name}', {_known('loops', names, name)}",
            op=self.function,
        )

    def buffers(self) -> Iterator[SSAValue]:
        """All buffers: arguments first, then scratch buffers and views in textual order."""
        return iter(self.listing.buffers)

    def buffer(self, name: str) -> SSAValue:
        """The buffer called `name` (without `%`). Raises StepwellError as `loop` does."""
        found = self.listing.buffers_by_name.get(name, ())
        if len(found) == 1:
            return found[0]
        function = self.function.sym_name.data
        if found:
            raise StepwellError(
                f"{len(found)} buffers of function '{function}' are called '{name}', expected one; "
                "give them different names",
                op=self.function,
            )
        names = list(self.listing.buffers_by_name)
        raise StepwellError(
            f"function '{function}' has no buffer '{name}', {_known('buffers', names, name)}",
            op=self.function,
        )

    def fresh_loop_name(self, name: str) -> str:
        """`name`, or with a number after it when a loop is called so already."""
        taken = self.listing.loops_by_name
        candidate, number = name, 0
        while candidate in taken:
            number += 1
            candidate = f"{name}_{number}"
        return candidate

    def fresh_buffer_name(self, name: str, besides: Collection[str] = ()) -> str:
        """
        `name`, or with a number after it when a buffer is called so already, or one is to be: those `besides`.

        The number follows directly, so that the SSA name, from whose end xDSL takes `_` and a number, says it.
        """
        taken = self.listing.buffers_by_name
        candidate, number = name, 0
        while candidate in taken or candidate in besides:
            number += 1
            candidate = f"{name}{number}"
        return candidate

    def chosen_names(self, replaced: Sequence[loop.ForOp], names: Sequence[str]) -> list[str]:
        """
        Names for loops that take the place of others, as near to those wanted as can be.

        They differ from each other and from all loops that stay.
        """
        gone, loops = set(map(id, replaced)), self.listing.loops_by_name
        chosen: list[str] = []
        for name in names:
            candidate, number = name, 0
            while candidate in chosen or any(id(op) not in gone for op in loops.get(candidate, ())):
                number += 1
                candidate = f"{name}_{number}"
            chosen.append(candidate)
        return chosen

    def taken_names(self) -> set[str]:
        """The names of all loops and buffers, which clones must not have."""
        listing = self.listing
        return {*listing.buffers_by_name, *listing.loops_by_name}

    # Time.

    def time_position(self, for_op: loop.ForOp) -> int:
        """Which entry of the time vectors of the accesses inside it is the loop's variable."""
        return 2 * sum(1 for _ in regions_around(for_op)) + 1


def loops_of(block: Block) -> list[loop.ForOp]:
    """The loops that stand in a block itself, in order."""
    return [op for op in operations_of(block) if type(op) is loop.ForOp]


def regions_around(op: Operation) -> Iterator[Operation]:
    """The loops and conditions around an operation, innermost first."""
    parent = operation_around(op)
    while type(parent) is loop.ForOp or type(parent) is loop.IfOp:
        yield parent
        parent = operation_around(parent)


def loops_around(op: Operation) -> list[loop.ForOp]:
    """The loops around an operation, outermost first."""
    return [parent for parent in regions_around(op) if type(parent) is loop.ForOp][::-1]


def _known(what: str, names: list[str], wanted: str) -> str:
    if not names:
        return f"and no {what} at all; lower it to the loop level first"
    listed = few_names("they are", names, "the IR and the schedule's outline() show them")
    return f"expected one of its {what}; {did_you_mean(wanted, names, listed)}"


@frozen
class Saved:
    """A module at some time."""

    module: ModuleOp
    """a clone of it"""
    clones: Mapping[Subject, Subject]
    """by the loops and buffers of the module, those of the clone"""
    identities: Mapping[Nest, Mapping[Identity, Subject]]
    """what handles stood for"""


class _Phase:
    """While it lasts, functions are rewritten, or stay as they are; then they are what they were, or stay as they are again."""

    def __init__(self, nests: Iterator[Nest], *, is_changing: bool):
        self._nests, self._is_changing = list(nests), is_changing

    def __enter__(self) -> None:
        self._before = [nest.set_changing(self._is_changing) for nest in self._nests]

    def __exit__(self, *_: object) -> None:
        for nest, was_changing in zip(self._nests, self._before, strict=True):
            nest.set_changing(was_changing and not self._is_changing)


class Nests:
    """The functions of a module by name."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self._nests: dict[func.FuncOp, Nest] = {}
        self.rewrites = 0
        """How many steps have done more than to say how loops run."""

    def known(self) -> Iterator[Nest]:
        """The functions asked about so far."""
        return iter(self._nests.values())

    def unchanged(self) -> _Phase:
        """A step is planned, perhaps as a part of another that is carried out: nothing changes in here."""
        return _Phase(self.known(), is_changing=False)

    def changing(self) -> _Phase:
        """A step is carried out."""
        return _Phase(self.known(), is_changing=True)

    def resolve(self, target: str) -> tuple[Nest, str]:
        """
        The function and the name within it that `"function/name"` means.

        The function may be left out when the module has only one with a body.
        """
        function_name, slash, name = target.rpartition("/")
        for function, nest in self._nests.items() if slash else ():
            if (
                function.sym_name.data == function_name
                and operation_around(function) is self.module
            ):
                return nest, name  # a module may have many others
        functions = [op for op in self.module.ops if isinstance(op, func.FuncOp) and op.body.blocks]
        if not slash and len(functions) == 1:
            return self._nest(functions[0]), name
        for function in functions:
            if function.sym_name.data == function_name:
                return self._nest(function), name
        names = [function.sym_name.data for function in functions]
        listed = few_names("the module has", names, "the IR shows them")
        found = f"function '{function_name}'" if slash else f"'{target}' without a function"
        raise StepwellError(
            f'found {found}, expected "function/name" with one of the module\'s functions; '
            f"{did_you_mean(function_name, names, listed)}"
        )

    def saved(self) -> Saved:
        """The module as it is, for `restore`."""
        module = self.module.clone()
        clones: dict[Subject, Subject] = dict(
            zip(subjects_in(self.module), subjects_in(module), strict=True)
        )
        return Saved(module, clones, {nest: nest.identities.all() for nest in self.known()})

    def restore(self, saved: Saved, undone: str) -> None:
        """
        Go back to a module saved before. Handles stand for what they stood for then; those of what came
        later are gone, and say that `undone` took it.
        """
        self.module = saved.module
        functions = {op.sym_name.data: op for op in self.module.ops if isinstance(op, func.FuncOp)}
        nests = list(self.known())
        for nest in nests:
            nest.take(functions[nest.function.sym_name.data])
            nest.identities.restore(saved.identities.get(nest, {}), saved.clones, undone)
        self._nests = {nest.function: nest for nest in nests}

    def _nest(self, function: func.FuncOp) -> Nest:
        if function not in self._nests:
            if len(function.body.blocks) != 1:
                raise StepwellError(
                    f"function '{function.sym_name.data}' has {len(function.body.blocks)} blocks, "
                    "expected one; schedules are for functions of structured loops",
                    op=function,
                )
            self._nests[function] = Nest(function)
        return self._nests[function]
