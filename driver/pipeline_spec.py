"""
Pipelines as text: `pass-a,pass-b{option=1 other="x"}`, in xDSL's syntax.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, get_args, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ParameterListType, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.hints import isa, type_repr

from ..dialects.int64 import is_int64
from ..dialects.schedule.other_words import other_word
from ..errors import StepwellError
from ..spelling import did_you_mean, one_line
from ..universe import multiverse

PassTable = Mapping[str, Callable[[], type[ModulePass]]]


def parse_passes(text: str, available: PassTable | None = None) -> tuple[ModulePass, ...]:
    """
    The passes that `text` names, with their options. `available` is every pass there is by default.

    Raises StepwellError, placed in the pipeline, for a malformed text, for an unknown pass or option, and
    for an option that is given twice.
    """
    available = multiverse().all_passes if available is None else available
    _check_words(text)
    quoted, added = _with_quotes(text)
    try:
        specs = tuple(parse_pipeline(quoted))
    except ArgSpecParseError as error:
        raise malformed_spec(error, text, "pipeline", added) from error
    return tuple(_make_pass(spec, text, available) for spec in specs)


def pipeline_text(passes: tuple[ModulePass, ...]) -> str:
    """The text that `parse_passes` reads back as these passes."""
    return ",".join(str(pass_.spec()) for pass_ in passes)


_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\[[^\]]*\]|[{},=]|\s+|[^\s{},="]+|.')
_INTEGER = re.compile(r"[-+]?\d+", re.ASCII)
_NAME = re.compile(r"[\w-]+", re.ASCII)
_READ_WITHOUT_QUOTES = re.compile(r"[\w-]*|[-+]?\d+(\.\d*([eE][-+]?\d+)?)?|\W", re.ASCII)


def _with_quotes(text: str) -> tuple[str, list[int]]:
    """
    The pipeline with quotes around words of more than letters, as `file=a/b.mlir` and `loop=f/i.outer`
    have them, and the places of the quotes that were added.
    """
    result, added, depth = "", list[int](), 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        depth += (token == "{") - (token == "}")
        is_word = token[0] not in '"[' and not token.isspace()
        if depth > 0 and is_word and not _READ_WITHOUT_QUOTES.fullmatch(token):
            added += [len(result), len(result) + len(token) + 1]
            token = f'"{token}"'
        result += token
    return result, added


def _check_words(text: str) -> None:
    """
    What xDSL's parser of pipelines takes without a word, or not at all: an option given twice, of which it
    keeps the last, a quote that is not closed, an integer that no option holds.
    """
    depth, before = 0, ""
    given: set[str] = set()
    for match in _TOKEN.finditer(text):
        token, where = match[0], f"pipeline:1:{match.start() + 1}"
        if token == '"':
            raise StepwellError(
                "found a string without a closing quote, expected '\"'; close it", where=where
            )
        depth += (token == "{") - (token == "}")
        if token == "{":
            given = set()
        elif depth > 0 and _INTEGER.fullmatch(token) and not is_int64(token):
            raise StepwellError(
                f"found the integer {one_line(token, 40)}, expected one of at most 64 bits; "
                "write a smaller one",
                where=where,
            )
        elif depth > 0 and (before == "{" or before.isspace()) and _NAME.fullmatch(token):
            option = token.replace("_", "-")
            if option in given:
                raise StepwellError(
                    f"found option '{option}' twice, expected it once; drop one of the two",
                    where=where,
                )
            given.add(option)
        before = token


def malformed_spec(
    error: ArgSpecParseError, text: str, what: str, added: Sequence[int] = ()
) -> StepwellError:
    """
    What xDSL says about a malformed `text` of passes or of a target, on one line and placed in it.

    `added` are the places of characters that xDSL has seen and that are not in `text`.
    """
    # xDSL gives the place, the text, carets and the message as one string.
    lines = str(error).splitlines()
    match = next(filter(None, (re.search(r":(\d+):(\d+)$", line) for line in lines)), None)
    column = int(match[2]) if match else 1
    column -= sum(place < column - 1 for place in added)
    found = f"'{text[column - 1 :][:20]}'" if text[column - 1 :] else f"the end of the {what}"
    reason = re.sub(r"^(Malformed pass arguments, )?[Ee]xpected ", "expected ", lines[-1].strip())
    return StepwellError(
        f"found {found}, {reason.removesuffix(' here')}; write name{{option=value option=value}}",
        where=f"{what}:1:{column}",
    )


def _make_pass(spec: ArgSpec, text: str, available: PassTable) -> ModulePass:
    where = f"pipeline:1:{text.find(spec.name) + 1}"
    if spec.name not in available:
        remedy = other_word(spec.name.removeprefix("loop-").replace("-", "_"))
        remedy = remedy or did_you_mean(
            spec.name, available, "see `stepwell-opt --list-passes=all`"
        )
        raise StepwellError(
            f"found unknown pass '{spec.name}', expected a registered one; {remedy}", where=where
        )
    pass_class = available[spec.name]()
    _check_options(pass_class, spec, where)
    try:
        return pass_class.from_spec(spec)
    except StepwellError as error:
        raise StepwellError(error.message, where=where) from error
    except (ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise StepwellError(f"pass '{spec.name}': {reason}", where=where) from error


def _check_options(pass_class: type[ModulePass], spec: ArgSpec, where: str) -> None:
    given = spec.normalize_parameter_names().parameters
    types = get_type_hints(pass_class)
    fields = {field.name: field for field in dataclasses.fields(pass_class) if field.init}
    shown = [name.replace("_", "-") for name in fields]
    for name, value in given.items():
        option = name.replace("_", "-")
        if name not in fields:
            has = f"it takes {', '.join(map(repr, shown))}" if shown else "it takes no options"
            raise StepwellError(
                f"found unknown option '{option}' of pass '{spec.name}', expected one that it has; "
                f"{did_you_mean(option, shown, has)}",
                where=where,
            )
        if not _fits(value, types[name]):
            found = ",".join(str(item).lower() for item in value) or "no value"
            expected = type_repr(types[name])
            raise StepwellError(
                f"found {option}={found} for pass '{spec.name}', expected {expected}; "
                f"write {option}=… of that type",
                where=where,
            )
    for name in sorted(pass_class.required_fields() - given.keys()):
        option = name.replace("_", "-")
        raise StepwellError(
            f"found no option '{option}' of pass '{spec.name}', expected {type_repr(types[name])}; "
            f"write {spec.name}{{{option}=…}}",
            where=where,
        )


def _fits(value: ParameterListType, expected: Any) -> bool:
    """Whether xDSL accepts `value` for an option of this type."""
    if len(value) == 0:
        return NoneType in get_args(expected) or isa(value, expected)
    return (len(value) == 1 and isa(value[0], expected)) or isa(value, expected)
