"""A program at every level: `Lowered`. xDSL is loaded when a module is, so that one in the cache runs without."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ..analysis.level import Level
from ..driver.garbage import collector_paused
from ..driver.options import Options
from ..errors import StepwellError
from .lock import lowering_lock

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..analysis.memory_plan import MemoryPlan
    from ..runtime.engine import NativeCode
    from ..runtime.executable import Executable
    from ..runtime.kernels import CompiledKernels
    from ..runtime.program_record import ProgramPlace
    from ..runtime.side_by_side import WorkersAhead
    from ..targets.pages_ahead import PagesAhead
    from ..targets.target import Target

_LEVELS = tuple(Level)
_LLVM_IR = "llvm-ir"
_ASSEMBLY = "asm"
TEXTS = (*map(str, Level), _LLVM_IR, _ASSEMBLY)
"""What `Lowered.as_text` knows."""

PlaceFor: TypeAlias = "Callable[[Options, Target, int | None], ProgramPlace | None]"
"""Where the program for these options, target and threads is kept; None where it is not."""


class Lowered:
    """
    A program on its way down: its text, its IR and its code at each level from the one it starts at.

    `module` may be a function that imports it, and is called when the module is needed; `level` is where it stands, which
    such a function needs; `name` is what messages call it; `options` are what it is compiled for; `seconds` are the steps that
    led to the module. `place_for` says where its compiled code is looked for, and kept. `workers` are to compile its kernels.
    Each level is lowered when it is first asked for, and kept. It can be pickled, constants with it, as the text of the level
    it starts at.

    >>> low = sw.jit(lambda x: x * 2, opt="quick").lower(np.ones(2))
    >>> low.compile()(np.array([1.0, 2.0]))
    array([2., 4.])
    """

    def __init__(
        self,
        module: ModuleOp | Callable[[], ModuleOp],
        *,
        level: Level | None = None,
        name: str = "main",
        options: Options | None = None,
        seconds: Sequence[tuple[str, float]] = (),
        place_for: PlaceFor | None = None,
        workers: WorkersAhead | None = None,
    ):
        self.name = name
        if level is None:
            assert not callable(module)
            level = _level_of(module)
        self.level = level
        """The level the program starts at."""
        self.options = options or Options()
        self._start = module
        self._place_for = place_for
        self._workers = workers
        self._modules: dict[Level, ModuleOp] = {} if callable(module) else {level: module}
        self._seconds: dict[Level, list[tuple[str, float]]] = {self.level: list(seconds)}
        self._compilation: list[tuple[str, float]] = []
        self._native: NativeCode | None = None

    def __repr__(self) -> str:
        return f"<Lowered {self.name} from {self.level}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # As text: operations refer to each other, so that pickle would recurse as deep as a program is long, and the
        # bytes of constants are in no attribute.
        with lowering_lock:
            return _restored, (_text_of(self._at(self.level)), self.level, self.name, self.options)

    @property
    def timings(self) -> list[tuple[str, float]]:
        """Each step of the last `compile`, in order, and its seconds, of kernels side by side the sum; empty before."""
        return list(self._compilation)

    def module(self, level: str) -> ModuleOp:
        """
        The program as IR at `level`, to read or to change: a copy.

        Raises StepwellError for a level above the one the program starts at.
        """
        from ..dialects.leaf_operations import copy_of

        with lowering_lock:
            return copy_of(self._at(_level_named(level)), {})

    def unscheduled(self) -> ModuleOp:
        """
        The program at the loop level as it is before rules schedule its kernels: a copy.

        Raises StepwellError when it starts below that level.
        """
        from ..analysis.operations import operations_in
        from ..dialects import loop
        from ..tuning.rules import kernels

        with lowering_lock:
            if self.level not in (Level.GRAPH, Level.TE):
                return self._at(Level.LOOP).clone()
            module, _ = self._loops(self.options)
            for kernel in kernels(module):
                loop.name_apart(kernel, operations_in(kernel))  # steps call buffers by their names
            return module

    def script(self) -> str:
        """
        The steps by which rules schedule the program's kernels, as a script to read, edit and apply:
        `Schedule(low, script=low.script()).run()` leads to the loops of `as_text("loop")`.

        Raises StepwellError when the program starts below the te level.
        """
        from ..dialects.schedule.script_text import script_text
        from ..tuning.rules import planned_for, schedule_kernels

        self._check_above_loops()
        module = self.unscheduled()
        target = planned_for(self.options.machine, self.options.threads)
        return script_text(schedule_kernels(module, target))

    def plan(self, n: int = 3) -> str:
        """
        What rules decide for each kernel: the plan, its predicted time by term, what bounds it, and the next
        best plans, `n` in all. The times are those of the model for the target's known or measured rates. A better plan of which
        a step is refused stands before the one that is taken, with the reason.

        Raises StepwellError when the program starts below the loop level.
        """
        from ..tuning.rules import decisions, kernels, planned_for

        target = planned_for(self.options.machine, self.options.threads)
        module, lines = self.unscheduled(), list[str]()
        for kernel in kernels(module):
            lines.append(kernel.sym_name.data)
            found, word = decisions(module, kernel, target, n), "chosen "
            for choice, refusal in found:
                if refusal is not None:
                    lines.append(f"  refused {choice}: {refusal}")
                    continue
                lines.append(f"  {word} {choice}")
                word = "instead"
            lines += [] if word == "instead" else ["  scheduled without a plan"]
        return "\n".join(lines or ["no kernels"]) + "\n"

    def memory_plans(self) -> list[MemoryPlan]:
        """
        What lies where in the arena of each public function, and when; none for a function without scratch memory.

        Raises StepwellError when the program starts below the core level.
        """
        from ..analysis.memory_plan import memory_plans

        with lowering_lock:
            return list(memory_plans(self._at(Level.CORE)))

    def _check_above_loops(self) -> None:
        if self.level not in (Level.GRAPH, Level.TE):
            raise StepwellError(
                f"found a program at level '{self.level}', expected one at 'te' or above: rules schedule "
                "kernels as they are made; print the script it was scheduled by"
            )

    def as_text(self, level: str = "graph") -> str:
        """
        The program as text: IR at a level (`graph`, `te`, `loop`, `core`, `llvm`), the optimised LLVM IR
        (`llvm-ir`) or the assembly (`asm`) for its target. IR includes the bytes of its constants, and at
        `te` the kernels that fusion makes.

        Raises StepwellError for another name, or a level above the one the program starts at.
        """
        from ..driver.pipelines import as_shown

        with lowering_lock:
            if level in (_LLVM_IR, _ASSEMBLY):
                native = self._native_code()
                return native.llvm_ir() if level == _LLVM_IR else native.assembly()
            named = _level_named(level)
            return _text_of(as_shown(self._at(named), named, self.options))

    def compile(
        self,
        target: str | Target | None = None,
        threads: int | None = None,
        opt: str | None = None,
        *,
        place: ProgramPlace | None = None,
    ) -> Executable:
        """
        The program as a callable of its arrays, in order, that returns an array or a tuple of arrays.

        Code of a model's file that an earlier process compiled is taken from the cache.

        Parameters
        ----------
        target : str or Target, optional
            `"host"`, the name of a CPU or a Target; by default what the program was lowered for.
        threads : int, optional
            How many threads run the loops that a schedule marks with `parallel`; by default as many as there are processors
            that the process may use, or OMP_NUM_THREADS.
        opt : str, optional
            `"full"` or `"quick"`, as for `jit`; by default what the program was lowered with.
        place : ProgramPlace, optional
            Where the next process looks for the code.

        Raises
        ------
        StepwellError
            When the code would not run here, and for a wrong number of threads or tier.
        """
        options = replace(
            self.options,
            opt=opt or self.options.opt,
            target=self.options.target if target is None else self._chosen(target),
        )
        if options.opt != self.options.opt or options.machine != self.options.machine:
            other = self._with_options(options)
            executable = other.compile(threads=threads, place=place)
            self._compilation = other.timings
            return executable
        with lowering_lock, collector_paused():
            chosen = options.machine
            if place is None:
                place = self._place(chosen, threads)
                found = self._found(place, chosen)
                if found is not None:
                    return found
            kernels: CompiledKernels | None = None
            with self._pages_ahead() as pages:
                if self._is_scheduled_by_rules():
                    module, kernels, steps = self._with_kernels(chosen, threads)
                else:
                    module, steps = self._for_threads(threads)
                from ..runtime.jit import compile_module

                start = time.perf_counter()
                executable = compile_module(
                    module,
                    target=chosen,
                    threads=threads,
                    quick=self.options.is_quick,
                    cache=self.options.cache,
                    place=place,
                    kernels=kernels,
                    pages=pages,
                )
            seconds = time.perf_counter() - start
            self._compilation = [*steps, ("llvm", seconds)]
            return executable

    def cached(
        self, target: str | Target | None = None, threads: int | None = None
    ) -> Executable | None:
        """The program as an earlier process compiled it, for a `target` and `threads` as of `compile`, if one has."""
        with lowering_lock:
            chosen = self._chosen(target)
            return self._found(self._place(chosen, threads), chosen)

    def _chosen(self, target: str | Target | None) -> Target:
        from ..targets.target import Target

        return self.options.machine if target is None else Target.of(target)

    def _place(self, target: Target, threads: int | None) -> ProgramPlace | None:
        """Where the compiled program is kept."""
        return self._place_for(self.options, target, threads) if self._place_for else None

    def _found(self, place: ProgramPlace | None, target: Target) -> Executable | None:
        """What is kept there."""
        start = time.perf_counter()
        found = None if place is None else place.find(target, quick=self.options.is_quick)
        if found is not None:
            self._compilation = [("cache", time.perf_counter() - start)]
        return found

    def _with_options(self, options: Options) -> Lowered:
        """The program at the level that it starts at, to be compiled for something else."""
        return Lowered(
            self._modules.get(self.level, self._start),
            level=self.level,
            name=self.name,
            options=options,
            seconds=self._seconds[self.level],
            place_for=self._place_for,
            workers=self._workers,
        )

    def _is_scheduled_by_rules(self) -> bool:
        """Whether kernels are compiled each by itself. Who listens to remarks is told in the order of the program."""
        from ..transforms.remarks import is_listening

        is_full = self.options.schedule and not self.options.is_quick
        return is_full and self.level in (Level.GRAPH, Level.TE) and not is_listening()

    def _pages_ahead(self) -> PagesAhead:
        """Memory for packed weights, which gets its pages while their kernels are compiled."""
        from ..analysis.packed_weights import bytes_to_pack
        from ..targets.pages_ahead import PagesAhead

        is_packed = self.level is Level.GRAPH and self._is_scheduled_by_rules()
        return PagesAhead(bytes_to_pack(self._at(self.level)) if is_packed else 0)

    def _with_kernels(
        self, target: Target, threads: int | None
    ) -> tuple[ModuleOp, CompiledKernels, list[tuple[str, float]]]:
        """The program at level 5, the kernels that it declares, and the steps that led there."""
        from ..analysis.plans.predictions import predicting_by
        from ..cache.folder import compiled_store
        from ..driver.pipelines import lower_to
        from ..runtime.codegen import CodeGenerator
        from ..runtime.engine import load_thread_functions_ahead
        from ..runtime.kernel_processes import kernel_workers, load_what_compiles
        from ..runtime.threads import checked_threads

        number = checked_threads(threads)
        options = replace(self.options, threads=number) if number else self.options
        store = compiled_store() if options.cache else None
        ahead, self._workers = self._workers, None
        with kernel_workers(self._at(self.level), ahead) as workers:
            if workers.processes and options.threads != 1:
                load_thread_functions_ahead()
            with predicting_by(partial(workers.answers, beside=load_what_compiles)):
                module, steps = self._loops(options)
            from ..runtime.kernels import compile_kernels

            kernels = compile_kernels(module, options, CodeGenerator.of(target), store, workers)
        kernels.declare(module)
        lowered = lower_to(module, Level.LLVM, options, unscheduled=True)
        return module, kernels, [*steps, *kernels.with_timings(lowered)]

    def _loops(self, options: Options) -> tuple[ModuleOp, list[tuple[str, float]]]:
        """The program at the loop level before rules schedule its kernels, and the steps that led there."""
        from ..driver.pipelines import lower_to

        module = self._at(self.level).clone()
        seconds = lower_to(module, Level.LOOP, replace(options, schedule=False))
        return module, self._seconds[self.level] + seconds

    def _for_threads(self, threads: int | None) -> tuple[ModuleOp, list[tuple[str, float]]]:
        """The program at level 5 for a number of threads, and the steps that led there."""
        from ..driver.pipelines import lower_to
        from ..runtime.threads import checked_threads
        from ..universe import make_context

        number = checked_threads(threads)
        if not number or self.level is Level.LLVM:
            return self._at(Level.LLVM), self._seconds[Level.LLVM]
        module = self._at(Level.CORE).clone()
        options = replace(self.options, threads=number)
        seconds = lower_to(module, Level.LLVM, options, ctx=make_context())
        return module, self._seconds[Level.CORE] + seconds

    def _at(self, level: Level) -> ModuleOp:
        """The program at a level, lowered from the nearest one above that there is."""
        if level in self._modules:
            return self._modules[level]
        if level is self.level:
            return self._imported()
        from ..driver.pipelines import lower_to
        from ..universe import make_context

        position = _LEVELS.index(level)
        if position < _LEVELS.index(self.level):
            raise StepwellError(
                f"found a program at level '{self.level}', expected one at '{level}' or above to show it "
                "there; ask for a lower level"
            )
        known = [above for above in _LEVELS[:position] if above in self._modules]
        above = known[-1] if known else self.level
        module = self._at(above).clone()
        seconds = lower_to(module, level, self.options, ctx=make_context())
        self._modules[level] = module
        self._seconds[level] = self._seconds[above] + seconds
        return module

    def _imported(self) -> ModuleOp:
        """The module that the program starts at, made by the function that was given for it."""
        assert callable(self._start)
        start = time.perf_counter()
        module = self._modules[self.level] = self._start()
        self._seconds[self.level].append(("import", time.perf_counter() - start))
        return module

    def _native_code(self) -> NativeCode:
        """The code with its constants in it, to read."""
        from ..runtime.jit import native_code

        if self._native is None:
            self._native = native_code(
                self._at(Level.LLVM), target=self.options.machine, quick=self.options.is_quick
            )
        return self._native


def _text_of(module: ModuleOp) -> str:
    """The module as text, with the bytes of its constants."""
    from xdsl.context import Context
    from xdsl.dialects.builtin import Builtin

    from ..driver.pass_manager import module_text

    ctx = Context()
    ctx.load_dialect(Builtin)
    return module_text(module, ctx).rstrip("\n") + "\n"


def _restored(text: str, level: Level, name: str, options: Options) -> Lowered:
    """A pickled program."""
    from .text import parse_text

    return Lowered(parse_text(text, name), level=level, name=name, options=options)


def _level_of(module: ModuleOp) -> Level:
    from ..analysis.levels import level_of

    return level_of(module)


def _level_named(level: str) -> Level:
    try:
        return Level(level)
    except ValueError:
        raise StepwellError(
            f"found level '{level}', expected one of {', '.join(TEXTS)}; name one of these"
        ) from None
