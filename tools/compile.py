"""`stepwell compile`: lowers a program and writes it at any level, or as code."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..analysis.levels import Level
from ..driver.options import Options
from ..driver.pass_manager import module_text
from ..driver.pipelines import as_shown
from ..errors import StepwellError
from ..frontend.lowered import Lowered
from ..frontend.text import make_context
from .argument_types import add_shapes
from .execute import add_options, lower, options_of
from .load_program import load_program

if TYPE_CHECKING:
    from ..runtime.engine import NativeCode

_LLVM_IR = "llvm-ir"
_ASSEMBLY = "asm"
_OBJECT = "object"
_LIBRARY = "library"

_PLAN = "plan"
_MEMORY = "memory"

_EMITS = (*map(str, Level), _LLVM_IR, _ASSEMBLY, _PLAN, _MEMORY)

_DEFAULT_EMIT = {
    ".mlir": str(Level.LLVM),
    ".ll": _LLVM_IR,
    ".s": _ASSEMBLY,
    ".o": _OBJECT,
    ".so": _LIBRARY,
}
"""What is written to a file, by how its name ends."""

_PICTURES = (".svg", ".png", ".pdf")
"""Endings of pictures, which only the memory plan has."""

_MLIR = tuple(map(str, Level))


def register(commands: Any) -> None:
    """Add the subcommand to `stepwell`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "compile",
        help="write a program at a lower level, or as code",
        description="Lowers a program and writes it: as IR of any level, LLVM IR, assembly or code.",
    )
    add = parser.add_argument
    add("program", metavar="IN", help="IN.mlir, IN.onnx, IN.py:FUNCTION, or - for text on stdin")
    add(
        "-o",
        "--output",
        default="-",
        metavar="OUT",
        help="OUT.mlir, .ll, .s, .o, .so, or .svg, .png, .pdf for a picture of --emit memory; without it, or "
        "with -, stdout gets what --emit names",
    )
    add("--emit", choices=_EMITS, help="what to write; by default, what OUT's name ends in")
    add_shapes(parser)
    add_options(parser)
    parser.set_defaults(command=compile_program)


def compile_program(args: argparse.Namespace) -> int:
    """Run the subcommand; its exit status. Raises StepwellError for whatever is wrong with the arguments."""
    from .run import pairs

    emit = _what_to_emit(args.output, args.emit)
    options = options_of(args)
    if emit == _PLAN and options.is_quick:
        raise StepwellError(
            "found --emit plan with --opt quick, expected --opt full; the quick tier schedules nothing"
        )
    ctx = make_context()
    shapes = dict(pairs(args.shape, "--shape"))
    module = load_program(args.program, ctx, shapes=shapes).module
    if emit == _MEMORY:
        _write_memory_plan(module, args.output, options)
        return 0
    if emit == _LIBRARY:
        _write_library(module, ctx, args.output, options)
        return 0
    _write(args.output, _emitted(module, ctx, emit, options))
    return 0


def _what_to_emit(output: str, emit: str | None) -> str:
    """Raises StepwellError when the name of the output does not say it, or says otherwise."""
    if output == "-":
        if emit is None:
            raise StepwellError(
                "found neither an output file nor --emit, expected what to write; add -o OUT or --emit LEVEL"
            )
        return emit
    suffix = Path(output).suffix
    if emit == _MEMORY:
        if suffix not in _PICTURES:
            raise StepwellError(
                f"found --emit memory for an output ending in '{suffix}', expected one of "
                f"{', '.join(_PICTURES)}, a picture, or no output file for the text; rename it",
                where=output,
            )
        return emit
    if suffix not in _DEFAULT_EMIT:
        raise StepwellError(
            f"found an output ending in '{suffix}', expected one of {', '.join(_DEFAULT_EMIT)}; "
            "rename it",
            where=output,
        )
    default = _DEFAULT_EMIT[suffix]
    fitting = _MLIR if suffix == ".mlir" else (default,)
    if emit is not None and emit not in fitting:
        if emit == _PLAN:
            raise StepwellError(
                f"found --emit plan for the output '{output}', expected no output file; plans are printed"
            )
        right = next(
            end
            for end, what in _DEFAULT_EMIT.items()
            if what == emit or (end == ".mlir" and emit in _MLIR)
        )
        raise StepwellError(
            f"found --emit {emit} for an output ending in '{suffix}', expected one ending in '{right}'; "
            "rename it, or drop --emit",
            where=output,
        )
    return emit or default


def _emitted(module: ModuleOp, ctx: Context, emit: str, options: Options) -> str | bytes:
    if emit == _PLAN:
        return Lowered(module, options=options).plan()
    if emit in _MLIR:
        level = Level(emit)
        lower(module, level, ctx, options)
        return module_text(as_shown(module, level, options), ctx).rstrip("\n") + "\n"
    native = _native_code(module, ctx, options)
    emitters: dict[str, Callable[[], str | bytes]] = {
        _LLVM_IR: native.llvm_ir,
        _ASSEMBLY: native.assembly,
        _OBJECT: native.object_code,
    }
    return emitters[emit]()


def _native_code(module: ModuleOp, ctx: Context, options: Options) -> NativeCode:
    from ..runtime.jit import native_code

    chosen = options.machine  # a wrong name is found before anything is lowered
    lower(module, Level.LLVM, ctx, options)
    return native_code(
        module, target=chosen, threads=options.threads or None, quick=options.is_quick
    )


def _write_memory_plan(module: ModuleOp, output: str, options: Options) -> None:
    plans = Lowered(module, options=options).memory_plans()
    if output == "-":
        print("\n".join(plan.text() for plan in plans) or "no scratch memory\n", end="")
        return
    from ..runtime.memory_picture import draw_memory_plans

    draw_memory_plans(plans, Path(output))


def _write_library(module: ModuleOp, ctx: Context, output: str, options: Options) -> None:
    from ..runtime.shared_library import link_shared_library

    native = _native_code(module, ctx, options)
    code = native.object_code()
    with _writing(output):
        link_shared_library(code, Path(output), openmp=native.needs_openmp)


def _write(name: str, content: str | bytes) -> None:
    if name == "-":
        print(content, end="")
        return
    data = content.encode("utf-8") if isinstance(content, str) else content
    with _writing(name):
        Path(name).write_bytes(data)


@contextmanager
def _writing(name: str) -> Generator[None]:
    """Raises StepwellError where the output cannot be written."""
    try:
        yield
    except OSError as error:
        raise StepwellError(
            f"cannot write the output: {error.strerror}; mend the path or its permissions",
            where=name,
        ) from error
