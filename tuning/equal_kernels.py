"""Kernels that are equal but for names: scheduled once, and the schedule copied."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, SymbolRefAttr
from xdsl.ir import BlockArgument, SSAValue

from ..analysis.structure import Structure, constants_read, structure
from ..dialects import loop
from ..dialects.schedule import Step
from ..dialects.schedule.steps import Parameter
from ..transforms.remarks import remark


@dataclass(frozen=True)
class _Scheduled:
    """A kernel, the steps it was scheduled by, and what its buffers were called before."""

    function: func.FuncOp
    steps: tuple[Step, ...]
    names: tuple[str, ...]
    constants: tuple[SymbolRefAttr, ...]
    """those it read, in order"""


class EqualKernels:
    """The kernels of a module scheduled so far, by what they were before."""

    def __init__(self) -> None:
        self._known: dict[Structure, _Scheduled] = {}

    @contextmanager
    def scheduling(self, function: func.FuncOp) -> Generator[list[Step]]:
        """Remembers a kernel that is scheduled in here by the steps that are put into the list."""
        known, names, constants = structure(function), buffer_names(function), _constants(function)
        steps: list[Step] = []
        yield steps
        if steps and _constants(function) == constants:
            self._known[known] = _Scheduled(function, tuple(steps), tuple(names), constants)

    def copied(self, function: func.FuncOp) -> list[Step]:
        """
        Schedule a kernel as an equal one was; the steps that lead there.

        There are none, and it stays as it is, where no kernel before it was equal, or where names are in the way.
        """
        twin = self._known.get(structure(function))
        renamed = None if twin is None else _renamed(twin, buffer_names(function))
        if twin is None or renamed is None:
            return []
        _copy_body(twin, function, renamed)
        remark(function, f"scheduled as '{twin.function.sym_name.data}', which is equal to it")
        return [_translated(step, function, renamed) for step in twin.steps]


def _constants(function: func.FuncOp) -> tuple[SymbolRefAttr, ...]:
    return tuple(get.name_ for get in constants_read(function))


def buffer_names(function: func.FuncOp) -> list[str]:
    """What the buffers of a function are called, in order."""
    return [loop.buffer_name(value) or "" for value in _buffers(function)]


def _buffers(function: func.FuncOp) -> Iterator[SSAValue]:
    values = [*function.args, *(result for op in function.walk() for result in op.results)]
    return (value for value in values if isinstance(value.type, MemRefType))


def _renamed(twin: _Scheduled, names: Sequence[str]) -> Mapping[str, str] | None:
    """
    What the twin's buffers are called here; None where a name could mean something else.

    Steps name loops too, and choose names for new buffers that no other has: both must be apart from names that
    differ.
    """
    renamed = dict(zip(twin.names, names, strict=True))
    differ = {name for pair in renamed.items() if pair[0] != pair[1] for name in pair}
    new = {name for name in buffer_names(twin.function) if name not in renamed}
    loops = {op.loop_name.data for op in twin.function.walk() if isinstance(op, loop.ForOp)}
    taken = {name.rstrip("0123456789").rstrip("_") for name in new} | new | loops
    given = {value for step in twin.steps for value in _words(step)}
    parts = {name.split(".")[0] for name in given | new if "." in name}
    return None if differ & {"", *taken, *given, *parts} else renamed


def _words(step: Step) -> Iterator[str]:
    """The names in the parameters of a step, but for the first."""
    for f in fields(step)[1:]:  # pyright: ignore[reportArgumentType]
        value: Parameter = getattr(step, f.name)
        yield from map(str, value if isinstance(value, tuple) else (value,))


def _translated(step: Step, function: func.FuncOp, renamed: Mapping[str, str]) -> Step:
    """The step about this function in the place of its twin."""
    _, slash, name = step.target.partition("/")
    return step.with_target(f"{function.sym_name.data}{slash}{renamed.get(name, name)}")


def _copy_body(twin: _Scheduled, function: func.FuncOp, renamed: Mapping[str, str]) -> None:
    """Give the function the body of its twin, with its own names and constants."""
    arguments = [loop.buffer_name(arg) for arg in function.args]
    constants = _constants(function)
    function.detach_region(function.body)
    function.add_region(twin.function.body.clone())
    for arg, name in zip(function.args, arguments, strict=True):
        arg.name_hint = None
        if isinstance(arg.type, MemRefType):
            loop.set_buffer_name(arg, name)
    for get, symbol in zip(constants_read(function), constants, strict=True):
        get.name_ = symbol
    for value in _buffers(function):
        name = loop.buffer_name(value)
        if name is not None and name in renamed and not isinstance(value, BlockArgument):
            loop.set_buffer_name(value, renamed[name])
