"""
`stepwell-opt`: reads IR, runs passes on it, prints it.

It is xDSL's driver with every option of it, our parser and diagnostics, and a pass manager that can be
watched.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from io import BytesIO, StringIO
from typing import IO

from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException
from xdsl.xdsl_opt_main import xDSLOptMain

from .._version import __version__
from ..analysis.verify import verify
from ..driver.pass_manager import Instrumentation, IRPrinting, PassManager, timing_table
from ..driver.pipeline_spec import malformed_spec, parse_passes
from ..errors import StepwellError
from ..frontend.files import decode, read_bytes
from ..frontend.text import parse_text
from ..spelling import one_line
from ..universe import multiverse
from .argument_types import seed
from .diagnostics import argument_message, run_tool

_VERIFYING = "(verify)"


def main(args: Sequence[str] | None = None) -> int:
    """Run the driver; its exit status. `args` is the command line, without the program's name."""
    return run_tool(lambda: _run(args))


def _run(args: Sequence[str] | None) -> int:
    tool = _make_tool(args)
    if tool.args.list_passes:
        from .pass_list import pass_list

        print(pass_list(everything=tool.args.list_passes == "all"))
        return 0
    try:
        tool.run()
    finally:
        if tool.args.time_passes:
            print(timing_table(tool.timings()), file=sys.stderr)
    return 0


def _make_tool(args: Sequence[str] | None) -> StepwellOptMain:
    """xDSL's driver parses the command line in its constructor, and ends the process when it is wrong."""
    complaint = StringIO()
    try:
        with redirect_stderr(complaint):
            return StepwellOptMain(args=args)
    except ArgSpecParseError as error:  # of the target; a pipeline's is caught where it is parsed
        text = re.search(r"^(.*)\n *\^", str(error), re.MULTILINE)
        raise malformed_spec(error, text[1] if text else "", "target") from error
    except SystemExit as stop:
        if not stop.code:
            raise
        _, _, message = complaint.getvalue().strip().rpartition("error: ")
        raise StepwellError(argument_message(one_line(message, 4000), "stepwell-opt")) from stop


