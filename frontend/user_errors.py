"""Python's own exceptions out of a function that is being traced."""

from __future__ import annotations

import re
from typing import NoReturn

from ..errors import StepwellError
from .call_site import raise_site_text
from .signatures import signature_text
from .tensor import Tensor


def raise_of_user(error: Exception, name: str, arguments: str) -> NoReturn:
    """
    Raise an exception that the function `name` raised when it was traced for these arguments, with a note of one line
    that says where and what tracing means; a recursion without an end as a StepwellError.
    """
    where = raise_site_text(error.__traceback__)
    if isinstance(error, RecursionError):
        raise StepwellError(
            f"found a recursion that does not end while '{name}' is traced, expected one that ends without asking for "
            "elements; write stepwell.while_loop, or pass what ends it as a Python number",
            where=where,
        ) from None
    if isinstance(error.__cause__, StepwellError):  # NumPy says only that it failed
        raise error.__cause__ from None
    method = (
        re.match(r"Tensor\.(\w+)\(\) (.*)", str(error)) if isinstance(error, TypeError) else None
    )
    if method is not None:
        name, found = method.groups()
        raise StepwellError(
            f"found a wrong call of a traced value's {name} ({found}), expected "
            f"{signature_text(getattr(Tensor, name)).replace('(self, ', '(')}; pass these arguments",
            where=where,
        ) from None
    error.add_note(
        f"{where or name}: raised while '{name}' was traced"
        + (f" for {arguments}" if arguments else "")
        + "; arrays are traced values there, of type stepwell.Tensor, which have shapes and dtypes but no elements"
    )
    raise error
