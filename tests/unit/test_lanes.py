"""Vector loops as vector code: what lanes load, store, compare and sum up is what iterations in order do."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stepwell.analysis.turned import powers_of_two

from .vector_loops import at_core, check_lanes, loop_program

WIDTHS = (1, 2, 3, 5, 8, 14, 16, 48)
DTYPES = ("i1", "i8", "i32", "i64", "f32", "f64")


def numbers(element: str, count: int = 400) -> np.ndarray:
    values = np.random.default_rng(3).integers(-9, 9, count)
    kinds = {"i1": np.bool_, "f16": np.float16, "f32": np.float32, "f64": np.float64}
    dtype = kinds.get(element) or np.dtype(f"int{element[1:]}")
    return (values % 2 if element == "i1" else values).astype(dtype)


def inputs(element: str, n: int = 5) -> list[np.ndarray]:
    return [numbers(element), numbers(element)[::-1].copy(), numbers(element, 4), np.array(n)]


def add(element: str) -> str:
    return "arith.xori" if element == "i1" else f"arith.add{element[0]}"


# Accesses


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("element", DTYPES)
def test_element_types_and_widths(element: str, width: int):
    body = f"""
    %a = loop.load %A[%i + 3] : M
    %b = loop.load %B[%i] : M
    %c = {add(element)} %a, %b : T
    loop.store %c, %B[%i] : M"""
    check_lanes(loop_program(body, width, element=element), inputs(element))


SUBSCRIPTS = (
    "%i",
    "%i + 7",
    "%i * 2",
    "%i * 3 + 1",
    "60 - %i",
    "%i floordiv 2",
    "(%i * 5) mod 7",
    "%n",
    "2",
)


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("read", SUBSCRIPTS)
def test_loads(read: str, step: int):
    body = f"""
    %a = loop.load %A[{read}] : M
    loop.store %a, %B[%i] : M"""
    check_lanes(loop_program(body, 8, lower=2, step=step), inputs("i32"))


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("write", SUBSCRIPTS)
def test_stores_keep_the_last_lane(write: str, step: int):
    body = f"""
    %a = loop.load %A[%i] : M
    loop.store %a, %B[{write}] : M"""
    check_lanes(loop_program(body, 8, lower=1, step=step), inputs("i32"))


@pytest.mark.parametrize("expr", ["%i * 2 + %n", "%i floordiv 3", "%n + 1", "40 - %i"])
def test_subscripts_through_apply(expr: str):
    body = f"""
    %k = affine.apply affine_map<(d0, d1) -> ({expr.replace("%i", "d0").replace("%n", "d1")})>(%i, %n)
    %a = loop.load %A[%k] : M
    loop.store %a, %B[%i] : M
    %b = loop.load %A[%k + 1] : M
    %v = arith.index_cast %k : index to i32
    %c = arith.addi %b, %v : i32
    loop.store %c, %B[%i + 100] : M"""
    check_lanes(loop_program(body, 8), inputs("i32"))


def test_rows_and_columns_of_a_matrix():
    text = """
func.func @f(%A: memref<16x16xf32>, %B: memref<16x16xf32>) attributes {stepwell.noalias} {
  loop.for parallel "r" %r = 0 to 16 {
    loop.for parallel vector "i" %i = 0 to 16 {
      %a = loop.load %A[%i, %r] : memref<16x16xf32>
      %d = loop.load %A[%i, %i] : memref<16x16xf32>
      %c = arith.addf %a, %d : f32
      loop.store %c, %B[%r, %i] : memref<16x16xf32>
    }
  }
  func.return
}"""
    check_lanes(text)


def test_strides_of_the_layout():
    text = """
