"""
The page `docs/numpy.md`: every name of NumPy's main namespace, `linalg` and `fft`, and what there is of it here.

    python tests/numpy_page.py > docs/numpy.md
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numpy as np
import stepwell as sw
from stepwell.frontend.public import Namespace
from stepwell.frontend.traceable import takes_complex

VERSION = ".".join(np.__version__.split(".")[:2])
"""Of NumPy, whose names differ from release to release."""

_HEAD = """# NumPy's names

Written by `python tests/numpy_page.py > docs/numpy.md`; a test keeps it so. Of the {total} names of the main
namespace of NumPy {version} {here} are here. Do not edit.

A function called in a traced function records operations; called on arrays alone it computes at once. Results are NumPy's,
promotion included, at odd sizes and on several dtypes (`tests/unit/numpy_calls.py`), but for these rules:

- shapes are fixed while tracing. Where the number of results depends on elements (`nonzero`, `unique`, `x[mask]`), a traced
  function gives `size=`, and `bincount` `length=`. On arrays alone they are NumPy's.
- traced values do not change. What writes into its argument in NumPy returns a copy (`put_along_axis`, `fill_diagonal`,
  `put`), and is refused under NumPy's own name; `x.at[key].set(v)`, `add`, `multiply`, `min` and `max` give new values, and
  `x[key] = v` in a traced function is such an update of the local name, as `x += v` is `x = x + v`. It is refused where NumPy
  would show it elsewhere: on arguments and on views; and so is the use of a view of what has been assigned into since.
- an index out of range that is known only at run time is moved to the nearest in range; `bincount` leaves it out.
- where NumPy computes in float16 (the exponential of int8), Stepwell takes float32.
- complex64 and complex128 are pairs of real values while tracing. Functions marked "also complex" take them; others say so.
- traced values do not change, so that there is no `out=`: use what a function returns. Reductions have `where=` and `initial=`;
  in place of `where=` of other functions write `sw.where(condition, f(x), other)`. `order=` is taken by `reshape` and `ravel`.

"""


def page() -> str:
    """The text of the page."""
    names = sorted(name for name in np.__all__ if not name.startswith("__"))
    here = [name for name in names if _is_here(sw, name)]
    text = _HEAD.format(total=len(names), here=len(here), version=VERSION)
    text += "## Here\n\n| name | what it gives |\n|---|---|\n"
    text += "".join(f"| `{name}` | {_state(getattr(sw, name))} |\n" for name in here)
    text += "\n## Not here\n\n| name | why, and what to write instead |\n|---|---|\n"
    text += "".join(_missing(sw, names))
    for room in ("linalg", "fft"):
        of_numpy, of_ours = getattr(np, room), getattr(sw, room)
        members = sorted(name for name in of_numpy.__all__ if name.islower())
        text += f"\n## `{room}`\n\n| name | what it gives |\n|---|---|\n"
        present = [name for name in members if _is_here(of_ours, name)]
        text += "".join(f"| `{name}` | {_state(getattr(of_ours, name))} |\n" for name in present)
        text += "\n| name that is not here | why, and what to write instead |\n|---|---|\n"
        text += "".join(_missing(of_ours, members))
    return text


def _is_here(namespace: Any, name: str) -> bool:
    try:
        getattr(namespace, name)
    except AttributeError:
        return False
    return True


def _state(value: Any) -> str:
    return _summary(value) + ("; also complex" if takes_complex(value) else "")


def _summary(value: Any) -> str:
    if isinstance(value, type | ModuleType):
        return "NumPy's own"
    if not callable(value) and not isinstance(value, Namespace):
        return "a constant"
    first = (value.__doc__ or "").strip().partition("\n\n")[0]
    return " ".join(first.split()).partition(". ")[0].rstrip(".").replace("|", "\\|")


def _missing(namespace: Any, names: Iterable[str]) -> Iterable[str]:
    for name in names:
        try:
            getattr(namespace, name)
        except AttributeError as error:
            reason = str(error).partition(": ")[2]
            yield f"| `{name}` | {reason or 'not yet'} |\n"


if __name__ == "__main__":
    print(page(), end="")
