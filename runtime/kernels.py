"""
The kernels of a program, each compiled by itself from its loops to object code: from the store of what was compiled
before, and otherwise side by side in processes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from ..analysis.levels import Level
from ..cache.store import Store, key_of
from ..cache.version import compiler_version
from ..driver.garbage import collector_paused
from ..driver.kernel_units import (
    Interface,
    declare_kernels,
    identity_of,
    interface_of,
    passed_numbers,
    units_of,
)
from ..driver.options import Options
from ..driver.pass_manager import module_text
from ..driver.pipelines import lower_to
from ..errors import StepwellError
from ..frozen import frozen
from ..lowering.emit import EmittedKernels, emit_kernels
from ..universe import make_context
from .codegen import CodeGenerator
from .objects import KIND as OBJECTS
from .objects import object_key
from .side_by_side import Workers, progress

KIND = "kernels"


@frozen
class CompiledKernel:
    """A kernel as object code: with what fills its buffers at load, and how it is called."""

    interface: Interface
    emitted: EmittedKernels
    objects: Mapping[str, bytes]
    """by the text of each module"""
    timings: Sequence[tuple[str, float]] = field(default=(), compare=False)
    """The passes that led to it, each with its seconds; none where it was found in the store."""
    llvm_cpu_seconds: float = field(default=0.0, compare=False)
    """Seconds of the processor in which LLVM made the object code; likewise."""


@dataclass
class KernelJob:
    """A module that `units_of` made, and what it is compiled for. Another process is sent its text."""

    text: str
    options: Options
    generator: CodeGenerator
    module: ModuleOp | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "module": None}

    @cached_property
    def key(self) -> str:
        """What the compiled kernel is found by in the store: all that it is made from, which no name is."""
        options, generator = self.options, self.generator
        assert self.module is not None, "a job has its module until it is compiled"
        about = (options.fp, str(options.threads), options.machine.profile())
        return key_of(compiler_version(), *about, *map(str, generator), identity_of(self.module))


@dataclass
class CompiledKernels:
    """What became of the kernels of a program."""

    kernels: dict[func.FuncOp, CompiledKernel] = field(
        default_factory=dict[func.FuncOp, CompiledKernel]
    )

    @property
    def emitted(self) -> EmittedKernels:
        return EmittedKernels.joined(kernel.emitted for kernel in self.kernels.values())

    @property
    def objects(self) -> dict[str, bytes]:
        """Object code by the text of its module."""
        found = (kernel.objects.items() for kernel in self.kernels.values())
        return {text: code for items in found for text, code in items}

    @property
    def llvm_cpu_seconds(self) -> float:
        """Seconds of processors in which LLVM made the object code of the kernels that were not found."""
        return sum(kernel.llvm_cpu_seconds for kernel in self._distinct())

    def with_timings(self, program: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
        """
        What passes took in all, from loops to LLVM: kernels, also where they ran side by side, and the rest of the
        program, which went through the same passes.
        """
        of_kernels = [kernel.timings for kernel in self._distinct() if kernel.timings]
        names = [name for name, _ in program]
        assert all([name for name, _ in one] == names for one in of_kernels)
        columns = zip(program, *of_kernels, strict=True)
        return [(column[0][0], sum(seconds for _, seconds in column)) for column in columns]

    def _distinct(self) -> Iterable[CompiledKernel]:
        return {id(kernel): kernel for kernel in self.kernels.values()}.values()

    def declare(self, module: ModuleOp) -> None:
        """Leave only declarations of the kernels in their program, and calls of what was compiled."""
        interfaces = {function: kernel.interface for function, kernel in self.kernels.items()}
        declare_kernels(make_context(), module, interfaces)


def compile_kernels(
    module: ModuleOp,
    options: Options,
    generator: CodeGenerator,
    store: Store | None,
    processes: Workers,
) -> CompiledKernels:
    """
    Compile the kernels of a module at the loop level whose schedules are not chosen yet, which is left as it is.

    A kernel that cannot be compiled apart from its program is not among those that are returned.
    """
    jobs = {
        function: KernelJob(module_text(unit), options, generator, unit)
        for function, unit in units_of(module).items()
    }
    found = {job.text: _kept(store, job) for job in jobs.values()} if store else {}
    compiled = {text: kernel for text, kernel in found.items() if kernel is not None}
    missing = {job.text: job for job in jobs.values() if job.text not in compiled}
    ordered = sorted(missing.values(), key=lambda job: len(job.text), reverse=True)
    with progress("compiling kernels", len(ordered)) as advance:

        def done(job: KernelJob, kernel: CompiledKernel | None) -> None:
            if kernel is not None:
                compiled[job.text] = kernel
                if store is not None:
                    _keep(store, job, kernel)
            advance()

        processes.run(compile_kernel, ordered, done)
    return CompiledKernels(
        {function: compiled[job.text] for function, job in jobs.items() if job.text in compiled}
    )


def compile_kernel(job: KernelJob) -> CompiledKernel | None:
    """
    Compile one kernel; None for one that cannot be compiled apart from its program, or not at all: the error is then
    found again in the program, where it has a place.
    """
    ctx = make_context()
    unit = Parser(ctx, job.text).parse_module() if job.module is None else job.module
    job.module = None  # lowered in place: garbage afterwards
    try:
        with collector_paused():
            passed = passed_numbers(unit)
            timings = lower_to(unit, Level.CORE, job.options, ctx=ctx, unscheduled=True)
            interface = interface_of(unit, passed)
            timings += lower_to(unit, Level.LLVM, job.options, ctx=ctx, stands_on=Level.CORE)
            emitted, names = emit_kernels(unit, interface.functions, job.generator.triple)
    except StepwellError:
        return None
    if not interface.functions <= names.keys():
        return None
    start = time.thread_time()
    objects = {text: job.generator.object_code(text) for text in emitted.texts.values()}
    seconds = time.thread_time() - start
    return CompiledKernel(interface.renamed(names), emitted, objects, timings, seconds)


def _keep(store: Store, job: KernelJob, kernel: CompiledKernel) -> None:
    record = {"interface": asdict(kernel.interface), "emitted": asdict(kernel.emitted)}
    store.write(KIND, job.key, json.dumps(record, default=sorted).encode())
    for text, code in kernel.objects.items():
        store.write(OBJECTS, object_key(text, job.generator), code)


def _kept(store: Store, job: KernelJob) -> CompiledKernel | None:
    """What an earlier process has kept of the kernel, where all of it is there still."""
    data = store.read(KIND, job.key)
    if data is None:
        return None
    record = json.loads(data)
    emitted = EmittedKernels.of(record["emitted"])
    objects = {
        text: store.read(OBJECTS, object_key(text, job.generator))
        for text in emitted.texts.values()
    }
    found = {text: code for text, code in objects.items() if code is not None}
    if len(found) < len(objects):
        return None
    return CompiledKernel(Interface.of(record["interface"]), emitted, found)
