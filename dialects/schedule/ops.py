"""
The operations of the schedule dialect, one for each step, and the script that holds them.

    schedule.script {
      schedule.split "matmul/i" factor = 8 tail = "peel"
      schedule.reorder "matmul/i.inner" order = ["j", "i.inner"]
    }
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import MISSING, Field, fields
from types import UnionType
from typing import Any, ClassVar, cast, get_args, get_origin, get_type_hints

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, i1, i64
from xdsl.ir import Attribute, Block, Dialect, Operation, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from ...spelling import did_you_mean, few_names
from ..int64 import is_int64
from .step import Step
from .steps import STEPS

LIST_STEPS = "help(stepwell.Schedule) and `stepwell-opt --list-passes` list the steps"
"""What to do when no step is like the one that was named."""


class StepOp(IRDLOperation):
    """The common form of all steps: `schedule.<keyword> "<target>" name = value …`."""

    STEP_CLASS: ClassVar[type[Step]]

    params = prop_def(DictionaryAttr)

    def __init__(self, step: Step):
        entries = {name: _to_attribute(value) for name, value in step.parameters.items()}
        super().__init__(properties={"params": DictionaryAttr(entries)})

    @property
    def step(self) -> Step:
        """The step this operation stands for."""
        return self.STEP_CLASS(
            **{name: _from_attribute(attr) for name, attr in self.params.data.items()}
        )

    def verify_(self) -> None:
        known = {f.name: f for f in _fields(self.STEP_CLASS)}
        hints = get_type_hints(self.STEP_CLASS)
        keyword = self.STEP_CLASS.keyword
        for name, attr in self.params.data.items():
            if name not in known:
                raise VerifyException(no_parameter(self.STEP_CLASS, name))
            value = _from_attribute(attr)
            if not fits(value, hints[name]):
                raise VerifyException(
                    f"parameter '{name}' of step '{keyword}' is {value!r}, "
                    f"expected {expected_text(value, hints[name])}"
                )
        for name, f in known.items():
            if f.default is MISSING and name not in self.params.data:
                raise VerifyException(f"step '{keyword}' needs the parameter '{name}'")

    def print(self, printer: Printer) -> None:
        first = self.STEP_CLASS.first_parameter()
        printer.print_string(" ")
        printer.print_attribute(self.params.data[first])
        for name, attr in self.params.data.items():
            if name != first:
                printer.print_string(f" {name} = ")
                _print_value(printer, attr)

    @classmethod
    def parse(cls, parser: Parser) -> StepOp:
        first = cls.STEP_CLASS.first_parameter()
        entries: dict[str, Attribute] = {first: StringAttr(parser.parse_str_literal())}
        while (name := _parse_optional_name(parser, cls.STEP_CLASS, entries)) is not None:
            parser.parse_punctuation("=")
            entries[name] = _parse_value(parser)
        op = cls.__new__(cls)
        IRDLOperation.__init__(op, properties={"params": DictionaryAttr(entries)})
        return op


_WORD = re.compile(r"[A-Za-z_][\w$.]*")


def _parse_optional_name(
    parser: Parser, step_class: type[Step], given: Collection[str]
) -> str | None:
    """The name of the next parameter; None when no name follows, or that of the next operation."""
    start = parser.pos
    word = _WORD.match(parser.lexer.input.content, start)
    if word is None or "." in word[0]:
        return None
    known = [f.name for f in _fields(step_class)]
    name = parser.parse_optional_keyword_in(known)
    if name is None:
        parser.raise_error(no_parameter(step_class, word[0]), start, word.end())
    if name in given:
        parser.raise_error(f"found parameter '{name}' twice, expected it once", start, word.end())
    return name


def no_parameter(step_class: type[Step], name: str) -> str:
    """The message for a parameter that a step does not have."""
    known = [f.name for f in _fields(step_class)]
    keyword = step_class.keyword
    listed = few_names("it takes", known, f"help(stepwell.Schedule.{keyword}) lists its parameters")
    return (
        f"found parameter '{name}' of step '{keyword}', expected one that it has; "
        f"{did_you_mean(name, known, listed)}"
    )


def _fields(step_class: type[Step]) -> tuple[Field[Any], ...]:
    return fields(step_class)  # pyright: ignore[reportArgumentType]


def fits(value: object, type_: Any) -> bool:
    """Whether a parameter's value is of the type its field is declared with."""
    if type(value) is type_:  # as most are: what a hint is made of takes longer to find out
        return type_ is not int or is_int64(cast(int, value))
    if get_origin(type_) is tuple:
        element = get_args(type_)[0]
        return isinstance(value, tuple) and all(
            fits(item, element) for item in cast("tuple[object, ...]", value)
        )
    if isinstance(type_, UnionType):
        return any(fits(value, option) for option in get_args(type_))
    if type_ is int:
        return isinstance(value, int) and not isinstance(value, bool) and is_int64(value)
    return isinstance(value, type_)