class StepwellOptMain(xDSLOptMain):
    """xDSL's driver with Stepwell's dialects, passes, parser, pass manager and diagnostics."""

    version_format = f"stepwell-opt {__version__} on xDSL {{xdsl_version}}"

    def __init__(self, args: Sequence[str] | None = None):
        self._managers: list[PassManager] = []
        super().__init__(description="Reads IR, runs passes on it and prints it.", args=args)

    # What there is

    def register_all_dialects(self) -> None:
        for name, factory in multiverse().all_dialects.items():
            self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        self.available_passes.update(multiverse().all_passes)

    def register_all_targets(self) -> None:
        self.available_targets.update(multiverse().all_targets)

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.prog = "stepwell-opt"
        add = arg_parser.add_argument
        add(
            "--list-passes",
            nargs="?",
            const="stepwell",
            choices=("stepwell", "all"),
            help="list the passes (name, levels, what it does) and exit; 'all' lists xDSL's too",
        )
        flag = argparse.BooleanOptionalAction
        add("--print-ir-before-all", action="store_true", help="print the IR before each pass")
        add("--print-ir-after-all", action="store_true", help="print the IR after each pass")
        add(
            "--print-ir-after-change",
            action="store_true",
            help="print the IR after each pass that changed it",
        )
        add("--verify-each", action=flag, default=True, help="verify the IR after each pass")
        add(
            "--check-each",
            action="store_true",
            help="run the IR before and after each pass and stop at the first that changes a result",
        )
        add(
            "--check-kernels",
            action="store_true",
            help="--check-each for large programs: each kernel by itself too, and long loops compiled",
        )
        add("--check-seed", type=seed, default=0, help="seed of the inputs of --check-each")
        add(
            "--remarks",
            action="store_true",
            help="print what passes chose, and why, on stderr: a line for each decision",
        )
        add(
            "--why-not",
            action="append",
            metavar="STEP",
            help="instead of the IR print 'legal', or why the schedule step is refused: 'split(f/i, 4)'",
        )
        add(
            "--reproducer",
            metavar="FILE",
            help="when a pass fails, write the IR before it and the command that fails to FILE",
        )

    # Reading

    def get_input_name(self) -> str:
        return self.args.input_file if self.args.input_file not in (None, "-") else "<stdin>"

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        if self.args.input_file in (None, "-"):
            return sys.stdin.buffer, "mlir"
        name = self.args.input_file
        _, dot, suffix = name.rpartition(".")
        data = read_bytes(name)
        if not self.args.frontend and (not dot or suffix not in self.available_frontends):
            raise StepwellError(
                f"found a file that does not end in '.mlir', expected one of "
                f"{sorted(self.available_frontends)}; rename it, or name its kind with -f",
                where=name,
            )
        return BytesIO(data), suffix

    def parse_chunk(
        self, chunk: IO[bytes], file_extension: str, start_offset: int = 0
    ) -> ModuleOp | None:
        if file_extension != "mlir":
            return super().parse_chunk(chunk, file_extension, start_offset)
        name = self.get_input_name()
        try:
            return parse_text(
                decode(chunk.read(), name),
                name,
                self.ctx,
                line_offset=start_offset,
                implicit_module=not self.args.no_implicit_module,
            )
        except StepwellError as error:
            is_wrong_attribute = isinstance(error.__cause__, DiagnosticException)
            if self.args.parsing_diagnostics or (
                self.args.verify_diagnostics and is_wrong_attribute
            ):
                print(error)
                return None
            raise

    # Passes

    def setup_pipeline(self) -> None:
        self._passes = parse_passes(self.args.passes, self.available_passes)

    def apply_passes(self, prog: ModuleOp) -> None:
        try:
            self._verify_unless_each(prog)
            self._pass_manager().run(self.ctx, prog)
            self._verify_unless_each(prog)
        except StepwellError as error:
            if self.args.verify_diagnostics:
                raise DiagnosticException(str(error)) from error  # `run` prints it
            raise

    def _verify_unless_each(self, module: ModuleOp) -> None:
        if not self.args.verify_each and not self.args.disable_verify:
            verify(module)

    def _pass_manager(self) -> PassManager:
        verify_each = self.args.verify_each and not self.args.disable_verify
        manager = PassManager(self._passes, self._instrumentations(), verify_each)
        self._managers.append(manager)
        return manager

    def _instrumentations(self) -> list[Instrumentation]:
        args = self.args
        watchers: list[Instrumentation] = []
        if args.print_ir_before_all or args.print_ir_after_all or args.print_ir_after_change:
            watchers.append(
                IRPrinting(
                    args.print_ir_before_all, args.print_ir_after_all, args.print_ir_after_change
                )
            )
        if args.print_between_passes and self._passes:
            watchers.append(_PrintBetweenPasses(self._passes[-1]))
        if args.remarks:
            from .remark_printing import RemarkPrinting

            watchers.append(RemarkPrinting())
        if args.check_kernels:
            from .check_kernels import CheckKernels

            watchers.append(CheckKernels(args.check_seed))
        elif args.check_each:
            from .check_each import CheckEach

            watchers.append(CheckEach(args.check_seed))
        if args.reproducer:
            from .reproducer import Reproducer

            watchers.append(
                Reproducer(args.reproducer, self.ctx, self._passes, self._failing_options())
            )
        return watchers

    def _failing_options(self) -> list[str]:
        """The options, besides the pipeline, that decide whether a pass fails."""
        options: list[str] = []
        if self.args.allow_unregistered_dialect:
            options.append("--allow-unregistered-dialect")
        if not self.args.verify_each:
            options.append("--no-verify-each")
        if self.args.disable_verify:
            options.append("--disable-verify")
        if self.args.check_each or self.args.check_kernels:
            option = "--check-kernels" if self.args.check_kernels else "--check-each"
            options += [option, f"--check-seed={self.args.check_seed}"]
        return options

    def timings(self) -> list[tuple[str, float]]:
        """Seconds by pass in the order they ran, over all chunks of the input, then the verifier."""
        rows = [row for manager in self._managers for row in manager.seconds]
        return [*rows, (_VERIFYING, sum(manager.verify_seconds for manager in self._managers))]

    # Writing

    def prepare_output(self) -> IO[str]:
        try:
            return super().prepare_output()
        except OSError as error:
            raise StepwellError(
                f"cannot write the output: {error.strerror}; mend the path or its permissions",
                where=self.args.output_file,
            ) from error

    def output_resulting_program(self, prog: ModuleOp) -> str:
        if self.args.why_not:
            from .why_not import answers

            return answers(prog, self.args.why_not)
        self.ctx.get_dialect(
            Builtin.name
        )  # passes may have made resources of it, which are printed behind
        if self.args.target == "mlir":
            return super().output_resulting_program(prog)
        try:
            return super().output_resulting_program(prog)
        except StepwellError:
            raise
        except Exception as error:
            # Targets meet what they do not support with whatever exception comes first.
            reason = one_line(f"{type(error).__name__}: {error}")
            raise StepwellError(
                f"target '{self.args.target}' cannot print this module ({reason}); "
                "lower it further, or choose another target",
                op=prog,
            ) from error


class _PrintBetweenPasses(Instrumentation):
    """xDSL's --print-between-passes, on stdout as there."""

    def __init__(self, last: ModulePass):
        self._last = last

    def after_pass(self, pass_: ModulePass, module: ModuleOp) -> None:
        if pass_ is not self._last:
            print(f"IR after {pass_.name}:\n{module}\n\n\n")


if __name__ == "__main__":
    sys.exit(main())
