"""The outline of a function: ranges, trip counts, buffers, and statements as they are read."""

from textwrap import dedent

import pytest
from stepwell.frontend.outline import outline
from stepwell.frontend.text import parse_text
from stepwell.transforms.step_support.nest import Nests


def outline_of(text: str) -> str:
    return outline(Nests(parse_text(dedent(text))).resolve("")[0])


def statements(body: str, arguments: str = "%A: memref<8xf32>, %B: memref<8xf32>") -> list[str]:
    lines = outline_of(f"func.func @f({arguments}) {{\n{body}\nfunc.return\n}}").splitlines()
    return [
        line.strip() for line in lines[1:] if not line.startswith("  A:") and "argument" not in line
    ]


def test_everything_is_there() -> None:
    shown = outline_of(
        """
        func.func @mv(%A: memref<9x?xf32>, %y: memref<9xf64> {stepwell.result}, %n: index) {
          loop.for parallel threads "i" %i = 0 to 9 step 2 attributes {stepwell.pragma.p} {
            %T = loop.alloc stack : memref<4x2xi8>
            loop.for reduction "k" %k = %i to min(%n, %i + 4) {
              loop.if (%k - 3 >= 0, %i == 0) {
                %a = loop.load %A[%i, %k - 1] : memref<9x?xf32>
                %b = arith.extf %a : f32 to f64
                loop.store %b, %y[%i] : memref<9xf64>
              } else {
                func.call @g(%A) : (memref<9x?xf32>) -> ()
              }
            }
          }
          func.return
        }
        """
    )
    assert shown == dedent(
        """\
        mv
          A: f32[9, ?], argument
          y: f64[9], result, 72 bytes
          n: index, argument
          for i = 0 to 9 step 2         parallel threads, 5 iterations, stepwell.pragma.p = unit
            T: i8[4, 2], stack buffer, 8 bytes
            for k = i to min(n, i + 4)  reduction, 0 to 4 iterations
              if k - 3 >= 0 and i == 0
                y[i] = f64(A[i, k - 1])
              else
                @g(A)"""
    )


@pytest.mark.parametrize(
    ("bounds", "trips"),
    [
        ("0 to 8", "8 iterations"),
        ("0 to 1", "1 iteration"),
        ("3 to 3", "0 iterations"),
        ("-4 to 8 step 5", "3 iterations"),
        ("%i to 8", "1 to 8 iterations"),
        ("%i to %i + 3", "3 iterations"),
        ("%i * 2 to min(%i * 2 + 4, 15)", "1 to 4 iterations"),
        ("%i + 5 to 8", "0 to 3 iterations"),
        ("%n to 8", "any number of iterations"),
        ("%n to %n + 5", "5 iterations"),
        ("max(0, %n) to 8", "0 to 8 iterations"),
    ],
)
def test_trip_counts(bounds: str, trips: str) -> None:
    shown = outline_of(
        f"""
        func.func @f(%n: index) {{
          loop.for serial "i" %i = 0 to 8 {{ loop.for serial "j" %j = {bounds} {{ }} }}
          func.return
        }}
        """
    )
    assert shown.splitlines()[-1].endswith(f"serial, {trips}")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            """%a = loop.load %A[1] : memref<8xf32>
               %b = loop.load %B[2] : memref<8xf32>
               %c = arith.constant 0.5 : f32
               %s = arith.subf %a, %b : f32
               %m = arith.mulf %c, %s : f32
               %d = arith.subf %b, %m : f32
               loop.store %d, %A[0] : memref<8xf32>""",
            ["b = B[2]", "A[0] = b - 0.5 * (A[1] - b)"],
        ),
        (  # a load before a store that may change it is given a name
            """%a = loop.load %A[0] : memref<8xf32>
               %z = arith.constant 0.0 : f32
               loop.store %z, %A[0] : memref<8xf32>
               loop.store %a, %A[1] : memref<8xf32>""",
            ["a = A[0]", "A[0] = 0", "A[1] = a"],
        ),
        (  # so is one before a loop that may
            """%a = loop.load %A[0] : memref<8xf32>
               %z = arith.constant 0.0 : f32
               loop.for serial "i" %i = 0 to 8 { loop.store %z, %A[%i] : memref<8xf32> }
               loop.store %a, %B[1] : memref<8xf32>""",
            ["a = A[0]", "for i = 0 to 8  serial, 8 iterations", "A[i] = 0", "B[1] = a"],
        ),
        (
            """%a = loop.load %A[0] : memref<8xf32>
               %b = loop.load %B[0] : memref<8xf32>
               %p = arith.mulf %b, %b : f32
               %s = arith.addf %p, %a : f32
               loop.store %s, %A[0] : memref<8xf32>
               %c = loop.load %A[1] : memref<8xf32>
               %t = arith.addf %c, %c : f32
               loop.store %t, %A[1] : memref<8xf32>""",
            ["b = B[0]", "A[0] += b * b", "c = A[1]", "A[1] = c + c"],
        ),
        (
            """%a = loop.load %A[0] : memref<8xf32>
               %b = loop.load %B[0] : memref<8xf32>
               %m = arith.maximumf %a, %b : f32
               %z = arith.constant -1.0 : f32
               %c = arith.cmpf olt, %m, %z : f32
               %n = arith.negf %z : f32
               %e = math.exp %n : f32
               %s = arith.select %c, %e, %z : f32
               loop.store %s, %A[0] : memref<8xf32>""",
            ["A[0] = exp(-(-1)) if max(A[0], B[0]) < -1 else -1"],
        ),
    ],
)
def test_statements(body: str, expected: list[str]) -> None:
    assert statements(body) == expected
