"""Running a module of any level once, for tools that compare or show results."""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..analysis.levels import Level, level_of
from ..analysis.signature import FunctionLike, FunctionSignature, entry_function, signature_of
from ..driver.options import DEFAULT_OPT, OPT_TIERS, Options
from ..driver.pipelines import lower_to
from ..errors import StepwellError, location_of
from ..frontend.array_memory import check_memory
from ..transforms.numerics import DEFAULT_FP, FP_CONTRACTS

Array = npt.NDArray[Any]


def add_options(parser: argparse.ArgumentParser) -> None:
    """
    Add what a program is compiled for: `--target`, `--threads`, `--fp`, `--winograd` and `--opt`, with the words of
    `jit`.
    """
    add = parser.add_argument
    add("--target", default="host", help="the CPU to compile for (default: host)")
    add(
        "--threads",
        type=int,
        metavar="N",
        help="how many threads run parallel loops (default: OMP_NUM_THREADS, or all processors)",
    )
    add_fp(parser)
    add(
        "--winograd",
        action="store_true",
        help="compute convolutions by Winograd's algorithm where that is faster, with larger rounding errors",
    )
    add(
        "--opt",
        choices=OPT_TIERS,
        default=DEFAULT_OPT,
        help="quick: compile in a moment, without schedules and LLVM's optimisations (default: %(default)s)",
    )
    add(
        "--no-cache",
        action="store_true",
        help="compile the program anew, and keep nothing of it (see `stepwell cache`)",
    )


def options_of(args: argparse.Namespace) -> Options:
    """What the command line says a program is compiled for. Raises StepwellError for a wrong number of threads."""
    from ..runtime.threads import checked_threads

    return Options(
        args.target,
        args.fp,
        checked_threads(args.threads),
        opt=args.opt,
        cache=not args.no_cache,
        winograd=args.winograd,
    )


def add_fp(parser: argparse.ArgumentParser) -> None:
    """Add `--fp`, with the words of Python's `fp`."""
    parser.add_argument(
        "--fp",
        choices=FP_CONTRACTS,
        default=DEFAULT_FP,
        help="what may be done to floating-point results (default: %(default)s)",
    )


def random_inputs(function: FunctionLike, seed: int) -> tuple[Array, ...]:
    """
    Inputs of the function's shapes and dtypes, the same for the same seed. Raises StepwellError for those that memory cannot
    hold.
    """
    from ..interpreters.harness import random_inputs as generate

    for spec in signature_of(function).inputs:
        extents = [extent for extent in spec.shape if extent is not None]
        check_memory(extents, spec.dtype, f"argument '{spec.name}'")
    return generate(function, seed)


def execute(module: ModuleOp, inputs: Sequence[Array], entry: str | None = None) -> list[Array]:
    """
    What the entry function gives for `inputs`, which may be written to where the function does so.

    Levels 1 to 4 are interpreted, level 5 runs natively. Raises StepwellError for wrong inputs.
    """
    if level_of(module) is Level.LLVM:
        return execute_native(module, inputs, entry)
    return execute_interpreted(module, inputs, entry)


def execute_interpreted(
    module: ModuleOp, inputs: Sequence[Array], entry: str | None = None
) -> list[Array]:
    """Levels 1 to 4, by the definition of each operation."""
    from ..interpreters.harness import interpret

    return list(interpret(module, inputs, entry))


def execute_native(
    module: ModuleOp,
    inputs: Sequence[Array],
    entry: str | None = None,
    options: Options | None = None,
) -> list[Array]:
    """A level-5 module, compiled."""
    from ..runtime.jit import compile_module

    options = options or Options()
    signature = signature_of(entry_function(module, entry))
    threads = options.threads or None
    executable = compile_module(
        module,
        entry=entry,
        target=options.machine,
        threads=threads,
        quick=options.is_quick,
        cache=options.cache,
    )
    return _outputs(signature, inputs, executable(*inputs))


def execute_apart(
    module: ModuleOp, inputs: Sequence[Array], entry: str | None = None
) -> list[Array]:
    """
    A module of any level, lowered without schedules and compiled by the quick tier, in a process of its own.

    The module is left as it is. Raises StepwellError where the code ends its process, and for what lowering refuses.
    """
    from ..runtime.executable import Executable
    from ..runtime.jit import native_code

    options = Options(threads=1, opt="quick", cache=False)
    lowered = module.clone()
    lower_to(lowered, Level.LLVM, options)
    signature = signature_of(entry_function(lowered, entry))
    native = native_code(
        lowered, target=options.machine, constants="external", threads=1, quick=True
    )
    native.objects()  # compiled here, so that the process has only to load and run it

    def send() -> None:
        faulthandler.disable()  # a crash is told by the error
        try:
            returned: Any = Executable(signature, native)(*inputs)
            sender.send(_outputs(signature, inputs, returned))
        except StepwellError as error:
            sender.send(error)

    processes = multiprocessing.get_context("fork")  # the module need not be sent
    receiver, sender = processes.Pipe(duplex=False)
    process = processes.Process(target=send)
    process.start()
    sender.close()
    try:
        found = receiver.recv()
    except EOFError:
        process.join()
        raise StepwellError(
            f"the compiled code ended its process with status {process.exitcode}"
        ) from None
    process.join()
    if isinstance(found, StepwellError):
        raise found
    return found


def lower(module: ModuleOp, level: Level, ctx: Context, options: Options) -> None:
    """
    Lower in place, by the default pipelines (see `lower_to`).

    Raises StepwellError when a pass refuses.
    """
    with located(module):
        if level_of(module) is Level.LOOP:
            # Written by hand, as far as we know: the native code would not notice.
            from ..analysis.in_bounds import check_in_bounds

            check_in_bounds(module)
        lower_to(module, level, options, ctx=ctx)


@contextmanager
def located(op: Operation) -> Generator[None]:
    """Gives errors inside that have no place the place of `op`."""
    where = location_of(op)
    try:
        yield
    except StepwellError as error:
        error.where = error.where or where
        raise


def _outputs(signature: FunctionSignature, inputs: Sequence[Array], returned: Any) -> list[Array]:
    """What a native call gives, as the interpreter gives it: written memrefs, then returned values."""
    values = cast("tuple[Any, ...]", returned if isinstance(returned, tuple) else (returned,))
    if signature.convention != "inout":
        return [np.asarray(value) for value in values]
    written = [
        value for value, spec in zip(inputs, signature.inputs, strict=True) if not spec.scalar
    ]
    rest = signature.results[len(written) :]
    return [
        *written,
        *(np.asarray(value, spec.dtype) for value, spec in zip(values, rest, strict=False)),
    ]
