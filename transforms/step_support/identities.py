"""Which loops and buffers a function under schedule has handles for, and which of them are copies of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.operations import blocks_of, operations_in
from ...dialects import loop

Subject = loop.ForOp | SSAValue
"""What a handle stands for: a loop or a buffer."""


@dataclass(eq=False)
class Identity:
    """A loop or buffer through all steps: the operation that is it now, or the step that ended it."""

    subject: Subject
    origin: Identity | None = None
    """What it was first copied from; None when it is no copy."""
    ending: Callable[[], str] | None = None
    """What writes the step after which it is gone; None while it is there."""

    @property
    def is_gone(self) -> bool:
        """Whether a step has taken it away."""
        return self.ending is not None

    @property
    def ended_by(self) -> str:
        """The step after which it is gone, as text; empty while it is there."""
        return "" if self.ending is None else self.ending()

    @property
    def root(self) -> Identity:
        """What it and all its copies descend from."""
        return self.origin or self


class Identities:
    """
    The identities of a function's loops and buffers, made when they are first asked for.

    A step that keeps a loop keeps its operation, and so its identity; one that has to make it anew says so
    (`moved`). Copies are made by `Copier`, which says what each is a copy of (`copied`).
    """

    def __init__(self) -> None:
        self._of: dict[int, Identity] = {}
        """by the identity of what each stands for, which it keeps"""
        self._copied: set[Identity] = set()
        """what there have been copies of"""

    def of(self, subject: Subject) -> Identity:
        """The identity of a loop or buffer that stands in the function."""
        found = self._of.get(id(subject))
        if found is None:
            found = self._of[id(subject)] = Identity(subject)
        return found

    def copies(self, root: Identity, subjects: Iterable[Subject]) -> list[Identity]:
        """The identities of those of several loops or buffers that are copies of one, or that one itself."""
        found = map(self._of.get, map(id, subjects))
        return [each for each in found if each is not None and (each.origin or each) is root]

    def copied(self, old: Subject, new: Subject) -> None:
        """Note that `new` is a copy of `old`."""
        root = self.of(old).root
        self._copied.add(root)
        self._of[id(new)] = Identity(new, root)

    def was_copied(self, identity: Identity) -> bool:
        """Whether there is, or has been, a copy of a loop or buffer, or it is one itself."""
        return identity.root in self._copied

    def forget_copies(self) -> None:
        """From now on each is by itself what it is, and a copy of nothing."""
        self._copied.clear()
        for identity in self._of.values():
            identity.origin = None

    def moved(self, old: Subject, new: Subject) -> None:
        """Note that `new` has been made to take the place of `old`."""
        identity = self._of.pop(id(old), None)
        if identity is not None:
            identity.subject = new
            self._of[id(new)] = identity

    def end_erased(self, describe: Callable[[], str]) -> None:
        """Note for what is no longer in the function that a step, which is written as `describe` says, has ended it."""
        gone = [
            key
            for key, each in self._of.items()
            if (
                each.subject.parent is None
                if type(each.subject) is loop.ForOp
                else not _is_there(each.subject)
            )
        ]
        for key in gone:
            self._of.pop(key).ending = describe

    def all(self) -> dict[Identity, Subject]:
        """The identities of what is there, each with what it is, for `restore`."""
        return {identity: identity.subject for identity in self._of.values()}

    def restore(
        self, saved: Mapping[Identity, Subject], clones: Mapping[Subject, Subject], undone: str
    ) -> None:
        """
        Go back to when `saved` was all there was, in a clone of the function as it was then.

        What came later is gone since `undone`, but for what was there already and got a handle since.
        """
        later = {identity: subject for identity, subject in self.all().items() if subject in clones}
        for identity in self._of.values():
            identity.ending = lambda: undone
        self._of = {}
        for identity, subject in (later | dict(saved)).items():
            identity.subject, identity.ending = clones[subject], None
            self._of[id(identity.subject)] = identity


def subjects_in(root: Operation) -> Iterator[Subject]:
    """The loops and buffers of an operation, itself among them, in an order that a clone has too."""
    for op in (root, *operations_in(root)):
        if type(op) is loop.ForOp:
            yield op
        if op.regions:
            for block in blocks_of(op):
                for arg in block.args:
                    if type(arg.type) is MemRefType:
                        yield arg
        if op.results:
            for result in op.results:
                if type(result.type) is MemRefType:
                    yield result


def _is_there(buffer: Any) -> bool:
    """Whether what makes a buffer stands in a block: what is erased, and all that is inside of it, does not."""
    owner = buffer.owner
    if owner.parent is None:
        return False
    return type(owner) is Block or buffer in owner.results
