"""`stepwell.array_api`, put together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import StepwellError
from .. import public  # enters the functions that are called by name
from ..operators import enter
from . import __doc__ as _TEXT
from . import creation, dtypes, elementwise, linalg, manipulation, reductions
from .array import PREFIX, Array

VERSION = "2024.12"
"""Of the standard. Later versions add to earlier ones, whose programs run."""
_EARLIER = ("2021.12", "2022.12", "2023.12")

MISSING = {
    **dict.fromkeys(("complex64", "complex128"), "there is no complex dtype"),
    "fft": "its functions are of complex numbers, for which there is no dtype; use stepwell.dft",
}
"""Names of the standard that are not claimed, with the reason."""

_FUNCTIONS: dict[str, Any] = {
    **elementwise.FUNCTIONS,
    **creation.FUNCTIONS,
    **dtypes.FUNCTIONS,
    **manipulation.FUNCTIONS,
    **reductions.FUNCTIONS,
    **linalg.MAIN,
}


def namespace(api_version: str | None = None) -> Any:
    """What `x.__array_namespace__()` gives. Raises StepwellError for a version of the standard that it is not of."""
    if api_version not in (None, VERSION, *_EARLIER):
        raise StepwellError(
            f"found version {api_version!r:.20} of the array API, expected {VERSION} or an earlier one; ask for that"
        )
    return array_api


enter(
    {
        PREFIX + name: function
        for name, function in {
            **_FUNCTIONS,
            **elementwise.OPERATORS,
            "__getitem__": manipulation.getitem,
            "namespace": namespace,
        }.items()
    }
)

array_api = public.Namespace(
    "stepwell.array_api",
    {
        **_FUNCTIONS,
        **dtypes.DTYPES,
        "e": np.e,
        "inf": np.inf,
        "nan": np.nan,
        "newaxis": None,
        "pi": np.pi,
        "Array": Array,
        "linalg": public.Namespace(
            "stepwell.array_api.linalg",
            linalg.EXTENSION,
            linalg.__doc__ or "",
            public.public("linalg").hints,
        ),
        "__array_api_version__": VERSION,
    },
    _TEXT or "",
    MISSING,
)
