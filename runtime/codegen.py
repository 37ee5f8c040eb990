"""
LLVM IR to machine code. It needs nothing of xDSL: processes that only do this start at once. LLVM is loaded by what
compiles: a program from the cache has its objects, and what they are found by is all that it needs from here.
"""

# llvmlite has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ..errors import StepwellError
from ..lowering.llvm_text import needs_few_passes
from ..targets.llvm import target_machine
from ..targets.llvm_host import llvm_host

if TYPE_CHECKING:
    from llvmlite import binding

    from ..targets.target import Target


class CodeGenerator(NamedTuple):
    """
    What LLVM is told besides the text of a module: equal generators make equal code of equal text.

    `quick` code is as it is emitted, and selected instruction by instruction: LLVM's O0.
    """

    triple: str
    cpu: str
    features: str
    quick: bool = False

    @staticmethod
    def of(target: str | Target, *, quick: bool = False) -> CodeGenerator:
        """For a target, or the one of that name. Raises StepwellError where none has it."""
        if target == "host":
            return CodeGenerator(*llvm_host(), quick)
        from ..targets.target import Target  # late: programs from the cache run without it

        target = Target.of(target)
        return CodeGenerator(target.triple, target.cpu, target.features, quick)

    def llvm_ir(self, text: str) -> str:
        """The optimised LLVM IR."""
        with self._module(text, self._machine()) as module:
            return str(module)

    def assembly(self, text: str) -> str:
        machine = self._machine()
        with self._module(text, machine) as module:
            return machine.emit_assembly(module)

    def object_code(self, text: str) -> bytes:
        """A relocatable object file."""
        machine = self._machine()
        with self._module(text, machine) as module:
            return machine.emit_object(module)

    def _machine(self) -> binding.TargetMachine:
        return _machine_of(self.triple, self.cpu, self.features, 0 if self.quick else 3)

    def _module(
        self, text: str, machine: binding.TargetMachine
    ) -> AbstractContextManager[binding.ModuleRef]:
        return parsed(text, machine) if self.quick else optimised(text, machine)


@lru_cache(maxsize=16)
def _machine_of(triple: str, cpu: str, features: str, opt: int) -> binding.TargetMachine:
    """
    As of `target_machine`, one for all modules: LLVM sets up what it knows of a processor for each machine anew, which takes as long as the
    code of a small kernel. All calls of LLVM are under llvmlite's lock.
    """
    return target_machine(triple, cpu, features, opt)


@contextmanager
def parsed(text: str, machine: binding.TargetMachine) -> Generator[binding.ModuleRef]:
    """
    LLVM IR, parsed and verified, for the machine.

    Closed here at the end: the garbage collector might dispose of its context first, which crashes.
    """
    with _parse(text) as module:
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        yield module


@contextmanager
def optimised(text: str, machine: binding.TargetMachine) -> Generator[binding.ModuleRef]:
    """LLVM IR as `parsed`, and run through LLVM's passes for the machine."""
    from llvmlite import binding
    from llvmlite.binding.newpassmanagers import NewPassManager

    with parsed(text, machine) as module:
        options = binding.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = True
        # It makes vectors of what few steps of a recurrence do side by side, whose elements then wait for shuffles.
        options.slp_vectorization = False
        options.loop_interleaving = True
        options.loop_unrolling = True
        builder = binding.create_pass_builder(machine, options)
        passes = _few_passes() if needs_few_passes(text) else builder.getModulePassManager()
        passes.run(module, builder)
        # close() would free nothing, a leak of 60 KB: llvmlite's class takes the empty _dispose of
        # its first base.
        NewPassManager._dispose(passes)  # pyright: ignore[reportPrivateUsage]
        passes.detach()
        yield module


def _few_passes() -> binding.ModulePassManager:
    """
    What there is left to do for LLVM where every loop is on vectors, as schedules make it.

    Levels 4 and 5 share common subexpressions, loads and addresses, and move invariants out of loops. All of O3 finds
    nothing more that makes kernels faster, in six times as long, and value numbering nothing in a quarter of the time
    of these: they do the arithmetic of addresses, write out loops of few iterations, and keep buffers in registers
    whose subscripts are known, before that and after it.
    """
    from llvmlite import binding

    passes = binding.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_loop_unroll_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes


def _parse(text: str) -> binding.ModuleRef:
    """
    Raises StepwellError when LLVM refuses the text. Text that level 5 was emitted to is accepted; only
    an `llvm` module written by hand can be refused here.
    """
    from llvmlite import binding

    module: binding.ModuleRef | None = None
    try:
        module = binding.parse_assembly(text, binding.create_context())
        module.verify()
    except RuntimeError as error:
        if module is not None:
            module.close()
        what = " ".join(str(error).split())
        raise StepwellError(
            f"LLVM does not accept the emitted IR ({what}), expected valid llvm dialect; mend the module"
        ) from None
    return module
