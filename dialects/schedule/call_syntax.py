"""
Steps as calls in Python's syntax: `split("f/i", factor=4, tail="peel")`.

Names need no quotes there: `fuse_loops(f/i, j.outer)` means `fuse_loops("f/i", "j.outer")`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import MISSING
from functools import cache
from typing import Any, get_type_hints

from ...errors import StepwellError
from ...frozen import defaults_of
from ...spelling import did_you_mean, one_line
from .ops import LIST_STEPS, expected_text, fits, no_parameter
from .other_words import other_word
from .step import Named, Step, names_of, spelled
from .steps import STEPS

_EXAMPLE = 'write it as in split("f/i", factor=4)'


def parse_call(text: str) -> Step:
    """
    The step that a call names.

    Raises StepwellError when the text is no call, and for an unknown step or parameter or a value of the
    wrong type.
    """
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else one_line(str(error), 80)
        reason = reason or "nested too deeply"
        raise StepwellError(
            f"found '{one_line(text, 80)}' ({reason}), expected a step; {_EXAMPLE}"
        ) from error
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise StepwellError(f"found '{one_line(text, 80)}', expected a step; {_EXAMPLE}")
    named: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise StepwellError(f"found '**' in '{one_line(text, 80)}', expected name=value")
        if keyword.arg in named:
            raise StepwellError(
                f"found parameter '{keyword.arg}' of step '{node.func.id}' twice, expected it once; "
                "drop one of the two"
            )
        named[keyword.arg] = _value(keyword.value)
    return make_step(node.func.id, [_value(argument) for argument in node.args], named)


def make_step(keyword: str, arguments: list[Any], named: dict[str, Any]) -> Step:
    """
    The step called `keyword` with positional and named parameters, as a call of a function takes them.

    Raises StepwellError for an unknown step or parameter, one that is missing or given twice, and a value
    of the wrong type.
    """
    if keyword not in STEPS:
        remedy = other_word(keyword) or did_you_mean(keyword, STEPS, LIST_STEPS)
        raise StepwellError(f"found step '{keyword}', expected one that there is; {remedy}")
    step_class = STEPS[keyword]
    names = names_of(step_class)
    if len(arguments) > len(names):
        raise StepwellError(
            f"found {len(arguments)} parameters of step '{keyword}', expected at most {len(names)}: "
            f"{', '.join(names)}"
        )
    values = dict(zip(names, arguments, strict=False))
    for name, value in named.items():
        if name not in names:
            raise StepwellError(no_parameter(step_class, name))
        if name in values:
            raise StepwellError(
                f"found parameter '{name}' of step '{keyword}' twice, expected it once"
            )
        values[name] = value
    for name in _required(step_class):
        if name not in values:
            raise StepwellError(
                f"found no '{name}' for step '{keyword}', expected it; add {name}=..."
            )
    # As its constructor does, which would look at each value once more.
    made = object.__new__(step_class)
    made.__dict__.update(_defaults(step_class), **_checked(step_class, values))
    return made


_TYPES: Mapping[str, Any] = {
    "str": str,
    "int": int,
    "bool": bool,
    "tuple[str, ...]": tuple[str, ...],
    "tuple[int, ...]": tuple[int, ...],
}
"""What is meant by the annotations of parameters: Python takes a while to evaluate them for each class of steps."""


@cache
def _hints(step_class: type[Step]) -> Mapping[str, Any]:
    """The types of the parameters."""
    written = step_class.__annotations__
    if all(text in _TYPES for text in written.values()):
        return {name: _TYPES[text] for name, text in written.items()}
    return get_type_hints(step_class)


@cache
def _defaults(step_class: type[Step]) -> Mapping[str, Any]:
    """The parameters with their defaults, in order."""
    return defaults_of(step_class)


@cache
def _required(step_class: type[Step]) -> tuple[str, ...]:
    """The names of the parameters that have no default."""
    return tuple(name for name, default in _defaults(step_class).items() if default is MISSING)


def _checked(step_class: type[Step], values: dict[str, Any]) -> dict[str, Any]:
    """The values as scripts have them, once each is of the type that its field has."""
    hints = _hints(step_class)
    result: dict[str, Any] = {}
    first = names_of(step_class)[0]
    for name, value in values.items():
        hint = hints[name]
        if type(value) is hint and hint is not int:  # as most are; numbers may be too large
            result[name] = value
            continue
        if isinstance(value, Named) and hint is str:
            result[name] = value.target if name == first else value.name
            continue
        value = spelled(value, is_target=name == first)
        if not fits(value, hint):
            raise StepwellError(
                f"found {name}={one_line(repr(value), 80)} for step '{step_class.keyword}', expected "
                f"{expected_text(value, hint)}"
            )
        result[name] = value
    return result


def _value(node: ast.expr) -> Any:
    """A parameter: a number, a truth value, a string, a list of them, or a name without quotes."""
    match node:
        case ast.Constant(value=str() | int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return tuple(_value(element) for element in elements)
        case ast.Name() | ast.Attribute() | ast.BinOp(op=ast.Div()):
            return _name(node)
        case _:
            raise StepwellError(
                f"found '{ast.unparse(node)}' as a parameter, expected a name, a string, a whole "
                "number, true or false, or a list of them; quote names of other characters"
            )


def _name(node: ast.expr) -> str:
    """`i`, `i.outer` or `f/i.outer`, as Python's parser sees them."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return f"{_name(value)}.{attribute}"
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return f"{_name(left)}/{_name(right)}"
        case _:
            raise StepwellError(
                f"found '{ast.unparse(node)}' as a name, expected one as i.outer or f/i; quote it"
            )