func.func @f(%A: memref<8x6xf32, strided<[1, 8]>>, %B: memref<8x6xf32>) attributes {stepwell.noalias} {
  loop.for parallel vector "i" %i = 0 to 6 {
    %a = loop.load %A[2, %i] : memref<8x6xf32, strided<[1, 8]>>
    loop.store %a, %B[3, %i] : memref<8x6xf32>
  }
  func.return
}"""
    core = str(at_core(text))
    assert "vector.load" not in core and "vector.store" in core


# Conditions

CONDITIONS = (
    "%i - 3 >= 0", "-%i + 5 >= 0", "%i * 2 - 7 >= 0", "%i - 4 == 0", "%i mod 2 == 0", "%n - %i - 1 >= 0",
    "%i + 1 >= 0", "%i - 100 >= 0", "%i - 2 >= 0, -%i + 5 >= 0", "%n - 5 >= 0, %i - 1 >= 0", "%n - 6 >= 0",
)  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("width", [8, 5])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_branches(condition: str, width: int):
    body = f"""
    loop.if ({condition}) {{
      %a = loop.load %A[%i] : M
      loop.store %a, %B[%i] : M
    }} else {{
      %a = loop.load %A[%i + 20] : M
      loop.store %a, %B[%i + 20] : M
    }}"""
    check_lanes(loop_program(body, width), *(inputs("i32", n) for n in (0, 5, 9)))


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("condition", ["%i - 3 >= 0", "%n - %i >= 0", "%i - 4 == 0"])
def test_values_of_branches(condition: str, element: str):
    body = f"""
    %v = loop.if ({condition}) -> (T) {{
      %a = loop.load %A[%i * 2] : M
      loop.yield %a : T
    }} else {{
      %a = loop.load %S[1] : memref<4x{element}>
      loop.yield %a : T
    }}
    loop.store %v, %B[%i] : M""".replace("(T)", f"({element})")
    check_lanes(loop_program(body, 8, element=element), inputs(element))


def test_nested_conditions():
    body = """
    loop.if (%i - 2 >= 0) {
      loop.if (-%i + 6 >= 0) {
        %a = loop.load %A[%i] : M
        loop.store %a, %B[%i] : M
        loop.if (%n - 5 >= 0) {
          loop.store %a, %B[%i + 50] : M
        }
      } else {
        %a = loop.load %A[%i * 3] : M
        loop.store %a, %B[%i + 10] : M
      }
    } else {
      %a = loop.load %A[9 - %i] : M
      loop.store %a, %B[%i + 100] : M
    }"""
    check_lanes(loop_program(body, 8), *(inputs("i32", n) for n in (4, 5)))


def test_loads_outside_where_no_lane_runs():
    """`%A[%n + 100]` is no element when `%n` is 399, but then no lane loads it."""
    body = """
    loop.if (-%n + 299 - %i >= 0) {
      %u = loop.load %A[%n + 100] : M
      %a = loop.load %A[%i + %n] : M
      %g = loop.load %A[%i * 2 + %n] : M
      %b = arith.addi %u, %a : i32
      %c = arith.addi %b, %g : i32
      loop.store %c, %B[%i] : M
    }"""
    check_lanes(loop_program(body, 8), *(inputs("i32", n) for n in (0, 1, 399)))


def test_same_element_under_a_mask():
    """The last lane that runs stays, and none where none runs."""
    body = """
    loop.if (-%i + %n >= 0) {
      %a = loop.load %A[%i] : M
      loop.store %a, %B[%n + 1] : M
      %u = loop.load %A[%n + 2] : M
      loop.store %u, %B[%n + 7] : M
    }"""
    check_lanes(loop_program(body, 8), *(inputs("i32", n) for n in (0, 3, 12)))


# Reductions

COMBINERS = {
    "i32": ("addi", "muli", "maxsi", "minsi", "maxui", "minui", "andi", "ori", "xori"),
    "i8": ("addi", "muli", "maxsi", "minui"),
    "i1": ("andi", "ori", "xori"),
    "i64": ("addi", "maxui"),
    "f32": ("addf", "mulf", "maximumf", "minimumf"),
    "f64": ("addf", "maximumf"),
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("element", "combiner"), [(e, c) for e, names in COMBINERS.items() for c in names]
)
@pytest.mark.parametrize("masked", [False, True])
def test_reductions(element: str, combiner: str, masked: bool):
    flags = " fastmath<reassoc>" if combiner in ("addf", "mulf") else ""
    update = f"""
      %s = loop.load %S[1] : memref<4x{element}>
      %a = loop.load %A[%i + 2] : M
      %t = arith.{combiner} %s, %a{flags} : T
      loop.store %t, %S[1] : memref<4x{element}>"""
    body = f"loop.if (%i - 2 >= 0, %n - %i >= 0) {{{update}\n }}" if masked else update
    for width in (4, 7):
        program = loop_program(body, width, element=element).replace("parallel", "reduction")
        core = check_lanes(program, *(inputs(element, n) for n in (0, 5)))
        assert "vector.reduction" in str(core)


def test_minimum_of_nans():
    body = """
      %s = loop.load %S[1] : memref<4xf32>
      %a = loop.load %A[%i] : M
      %t = arith.maximumf %s, %a : T
      loop.store %t, %S[1] : memref<4xf32>"""
    given = inputs("f32")
    given[0][3] = np.nan
    program = loop_program(body, 8, element="f32").replace("parallel", "reduction")
    check_lanes(program, given)


# Loops inside


@pytest.mark.parametrize("mode", ["", "unroll "])
@pytest.mark.parametrize("upper", ["3", "min(%n, 3)", "min(%n - 1, %n + 2, 4)"])
def test_loops_inside(mode: str, upper: str):
    body = f"""
    loop.for serial {mode}"k" %k = 0 to {upper} {{
      %a = loop.load %A[%i + %k * 16] : M
      %b = loop.load %B[%i] : M
      %c = arith.muli %b, %a : i32
      loop.store %c, %B[%i] : M
    }}"""
    check_lanes(loop_program(body, 8), *(inputs("i32", n) for n in (0, 2, 9)))


def test_prefetches():
    body = """
    %k = affine.apply affine_map<(d0) -> (d0 floordiv 3 + 1)>(%i)
    loop.prefetch %A[%k + 20], read, locality<3> : M
    %a = loop.load %A[%i] : M
    loop.store %a, %B[%i] : M"""
    check_lanes(loop_program(body, 8), inputs("i32"))


def test_bounds_that_differ_from_lane_to_lane_stay_a_loop():
    body = """
    loop.for serial "k" %k = 0 to %i {
      %a = loop.load %A[%k] : M
      loop.store %a, %B[%i] : M
    }"""
    check_lanes(loop_program(body, 8), inputs("i32"), in_lanes=False)
    unrolled = body.replace('serial "k" %k = 0 to %i', 'serial unroll "k" %k = 0 to min(%i, 8)')
    check_lanes(loop_program(unrolled, 8), inputs("i32"), in_lanes=False)


def test_too_many_lanes_stay_a_loop():
    body = """
    %a = loop.load %A[%i] : M
    loop.store %a, %B[%i] : M"""
    check_lanes(loop_program(body, 257), inputs("i32"), in_lanes=False)
    check_lanes(loop_program(body, 256), inputs("i32"))


@pytest.mark.parametrize("scope", ["register", "stack"])
@pytest.mark.parametrize("width", [4, 6])
def test_scratch_buffers(scope: str, width: int):
    text = f"""
