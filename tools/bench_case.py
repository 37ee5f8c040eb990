"""What `stepwell bench` measures: a case of a suite, a Python function or a file, with its peers."""

from __future__ import annotations

import fnmatch
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy.typing as npt

from ..analysis.levels import Level, level_of
from ..analysis.signature import entry_function, signature_of
from ..dialects.dtypes import element_type
from ..driver.options import Options
from ..errors import StepwellError
from ..frontend.files import read_bytes
from ..frontend.jit import jit
from ..frontend.lowered import Lowered
from ..frontend.text import make_context
from ..frozen import frozen
from ..spelling import did_you_mean
from ..transforms.numerics import DEFAULT_FP
from .bench_arrays import SEED, generate, generate_weight, placed
from .bench_models import ModelFile, import_for
from .load_program import Program, load_program
from .run import make_inputs

Array = npt.NDArray[Any]

_FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
SUITES: Mapping[str, Path] = {
    "kernels": _FOLDER / "suite.py",
    "networks": _FOLDER / "networks.py",
}
"""The suites of a checkout by name; an installed package has none."""

SUITE = SUITES["kernels"]

WHOLE_SUITE = "suite"


@frozen
class Case:
    """
    A kernel and what each peer does for the same result.

    `ours`, `numpy` and `torch` are called with the `arguments`, then the `weights`: arrays that stay the same
    from call to call, which ours compiles in, and ONNX models have as initializers. `onnx` makes the model,
    whose inputs have the names of the arguments. Arrays are written as `2x3xf32`. A peer that cannot say it is
    None. `group` is what its ratios are summarised with. A model in a file, instead of `ours`, is what ours and all
    runtimes of ONNX run.
    """

    name: str
    ours: Callable[..., Any] | ModelFile
    arguments: Mapping[str, str]
    numpy: Callable[..., Any] | None = None
    torch: Callable[..., Any] | None = None
    onnx: Callable[[], Any] | None = None
    weights: Mapping[str, str] = field(default_factory=dict[str, str])
    group: str = ""


@frozen
class Prepared:
    """A case with its arrays: ready to compile and to call."""

    case: Case
    lowered: Lowered
    arrays: Sequence[Array]
    weights: Sequence[Array] = ()
    constants: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """inputs of a model that ours is compiled for, and other runtimes are called with"""
    stored_bytes: int = 0
    """of the weights that a model has in itself"""


@frozen
class Request:
    """What the command line names: a suite's case, `FILE.py:FUNCTION` or `FILE.mlir`, shapes and contract."""

    program: str
    shapes: Mapping[str, str]
    suite: str
    in_suite: bool
    fp: str = DEFAULT_FP
    target: str = "host"
    """what ours is compiled for, as in `Target.parse`"""


def requests(
    programs: Sequence[str],
    shapes: Mapping[str, str],
    suite: Path = SUITE,
    fp: str = DEFAULT_FP,
    target: str = "host",
) -> list[Request]:
    """
    One request for each case that is named; a name of the suite's may be a pattern (`gemm-*`).

    Raises StepwellError for a name that the suite does not have, and for a suite that is not there, also beside files.
    """
    if suite != SUITE and not suite.is_file():
        raise StepwellError(_no_suite(suite), where=str(suite))
    found: list[Request] = []
    for program in programs:
        if is_file(program):
            read_bytes(_split(program)[0])  # for what is said when it cannot be read
            found.append(Request(program, shapes, str(suite), in_suite=False, fp=fp, target=target))
            continue
        if shapes:
            raise StepwellError(
                f"found --shape for '{program}', whose shapes the suite says, expected it for a file; drop it"
            )
        names = _matching(program, [case.name for case in load_suite(suite)], suite)
        found += [
            Request(name, {}, str(suite), in_suite=True, fp=fp, target=target) for name in names
        ]
    return found


def is_file(program: str) -> bool:
    """Whether this names a file, and not a kernel of the suite."""
    return ".py:" in program or Path(program).suffix != ""


def _matching(program: str, names: Sequence[str], suite: Path) -> list[str]:
    pattern = "*" if program == WHOLE_SUITE else program
    found = fnmatch.filter(names, pattern)
    if not found:
        has = "`stepwell bench --list` lists the kernels"
        raise StepwellError(
            f"found no kernel '{program}', expected one of the suite's or a file; "
            f"{did_you_mean(program, names, has)}",
            where=str(suite),
        )
    return found


def load_suite(path: Path) -> Sequence[Case]:
    """The `CASES` of a suite's file. Raises StepwellError when there are none."""
    if not path.is_file():
        raise StepwellError(_no_suite(path), where=str(path))
    cases: Any = getattr(_module(path), "CASES", None)
    if not isinstance(cases, tuple | list) or not cases:
        raise StepwellError("found no CASES, expected a tuple of Case; define it", where=str(path))
    return cases  # pyright: ignore[reportUnknownVariableType]


