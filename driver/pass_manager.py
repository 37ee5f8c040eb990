"""
Running a sequence of passes, with everything one may want to watch on the way.

A `PassManager` has the passes and a list of instrumentations. An instrumentation is told before and after
each pass; printing, timing and checking are instrumentations, and so is anything a caller adds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import TextIO

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException, ShrinkException

from ..analysis.verify import Snapshot, check_users, same, snapshot, verify
from ..errors import StepwellError, location_of
from ..transforms.stepwell_pass import StepwellPass


class Instrumentation:
    """What to do around the passes of a `PassManager`. Every method may be left as it is."""

    def before_pipeline(self, module: ModuleOp) -> None:
        """Called once, when the input has been verified."""

    def before_pass(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Called right before each pass."""

    def after_pass(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Called right after each pass, with a module that may yet turn out to be invalid."""

    def after_verified_pass(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Called after each pass when its result has been verified (or need not be)."""

    def after_pipeline(self, module: ModuleOp) -> None:
        """Called once, when every pass has run."""

    def after_failure(self, pass_: ModulePass, error: Exception) -> None:
        """Called when the pass, an instrumentation or the verifier after it has failed."""


@dataclass
class PassManager:
    """
    Runs `passes` in order.

    With `verify_each` the module is verified before the first pass and after each one that has changed it.
    """

    passes: Sequence[ModulePass]
    instrumentations: Sequence[Instrumentation] = ()
    verify_each: bool = True
    seconds: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    """The time each pass has taken, in order."""
    verify_seconds: float = 0.0
    _verified: Snapshot = field(default_factory=list[object])
    """The module as it was found to be valid."""

    def run(self, ctx: Context, module: ModuleOp) -> None:
        """
        Rewrite `module` in place.

        Raises StepwellError when the input is not valid, when a pass refuses it and when a pass leaves
        it invalid. Any other exception is a fault in a pass, and carries a note that names the pass.
        """
        self._verify(module)
        for watcher in self.instrumentations:
            watcher.before_pipeline(module)
        for pass_ in self.passes:
            try:
                self._run_pass(pass_, ctx, module)
            except Exception as error:
                if isinstance(error, StepwellError):
                    error.where = error.where or location_of(module)
                for watcher in self.instrumentations:
                    watcher.after_failure(pass_, error)
                raise
        for watcher in self.instrumentations:
            watcher.after_pipeline(module)

    def _run_pass(self, pass_: ModulePass, ctx: Context, module: ModuleOp) -> None:
        for watcher in self.instrumentations:
            watcher.before_pass(pass_, module)
        start = time.perf_counter()
        try:
            apply_pass(pass_, ctx, module)
        finally:
            self.seconds.append((pass_.name, time.perf_counter() - start))
        for watcher in self.instrumentations:
            watcher.after_pass(pass_, module)
        self._verify(module, pass_)
        for watcher in self.instrumentations:
            watcher.after_verified_pass(pass_, module)

    def _verify(self, module: ModuleOp, after: ModulePass | None = None) -> None:
        if not self.verify_each:
            return
        start = time.perf_counter()
        try:
            self._verify_changes(module)
        except StepwellError as error:
            if after is None:
                raise
            message = f"{error.message} (invalid after pass '{after.name}')"
            raise StepwellError(message, where=error.where) from error
        finally:
            self.verify_seconds += time.perf_counter() - start

    def _verify_changes(self, module: ModuleOp) -> None:
        found = snapshot(module)
        if same(found, self._verified):
            check_users(module)
        else:
            verify(module)
            self._verified = found


def apply_pass(pass_: ModulePass, ctx: Context, module: ModuleOp) -> None:
    """Apply one pass. Its refusal is a StepwellError; see `PassManager.run`."""
    try:
        pass_.apply(ctx, module)
    except (StepwellError, ShrinkException):
        raise
    except DiagnosticException as error:
        message = " ".join(str(error).split()) or type(error).__name__
        raise StepwellError(f"pass '{pass_.name}' refused: {message}") from error
    except Exception as error:
        if isinstance(pass_, StepwellPass):
            error.add_note(f"in pass '{pass_.name}'")
            raise
        # xDSL's passes meet what they do not support with whatever exception comes first.
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise StepwellError(
            f"xDSL's pass '{pass_.name}' gave up on this module ({reason}); "
            "run it on a module it supports, or leave it out"
        ) from error


def module_text(module: ModuleOp, ctx: Context | None = None) -> str:
    """The module as it is printed, with its resources when `ctx` is given."""
    stream = StringIO()
    printer = Printer(stream)
    printer.print_op(module)
    if ctx is not None:
        # A context may not have loaded the dialect yet that has the resources.
        printer.print_metadata([Builtin, *ctx.loaded_dialects])
    return stream.getvalue()


def timing_table(seconds: Sequence[tuple[str, float]]) -> str:
    """An aligned table: milliseconds and percent by row, then the total."""
    total = sum(duration for _, duration in seconds)
    rows = [*seconds, ("total", total)]
    width = max(len("pass"), *(len(name) for name, _ in rows))
    lines = [f"{'pass':<{width}}  {'ms':>10}  {'%':>6}"]
    for name, duration in rows:
        percent = 100 * duration / total if total else 100.0 * (name == "total")
        lines.append(f"{name:<{width}}  {duration * 1e3:>10.3f}  {percent:>6.1f}")
    lines.insert(-1, "-" * len(lines[0]))
    return "\n".join(lines)


@dataclass
class IRPrinting(Instrumentation):
    """Prints the module before and after passes, as MLIR's options of the same names do."""

    before_all: bool = False
    after_all: bool = False
    after_change: bool = False
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _text: str = ""

    def before_pass(self, pass_: ModulePass, module: ModuleOp) -> None:
        if self.before_all or self.after_change:
            self._text = module_text(module)
        if self.before_all:
            self._print("before", pass_, self._text)

    def after_pass(self, pass_: ModulePass, module: ModuleOp) -> None:
        if not (self.after_all or self.after_change):
            return
        text = module_text(module)
        if self.after_all or text != self._text:
            self._print("after", pass_, text)

    def _print(self, when: str, pass_: ModulePass, text: str) -> None:
        self.stream.write(f"// -----// IR {when} {pass_.name} //----- //\n{text}\n\n")
