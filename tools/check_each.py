"""Running the IR before and after each pass: `stepwell-opt --check-each`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

Executor = Callable[[ModuleOp, Sequence[Array], str], Sequence[Array]]


@dataclass(eq=False)
class Checked:
    """A function that is run before and after each pass, and what it gave last."""

    name: str
    module: ModuleOp
    inputs: Sequence[Array]
    slack: float = 1.0
    """How many times the tolerance for programs of a few operations its results may differ."""
    outputs: Sequence[Array] = ()
    points: int = 0
    """How many elements its computes go through, where that has been counted."""
    largest: float = 0.0
    """The largest difference there was between two runs, over what it might have been."""

    def worst(self, outputs: Sequence[Array]) -> Difference | None:
        """
        The worst element that differs by too much from what the function gave last, or None.

        Raises ValueError where the outputs are others in number, shape or type.
        """
        differences = largest_differences(outputs, self.outputs)
        wrong = [one for one in differences if not one.error <= self.slack * one.tolerance]
        if not wrong:
            shares = [one.error / (self.slack * one.tolerance) for one in differences if one.error]
            self.largest = max(self.largest, *shares, 0.0)
        return max(wrong, key=lambda difference: difference.error, default=None)


class CheckEach(Instrumentation):
    """
    Runs every public function on the same generated inputs before the first pass and after each one.

    Raises StepwellError at the first pass after which an output differs from what it was before by more
    than another order of summation explains, or by `slack` times as much: depth makes more of each rounding.
    `inputs` are those of functions, by name, for which none are generated.
    """

    def __init__(
        self, seed: int = 0, slack: float = 1.0, inputs: Mapping[str, Sequence[Array]] | None = None
    ):
        self._seed = seed
        self._slack = slack
        self._inputs = inputs or {}
        self._functions: list[Checked] = []

    def before_pipeline(self, module: ModuleOp) -> None:
        self._functions = [
            Checked(
                function.sym_name.data,
                module,
                self._inputs.get(function.sym_name.data) or random_inputs(function, self._seed),
                self._slack,
            )
            for function in functions_with_body(module)
            if is_public(function)
        ]
        if not self._functions:
            raise StepwellError(
                "found no public function to run, expected one with a body; drop --check-each",
                op=module,
            )
        for one in self._functions:
            one.outputs = self.run(one, "the input")

    def after_verified_pass(self, pass_: ModulePass, module: ModuleOp) -> None:
        remaining = {function.sym_name.data for function in functions_with_body(module)}
        for one in self._functions:
            if one.name in remaining:
                self.check(pass_, one)

    def check(self, pass_: ModulePass, one: Checked) -> None:
        """Run a function after a pass. Raises StepwellError when it gives something else than before."""
        outputs, difference = self.run_after(pass_, one)
        if difference is not None:
            raise StepwellError(
                f"pass '{pass_.name}' changes a result of '{one.name}': {difference}; "
                f"mend the pass (inputs of seed {self._seed})"
            )
        one.outputs = outputs

    def run_after(
        self, pass_: ModulePass, one: Checked, executor: Executor = execute
    ) -> tuple[Sequence[Array], Difference | None]:
        """
        What a function gives after a pass, and where that differs most from what it gave before, if it does by too
        much. Raises StepwellError when it cannot be run, or gives arrays of other shapes or types.
        """
        outputs = self.run(one, f"the IR after pass '{pass_.name}'", executor)
        try:
            return outputs, one.worst(outputs)
        except ValueError as error:
            raise StepwellError(
                f"pass '{pass_.name}' changes what '{one.name}' returns: {error} (seed {self._seed})"
            ) from error

    def run(self, one: Checked, what: str, executor: Executor = execute) -> Sequence[Array]:
        """What a function gives. Raises StepwellError, which says in `what`, when it cannot be run."""
        inputs = [np.array(value) for value in one.inputs]  # copies: memrefs are written
        try:
            return [np.array(output) for output in executor(one.module, inputs, one.name)]
        except StepwellError as error:
            raise StepwellError(
                f"--check-each cannot run '{one.name}' in {what}: {error.message}",
                where=error.where or location_of(one.module),
            ) from error
