"""`load`: the program in a file."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..analysis.level import Level
from ..driver.options import DEFAULT_OPT, Options
from ..errors import StepwellError
from ..transforms.numerics import DEFAULT_FP
from .files import MappedFile, check_model_size, checked_path
from .lowered import Lowered

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from xdsl.dialects.builtin import ModuleOp

    from ..runtime.side_by_side import WorkersAhead
    from ..targets.target import Target


def load(
    path: str | os.PathLike[str],
    *,
    shapes: Mapping[str, Sequence[int] | int] | None = None,
    constants: Mapping[str, ArrayLike] | None = None,
    target: str | Target = "host",
    fp: str = DEFAULT_FP,
    opt: str = DEFAULT_OPT,
    cache: bool = True,
    winograd: bool = False,
) -> Lowered:
    """
    The program in a file: IR of any level, or an ONNX model.

    What is written in upstream's dialects on tensors, such as linalg, is brought to a level of ours (docs/upstream.md). A model
    that was imported before, the contents of its file being the same, is imported again only when its IR is needed: its code
    in the cache does without.

    Parameters
    ----------
    path : str or path
        A `.mlir` or `.onnx` file. A string of more than one line is the text of IR itself.
    shapes : dict, optional
        For a model: the shape of an input by its name, `{"x": (1, 3, 224, 224)}`, or the extent of a dimension that the model
        names, `{"batch": 1}`; for all that the model leaves open.
    constants : dict, optional
        For a model: the values of inputs that decide shapes, by name. They are no arguments of the program then.
    target, fp, opt, cache, winograd
        What it is compiled for and how, as for `jit`.

    Returns
    -------
    Lowered
        The program at the level that it is written at, to be compiled or shown at those below.

    Raises
    ------
    StepwellError
        For what is no path, when the file cannot be read or is not valid, and for a model with every operator in it that
        Stepwell does not have.
    """
    options = Options(target, fp, opt=opt, cache=cache, winograd=winograd)
    text = path if isinstance(path, str) and "\n" in path else None
    path = Path("main") if text is not None else checked_path(path)
    if path.suffix == ".onnx":
        for what, given in (("shapes", shapes), ("constants", constants)):
            _check_mapping(given, what)
        return load_model(path, shapes or {}, constants or {}, options)
    if shapes or constants:
        raise StepwellError(
            "found shapes or constants for a program that is no model, expected a .onnx file; leave them out",
            where=str(path),
        )
    from ..analysis.verify import verify
    from .text import parse_file, parse_text
    from .upstream_text import bring_in

    module = parse_file(path) if text is None else parse_text(text)
    verify(module)
    bring_in(module)
    return Lowered(module, name=path.stem, options=options)


def _check_mapping(given: object, what: str) -> None:
    if given is not None and not isinstance(given, Mapping):
        raise StepwellError(
            f"found a {type(given).__name__} as {what}, expected a dictionary by the names of inputs; write {what}={{'x': …}}"
        )


def _read_beside(file: MappedFile) -> bytes | None:
    """
    The contents of a file that was not read before, whose digest is then known. What reads models is loaded meanwhile: neither
    reading nor the digest takes the interpreter. None where the system allows no more threads.
    """
    from concurrent.futures import ThreadPoolExecutor
    from importlib import import_module

    with ThreadPoolExecutor(1) as beside:
        try:
            read = beside.submit(file.read)
        except RuntimeError:
            return None
        with suppress(ImportError):  # what is missing is said where it is needed
            import_module("stepwell.frontend.onnx.reading")
        return read.result()


def load_model(
    path: Path,
    shapes: Mapping[str, Sequence[int] | int],
    constants: Mapping[str, ArrayLike],
    options: Options,
) -> Lowered:
    """The model in a file, imported now unless an earlier process has; see `load`."""
    from .onnx.recall import places_of

    file = MappedFile(path)
    check_model_size(len(file.contents), path)
    read = _read_beside(file) if options.cache and not file.has_digest else None
    places = places_of(file, shapes, constants) if options.cache else None

    ahead: list[WorkersAhead] = []
    is_known = places is not None and places.is_known
    read = None if is_known else read

    def imported() -> ModuleOp:
        from concurrent.futures import ThreadPoolExecutor

        from .onnx.package import require_onnx

        require_onnx(str(path))
        data = bytes(file.contents) if read is None else read
        if not is_known and options.schedule and not options.is_quick:
            from ..runtime.kernel_processes import kernel_workers_ahead
            from .onnx.wire import node_count

            ahead.append(kernel_workers_ahead(node_count(data)))
        from .onnx.reading import model_of

        model = model_of(data, path)
        from .onnx.importer import import_model
        from .onnx.tensor_places import note_of

        if places is None or places.is_known:
            return import_model(model, shapes, constants)
        with ThreadPoolExecutor(1) as beside:  # the weights are hashed without the interpreter
            noted = None
            with suppress(RuntimeError):  # of a system that allows no more threads
                noted = beside.submit(note_of, model, data)
            module = import_model(model, shapes, constants)
        places.keep(note_of(model, data) if noted is None else noted.result())
        return module

    start = time.perf_counter()
    module = imported if is_known else imported()
    return Lowered(
        module,
        level=Level.GRAPH,
        name=path.stem,
        options=options,
        seconds=[] if is_known else [("import", time.perf_counter() - start)],
        place_for=None if places is None else places.place,
        workers=ahead[0] if ahead else None,
    )
