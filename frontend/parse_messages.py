"""
Saying in one line what is wrong with a piece of text.

xDSL's parser reports an error as several lines: the place, the source line, a caret and a message. Here
the message becomes "found X, expected Y; do Z".
"""

from __future__ import annotations

import re
from collections.abc import Callable

from xdsl.context import Context

from ..dialects.schedule.other_words import other_word
from ..spelling import did_you_mean, one_line

_LONGEST_EXCERPT = 40

_Rule = tuple[re.Pattern[str], Callable[[re.Match[str], str], str]]


def excerpt(text: str) -> str:
    """What stands in the text, quoted and shortened; nothing left is `the end of the text`."""
    if not text.strip():
        return "the end of the text"
    return f"'{one_line(text, _LONGEST_EXCERPT)}'"


def unknown_operation(name: str, ctx: Context) -> str:
    """The message for an operation that no registered dialect has."""
    dialect_name, dot, _ = name.partition(".")
    if not dot:
        return (
            f"found '{name}', expected an operation; write its dialect too, as in 'arith.addf', "
            "and see that the text before it is complete"
        )
    if dialect_name not in ctx.registered_dialect_names:
        remedy = did_you_mean(
            dialect_name, ctx.registered_dialect_names, "import it, or allow unregistered dialects"
        )
        return f"found operation '{name}' of the unknown dialect '{dialect_name}'; {remedy}"
    known = _names_of(dialect_name, ctx, "operations")
    remedy = other_word(name.removeprefix("schedule.")) if dialect_name == "schedule" else None
    remedy = remedy or did_you_mean(
        name, known, f"the dialect has {_some(known)}", prefix=f"{dialect_name}."
    )
    return f"found unknown operation '{name}', expected one of dialect '{dialect_name}'; {remedy}"


def unknown_attribute(name: str, ctx: Context) -> str:
    """The message for a type or attribute that no registered dialect has."""
    dialect_name, _, _ = name.partition(".")
    if dialect_name not in ctx.registered_dialect_names:
        remedy = did_you_mean(
            dialect_name, ctx.registered_dialect_names, "import it, or allow unregistered dialects"
        )
        return f"found '{name}' of the unknown dialect '{dialect_name}'; {remedy}"
    known = _names_of(dialect_name, ctx, "attributes")
    remedy = did_you_mean(name, known, f"the dialect has {_some(known)}")
    return f"found unknown type or attribute '{name}', expected one of '{dialect_name}'; {remedy}"


def _names_of(dialect_name: str, ctx: Context, kind: str) -> list[str]:
    dialect = ctx.get_optional_dialect(dialect_name)
    return [definition.name for definition in getattr(dialect, kind, ())]


def _some(names: list[str]) -> str:
    if not names:
        return "none"
    shown = ", ".join(f"'{name}'" for name in sorted(names)[:6])
    return shown if len(names) <= 6 else f"{shown} and {len(names) - 6} more"


def explain(message: str, found: str) -> str:
    """
    The parser's `message` about the token `found`, said our way.

    A message that already says what was found and expected is kept.
    """
    message = one_line(message).rstrip(".!")
    if message.startswith("found ") or ("expected" in message and "found" in message):
        return message
    for pattern, say in _RULES:
        if match := pattern.search(message):
            return say(match, found)
    return f"found {found}: {_decapitalized(message)}; mend the text here"


