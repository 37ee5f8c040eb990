"""Running the IR before and after each pass: `stepwell-opt --check-each`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.signature import functions_with_body, is_public
from ..driver.pass_manager import Instrumentation
from ..errors import StepwellError, location_of
from .differences import Difference, largest_differences
from .execute import execute, random_inputs

Array = npt.NDArray[Any]


class CheckEach(Instrumentation):
    """
    Runs every public function on the same generated inputs before the first pass and after each one.

    Raises StepwellError at the first pass after which an output differs from what it was before by more
    than another order of summation explains, or by `slack` times as much: depth makes more of each rounding.
    """

    def __init__(self, seed: int = 0, slack: float = 1.0):
        self._seed = seed
        self._slack = slack
        self._inputs: dict[str, Sequence[Array]] = {}
        self._outputs: dict[str, Sequence[Array]] = {}

    def before_pipeline(self, module: ModuleOp) -> None:
        self._inputs = {
            function.sym_name.data: random_inputs(function, self._seed)
            for function in functions_with_body(module)
            if is_public(function)
        }
        if not self._inputs:
            raise StepwellError(
                "found no public function to run, expected one with a body; drop --check-each",
                op=module,
            )
        self._outputs = {name: self._run(module, name, "the input") for name in self._inputs}

    def after_verified_pass(self, pass_: ModulePass, module: ModuleOp) -> None:
        remaining = {function.sym_name.data for function in functions_with_body(module)}
        for name in [name for name in self._inputs if name in remaining]:
            outputs = self._run(module, name, f"the IR after pass '{pass_.name}'")
            self._compare(pass_, name, outputs)
            self._outputs[name] = outputs

    def _run(self, module: ModuleOp, name: str, what: str) -> Sequence[Array]:
        inputs = [np.array(value) for value in self._inputs[name]]  # copies: memrefs are written
        try:
            return [np.array(output) for output in execute(module, inputs, name)]
        except StepwellError as error:
            raise StepwellError(
                f"--check-each cannot run '{name}' in {what}: {error.message}",
                where=error.where or location_of(module),
            ) from error

    def _compare(self, pass_: ModulePass, name: str, outputs: Sequence[Array]) -> None:
        try:
            differences = largest_differences(outputs, self._outputs[name])
        except ValueError as error:
            raise StepwellError(
                f"pass '{pass_.name}' changes what '{name}' returns: {error} (seed {self._seed})"
            ) from error
        wrong = [one for one in differences if not one.error <= self._slack * one.tolerance]
        if wrong:
            worst: Difference = max(wrong, key=lambda difference: difference.error)
            raise StepwellError(
                f"pass '{pass_.name}' changes a result of '{name}': {worst}; "
                f"mend the pass (inputs of seed {self._seed})"
            )
