"""Which modules of LLVM IR have nothing left that LLVM could make vectors of."""

from __future__ import annotations

import pytest
from stepwell.frontend.lowered import Lowered
from stepwell.frontend.text import parse_text
from stepwell.lowering.emit import emit_llvm
from stepwell.lowering.llvm_text import needs_few_passes

SCALARS = "%v = memref.load %x[%i] : memref<64xf32>\n memref.store %v, %y[%i] : memref<64xf32>"
VECTORS = (
    "%v = vector.load %x[%i] : memref<64xf32>, vector<8xf32>\n"
    "vector.store %v, %y[%i] : memref<64xf32>, vector<8xf32>"
)
COLUMN = "memref.store %zero, %z[%i, %c0] : memref<64x64xf32>"
ROW = "memref.store %zero, %z[%c0, %i] : memref<64x64xf32>"


def nest(body: str, *, twice: bool = True) -> str:
    """A loop, or one in another, around the body."""
    inner = f"scf.for %i = %c0 to %c64 step %c8 {{\n{body}\n}}"
    return f"scf.for %j = %c0 to %c64 step %c8 {{\n{inner}\n}}" if twice else inner


def on_threads(body: str) -> str:
    """A loop around the body, whose iterations are claimed by threads: that a claim looks on is no work on scalars."""
    return f"""
    "scf.parallel"(%c0, %c64, %c8) <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> ({{
    ^bb0(%j: index):
      {nest(body, twice=False)}
      scf.reduce
    }}) : (index, index, index) -> ()
    """


@pytest.mark.parametrize(
    ("loops", "expected"),
    [
        ([nest(VECTORS)], True),
        ([nest(VECTORS, twice=False)], True),
        ([nest(SCALARS)], False),
        ([nest(VECTORS), nest(SCALARS, twice=False)], False),
        ([nest(VECTORS), nest(COLUMN)], True),
        ([nest(VECTORS), nest(ROW)], False),
        ([nest(VECTORS), nest(SCALARS + "\n" + COLUMN)], False),
        (["memref.store %zero, %z[%c0, %c8] : memref<64x64xf32>"], True),
        ([on_threads(VECTORS)], True),
        ([on_threads(SCALARS)], False),
    ],
)
def test_every_innermost_loop_must_be_on_vectors(loops: list[str], expected: bool) -> None:
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 8, 64))
    constants += "\n%zero = arith.constant 0.0 : f32"
    arguments = "%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<64x64xf32>"
    text = f"func.func @f({arguments}) {{\n{constants}\n"
    text += "\n".join((*loops, "func.return\n}"))
    emitted = emit_llvm(Lowered(parse_text(text)).module("llvm")).text
    assert needs_few_passes(emitted) == expected