def _no_suite(path: Path) -> str:
    """What is said of a suite that is not there: a name that none has, a file, or those that only a checkout has."""
    if path in SUITES.values():
        return "found no suite, which only a checkout of Stepwell has; name a program to measure, or a file of yours with --suite"
    remedy = did_you_mean(str(path), SUITES, "give the path of a Python file that defines CASES")
    return f"found no suite of this name, expected {' or '.join(SUITES)}, or a file; {remedy}"


def _module(path: Path) -> ModuleType:
    name = f"benchmark_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))  # as `python FILE` does
    try:
        spec.loader.exec_module(module)
    except StepwellError:
        raise
    except Exception as error:
        raise StepwellError(
            f"found {type(error).__name__}: {error}, expected a file that can be imported; mend it",
            where=str(path),
        ) from error
    finally:
        sys.path.pop(0)
    return module


# From a request to a program.


def case_of(request: Request) -> Case:
    """The case of its suite that a request names."""
    cases = load_suite(Path(request.suite))
    return next(case for case in cases if case.name == request.program)


def prepare(request: Request) -> Prepared:
    """The program and its arrays. Raises StepwellError for whatever is wrong with either."""
    if request.in_suite:
        return prepare_case(case_of(request), request.fp, request.target)
    program = load_program(request.program, make_context(), shapes=request.shapes)
    signature = signature_of(entry_function(program.module, program.entry))
    arrays = [
        placed(a)
        for a in make_inputs(signature, {}, {} if program.model else dict(request.shapes), SEED)
    ]
    path, function = _split(request.program)
    case = Case(
        function or Path(path).stem,
        lambda *_: None,
        {
            spec.name: "x".join([*map(str, array.shape), _element(array)])
            for spec, array in zip(signature.inputs, arrays, strict=True)
        },
        group="",
    )
    case = _with_peers(case, path, function, program)
    options = Options(target=request.target, fp=request.fp)
    return Prepared(case, Lowered(program.module, name=case.name, options=options), arrays)


def prepare_case(case: Case, fp: str = DEFAULT_FP, target: str = "host") -> Prepared:
    """A case of a suite, traced or imported."""
    if isinstance(model := case.ours, ModelFile):
        options = Options(target=target, fp=fp, cache=False)
        imported = import_for(model, case.arguments, options)
        case = replace(case, arguments=imported.arguments, onnx=model.proto)
        return Prepared(
            case,
            imported.lowered,
            imported.arrays,
            constants=model.constants,
            stored_bytes=imported.stored_bytes,
        )
    ours = case.ours
    arrays = [generate(name, text) for name, text in case.arguments.items()]
    weights = [generate_weight(name, text) for name, text in case.weights.items()]

    def function(*tensors: Any) -> Any:
        return ours(*tensors, *weights)

    return Prepared(
        case, jit(function, fp=fp, target=target, cache=False).lower(*arrays), arrays, weights
    )


def _element(array: Array) -> str:
    return str(element_type(array.dtype))


def _split(program: str) -> tuple[str, str]:
    path, _, function = program.rpartition(":") if ".py:" in program else (program, "", "")
    return path, function


def _with_peers(case: Case, path: str, function: str, program: Program) -> Case:
    """
    What a file says of peers: `NAME_numpy`, `NAME_torch` and `NAME_onnx` beside the function NAME. At level
    graph NumPy does without: each operation is defined by NumPy's. A model is itself what runtimes of ONNX take.
    """
    found: dict[str, Callable[..., Any]] = {}
    model = program.model
    if model is not None:
        found["onnx"] = lambda: model.proto
    if Path(path).suffix == ".py":
        module = _module(Path(path))
        for peer in ("numpy", "torch", "onnx"):
            candidate = getattr(module, f"{function or case.name}_{peer}", None)
            if callable(candidate):
                found[peer] = candidate
    if "numpy" not in found and level_of(program.module) is Level.GRAPH:
        found["numpy"] = partial(_graph_in_numpy, _steps(program))
    return replace(case, **found)


_Steps = tuple[Any, list[Any], list[Any]]


def _steps(program: Program) -> _Steps:
    """The block, its constants' values and the operations in order."""
    from ..dialects.graph.base import GraphOp

    block = entry_function(program.module, program.entry).body.block
    constants: list[Any] = []
    operations: list[Any] = []
    for op in block.ops:
        if not isinstance(op, GraphOp):
            continue
        if op.operands:
            operations.append(op)
        else:
            constants.append((op.results[0], op.numpy()))
    return block, constants, operations


def _graph_in_numpy(steps: _Steps, *arrays: Array) -> Any:
    """Every operation of a graph by its definition, one after the other."""
    block, constants, operations = steps
    values = {**dict(zip(block.args, arrays, strict=True)), **dict(constants)}
    for op in operations:
        results = op.numpy(*(values[operand] for operand in op.operands))
        several = cast("Sequence[Any]", results if isinstance(results, tuple) else (results,))
        values.update(zip(op.results, several, strict=True))
    returned = [values[value] for value in block.last_op.operands]
    return returned[0] if len(returned) == 1 else tuple(returned)
