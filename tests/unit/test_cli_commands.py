"""The list of subcommands says of each what it says of itself, and loads none that is not asked for."""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest
from stepwell.tools.cli import COMMANDS, main


@pytest.mark.parametrize("name", COMMANDS)
def test_subcommands_are_listed_with_their_own_words(name: str):
    commands: Any = argparse.ArgumentParser().add_subparsers()
    import_module(f"stepwell.tools.{name}").register(commands)
    assert list(commands.choices) == [name]
    assert [action.help for action in commands._choices_actions] == [COMMANDS[name]]


def test_help_loads_no_compiler():
    program = """
import sys
from stepwell.tools.cli import main
try:
    main(["--help"])
except SystemExit:
    print({"numpy", "llvmlite", "stepwell.dialects"} & {*sys.modules})
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "set()"


def test_an_unknown_option_is_one_of_its_subcommand(capsys: pytest.CaptureFixture[str]):
    assert main(["profile", "model.onnx", "--seconds", "0"]) == 1
    assert "expected those of `stepwell profile --help`" in capsys.readouterr().err
