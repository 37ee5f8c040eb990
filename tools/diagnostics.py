"""
How our command-line tools end: one line on stderr for whatever goes wrong, never a traceback.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from xdsl.utils.exceptions import ArgSpecParseError

from ..errors import StepwellError
from ..spelling import did_you_mean, few_names, one_line, printable

FAILURE = 1
INTERRUPTED = 128 + 2  # as a shell reports SIGINT
BROKEN_PIPE = 128 + 13  # as a shell reports SIGPIPE

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

_DEBUG_VARIABLE = "STEPWELL_DEBUG"


def run_tool(body: Callable[[], int]) -> int:
    """
    The exit status of `body`, which does the work of a tool.

    A StepwellError is printed as `error: FILE:LINE:COL: message`. Any other exception is a bug of ours and
    is printed as one line too. `STEPWELL_DEBUG=1` in the environment shows tracebacks.
    """
    _open_streams()
    try:
        status = body()
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        _close_stdout()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except MemoryError as error:
        _show_traceback()
        reason = str(error) or "none is left"
        return _report(
            "error", f"found too little memory ({reason}), expected enough; take smaller shapes"
        )
    except (StepwellError, ArgSpecParseError) as error:
        _show_traceback()
        return _report("error", str(error))
    except OSError as error:
        _show_traceback()
        if error.errno not in _NO_ROOM:
            return _report("internal error", describe_bug(error))
        _close_stdout()
        return _report("error", f"cannot write the output: {error.strerror}; make room for it")
    except Exception as error:
        _show_traceback()
        return _report("internal error", describe_bug(error))


def describe_bug(error: Exception) -> str:
    """What is said about an exception that is no mistake of the user's."""
    notes = " ".join(getattr(error, "__notes__", ()))
    # Diagnostics of xDSL carry the whole module as a note; ours say which pass it was.
    place = f" {notes}" if notes and len(notes) < 200 else ""
    return (
        f"{type(error).__name__}: {error}{place}; this is a bug in Stepwell: set {_DEBUG_VARIABLE}=1 "
        "for the traceback and report it"
    )


def _open_streams() -> None:
    """Streams that the caller has closed are empty, and lead nowhere: Python has None for them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - until the process ends


def _report(kind: str, message: str) -> int:
    with suppress(BrokenPipeError):
        print(f"{kind}: {printable(one_line(message, 2000))}", file=sys.stderr)
    return FAILURE


def _show_traceback() -> None:
    if os.environ.get(_DEBUG_VARIABLE):
        traceback.print_exc()


def _close_stdout() -> None:
    """Keep Python from flushing to the broken pipe, and complaining, when it exits."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class OneLineArgumentParser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are StepwellErrors, without the usage text."""

    def error(self, message: str) -> NoReturn:
        raise StepwellError(argument_message(message, self.prog))


def argument_message(message: str, program: str) -> str:
    """What argparse says about a wrong command line, with what to do."""
    if match := re.match(r"argument (.+?): invalid choice: '(.*?)' \(choose from (.*)\)", message):
        choices = [choice.strip("' ") for choice in match[3].split(",")]
        listed = few_names("choose from", choices, f"`{program} --help` lists them")
        remedy = did_you_mean(match[2], choices, listed)
        return f"found {match[1]} '{match[2]}', expected one of {len(choices)} choices; {remedy}"
    if match := re.match(r"argument (.+?): invalid (\w+) value: '(.*)'", message):
        kind = {"int": "an integer", "float": "a number"}.get(match[2], match[2])
        return f"found {match[1]} '{match[3]}', expected {kind}; mend the value"
    if match := re.match(r"argument (.+?): (found .*)", message, re.DOTALL):  # of a type of ours
        return f"{match[1]}: {match[2]}"
    if match := re.match(r"argument (.+?): expected (.*)", message):
        return f"found {match[1]} without a value, expected {match[2]}; write it after {match[1]}"
    if match := re.match(r"the following arguments are required: (.*)", message):
        return f"found no {match[1]}, expected it; add it, see `{program} --help`"
    if match := re.match(r"unrecognized arguments: (.*)", message):
        return (
            f"found unknown argument(s) {match[1]}, expected those of `{program} --help`; "
            "mend or drop them"
        )
    return f"{message}; see `{program} --help`"