def expected_text(value: object, type_: Any) -> str:
    """What a parameter's value, which does not fit its type, should have been, in words."""
    given = cast("tuple[object, ...]", value if isinstance(value, tuple) else (value,))
    text = type_text(type_)
    is_large = any(isinstance(item, int) and not is_int64(item) for item in given)
    return f"{text} of at most 64 bits" if is_large and "number" in text else text


def type_text(type_: Any) -> str:
    """The type of a parameter in words."""
    if get_origin(type_) is tuple:
        return f"a list of {type_text(get_args(type_)[0]).removeprefix('a ')}s"
    if isinstance(type_, UnionType):
        return " or ".join(type_text(option) for option in get_args(type_))
    words = {str: "a string", int: "a whole number", bool: "true or false"}
    return words.get(type_, str(type_))


def _to_attribute(value: Any) -> Attribute:
    if isinstance(value, bool):
        return IntegerAttr(int(value), i1)
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    if isinstance(value, tuple):
        return ArrayAttr([_to_attribute(v) for v in cast("tuple[Any, ...]", value)])
    return StringAttr(value)


def _from_attribute(attr: Attribute) -> Any:
    match attr:
        case StringAttr():
            return attr.data
        case IntegerAttr():
            return bool(attr.value.data) if attr.type == i1 else attr.value.data
        case ArrayAttr():
            return tuple(_from_attribute(a) for a in attr)
        case _:
            raise VerifyException(f"{attr} is not a parameter of a step")


def _print_value(printer: Printer, attr: Attribute) -> None:
    match attr:
        case ArrayAttr(data=entries):
            with printer.in_square_brackets():
                printer.print_list(entries, lambda a: _print_value(printer, a))
        case IntegerAttr(value=value, type=type_) if type_ != i1:
            printer.print_string(str(value.data))
        case _:
            printer.print_attribute(attr)


def _parse_value(parser: Parser) -> Attribute:
    values = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: _parse_value(parser)
    )
    if values is not None:
        return ArrayAttr(values)
    text = parser.parse_optional_str_literal()
    if text is not None:
        return StringAttr(text)
    truth = parser.parse_optional_boolean()
    if truth is not None:
        return IntegerAttr(int(truth), i1)
    start = parser.pos
    value = parser.parse_integer(allow_boolean=False)
    if not is_int64(value):
        message = f"found the integer {value}, expected one of at most 64 bits; write a smaller one"
        parser.raise_error(message, start, parser.pos)
    return IntegerAttr(value, i64)


@irdl_op_definition
class ScriptOp(IRDLOperation):
    """A list of steps, applied in order."""

    name = "schedule.script"

    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    def __init__(self, steps: Sequence[Step]):
        super().__init__(regions=[Region(Block([op_for(step) for step in steps]))])

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(op.step for op in self.body.block.ops if isinstance(op, StepOp))

    def verify_(self) -> None:
        for op in self.body.block.ops:
            if not isinstance(op, StepOp):
                raise VerifyException(
                    f"found '{op.name}' in a script, expected schedule steps only"
                )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> ScriptOp:
        body = parser.parse_region()
        if not body.blocks:
            body.add_block(Block())
        op = cls.__new__(cls)
        IRDLOperation.__init__(op, regions=[body])
        return op


def _op_class(step_class: type[Step]) -> type[StepOp]:
    definition = type(
        f"{step_class.__name__}Op",
        (StepOp,),
        {
            "__doc__": step_class.__doc__,
            "__module__": __name__,
            "name": f"schedule.{step_class.keyword}",
            "STEP_CLASS": step_class,
            "__annotations__": {"STEP_CLASS": ClassVar[type[Step]]},
        },
    )
    return irdl_op_definition(definition)


STEP_OPS: dict[type[Step], type[StepOp]] = {cls: _op_class(cls) for cls in STEPS.values()}


def op_for(step: Step) -> StepOp:
    """The operation that stands for a step."""
    return STEP_OPS[type(step)](step)


def _operations() -> list[type[Operation]]:
    return [ScriptOp, *STEP_OPS.values()]


Schedule = Dialect("schedule", _operations(), [])