def _decapitalized(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _rule(pattern: str, say: Callable[[re.Match[str], str], str]) -> _Rule:
    return re.compile(pattern), say


_RULES: tuple[_Rule, ...] = (
    _rule(
        r"^(?:[Ee]xpected )?'(.+?)'(?: expected)?( .*)?$",
        lambda m, f: f"found {f}, expected '{m[1]}'{m[2] or ''}; write '{m[1]}' here",
    ),
    _rule(
        r"^expected `(.+?)`$",
        lambda m, f: f"found {f}, expected '{m[1]}'; write '{m[1]}' here",
    ),
    _rule(
        r"^Could not parse entire input",
        lambda m, f: f"found {f}, expected an operation; see that every brace before it is matched",
    ),
    _rule(
        r"^operand is used with type (.*), but has been previously used or defined with type (.*)",
        lambda m, f: (
            f"found {f} used as {m[1]}, expected {m[2]}, its type elsewhere; "
            "mend one of the two types or convert the value"
        ),
    ),
    _rule(
        r"^Result (%\S+) is defined with type (.*), but used with type (.*)",
        lambda m, f: (
            f"found {m[1]} of type {m[2]}, expected {m[3]}, as it is used before; "
            "mend one of the two types"
        ),
    ),
    _rule(
        r"^SSA value (%\S+) is already defined",
        lambda m, f: (
            f"found a second definition of {m[1]}, expected a new name; rename one of them"
        ),
    ),
    _rule(
        r"^Operation has (\d+) results, but was given (\d+) to bind",
        lambda m, f: f"found {m[2]} result name(s), expected {m[1]}; give one name to each result",
    ),
    _rule(
        r"^re-declaration of block '(.*)'",
        lambda m, f: f"found a second block ^{m[1]}, expected a new name; rename one of them",
    ),
    _rule(
        r"^region ends with missing block declarations for block\(s\) (.*)",
        lambda m, f: (
            f"found a branch to block(s) {m[1]}, expected them in this region; "
            "add the block or mend the name"
        ),
    ),
    _rule(
        r"^expected (\d+) operand types but had (\d+)",
        lambda m, f: f"found {m[2]} operand(s), expected {m[1]} as the types say; make them agree",
    ),
    _rule(
        r"^Operation (\S+) does not have a custom format",
        lambda m, f: (
            f"found '{m[1]}' without quotes, expected its generic form; "
            f'write "{m[1]}"(operands) : (types) -> types'
        ),
    ),
    _rule(
        r"^[Ii]nteger value (\S+) is out of range for type (\S+) which supports values in the range \[(\S+), (\S+)\)",
        lambda m, f: (
            f"found the integer {m[1]}, expected one of {m[2]}, from {m[3]} to less than {m[4]}; "
            "mend the number or the type"
        ),
    ),
    _rule(
        r"^(?:argument out of range|int too big to convert|float too large to pack)",
        lambda m, f: (
            f"found a number before {f} that its type does not hold, expected one that it does; "
            "mend the number or the type"
        ),
    ),
    _rule(
        r"^in block definition",
        lambda m, f: f"found {f}, expected an operation or '}}'; close the region with '}}'",
    ),
    _rule(
        r"^Shape mismatch in dense literal. Expected (.+?) (shape|elements).* got (.+?) (?:shape|el)",
        lambda m, f: (
            f"found {m[2]} {m[3]} in a dense literal, expected {m[1]} as its type says; "
            "make them agree"
        ),
    ),
    _rule(
        r"^Floating point value is not valid for integer type",
        lambda m, f: (
            "found a floating-point value, expected an integer as its type says; "
            "write an integer or mend the type"
        ),
    ),
    _rule(
        r"^Tensor literal has inconsistent ranks",
        lambda m, f: (
            "found rows of different lengths in a dense literal, expected equal ones; "
            "add the missing elements"
        ),
    ),
    _rule(
        r"^Multiplication with non-constant",
        lambda m, f: (
            "found a product of two variables, expected an affine expression; "
            "multiply by a constant, or compute the index apart"
        ),
    ),
    _rule(
        r"^Identifier not in space (.*)",
        lambda m, f: (
            f"found '{m[1]}', expected a name that the map declares; declare it or mend it"
        ),
    ),
    _rule(
        r"^[Uu]nexpected character",
        lambda m, f: f"found {f}, expected a token of IR; remove it",
    ),
    _rule(
        r"^[Ee]xpected (.*)$",
        lambda m, f: f"found {f}, expected {m[1]}; mend the text here",
    ),
    _rule(
        r"^(.*) expected(.*)$",
        lambda m, f: f"found {f}, expected {_decapitalized(m[1])}{m[2]}; mend the text here",
    ),
)
"""Tried in order; the message is that of xDSL 0.74's parser, on one line."""
