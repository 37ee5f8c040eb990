"""`stepwell run`: runs a program of any level on arrays from files or on generated ones."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..analysis.levels import Level, level_of
from ..analysis.signature import FunctionSignature, entry_function, signature_of
from ..dialects.dtypes import is_float_dtype
from ..driver.options import Options
from ..errors import StepwellError
from ..frontend.array_memory import check_memory
from ..frontend.text import make_context
from .argument_types import add_shapes, seed
from .differences import largest_differences
from .execute import (
    add_options,
    execute_interpreted,
    execute_native,
    located,
    lower,
    options_of,
)
from .load_program import Program, check_entry_of_model, load_model_program, load_program
from .model_peers import check_results
from .shape_text import check_names, shape_for

if TYPE_CHECKING:
    from ..frontend.onnx.reading import Model

Array = npt.NDArray[Any]

_DESCRIPTION = """
Runs a program of any level: levels 1 to 4 are lowered and compiled, or interpreted with --interpret.
Prints the name, dtype and shape of every output, and its first elements.
"""


def register(commands: Any) -> None:
    """Add the subcommand to `stepwell`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "run", help="run a program", description=_DESCRIPTION
    )
    add = parser.add_argument
    add("program", metavar="IN", help="IN.mlir, IN.onnx, IN.py:FUNCTION, or - for text on stdin")
    add(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="the array for an argument",
    )
    add_shapes(parser, "the shape of a generated argument, where the program leaves it open")
    add("--random", type=seed, metavar="SEED", help="generate the arguments that are not given")
    add("--entry", metavar="NAME", help="the function to run; needed when there are several")
    add(
        "--check",
        action="store_true",
        help="interpret the program too, or run a model elsewhere, and compare",
    )
    add(
        "--check-each",
        action="store_true",
        help="run the program, and each kernel by itself, before and after each pass too",
    )
    add("--interpret", action="store_true", help="interpret the program instead of compiling it")
    add("--print", action="store_true", help="print the outputs in full")
    add("-o", "--output", metavar="DIR", help="save every output as DIR/NAME.npy")
    add_options(parser)
    parser.set_defaults(command=run)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand; its exit status. Raises StepwellError for whatever is wrong with the arguments."""
    options = options_of(args)
    ctx = make_context()
    given = {name: load_array(name, file) for name, file in pairs(args.input, "--input")}
    shapes = dict(pairs(args.shape, "--shape"))
    if Path(args.program).suffix == ".onnx" and not args.interpret:
        check_entry_of_model(args.program, args.entry)
        return _run_model(args, given, shapes, options)
    program = load_program(
        args.program, ctx, entry=args.entry, shapes={**_shapes_of(given), **shapes}, arrays=given
    )
    passed = {name: array for name, array in given.items() if name not in program.constants}
    function = entry_function(program.module, program.entry)
    signature = signature_of(function)
    with located(function):
        if program.model:
            shapes = of_inputs(signature, shapes)
        inputs = make_inputs(signature, passed, shapes, args.random)
        outputs, expected = _outputs(program, signature, inputs, ctx, args, options)
    _show(signature, outputs, in_full=args.print)
    if args.output:
        _save(Path(args.output), signature, outputs)
    if args.check and program.model:
        _check_model(program.model, signature, given, inputs, outputs)
    return 0 if expected is None else _check(outputs, expected)


def _run_model(
    args: argparse.Namespace, given: dict[str, Array], shapes: dict[str, str], options: Options
) -> int:
    """Run a compiled model, which is not imported when the cache has it."""
    low, constants = load_model_program(
        args.program, {**_shapes_of(given), **shapes}, given, options
    )
    threads = options.threads or None
    executable = low.cached(threads=threads)
    signature = (
        executable.signature if executable else signature_of(entry_function(low.module("graph")))
    )
    passed = {name: array for name, array in given.items() if name not in constants}
    inputs = make_inputs(signature, passed, of_inputs(signature, shapes), args.random)
    if args.check_each:
        _check_each(low.module("graph"), signature.name, inputs, make_context(), options)
    executable = executable or low.compile(threads=threads)
    returned: Any = executable(*inputs)
    outputs = list(
        cast("tuple[Array, ...]", returned if isinstance(returned, tuple) else (returned,))
    )
    _show(signature, outputs, in_full=args.print)
    if args.output:
        _save(Path(args.output), signature, outputs)
    if args.check:
        from ..frontend.onnx.reading import read_model

        _check_model(read_model(args.program), signature, given, inputs, outputs)
    return 0


def of_inputs(signature: FunctionSignature, shapes: dict[str, str]) -> dict[str, str]:
    """The shapes of arguments: of a model one may also give the extents of dimensions that it names."""
    names = {spec.name for spec in signature.inputs}
    return {name: text for name, text in shapes.items() if name in names}


def _check_model(
    model: Model,
    signature: FunctionSignature,
    given: dict[str, Array],
    inputs: Sequence[Array],
    outputs: Sequence[Array],
) -> None:
    """Run a model elsewhere too. Raises StepwellError where that gives something else."""
    values = {spec.name: array for spec, array in zip(signature.inputs, inputs, strict=True)}
    results = {
        f"{number} {spec.name}": array
        for number, (spec, array) in enumerate(zip(signature.results, outputs, strict=True))
    }
    print(check_results(model, {**given, **values}, results))


def _outputs(
    program: Program,
    signature: FunctionSignature,
    inputs: Sequence[Array],
    ctx: Context,
    args: argparse.Namespace,
    options: Options,
) -> tuple[list[Array], list[Array] | None]:
    """The outputs, and with --check what the interpreter gives for the program as it was."""

    def fresh() -> list[Array]:
        return [np.array(value) for value in inputs]

    module, entry = program.module, program.entry
    is_llvm = level_of(module) is Level.LLVM
    asked = {"--check": args.check, "--check-each": args.check_each, "--interpret": args.interpret}
    if is_llvm and any(asked.values()):
        option = next(option for option, is_asked in asked.items() if is_asked)
        raise StepwellError(
            f"found {option} for a program of level llvm, which has no interpreter; "
            f"drop {option}, or give a program of a higher level"
        )
    interprets = (
        args.check and program.model is None
    )  # a model is compared with what other runtimes compute
    expected = execute_interpreted(module, fresh(), entry) if interprets else None
    if args.check_each:
        _check_each(module.clone(), signature.name, inputs, ctx, options)
    if args.interpret:
        return execute_interpreted(module, fresh(), entry), expected
    if not is_llvm:
        lower(module, Level.LLVM, ctx, options)
    outputs = execute_native(module, fresh(), entry, options)
    # A tensor function without tensor results is lowered to one that is called in place: natively its
    # arguments are outputs as well, and stand first.
    return outputs[len(outputs) - len(signature.results) :], expected


def _check_each(
    module: ModuleOp,
    entry: str,
    inputs: Sequence[Array],
    ctx: Context,
    options: Options,
) -> None:
    """Lower a module, and see after each pass that it keeps results. Raises StepwellError where one does not."""
    from ..driver.pipelines import lower_to
    from .check_kernels import CheckKernels

    checks = CheckKernels(inputs={entry: inputs})
    lower_to(module, Level.LLVM, options, ctx=ctx, instrumentations=[checks], verify_each=True)


# Arguments


def pairs(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    """`NAME=VALUE` options as pairs. Raises StepwellError for one that is not of that form, and for a second of a name."""
    pairs: list[tuple[str, str]] = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            example = "NAME=FILE.npy" if option == "--input" else "NAME=2x3xf32"
            raise StepwellError(f"found {option} {text}, expected {option} {example}; write it so")
        if name in dict(pairs):
            raise StepwellError(f"found {option} for '{name}' twice, expected it once; drop one")
        pairs.append((name, value))
    return pairs


def load_array(name: str, file: str) -> Array:
    """The array in an .npy file, in native byte order, for the argument of that name. Raises StepwellError when there is none."""
    try:
        array: Any = np.load(file, allow_pickle=False)
    except FileNotFoundError as error:
        raise StepwellError(
            f"found no such file for input '{name}', expected an .npy file; mend the name",
            where=file,
        ) from error
    except (OSError, ValueError, EOFError) as error:
        raise StepwellError(
            f"found a file that NumPy cannot read for input '{name}', expected an array saved by "
            "numpy.save; save it again",
            where=file,
        ) from error
    if not isinstance(array, np.ndarray):
        raise StepwellError(
            f"found several arrays for input '{name}', expected one; save it with numpy.save",
            where=file,
        )
    found = cast("Array", array)
    return found.astype(found.dtype.newbyteorder("="), copy=False)


def _shapes_of(arrays: dict[str, Array]) -> dict[str, str]:
    from ..dialects.dtypes import element_type

    return {
        name: "x".join([*map(str, array.shape), str(element_type(array.dtype))])
        for name, array in arrays.items()
    }


def make_inputs(
    signature: FunctionSignature,
    given: dict[str, Array],
    shapes: dict[str, str],
    seed: int | None,
) -> list[Array]:
    """The arguments: those given, and generated ones of the other shapes. Raises StepwellError."""
    check_names(signature, [*given, *shapes])
    return [
        given[spec.name] if spec.name in given else _generated(position, signature, shapes, seed)
        for position, spec in enumerate(signature.inputs)
    ]


def _generated(
    position: int, signature: FunctionSignature, shapes: dict[str, str], seed: int | None
) -> Array:
    spec = signature.inputs[position]
    if seed is None:
        raise StepwellError(
            f"found no value for argument '{spec.name}' of '{signature.name}', expected {spec}; "
            f"give --input {spec.name}=FILE.npy, or --random SEED"
        )
    shape = shape_for(spec, shapes[spec.name]) if spec.name in shapes else spec.shape
    extents = [extent for extent in shape if extent is not None]
    if len(extents) < len(shape):
        raise StepwellError(
            f"found argument '{spec.name}' of open shape {spec}, expected every extent; "
            f"give --shape {spec.name}=… as in 2x3xf32"
        )
    check_memory(extents, spec.dtype, f"argument '{spec.name}'")
    return random_array(spec.dtype, extents, np.random.default_rng((seed, position)))


def random_array(
    dtype: np.dtype[Any], shape: Sequence[int], generator: np.random.Generator
) -> Array:
    """Floats in [-2, 2), integers in [-8, 8), unsigned ones in [0, 16), as for `--check-each`."""
    if is_float_dtype(dtype):
        return generator.uniform(-2, 2, shape).astype(dtype)
    match dtype.kind:
        case "b":
            return generator.integers(0, 2, shape).astype(dtype)
        case "u":
            return generator.integers(0, 16, shape).astype(dtype)
        case _:
            return generator.integers(-8, 8, shape).astype(dtype)


# Results


def _show(signature: FunctionSignature, outputs: Sequence[Array], *, in_full: bool) -> None:
    if not outputs:
        print(f"{signature.name} gives no results")
    for spec, output in zip(signature.results, outputs, strict=True):
        shape = "x".join([*map(str, output.shape), str(output.dtype)])
        print(f"{spec.name}: {shape} = {_elements(output, in_full=in_full)}")


def _elements(array: Array, *, in_full: bool) -> str:
    if in_full:
        text = np.array2string(array, threshold=array.size + 1, separator=", ")
        return f"\n{text}" if "\n" in text else text
    first = ", ".join(
        f"{float(value):.6g}" if is_float_dtype(array.dtype) else str(value)
        for value in array.flat[:8]
    )
    return f"[{first}, …]" if array.size > 8 else f"[{first}]"


def _save(folder: Path, signature: FunctionSignature, outputs: Sequence[Array]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for spec, output in zip(signature.results, outputs, strict=True):
            np.save(folder / f"{spec.name.replace('/', '_')}.npy", output)
    except OSError as error:
        raise StepwellError(
            f"cannot save the outputs: {error.strerror}; name another folder", where=str(folder)
        ) from error


def _check(outputs: Sequence[Array], expected: Sequence[Array]) -> int:
    try:
        differences = largest_differences(outputs, expected)
    except ValueError as error:
        raise StepwellError(
            f"the compiled program disagrees with the interpreter: {error}"
        ) from error
    wrong = [difference for difference in differences if not difference.is_acceptable]
    if wrong:
        worst = max(wrong, key=lambda difference: difference.error)
        raise StepwellError(f"the compiled program disagrees with the interpreter: {worst}")
    largest = max(differences, key=lambda difference: difference.error, default=None)
    if largest is None:
        print("check: agrees with the interpreter (no elements)")
    else:
        print(
            f"check: agrees with the interpreter, largest difference {largest.error:.3g} "
            f"(tolerance {largest.tolerance:.3g})"
        )
    return 0