func.func @f(%A: memref<40xf32>, %B: memref<40xf32>, %n: index) attributes {{stepwell.noalias}} {{
  %T = loop.alloc {scope} : memref<3x{width}xf32>
  loop.for parallel unroll "r" %r = 0 to 3 {{
    loop.for parallel vector "z" %z = 0 to {width} {{
      %zero = arith.constant 0.0 : f32
      loop.store %zero, %T[%r, %z] : memref<3x{width}xf32>
    }}
  }}
  loop.for parallel unroll "q" %q = 0 to min(3, %n) {{
    loop.for parallel vector "i" %i = 0 to {width} {{
      loop.if (%n - %i - 1 >= 0) {{
        %a = loop.load %A[%i + %q * 8] : memref<40xf32>
        loop.store %a, %T[%q, %i] : memref<3x{width}xf32>
      }}
    }}
  }}
  loop.for parallel "s" %s = 0 to 3 {{
    loop.for parallel vector "o" %o = 0 to {width} {{
      loop.if (%n - %o - 1 >= 0) {{
        %t = loop.load %T[%s, %o] : memref<3x{width}xf32>
        loop.store %t, %B[%o + %s * 8] : memref<40xf32>
      }}
    }}
  }}
  func.return
}}"""
    values = np.arange(40, dtype=np.float32)
    check_lanes(text, *([values, values[::-1].copy(), np.array(n)] for n in (0, 2, 5, 9)))


# Operations

CASTS = (
    ("i32", "sitofp", "f32"), ("i8", "uitofp", "f32"), ("i1", "uitofp", "f64"), ("f32", "fptosi", "i32"),
    ("f64", "fptoui", "i8"), ("i32", "trunci", "i8"), ("i8", "extsi", "i64"), ("i1", "extui", "i32"),
    ("f32", "extf", "f64"), ("f64", "truncf", "f32"), ("i32", "index_cast", "index"),
    ("f32", "bitcast", "i32"),
)  # fmt: skip


@pytest.mark.parametrize(("source", "name", "target"), CASTS)
@pytest.mark.parametrize("width", [1, 7, 8])
def test_casts(source: str, name: str, target: str, width: int):
    stored, back = ("i64", "index_cast") if target == "index" else (target, None)
    tail = f"%d = arith.{back} %c : {target} to {stored}\n" if back else ""
    text = f"""
