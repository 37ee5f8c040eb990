"""Small functions on i32 buffers that the tests of several steps share, for any extent `n`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from stepwell.dialects.schedule import Step
from stepwell.frontend.text import parse_text
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import apply
from stepwell.transforms.step_support.refusal import Refusal


def function(args: Sequence[tuple[str, str]], body: str, *, separate: bool = True) -> str:
    """`func.func @f` of named buffers, which do not overlap when they are `separate`."""
    mark = " {stepwell.noalias}" if separate else ""
    listed = ", ".join(f"%{name}: {type_}{mark}" for name, type_ in args)
    return f"func.func @f({listed}) {{\n{body}\n  func.return\n}}"


def pair(n: int, *, scratch: bool = True, separate: bool = True, between: str = "") -> str:
    """`B[i] = A[i] * 2` for n + 1 elements, then `C[j] = B[j] + B[j + 1]`."""
    wide, narrow = f"memref<{n + 1}xi32>", f"memref<{n}xi32>"
    names = [("A", wide), ("C", narrow)] if scratch else [("A", wide), ("B", wide), ("C", narrow)]
    alloc = f"  %B = loop.alloc stack : {wide}\n" if scratch else ""
    return function(
        names,
        f"""{alloc}  loop.for parallel "i" %i = 0 to {n + 1} {{
    %a = loop.load %A[%i] : {wide}
    %b = arith.addi %a, %a : i32
    loop.store %b, %B[%i] : {wide}
  }}
{between}  loop.for parallel "j" %j = 0 to {n} {{
    %x = loop.load %B[%j] : {wide}
    %y = loop.load %B[%j + 1] : {wide}
    %z = arith.addi %x, %y : i32
    loop.store %z, %C[%j] : {narrow}
  }}""",
        separate=separate,
    )


def same(n: int, *, scratch: bool = True, between: str = "", after: str = "") -> str:
    """`B[i] = A[i] * 2`, then `C[j] = B[j] + A[j]`, element by element; `after` ends the second body."""
    type_ = f"memref<{n}xi32>"
    names = [("A", type_), ("C", type_)] if scratch else [("A", type_), ("B", type_), ("C", type_)]
    alloc = f"  %B = loop.alloc stack : {type_}\n" if scratch else ""
    return function(
        names,
        f"""{alloc}  loop.for parallel "i" %i = 0 to {n} {{
    %a = loop.load %A[%i] : {type_}
    %b = arith.addi %a, %a : i32
    loop.store %b, %B[%i] : {type_}
  }}
{between}  loop.for serial "j" %j = 0 to {n} {{
    %x = loop.load %B[%j] : {type_}
    %y = loop.load %A[%j] : {type_}
    %z = arith.addi %x, %y : i32
    loop.store %z, %C[%j] : {type_}
{after}  }}""",
    )


def product(n: int) -> str:
    """`C = A B` into a scratch buffer, and `D = C + C`."""
    type_ = f"memref<{n}x{n}xi32>"
    return function(
        [("A", type_), ("B", type_), ("D", type_)],
        f"""  %C = loop.alloc stack : {type_}
  loop.for parallel "i" %i = 0 to {n} {{
    loop.for parallel "j" %j = 0 to {n} {{
      %zero = arith.constant 0 : i32
      loop.store %zero, %C[%i, %j] : {type_}
      loop.for reduction "k" %k = 0 to {n} {{
        %a = loop.load %A[%i, %k] : {type_}
        %b = loop.load %B[%k, %j] : {type_}
        %p = arith.muli %a, %b : i32
        %c = loop.load %C[%i, %j] : {type_}
        %s = arith.addi %c, %p : i32
        loop.store %s, %C[%i, %j] : {type_}
      }}
    }}
  }}
  loop.for parallel "y" %y = 0 to {n} {{
    loop.for parallel "x" %x = 0 to {n} {{
      %v = loop.load %C[%y, %x] : {type_}
      %w = arith.addi %v, %v : i32
      loop.store %w, %D[%y, %x] : {type_}
    }}
  }}""",
    )


def check_refused(text: str, steps: Sequence[Step], message: str) -> None:
    """The last of the steps is refused with a message that matches, and leaves the IR as it was."""
    module = parse_text(text, "refused.mlir")
    nests = Nests(module)
    for step in steps[:-1]:
        apply(step, nests)
    before = str(module)
    with pytest.raises(Refusal, match=message):
        apply(steps[-1], nests)
    assert str(module) == before
