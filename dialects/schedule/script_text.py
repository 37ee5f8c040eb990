"""
Scripts as text of their own, apart from the module they are for.

    schedule.script {
      schedule.split "matmul/i" factor = 8
      schedule.parallel "matmul/i.outer"
    }
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Dialect, Operation
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException, ParseError

from ...errors import StepwellError
from ...spelling import did_you_mean, one_line
from ..ir_parser import PARSER_GIVES_UP, IRParser
from .ops import LIST_STEPS, STEP_OPS, ScriptOp
from .other_words import other_word
from .step import Step


def script_text(steps: Sequence[Step]) -> str:
    """The script of these steps as text that `parse_script` reads back."""
    stream = StringIO()
    Printer(stream).print_op(ScriptOp(steps))
    return f"{stream.getvalue()}\n"


def parse_script(text: str, filename: str = "<script>") -> ModuleOp:
    """
    The module with the `schedule.script` operations that are the whole text, each step with its place.

    The scripts are parsed, not verified. Raises StepwellError at the first mistake.
    """
    if not text.strip():
        raise StepwellError(
            "found an empty text, expected a script; write schedule.script { ... }",
            where=f"{filename}:1:1",
        )
    ctx = Context()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(Dialect("schedule", [ScriptOp, *STEP_OPS.values()], []))
    module = _parse(ctx, text, filename)
    _check_only_scripts(module.ops)
    return module


def _parse(ctx: Context, text: str, filename: str) -> ModuleOp:
    try:
        parser = _ScriptParser(ctx, text, filename)
    except ParseError as error:  # the first token
        raise _parse_failure(error, text, filename) from error
    try:
        return parser.parse_module()
    except ParseError as error:
        raise _parse_failure(error, text, filename) from error
    except (DiagnosticException, RecursionError, *PARSER_GIVES_UP) as error:
        reason = one_line(str(error)) or type(error).__name__
        raise StepwellError(
            f"found text that cannot be read ({reason}), expected a script; "
            "write schedule.script { ... } with steps in it",
            where=_place(text, parser.pos, filename),
        ) from error


def _parse_failure(error: ParseError, text: str, filename: str) -> StepwellError:
    span = error.span
    message = one_line(error.msg)
    if not message.startswith("found "):
        found = f"'{one_line(span.text, 40)}'" if span.text.strip() else "the end of the text"
        message = f"found {found}: {message}; mend the text here"
    return StepwellError(message, where=_place(text, span.start, filename))


class _ScriptParser(IRParser):
    """xDSL's parser, which notes where each operation stands and knows what belongs into a script."""

    def parse_operation(self) -> Operation:
        start = self.pos
        op = super().parse_operation()
        content = self.lexer.input.content
        line, column = _line_and_column(content, start)
        filename = StringAttr(self.lexer.input.name)
        op.location = FileLineColLoc(filename, IntAttr(line), IntAttr(column))
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        op_type = self.ctx.get_optional_op(name)
        if op_type is None:
            end = self.pos
            known = [op.name for op in (ScriptOp, *STEP_OPS.values())]
            remedy = other_word(name.removeprefix("schedule."))
            remedy = remedy or did_you_mean(name, known, LIST_STEPS, prefix="schedule.")
            start = self.lexer.input.content.rfind(name, 0, end)
            self.raise_error(
                f"found '{name}', expected a step of the schedule dialect; {remedy}",
                start,
                start + len(name),
            )
        return op_type


def _check_only_scripts(ops: Iterable[Operation]) -> None:
    for op in ops:
        if not isinstance(op, ScriptOp):
            raise StepwellError(
                f"found '{op.name}' outside of a script, expected schedule.script only; "
                "write the steps inside of schedule.script { ... }",
                op=op,
            )


def _place(text: str, position: int, filename: str) -> str:
    line, column = _line_and_column(text, position)
    return f"{filename}:{line}:{column}"


def _line_and_column(text: str, position: int) -> tuple[int, int]:
    line_start = text.rfind("\n", 0, position) + 1
    return text.count("\n", 0, line_start) + 1, position - line_start + 1
