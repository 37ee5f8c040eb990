"""What a program is compiled for: one object, from `jit` or the command line down to the passes."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from ..errors import StepwellError
from ..frozen import frozen
from ..transforms.numerics import DEFAULT_FP, fp_contract

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from ..targets.target import Target

PassT = TypeVar("PassT", bound="ModulePass")

OptTier = Literal["full", "quick"]
"""
How much time goes into fast code. `full` schedules kernels by rules and runs all of LLVM's passes; `quick` leaves
both out, which compiles a kernel in tens of milliseconds to code that is many times slower: for tests and first calls.
"""

OPT_TIERS: tuple[OptTier, ...] = get_args(OptTier)

DEFAULT_OPT: OptTier = "full"


@frozen
class Options:
    """
    What is decided once for a whole compilation. A pass reads from it the options that it has under the same
    name (`make_pass`), so that a new one is a field here and a field of the passes that it is for.

    Raises StepwellError for an `fp` that is no numerical contract, an `opt` that is no tier, a `cache` or a `winograd`
    that is no bool, and for `winograd` under `fp=strict`.
    """

    target: str | Target = "host"
    """What kernels are formed and scheduled for, and code is made for."""
    fp: str = DEFAULT_FP
    """What may be done to floating-point results; see `FpContract`."""
    threads: int = 0
    """What parallel loops are made for: 0 is as many as `omp_get_max_threads` says."""
    schedule: bool = True
    """Whether rules schedule kernels."""

    opt: str = DEFAULT_OPT
    """How much time goes into fast code; see `OptTier`."""
    cache: bool = True
    """Whether what earlier processes compiled is used again, and what is compiled is kept for later ones."""
    winograd: bool = False
    """Whether convolutions may be computed by Winograd's algorithm, with larger errors; `fp=fast` allows it too."""

    def __post_init__(self) -> None:
        fp_contract(self.fp)
        if self.opt not in OPT_TIERS:
            raise StepwellError(
                f"found opt='{self.opt}', expected one of {', '.join(OPT_TIERS)}; choose one of them"
            )
        if not isinstance(self.cache, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise StepwellError(
                f"found cache={self.cache!r}, expected True or False; STEPWELL_CACHE names a folder"
            )
        if not isinstance(self.winograd, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise StepwellError(
                f"found winograd={self.winograd!r}, expected True or False; write one"
            )
        if self.winograd and self.fp == "strict":
            raise StepwellError(
                "found winograd with fp='strict', expected fp='contract' or 'fast': transformed tiles round differently; "
                "leave one of them out"
            )

    @property
    def is_quick(self) -> bool:
        return self.opt == "quick"

    @property
    def machine(self) -> Target:
        """The target itself. Raises StepwellError when none has its name."""
        from ..targets.target import Target  # late, as it loads LLVM

        return Target.of(self.target)

    @property
    def block_bytes(self) -> int:
        """What a block of rows may take: the target's second-level cache, or its first where there is no second."""
        return self.machine.cache(2).bytes

    @property
    def tile_bytes(self) -> int:
        """What a tile of a loop's state may take: the target's first-level cache."""
        return self.machine.cache(1).bytes

    @property
    def vector_bits(self) -> int:
        """The bits of one of the target's vector registers."""
        return self.machine.vector_bits

    @property
    def own_loads(self) -> bool:
        """Whether multiply-adds may load what goes into all lanes each by itself."""
        return self.machine.rates.own_loads_are_free

    @property
    def cache_bytes(self) -> int:
        """The target's last-level cache."""
        return self.machine.caches[-1].bytes


def make_pass(pass_class: type[PassT], options: Options) -> PassT:
    """A pass whose options are those of `options` that have the same names."""
    return pass_class(**{name: getattr(options, name) for name in _shared_names(pass_class)})


@cache
def _shared_names(pass_class: type[ModulePass]) -> tuple[str, ...]:
    """The options of a pass that have the name of one of those of a compilation."""
    own = (field.name for field in fields(pass_class) if field.init)
    return tuple(name for name in own if hasattr(Options, name))
