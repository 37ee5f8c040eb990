"""memref and vector operations at level 4, run natively and compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.lowering.core_to_llvm import lowered_to_llvm
from stepwell.runtime.jit import compile_module

CONSTANTS = "".join(f"%c{i} = arith.constant {i} : index\n" for i in range(9))


def function(arguments: str, body: str, returns: str = "") -> str:
    return f"func.func @main({arguments}) {returns} {{\n{CONSTANTS}\n{body}\nfunc.return }}"


def loops(extents: str, body: str) -> str:
    """Loops i, j, … over the extents, which are names of index values."""
    names = extents.split()
    opening = "".join(
        f"scf.for %{i} = %c0 to {extent} step %c1 {{\n"
        for i, extent in zip("ijkl", names, strict=False)
    )
    return opening + body + "\n}" * len(names)


def test_open_sizes(compiled):
    text = function(
        "%x: memref<?x3x?xf32>, %y: memref<?x3x?xf32> {stepwell.result}",
        "%n = memref.dim %x, %c0 : memref<?x3x?xf32>\n%m = memref.dim %x, %c2 : memref<?x3x?xf32>\n"
        + loops(
            "%n %c3 %m",
            """%v = memref.load %x[%i, %j, %k] : memref<?x3x?xf32>
            %w = arith.addf %v, %v : f32
            memref.store %w, %y[%i, %j, %k] : memref<?x3x?xf32>""",
        ),
    )
    main = compiled(text)
    for shape in ((2, 3, 5), (1, 3, 1), (0, 3, 4), (4, 3, 0)):
        x = np.random.default_rng(0).random(shape, np.float32)
        out = np.empty(shape, np.float32)
        assert main(x, out=out) is out
        np.testing.assert_array_equal(out, x + x)


def test_dimension_by_computed_number(compiled):
    text = function(
        "%x: memref<?x3x?xf32>, %d: index",
        "%n = memref.dim %x, %d : memref<?x3x?xf32>\nfunc.return %n : index",
        "-> index",
    ).replace("\nfunc.return }", "}")
    main = compiled(text)
    assert [main(np.zeros((4, 3, 7), np.float32), d) for d in range(3)] == [4, 3, 7]


def test_views_through_calls(compiled):
    """Static and open offsets, sizes and strides, passed to a function that knows only `?`."""
    text = """
    func.func private @double(%v: memref<?x?xf32, strided<[?, ?], offset: ?>>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = memref.dim %v, %c0 : memref<?x?xf32, strided<[?, ?], offset: ?>>
      %m = memref.dim %v, %c1 : memref<?x?xf32, strided<[?, ?], offset: ?>>
      scf.for %i = %c0 to %n step %c1 {
        scf.for %j = %c0 to %m step %c1 {
          %a = memref.load %v[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>>
          %b = arith.addf %a, %a : f32
          memref.store %b, %v[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>>
        }
      }
      func.return
    }
    func.func @main(%x: memref<8x10xf32>, %i: index, %n: index, %s: index) {
      %a = memref.subview %x[1, 2] [3, 4] [2, 1] : memref<8x10xf32> to memref<3x4xf32, strided<[20, 1], offset: 12>>
      %b = "memref.cast"(%a) : (memref<3x4xf32, strided<[20, 1], offset: 12>>) -> memref<?x?xf32, strided<[?, ?], offset: ?>>
      func.call @double(%b) : (memref<?x?xf32, strided<[?, ?], offset: ?>>) -> ()
      %c = memref.subview %x[%i, 0] [%n, 5] [1, %s] : memref<8x10xf32> to memref<?x5xf32, strided<[10, ?], offset: ?>>
      %d = memref.subview %c[0, 1] [%n, 2] [1, 2] : memref<?x5xf32, strided<[10, ?], offset: ?>> to memref<?x2xf32, strided<[10, ?], offset: ?>>
      %e = "memref.cast"(%d) : (memref<?x2xf32, strided<[10, ?], offset: ?>>) -> memref<?x?xf32, strided<[?, ?], offset: ?>>
      func.call @double(%e) : (memref<?x?xf32, strided<[?, ?], offset: ?>>) -> ()
      func.return
    }"""
    main = compiled(text)
    x = np.arange(80, dtype=np.float32).reshape(8, 10)
    want = x.copy()
    want[1:7:2, 2:6] *= 2
    want[3:5, 0:10:2][:, 1:5:2] *= 2
    assert main(x, 3, 2, 2) is None
    np.testing.assert_array_equal(x, want)


def test_rank_reducing_subviews(compiled):
    text = function(
        "%x: memref<4x1x6xf32>, %y: memref<6xf32> {stepwell.result}, %z: memref<4xf32> {stepwell.result}",
        """%row = memref.subview %x[2, 0, 0] [1, 1, 6] [1, 1, 1] : memref<4x1x6xf32> to memref<6xf32, strided<[1], offset: 12>>
        %column = memref.subview %x[0, 0, %c3] [4, 1, 1] [1, 1, 1] : memref<4x1x6xf32> to memref<4xf32, strided<[6], offset: ?>>
        "memref.copy"(%row, %y) : (memref<6xf32, strided<[1], offset: 12>>, memref<6xf32>) -> ()
        "memref.copy"(%column, %z) : (memref<4xf32, strided<[6], offset: ?>>, memref<4xf32>) -> ()""",
    )
    x = np.arange(24, dtype=np.float32).reshape(4, 1, 6)
    row, column = compiled(text)(x)
    np.testing.assert_array_equal(row, x[2, 0])
    np.testing.assert_array_equal(column, x[:, 0, 3])


def test_reshaping_views(compiled):
    text = function(
        "%x: memref<4x6xf32>, %y: memref<24xf32> {stepwell.result}, %z: memref<2x3xf32> {stepwell.result}",
        """%flat = memref.collapse_shape %x [[0, 1]] : memref<4x6xf32> into memref<24xf32>
        %cube = memref.expand_shape %flat [[0, 1, 2]] output_shape [2, 2, 6] : memref<24xf32> into memref<2x2x6xf32>
        %back = memref.collapse_shape %cube [[0], [1, 2]] : memref<2x2x6xf32> into memref<2x12xf32>
        %again = memref.collapse_shape %back [[0, 1]] : memref<2x12xf32> into memref<24xf32>
        "memref.copy"(%again, %y) : (memref<24xf32>, memref<24xf32>) -> ()
        %other = memref.reinterpret_cast %x to offset: [%c4], sizes: [2, 3], strides: [%c5, 2] : memref<4x6xf32> to memref<2x3xf32, strided<[?, 2], offset: ?>>
        "memref.copy"(%other, %z) : (memref<2x3xf32, strided<[?, 2], offset: ?>>, memref<2x3xf32>) -> ()""",
    )
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    flat, other = compiled(text)(x)
    np.testing.assert_array_equal(flat, x.ravel())
    np.testing.assert_array_equal(other, [[4, 6, 8], [9, 11, 13]])


def test_strided_metadata(compiled):
    text = """
    func.func @main(%x: memref<4x6xf32>, %y: memref<6xindex>) {
      %c0 = arith.constant 0 : index
      %v = memref.subview %x[1, 2] [2, 3] [1, 2] : memref<4x6xf32> to memref<2x3xf32, strided<[6, 2], offset: 8>>
      %b, %o, %s0, %s1, %t0, %t1 = memref.extract_strided_metadata %v : memref<2x3xf32, strided<[6, 2], offset: 8>> -> memref<f32>, index, index, index, index, index
      %r = memref.reinterpret_cast %b to offset: [%o], sizes: [1], strides: [1] : memref<f32> to memref<1xf32, strided<[1], offset: ?>>
      %f = memref.load %r[%c0] : memref<1xf32, strided<[1], offset: ?>>
      %i = arith.fptosi %f : f32 to i64
      %n = arith.index_cast %i : i64 to index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %c5 = arith.constant 5 : index
      memref.store %n, %y[%c0] : memref<6xindex>
      memref.store %o, %y[%c1] : memref<6xindex>
      memref.store %s0, %y[%c2] : memref<6xindex>
      memref.store %s1, %y[%c3] : memref<6xindex>
      memref.store %t0, %y[%c4] : memref<6xindex>
      memref.store %t1, %y[%c5] : memref<6xindex>
      func.return
    }"""
    y = np.zeros(6, np.int64)
    compiled(text)(np.arange(24, dtype=np.float32).reshape(4, 6), y)
    assert y.tolist() == [8, 8, 2, 3, 6, 2]


def test_arena_views(compiled):
    text = function(
        "%x: memref<5xf32>, %y: memref<5xf32> {stepwell.result}, %s: memref<192xi8> {stepwell.arena}",
        """%a = memref.view %s[%c0][] : memref<192xi8> to memref<5xf32>
        %shift = arith.constant 64 : index
        %b = memref.view %s[%shift][%c5] : memref<192xi8> to memref<?xf32>\n"""
        + loops(
            "%c5",
            """%v = memref.load %x[%i] : memref<5xf32>
            memref.store %v, %a[%i] : memref<5xf32>
            %w = arith.mulf %v, %v : f32
            memref.store %w, %b[%i] : memref<?xf32>""",
        )
        + loops(
            "%c5",
            """%v = memref.load %a[%i] : memref<5xf32>
            %w = memref.load %b[%i] : memref<?xf32>
            %t = arith.addf %v, %w : f32
            memref.store %t, %y[%i] : memref<5xf32>""",
        ),
    )
    x = np.arange(5, dtype=np.float32)
    main = compiled(text)
    np.testing.assert_array_equal(main(x), x + x * x)


def test_allocation(compiled):
    """On the heap, static and open; on the stack, hoisted out of the loop and in place."""
    text = function(
        "%x: memref<?xf64>, %y: memref<?xf64>, %n: index",
        """%h = memref.alloc(%n) : memref<?xf64>
        %p = memref.alloc() {alignment = 128 : i64} : memref<7xf64>
        %t = memref.alloca(%n) : memref<?xf64>
        "memref.copy"(%x, %h) : (memref<?xf64>, memref<?xf64>) -> ()\n"""
        + loops(
            "%n",
            """%s = memref.alloca() : memref<2xf64>
            %v = memref.load %h[%i] : memref<?xf64>
            memref.store %v, %s[%c1] : memref<2xf64>
            %w = memref.load %s[%c1] : memref<2xf64>
            memref.store %w, %p[%c6] : memref<7xf64>
            %u = memref.load %p[%c6] : memref<7xf64>
            memref.store %u, %t[%i] : memref<?xf64>""",
        )
        + """\n"memref.copy"(%t, %y) : (memref<?xf64>, memref<?xf64>) -> ()
        memref.dealloc %h : memref<?xf64>
        memref.dealloc %p : memref<7xf64>""",
    )
    main = compiled(text)
    for n in (0, 1, 100):
        x, y = np.random.default_rng(n).random(n), np.zeros(n)
        main(x, y, n)
        np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("size", [5, 70])
@pytest.mark.parametrize("type_", ["f32", "i8", "i64", "i1"])
def test_globals(size: int, type_: str):
    from stepwell.dialects.dtypes import numpy_dtype
    from stepwell.dialects.resources import declare
    from xdsl.dialects import builtin

    dtype = numpy_dtype(getattr(builtin, type_))
    values = (np.arange(size) % 3).astype(dtype).reshape(1, size)
    kept = declare(values)
    if size > 64:
        initial = f"dense_resource<{kept.data}> : tensor<1x{size}x{type_}>"
    else:
        listed = [f"{v:e}" if type_ == "f32" else str(v).lower() for v in values.ravel().tolist()]
        initial = f"dense<[[{', '.join(listed)}]]> : tensor<1x{size}x{type_}>"
    text = f"""
    "memref.global"() <{{sym_name = "table", sym_visibility = "private", type = memref<1x{size}x{type_}>,
        initial_value = {initial}, constant}}> : () -> ()
    """ + function(
        f"%y: memref<1x{size}x{type_}> {{stepwell.result}}",
        f"""%t = memref.get_global @table : memref<1x{size}x{type_}>
        "memref.copy"(%t, %y) : (memref<1x{size}x{type_}>, memref<1x{size}x{type_}>) -> ()""",
    )
    main = compile_module(parse_text(text))
    np.testing.assert_array_equal(main().view(np.uint8), values.view(np.uint8))
    assert main().dtype == dtype


def test_writable_globals_are_not_shared(compiled):
    text = """
    "memref.global"() <{sym_name = "count", sym_visibility = "private", type = memref<i64>,
        initial_value = dense<3> : tensor<i64>}> : () -> ()
    func.func @main() -> i64 {
      %c = memref.get_global @count : memref<i64>
      %v = memref.load %c[] : memref<i64>
      %one = arith.constant 1 : i64
      %w = arith.addi %v, %one : i64
      memref.store %w, %c[] : memref<i64>
      func.return %w : i64
    }"""
    first, second = compiled(text), compiled(text)
    assert [first(), first(), second()] == [4, 5, 4]


def test_functions_of_several_results_and_buffers(compiled):
    text = """
    func.func private @pick(%c: i1, %x: memref<?xf32>, %y: memref<?xf32>) -> (memref<?xf32>, f32, i1) {
      %c0 = arith.constant 0 : index
      %r = arith.select %c, %x, %y : memref<?xf32>
      %v = memref.load %r[%c0] : memref<?xf32>
      func.return %r, %v, %c : memref<?xf32>, f32, i1
    }
    func.func @main(%c: i1, %x: memref<?xf32>, %y: memref<?xf32>) -> f32 {
      %c1 = arith.constant 1 : index
      %p, %v, %d = func.call @pick(%c, %x, %y) : (i1, memref<?xf32>, memref<?xf32>) -> (memref<?xf32>, f32, i1)
      %n = memref.dim %p, %c1 : memref<?xf32>
      %q = scf.if %d -> (memref<?xf32>) {
        scf.yield %p : memref<?xf32>
      } else {
        scf.yield %x : memref<?xf32>
      }
      %w = memref.load %q[%c1] : memref<?xf32>
      %s = arith.addf %v, %w : f32
      func.return %s : f32
    }""".replace("%n = memref.dim %p, %c1 : memref<?xf32>\n", "")
    main = compiled(text)
    x, y = np.array([1, 2], np.float32), np.array([10, 20, 30], np.float32)
    assert main(True, x, y) == 3
    assert main(False, x, y) == 12


def test_booleans_in_memory(compiled):
    text = function(
        "%x: memref<9xi1>, %y: memref<9xi1> {stepwell.result}",
        "%t = arith.constant true\n"
        + loops(
            "%c8",
            """%v = memref.load %x[%i] : memref<9xi1>
            %w = arith.xori %v, %t : i1
            memref.store %w, %y[%i] : memref<9xi1>""",
        )
        + "\nmemref.store %t, %y[%c8] : memref<9xi1>",
    )
    x = np.array([1, 0, 0, 1, 1, 1, 0, 1, 0], bool)
    y = compiled(text)(x)
    assert y.view(np.uint8).tolist() == [0, 1, 1, 0, 0, 0, 1, 0, 1]


def test_rank_zero_and_empty(compiled):
    text = function(
        "%x: memref<f32>, %e: memref<3x0xf32>, %y: memref<f32> {stepwell.result}, "
        "%z: memref<3x0xf32> {stepwell.result}",
        """%v = memref.load %x[] : memref<f32>
        %w = arith.negf %v : f32
        memref.store %w, %y[] : memref<f32>
        "memref.copy"(%e, %z) : (memref<3x0xf32>, memref<3x0xf32>) -> ()""",
    )
    main = compiled(text)
    y, z = main(np.float32(3), np.empty((3, 0), np.float32))
    assert y.shape == () and y == -3
    assert z.shape == (3, 0)


VECTOR = "vector<8xf32>"


def test_vector_arithmetic(compiled):
    text = function(
        "%x: memref<32xf32>, %s: f32, %y: memref<32xf32>, %t: memref<4xf32>",
        f"""%b = vector.broadcast %s : f32 to {VECTOR}
        %n = arith.constant 32 : index
        %zero = arith.constant dense<0.0> : {VECTOR}
        %acc = scf.for %i = %c0 to %n step %c8 iter_args(%a = %zero) -> ({VECTOR}) {{
          %v = vector.load %x[%i] : memref<32xf32>, {VECTOR}
          %f = vector.fma %v, %b, %v : {VECTOR}
          vector.store %f, %y[%i] : memref<32xf32>, {VECTOR}
          %r = arith.addf %a, %v fastmath<reassoc> : {VECTOR}
          scf.yield %r : {VECTOR}
        }}
        %sum = "vector.reduction"(%acc) <{{kind = #vector.kind<add>, fastmath = #arith.fastmath<reassoc>}}> : ({VECTOR}) -> f32
        %max = "vector.reduction"(%acc, %s) <{{kind = #vector.kind<maximumf>, fastmath = #arith.fastmath<none>}}> : ({VECTOR}, f32) -> f32
        %lane = vector.extract %acc[3] : f32 from {VECTOR}
        %at = vector.extract %acc[%c5] : f32 from {VECTOR}
        memref.store %sum, %t[%c0] : memref<4xf32>
        memref.store %max, %t[%c1] : memref<4xf32>
        memref.store %lane, %t[%c2] : memref<4xf32>
        memref.store %at, %t[%c3] : memref<4xf32>""",
    )
    x = np.random.default_rng(1).random(32, np.float32)
    y, t = np.zeros(32, np.float32), np.zeros(4, np.float32)
    compiled(text)(x, 2.5, y, t)
    np.testing.assert_allclose(y, x * np.float32(2.5) + x, rtol=1e-6)
    lanes = x.reshape(4, 8).sum(axis=0)
    np.testing.assert_allclose(
        t, [lanes.sum(), max(lanes.max(), 2.5), lanes[3], lanes[5]], rtol=1e-6
    )


def test_masked_vectors(compiled):
    text = function(
        "%x: memref<16xf32>, %n: index, %y: memref<16xf32>",
        f"""%m = vector.create_mask %n : vector<8xi1>
        %pass = arith.constant dense<-1.0> : {VECTOR}
        %v = vector.maskedload %x[%c4], %m, %pass : memref<16xf32>, vector<8xi1>, {VECTOR} into {VECTOR}
        %w = arith.addf %v, %v : {VECTOR}
        vector.maskedstore %y[%c2], %m, %w : memref<16xf32>, vector<8xi1>, {VECTOR}
        %i = vector.insert %pass_lane, %w[1] : f32 into {VECTOR}
        %s = vector.shuffle %i, %v [0, 1, 8, 9, 2, 3, 10, 11] : {VECTOR}, {VECTOR}
        vector.store %s, %y[%c8] : memref<16xf32>, {VECTOR}""".replace(
            "%m = vector", "%pass_lane = arith.constant 9.0 : f32\n%m = vector", 1
        ),
    )
    main = compiled(text)
    for n in (0, 3, 8):
        x, y = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
        main(x, n, y)
        v = np.where(np.arange(8) < n, x[4:12], -1).astype(np.float32)
        w = v + v
        want = np.zeros(16, np.float32)
        want[2 : 2 + n] = w[:n]
        w[1] = 9
        want[8:] = [*w[:2], *v[:2], *w[2:4], *v[2:4]]
        np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize(
    ("kind", "reference"),
    [
        ("add", np.sum), ("mul", np.prod), ("minsi", np.min), ("maxsi", np.max),
        ("and", np.bitwise_and.reduce), ("or", np.bitwise_or.reduce), ("xor", np.bitwise_xor.reduce),
        ("minui", lambda v: v.view(np.uint32).min().view(np.int32)),
        ("maxui", lambda v: v.view(np.uint32).max().view(np.int32)),
    ],
)  # fmt: skip
def test_integer_vector_reductions(compiled, kind: str, reference):
    text = function(
        "%x: memref<8xi32>, %s: i32",
        f"""%v = vector.load %x[%c0] : memref<8xi32>, vector<8xi32>
        %r = "vector.reduction"(%v, %s) <{{kind = #vector.kind<{kind}>, fastmath = #arith.fastmath<none>}}> : (vector<8xi32>, i32) -> i32
        func.return %r : i32""",
        "-> i32",
    ).replace("\nfunc.return }", "}")
    x = np.random.default_rng(3).integers(-50, 50, 8, np.int32)
    with np.errstate(over="ignore"):
        want = reference(np.append(x, np.int32(7)).astype(np.int32))
    assert compiled(text)(x, 7) == np.int64(want).astype(np.int32)


def test_boolean_vectors(compiled):
    text = function(
        "%x: memref<8xi1>, %a: memref<8xf32>, %y: memref<8xi1>",
        """%v = vector.load %x[%c0] : memref<8xi1>, vector<8xi1>
        %f = vector.load %a[%c0] : memref<8xf32>, vector<8xf32>
        %zero = arith.constant dense<0.0> : vector<8xf32>
        %p = "arith.cmpf"(%f, %zero) <{predicate = 2 : i64}> : (vector<8xf32>, vector<8xf32>) -> vector<8xi1>
        %r = arith.andi %v, %p : vector<8xi1>
        vector.store %r, %y[%c0] : memref<8xi1>, vector<8xi1>
        %e = math.exp %f : vector<8xf32>
        %g = math.tanh %e : vector<8xf32>
        vector.store %g, %a[%c0] : memref<8xf32>, vector<8xf32>""",
    )
    x = np.array([1, 0, 1, 1, 0, 0, 1, 1], bool)
    a = np.linspace(-1, 1, 8, dtype=np.float32)
    y, given = np.zeros(8, bool), a.copy()
    compiled(text)(x, a, y)
    np.testing.assert_array_equal(y, x & (given > 0))
    np.testing.assert_allclose(a, np.tanh(np.exp(given)), rtol=2e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            function("", "%b = memref.alloca() : memref<2000000xf32>"),
            r"8000000 bytes of memref\.alloca",
        ),
        (function("%x: memref<4xf32, 3 : i32>", ""), r"memref<4xf32, 3 : i32> in a memory space"),
        (
            function("%x: memref<4xf32, affine_map<(d0) -> (d0 + 1)>>", ""),
            r"with an affine layout",
        ),
        (
            function(
                "%x: memref<4xf32, strided<[1], offset: ?>>",
                "%y = memref.reinterpret_cast %x to offset: [0], sizes: [2], strides: [1] : "
                "memref<4xf32, strided<[1], offset: ?>> to memref<2xf32, strided<[1]>>",
            ),
            r"'memref.reinterpret_cast' of .* whose offset is open",
        ),
        (
            function("", "%v = arith.constant dense<0.0> : vector<2x4xf32>"),
            r"not a fixed 1-D vector",
        ),
    ],
)
def test_refusals(text: str, message: str):
    with pytest.raises(StepwellError, match=message):
        lowered_to_llvm(parse_text(text))