func.func @f(%A: memref<8x{source}>, %B: memref<8x{stored}>) attributes {{stepwell.noalias}} {{
  loop.for parallel vector "i" %i = 0 to {width} {{
    %a = loop.load %A[%i] : memref<8x{source}>
    %c = arith.{name} %a : {source} to {target}
    {tail}loop.store {"%d" if back else "%c"}, %B[%i] : memref<8x{stored}>
  }}
  func.return
}}"""
    check_lanes(text, [numbers(source, 8), np.zeros_like(numbers(stored, 8))])


BINARY = {
    "i32": "addi subi muli divsi divui remsi remui floordivsi ceildivsi ceildivui shli shrsi shrui "
    "andi maxsi minui math.ipowi",
    "i8": "muli divsi remui shrsi",
    "f32": "addf subf mulf divf maximumf minimumf maxnumf minnumf math.copysign",
    "f64": "divf",
}


@pytest.mark.parametrize(
    ("element", "name"), [(e, n) for e, names in BINARY.items() for n in names.split()]
)
def test_operations_on_two_values(element: str, name: str):
    op = name if "." in name else f"arith.{name}"
    body = f"""
    %a = loop.load %A[%i] : M
    %b = loop.load %B[%i] : M
    %c = {op} %a, %b : T
    loop.store %c, %B[%i] : M"""
    given = inputs(element)
    if name in ("shli", "shrsi", "shrui", "math.ipowi"):
        given[1] = np.abs(given[1]) % 5
    with np.errstate(all="ignore"):
        check_lanes(loop_program(body, 16, element=element), given)


def test_comparisons_and_choices():
    body = """
    %a = loop.load %A[%i] : M
    %b = loop.load %B[%i] : M
    %l = arith.cmpf olt, %a, %b : f32
    %m = arith.select %l, %a, %b : f32
    %u = arith.cmpf une, %m, %a : f32
    %v = arith.select %u, %b, %m : f32
    loop.store %v, %B[%i] : M"""
    check_lanes(loop_program(body, 8, element="f32"), inputs("f32"))


# Everything together


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """Statements on %A, which is only read, and %B, which each lane writes places of its own of."""
    depth = draw(st.integers(0, 2))
    lines: list[str] = []
    for number in range(draw(st.integers(1, 3))):
        read = draw(st.sampled_from((*SUBSCRIPTS, "%i + %n", "(%i + %n) mod 13")))
        write = draw(st.sampled_from(["%i", "%i * 2", "99 - %i", "%i + %n"]))
        block = [
            f"%a{number} = loop.load %A[{read}] : M",
            f"%p{number} = arith.addi %a{number}, %a{number} : i32",
            f"loop.store %p{number}, %B[{write} + {number * 100}] : M",
        ]
        for _ in range(depth):
            if draw(st.booleans()):
                block = [f"loop.if ({draw(st.sampled_from(CONDITIONS))}) {{", *block, "}"]
        lines += block
    return "\n".join(lines)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(bodies(), st.integers(1, 20), st.integers(0, 3), st.integers(1, 2), st.integers(0, 12))
def test_random_bodies(body: str, width: int, lower: int, step: int, n: int):
    text = loop_program(body, width, lower=lower, step=step)
    check_lanes(text, inputs("i32", n))


# Widths


@given(st.integers(1, 256))
def test_powers_of_two(count: int):
    parts = powers_of_two(count)
    assert sum(parts) == count
    assert parts == sorted(set(parts), reverse=True)
    assert all(part & (part - 1) == 0 for part in parts)


def test_other_widths_are_vectors_of_powers_of_two():
    body = """
    %a = loop.load %A[%i] : M
    loop.store %a, %B[%i] : M"""
    core = str(at_core(loop_program(body, 14, element="f32")))
    assert [line.split("vector<")[1][:2] for line in core.splitlines() if "vector.store" in line] == [
        "8x", "4x", "2x",
    ]  # fmt: skip


# Rows at computed places


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("columns", [1, 5, 16, 33, 64, 200])
def test_rows_that_are_looked_up(columns: int, dtype: type):
    """Of a table's rows neighbours are loaded together; of its columns each element by itself."""
    rng = np.random.default_rng(columns)
    table = (10 * rng.standard_normal((50, columns))).astype(dtype)
    rows = rng.integers(-50, 50, 7)
    found = sw.jit(lambda t, n: t[n] * 2)(table, rows)
    np.testing.assert_array_equal(found, table[rows] * 2)
    turned = np.ascontiguousarray(table.T)
    np.testing.assert_array_equal(sw.jit(lambda t, n: t[:, n])(turned, rows), turned[:, rows])


