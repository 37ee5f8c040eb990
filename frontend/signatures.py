"""Parameters as messages show them, and calls that do not fit them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import StepwellError
from ..spelling import did_you_mean


def signature_text(function: Callable[..., Any]) -> str:
    """`sum(x, /, axis=None, *, keepdims=False)`: the name and the parameters, without types."""
    signature = inspect.signature(function)
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
    ]
    return f"{function.__name__}{inspect.Signature(plain)}"


_OTHER_WORDS = {"dim": "axis", "keepdim": "keepdims", "axes": "axis", "input": "x", "other": "y"}
"""PyTorch's names of parameters, and slips, by ours."""


def wrong_call(
    name: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> StepwellError | None:
    """The error for arguments that the function, called `name`, has no parameters for; None where it has."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        remedy = "pass these arguments"
        known = signature.parameters
        for given in kwargs:
            if given not in known:
                word = _OTHER_WORDS.get(given, "")
                remedy = (
                    f"here it is '{word}'" if word in known else did_you_mean(given, known, remedy)
                )
        return StepwellError(
            f"found a wrong call of {name} ({error}), expected {signature_text(function)}; {remedy}"
        )
    return None
