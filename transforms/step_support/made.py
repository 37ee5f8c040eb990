"""What steps made, as handles: one small class for each kind of answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from ...dialects.schedule import Named
from ...errors import StepwellError
from ...frozen import frozen
from .handles import BufferHandle, Handle, LoopHandle

HandleT = TypeVar("HandleT", bound=Handle, covariant=True)

Loops = tuple[LoopHandle, ...]


class Made(Named, Generic[HandleT]):
    """
    What a step made. It unpacks into the handles one goes on with: `outer, inner = s.split("i", 8)`.

    What else there is has a field. Of several loops the outer one, or the first in the text, comes first.
    Where it is one thing it stands for that as a parameter of the next step.
    """

    @property
    def handles(self) -> tuple[HandleT, ...]:
        """What it unpacks into."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[HandleT]:
        return iter(self.handles)

    @property
    def name(self) -> str:
        """The name of the one thing made. Raises StepwellError when it is none or several."""
        return self._only.name

    @property
    def target(self) -> str:
        """Its name with the function's."""
        return self._only.target

    @property
    def _only(self) -> HandleT:
        if len(self.handles) != 1:
            raise StepwellError(
                f"found what made {len(self.handles)} loops or buffers in the place of one; "
                "give one of them"
            )
        return self.handles[0]


@frozen
class Nothing(Made[Handle]):
    """The loop or buffer is gone, and nothing has come in its place that has a name."""

    @property
    def handles(self) -> tuple[Handle, ...]:
        return ()


@frozen
class OneLoop(Made[LoopHandle]):
    """One loop, made or changed."""

    loop: LoopHandle

    @property
    def handles(self) -> Loops:
        return (self.loop,)


@frozen
class SomeLoops(Made[LoopHandle]):
    """Several loops, as many as the program and the step's parameters say."""

    loops: Loops

    @property
    def handles(self) -> Loops:
        return self.loops


@frozen
class SplitLoops(Made[LoopHandle]):
    """The loop over blocks, the loop inside a block, and the loop over the rest when that is peeled."""

    outer: LoopHandle
    inner: LoopHandle
    tail: LoopHandle | None

    @property
    def handles(self) -> Loops:
        return self.outer, self.inner


@frozen
class TiledLoops(Made[LoopHandle]):
    """
    The loops over tiles, then those inside a tile, each outermost first.

    Those of peeled rests are copies of these.
    """

    outer: Loops
    inner: Loops

    @property
    def handles(self) -> Loops:
        return self.outer + self.inner


@frozen
class UnrolledLoop(Made[LoopHandle]):
    """The loop of fewer iterations, and the loop over the rest when that is peeled."""

    loop: LoopHandle
    tail: LoopHandle | None

    @property
    def handles(self) -> Loops:
        return (self.loop,)


@frozen
class VectorLoop(Made[LoopHandle]):
    """The loop of lanes, and when it was split for that the loop around it and the one over the rest."""

    loop: LoopHandle
    outer: LoopHandle | None
    tail: LoopHandle | None

    @property
    def handles(self) -> Loops:
        return (self.loop,) if self.outer is None else (self.outer, self.loop)


@frozen
class PeeledLoops(Made[LoopHandle]):
    """The loop itself, and those before and after it over the iterations that were taken off."""

    front: LoopHandle | None
    loop: LoopHandle
    back: LoopHandle | None

    @property
    def handles(self) -> Loops:
        return tuple(each for each in (self.front, self.loop, self.back) if each is not None)


@frozen
class TwoLoops(Made[LoopHandle]):
    """The loop with the first part of the body, and the loop with the rest."""

    first: LoopHandle
    rest: LoopHandle

    @property
    def handles(self) -> Loops:
        return self.first, self.rest


@frozen
class MergedLoop(Made[LoopHandle]):
    """The merged loop, and the loops before and after it over iterations that only one of the two has."""

    loop: LoopHandle
    fronts: Loops
    backs: Loops

    @property
    def handles(self) -> Loops:
        return (self.loop,)


@frozen
class OneBuffer(Made[BufferHandle]):
    """One buffer, made or changed."""

    buffer: BufferHandle

    @property
    def handles(self) -> tuple[BufferHandle, ...]:
        return (self.buffer,)


@frozen
class StagedBuffer(Made[BufferHandle]):
    """
    The scratch buffer, and the loops that fill it and that copy it back, outermost first.

    Each is over one dimension of the buffer that was staged; dimensions of one element have none.
    """

    buffer: BufferHandle
    copy_in: Loops
    copy_out: Loops
    in_axes: tuple[int, ...] = ()
    out_axes: tuple[int, ...] = ()

    def copy_along(self, axis: int) -> LoopHandle | None:
        """The loop over a dimension of the buffer that fills the copy."""
        return dict(zip(self.in_axes, self.copy_in, strict=True)).get(axis)

    def out_along(self, axis: int) -> LoopHandle | None:
        """The loop over a dimension of the buffer that copies it back."""
        return dict(zip(self.out_axes, self.copy_out, strict=True)).get(axis)

    @property
    def handles(self) -> tuple[BufferHandle, ...]:
        return (self.buffer,)


@frozen
class HaloBuffer(Made[BufferHandle]):
    """
    The scratch buffer, the loops that copy what is inside of the buffer that was staged, and for each part of its
    border the loops that fill it. All are outermost first, in the order of the scratch buffer's axes.
    """

    buffer: BufferHandle
    copy_in: Loops
    borders: tuple[Loops, ...]

    @property
    def handles(self) -> tuple[BufferHandle, ...]:
        return (self.buffer,)


@frozen
class PartialResults(Made[BufferHandle]):
    """The buffer of partial results, and the loops that initialise and that combine them, outermost first."""

    buffer: BufferHandle
    initialise: Loops
    combine: Loops

    @property
    def handles(self) -> tuple[BufferHandle, ...]:
        return (self.buffer,)
