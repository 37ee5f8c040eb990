"""
The methods of `Schedule` that apply steps, as `StepMethods` has them.

`schedule_steps.pyi` says what they return there: the schedule itself, with what the step made.
`python tests/unit/test_schedule_stub.py` writes it anew.
"""

from __future__ import annotations

from ..transforms.step_support.step_methods import StepMethods, add_methods


class ScheduleSteps(StepMethods):
    """A method for each step, all of which go through `apply`."""


add_methods(ScheduleSteps)