def test_a_row_that_is_looked_up_is_loaded_in_vectors():
    table, rows = np.zeros((50, 64), np.float32), np.zeros(7, np.int64)
    text = sw.jit(lambda t, n: t[n]).lower(table, rows).as_text("core")
    assert "vector.load" in text and "vector.store" in text


# Elements a few apart


@pytest.mark.sampled(7)
@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("apart", [2, 3, 8])
@pytest.mark.parametrize(("element", "width"), [("f32", 16), ("i8", 48), ("f64", 7)])
def test_lanes_a_few_elements_apart(apart: int, element: str, width: int, guarded: bool):
    """What lanes load of rows of a few elements, and store to all of them in another order."""
    shape = f"memref<{400 // apart}x{apart}x{element}>"
    loads = [f"%a{n} = loop.load %X[%i + 1, {n}] : {shape}" for n in range(apart)]
    stores = [f"loop.store %a{(n + 1) % apart}, %Y[%i, {n}] : {shape}" for n in range(apart)]
    body = "\n".join([*loads, *reversed(stores)])
    if guarded:
        body = f"loop.if (-%i + %n >= 0) {{\n{body}\n}}"
    text = f"""
func.func @f(%X: {shape}, %Y: {shape}, %n: index) attributes {{stepwell.noalias}} {{
  loop.for parallel vector "i" %i = 0 to {width} {{
{body}
  }}
  func.return
}}"""
    given = [numbers(element)[: 400 // apart * apart].reshape(-1, apart) for _ in "XY"]
    core = str(check_lanes(text, [given[0], given[1] * 0, np.array(width // 2)]))
    assert "vector.insert" not in core and "memref.store" not in core


@pytest.mark.parametrize("apart", [-1, -2, -3])
def test_lanes_in_reverse(apart: int):
    text = loop_program(f"%a = loop.load %A[200 + %i * {apart}] : M\nloop.store %a, %B[%i] : M", 16)
    assert "vector.insert" not in str(check_lanes(text, inputs("i32")))
