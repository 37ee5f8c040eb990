"""From a module at level 4 or 5 to a callable."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import func, math
from xdsl.dialects.builtin import MemRefType, ModuleOp

from ..analysis.levels import Level, level_of
from ..analysis.operations import operations_in
from ..analysis.signature import entry_function, signature_of
from ..cache.folder import compiled_store
from ..driver.garbage import collector_paused
from ..errors import StepwellError
from ..lowering.core_to_llvm import lowered_to_llvm
from ..lowering.core_to_llvm.parallel import with_team
from ..lowering.core_to_llvm.types import AnyMemRef, layout_of
from ..lowering.emit import emit_llvm
from ..lowering.emit_module import Constants
from ..targets.pages_ahead import PagesAhead
from ..targets.target import Target
from ..transforms.core.expand_math import expand_math
from .engine import NativeCode
from .executable import Executable
from .kernels import CompiledKernels
from .program_record import ProgramPlace
from .threads import checked_threads


def compile_module(
    module: ModuleOp,
    *,
    entry: str | None = None,
    target: Target | None = None,
    threads: int | None = None,
    quick: bool = False,
    cache: bool = True,
    place: ProgramPlace | None = None,
    kernels: CompiledKernels | None = None,
    pages: PagesAhead | None = None,
) -> Executable:
    """
    Compile a module at level 4 or 5 and load it into this process. The module is left as it is.

    `entry` names the function to call; see `entry_function` for the choice without it. `threads` is how many run its
    parallel loops: by default as many as a module at level 5 says, and otherwise all processors, or OMP_NUM_THREADS.
    `quick` leaves LLVM's optimisations out. `cache` says whether object code is taken from the store on disk, and kept
    there; the whole program is kept in `place`. `kernels` are compiled already, and declared in the module; `pages` are
    for what is filled at load. Raises StepwellError when there is no such function, when the module has operations
    without a lowering, and when code for `target` (the host by default) does not run here.
    """
    target = target or Target.host()
    if not target.runs_here:
        raise StepwellError(
            f"cannot run code for target '{target.name}' on this machine, expected host or a CPU whose "
            "instructions it has; compile to a file instead"
        )
    function = entry_function(module, entry)
    signature = signature_of(function)
    if signature.convention == "tensor":
        raise _not_lowered(module)
    if isinstance(function, func.FuncOp):
        _check_layouts(function)
    native = native_code(
        module,
        target=target,
        constants="external",
        threads=threads,
        quick=quick,
        cache=cache,
        kernels=kernels,
        pages=pages,
    )
    source = native.source  # loading lets go of constants
    executable = Executable(signature, native)
    if place is not None:
        place.keep(signature, source)
    return executable


def native_code(
    module: ModuleOp,
    *,
    target: Target | None = None,
    constants: Constants = "embedded",
    threads: int | None = None,
    quick: bool = False,
    cache: bool = False,
    kernels: CompiledKernels | None = None,
    pages: PagesAhead | None = None,
) -> NativeCode:
    """
    The LLVM code of a module at level 4 or 5, for its IR, assembly or object code.

    `threads`, `quick`, `cache`, `kernels` and `pages` are as for `compile_module`. Code for running in this process, with its constants
    outside, has its kernels in modules of their own. The module is left as it is. Raises StepwellError for operations without a lowering.
    """
    target = target or Target.host()
    with collector_paused():
        lowered = _lowered(module, checked_threads(threads), target.vector_bits)
        source = emit_llvm(
            lowered,
            triple=target.triple,
            constants=constants,
            kernels_apart=constants == "external" and not quick,
            compiled=None if kernels is None else kernels.emitted,
        )
    kernels = kernels or CompiledKernels()
    return NativeCode(
        source,
        target,
        quick=quick,
        store=compiled_store() if cache else None,
        objects=kernels.objects,
        llvm_cpu_seconds=kernels.llvm_cpu_seconds,
        pages=pages,
    )


def _lowered(module: ModuleOp, threads: int, vector_bits: int) -> ModuleOp:
    """The module at level 5."""
    level = level_of(module)
    if level is Level.CORE:
        if any(isinstance(op, math.IPowIOp) for op in operations_in(module)):
            module = module.clone()
            expand_math(module)
        return lowered_to_llvm(module, threads, vector_bits)
    if level is not Level.LLVM:
        raise _not_lowered(module)
    return with_team(module, threads) if threads else module


def _not_lowered(module: ModuleOp) -> StepwellError:
    return StepwellError(
        f"found a module at level {level_of(module)}, expected core or llvm; lower it first",
        op=module,
    )


def _check_layouts(function: func.FuncOp) -> None:
    """An array from Python is contiguous."""
    for type_ in function.function_type.inputs.data:
        if isinstance(type_, MemRefType) and not layout_of(cast(AnyMemRef, type_)).is_identity:
            raise StepwellError(
                f"found an argument of type {type_} in '{function.sym_name.data}', expected the identity "
                "layout for a function that Python calls; take a subview inside the function",
                op=function,
            )
