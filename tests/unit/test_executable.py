"""Calling compiled functions from Python: what is accepted, what is refused, and what it costs."""

from __future__ import annotations

import array
import gc
import resource
import threading
import timeit

import numpy as np
import pytest
import stepwell as sw
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.runtime.executable import Executable
from stepwell.runtime.jit import compile_module
from stepwell.targets.target import Target


def sum_of(shape: str = "8", type_: str = "f32", add: str = "addf") -> str:
    """r = x + y, element by element, over a 1-D or open shape."""
    buffer = f"memref<{shape}x{type_}>" if shape else f"memref<{type_}>"
    return f"""
    func.func @sum(%x: {buffer}, %y: {buffer}, %r: {buffer} {{stepwell.result}}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      {f"%n = memref.dim %x, %c0 : {buffer}" if "?" in shape else f"%n = arith.constant {shape} : index"}
      scf.for %i = %c0 to %n step %c1 {{
        %a = memref.load %x[%i] : {buffer}
        %b = memref.load %y[%i] : {buffer}
        %c = arith.{add} %a, %b : {type_}
        memref.store %c, %r[%i] : {buffer}
      }}
      func.return
    }}"""


WITH_ARENA = """
func.func @main(%x: memref<1000xf32>, %r: memref<1000xf32> {stepwell.result}, %s: memref<4000xi8> {stepwell.arena}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1000 : index
  %t = memref.view %s[%c0][] : memref<4000xi8> to memref<1000xf32>
  scf.for %k = %c0 to %n step %c1 {
    %a = memref.load %x[%k] : memref<1000xf32>
    memref.store %a, %t[%k] : memref<1000xf32>
  }
  scf.for %k = %c0 to %n step %c1 {
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.load %t[%i] : memref<1000xf32>
      %b = memref.load %x[%k] : memref<1000xf32>
      %c = arith.addf %a, %b : f32
      memref.store %c, %t[%i] : memref<1000xf32>
    }
  }
  "memref.copy"(%t, %r) : (memref<1000xf32>, memref<1000xf32>) -> ()
  func.return
}"""


@pytest.fixture(scope="module")
def add8() -> Executable:
    return compile_module(parse_text(sum_of()))


@pytest.fixture(scope="module")
def add_open() -> Executable:
    return compile_module(parse_text(sum_of("?")))


X = np.arange(8, dtype=np.float32)
Y = np.linspace(-1, 1, 8, dtype=np.float32)


def test_result_is_new(add8: Executable):
    first, second = add8(X, Y), add8(X, Y)
    np.testing.assert_array_equal(first, X + Y)
    assert first is not second and not np.shares_memory(first, second)
    assert first.dtype == np.float32 and first.flags.owndata


def test_names(add8: Executable):
    np.testing.assert_array_equal(add8(y=Y, x=X), X + Y)
    np.testing.assert_array_equal(add8(X, y=Y), X + Y)
    assert str(add8.signature) == "sum(x: float32[8], y: float32[8]) -> (float32[8])"
    assert "sum" in repr(add8) and "host" in repr(add8)
    assert "fadd" in add8.llvm_ir() and "ret" in add8.assembly()


def test_arrays_that_must_be_copied(add8: Executable):
    wide = np.arange(16, dtype=np.float32)
    np.testing.assert_array_equal(add8(wide[::2], Y), wide[::2] + Y)
    np.testing.assert_array_equal(add8(wide[::-2], Y), wide[::-2] + Y)
    np.testing.assert_array_equal(add8(np.broadcast_to(np.float32(3), 8), Y), Y + 3)
    np.testing.assert_array_equal(add8(X.astype(">f4"), Y), X + Y)
    misaligned = np.frombuffer(b"\0" + X.tobytes(), np.float32, offset=1)
    assert not misaligned.flags.aligned
    np.testing.assert_array_equal(add8(misaligned, Y), X + Y)


def test_read_only_and_subclass(add8: Executable):
    frozen = X.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(add8(frozen, frozen), X + X)

    class Named(np.ndarray):
        pass

    result = add8(X.view(Named), Y)
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, X + Y)


def test_other_arrays(add8: Executable):
    class OnlyDLPack:
        def __dlpack__(self, **options: object):
            return X.__dlpack__(**options)

        def __dlpack_device__(self):
            return X.__dlpack_device__()

    for value in (OnlyDLPack(), memoryview(X), array.array("f", X.tolist())):
        np.testing.assert_array_equal(add8(value, Y), X + Y)


@pytest.mark.parametrize("type_", ["f32", "f64", "i8", "i32", "i64"])
def test_dtypes(type_: str):
    dtype = {"f32": "f4", "f64": "f8", "i8": "i1", "i32": "i4", "i64": "i8"}[type_]
    add = compile_module(parse_text(sum_of(type_=type_, add="addf" if type_[0] == "f" else "addi")))
    x = np.arange(8).astype(dtype)
    np.testing.assert_array_equal(add(x, x), x + x)


def test_unsigned():
    text = sum_of(type_="i8", add="addi").replace(
        "%x: memref<8xi8>", "%x: memref<8xi8> {stepwell.unsigned}"
    )
    text = text.replace("{stepwell.result}", "{stepwell.result, stepwell.unsigned}")
    add = compile_module(parse_text(text))
    result = add(np.full(8, 200, np.uint8), np.ones(8, np.int8))
    assert result.dtype == np.uint8 and result.tolist() == [201] * 8


def test_rank_zero():
    text = """
    func.func @neg(%x: memref<f64>, %r: memref<f64> {stepwell.result}) {
      %a = memref.load %x[] : memref<f64>
      %b = arith.negf %a : f64
      memref.store %b, %r[] : memref<f64>
      func.return
    }"""
    negate = compile_module(parse_text(text))
    for value in (3, 3.0, np.float64(3), np.asarray(3.0)):
        result = negate(value)
        assert result.shape == () and result == -3
    assert negate(True) == -1
    with pytest.raises(StepwellError, match="has dtype float32, expected float64"):
        negate(np.float32(3))
    integers = compile_module(
        parse_text(text.replace("f64", "i8").replace("arith.negf %a", "arith.addi %a, %a"))
    )
    assert integers(5) == 10
    for wrong in (1000, 2.5):
        with pytest.raises(StepwellError, match=f"'x' of 'neg' is {wrong}, expected a int8"):
            integers(wrong)


def test_open_shapes(add_open: Executable):
    for size in (0, 1, 33):
        x, out = np.arange(size, dtype=np.float32), np.empty(size, np.float32)
        assert add_open(x, x, out=out) is out
        np.testing.assert_array_equal(out, x + x)
    with pytest.raises(StepwellError, match=r"result 'r' of 'sum' has the open shape"):
        add_open(X, Y)


def test_no_inputs_and_several_results():
    text = """
    func.func @main(%a: memref<2xi64> {stepwell.result}, %b: memref<0x3xf32> {stepwell.result}) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %v = arith.constant 7 : i64
      memref.store %v, %a[%c0] : memref<2xi64>
      memref.store %v, %a[%c1] : memref<2xi64>
      func.return
    }"""
    main = compile_module(parse_text(text))
    results = main()
    assert isinstance(results, tuple)
    assert results[0].tolist() == [7, 7] and results[1].shape == (0, 3)
    out = (np.empty(2, np.int64), np.empty((0, 3), np.float32))
    assert main(out=out)[0] is out[0]


def test_out(add8: Executable):
    out = np.empty(8, np.float32)
    assert add8(X, Y, out=out) is out
    np.testing.assert_array_equal(out, X + Y)
    strided = np.zeros(16, np.float32)
    strided[::2] = X
    np.testing.assert_array_equal(
        add8(strided[::2], Y, out=strided[:8]), X + Y
    )  # the input was copied


def test_out_of_several_results_and_large_arena():
    """The way of calls that is quick, for which everything must fit: what does not takes the general one."""
    x = np.arange(30, dtype=np.float32).reshape(5, 6)
    run = sw.jit(lambda x: (x + 1, sw.softmax(x, axis=-1))).lower(x).compile()
    out = (np.empty((5, 6), np.float32), np.empty((5, 6), np.float32))
    results = run(x, out=out)
    assert results[0] is out[0] and results[1] is out[1]
    np.testing.assert_array_equal(out[0], x + 1)
    np.testing.assert_allclose(out[1].sum(axis=-1), 1, rtol=1e-6)
    assert run(x, out=list(out))[1] is out[1]
    both = np.zeros((9, 6), np.float32)
    for wrong in ((both[:5], both[4:]), (out[0], out[0]), (x, out[1])):
        with pytest.raises(StepwellError, match="overlaps another array"):
            run(x, out=wrong)
    assert run(x, out=(both[:5], np.empty((5, 6), np.float32)))[0].base is both


FROZEN = np.zeros(8, np.float32)
FROZEN.flags.writeable = False


@pytest.mark.parametrize(
    ("args", "keywords", "message"),
    [
        ((X,), {}, r"'sum' was called without y, expected 2 \(x, y\); pass every argument"),
        ((X, Y, X), {}, r"'sum' was called with 3 arguments, expected 2 \(x, y\); pass fewer"),
        ((X, Y), {"z": X}, r"with argument 'z' that it does not have, expected 2"),
        ((X,), {"x": X}, r"with argument 'x' twice"),
        ((X[:5], Y), {}, r"argument 'x' of 'sum' has shape \(5,\), expected \(8,\)"),
        ((X, Y.reshape(2, 4)), {}, r"argument 'y' of 'sum' has shape \(2, 4\), expected \(8,\)"),
        (
            (X.astype("f8"), Y),
            {},
            r"has dtype float64, expected float32; convert it with \.astype\(float32\)",
        ),
        ((X.view("i4"), Y), {}, r"has dtype int32, expected float32"),
        (([1.0] * 8, Y), {}, r"argument 'x' of 'sum' is a list .*expected an array float32\[8\]"),
        ((None, Y), {}, r"argument 'x' of 'sum' is a NoneType"),
        (("abc", Y), {}, r"argument 'x' of 'sum' is a str"),
        ((2.0, Y), {}, r"has shape \(\), expected \(8,\)"),
        ((X, Y), {"out": np.empty(7, np.float32)}, r"out array 'r' of 'sum' has shape \(7,\)"),
        ((X, Y), {"out": np.empty(8)}, r"has dtype float64"),
        ((X, Y), {"out": (np.empty(8, np.float32),) * 2}, r"with 2 arrays in out=, expected 1"),
        (
            (X, Y),
            {"out": np.empty(16, np.float32)[::2]},
            r"out array 'r' of 'sum' is not contiguous",
        ),
        ((X, Y), {"out": FROZEN}, r"out array 'r' of 'sum' is not writable"),
        ((X, Y), {"out": [1, 2]}, r"with 2 arrays in out="),
        ((X, Y), {"out": "x"}, r"out array 'r' of 'sum' is a str"),
        ((X, Y), {"out": Y}, r"out array 'r' of 'sum' overlaps another array"),
    ],
)
def test_refused_calls(add8: Executable, args: tuple, keywords: dict, message: str):
    with pytest.raises(StepwellError, match=message) as caught:
        add8(*args, **keywords)
    assert "\n" not in str(caught.value)


def test_in_place():
    text = """
    func.func @scale(%x: memref<4xf32>, %s: f32, %n: index, %flag: i1) -> i1 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %a = memref.load %x[%i] : memref<4xf32>
        %b = arith.mulf %a, %s : f32
        memref.store %b, %x[%i] : memref<4xf32>
      }
      func.return %flag : i1
    }"""
    scale = compile_module(parse_text(text))
    x = np.ones(4, np.float32)
    assert scale(x, 2.5, 3, True) is True
    assert scale(x, np.float32(2), np.int64(1), False) is False
    assert x.tolist() == [5, 2.5, 2.5, 1]
    frozen = x.copy()
    frozen.flags.writeable = False
    for wrong, message in (
        ((x.astype("f8"), 1, 1, True), "has dtype float64"),
        ((np.ones(8, np.float32)[::2], 1, 1, True), "is not contiguous"),
        ((frozen, 1, 1, True), "is not writable"),
        ((x.astype(">f4"), 1, 1, True), "is not of native byte order"),
        ((x.tolist(), 1, 1, True), "is a list, expected a NumPy array to write to"),
        ((x, "a", 1, True), "'s' of 'scale' is 'a', expected a number of type float32"),
        ((x, 1e40, 1, True), "expected a number of type float32"),
        ((x, 1, 2.5, True), "'n' of 'scale' is 2.5, expected a number of type int64"),
        ((x, 1, 1 << 70, True), "expected a number of type int64"),
        ((x, 1, 1, 2), "'flag' of 'scale' is 2, expected a number of type bool"),
    ):
        with pytest.raises(StepwellError, match=message):
            scale(*wrong)
    with pytest.raises(StepwellError, match="writes its arguments in place, expected no out="):
        scale(x, 1, 1, True, out=x)
    assert x.tolist() == [5, 2.5, 2.5, 1]


def test_arrays_that_are_right_are_written_in_place_without_the_general_way(
    monkeypatch: pytest.MonkeyPatch,
):
    text = """
    func.func @swap(%x: memref<2xf32>, %y: memref<2xf64>) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %a = memref.load %x[%c0] : memref<2xf32>
      %b = memref.load %x[%c1] : memref<2xf32>
      memref.store %b, %x[%c0] : memref<2xf32>
      memref.store %a, %x[%c1] : memref<2xf32>
      %c = arith.extf %a : f32 to f64
      memref.store %c, %y[%c0] : memref<2xf64>
      func.return %b : f32
    }"""
    swap = compile_module(parse_text(text))
    x, y = np.array([1, 2], np.float32), np.zeros(2)
    misaligned = np.zeros(17, np.uint8)[1:].view(np.float64)
    for wrong, message in (
        ((x, misaligned), "is not aligned"),
        ((x, y.astype(">f8")), "is not of native byte order"),
        ((x, np.zeros(4)[::2]), "is not contiguous"),
        ((x, np.zeros(3)), "expected [(]2,[)]"),
        ((x, x), "has dtype float32"),
        ((x, y.tolist()), "is a list"),
        ((x, np.frombuffer(bytes(16))), "is not writable"),
    ):
        with pytest.raises(StepwellError, match=message):
            swap(*wrong)
    assert x.tolist() == [1, 2]

    class Array(np.ndarray):
        pass

    assert swap(x.view(Array), y) == 2.0  # left to the general way
    monkeypatch.setattr(Executable, "_general", None)
    assert swap(x, y) == 1.0
    assert x.tolist() == [1, 2] and y.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("text", "entry", "message"),
    [
        ("func.func private @f() { func.return }", None, "found no public function"),
        ("func.func @f() { func.return }", "g", "found no function 'g'"),
        (
            "func.func @f(%x: memref<4xf32, strided<[2]>>) { func.return }",
            None,
            "expected the identity layout for a function that Python calls",
        ),
        (
            "func.func @f(%a: i32, %b: i32) -> (i32, i32) { func.return %a, %b : i32, i32 }",
            None,
            "expected at most one scalar",
        ),
        (
            "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { func.return %x : tensor<4xf32> }",
            None,
            "found a module at level te, expected core or llvm",
        ),
        (
            "func.func private @nowhere_to_be_found()\n"
            "func.func @f() { func.call @nowhere_to_be_found() : () -> () \n func.return }",
            None,
            "found no definition of .nowhere_to_be_found",
        ),
        (
            "func.func private @tanhf(%x: f32) -> f32 { func.return %x : f32 }\n"
            "func.func @f(%x: f32) -> f32 { %y = math.tanh %x : f32\n func.return %y : f32 }",
            None,
            "needs the C function 'tanhf', but the module defines",
        ),
        (
            "func.func @cos(%x: f64) -> f64 { %y = math.cos %x : f64\n func.return %y : f64 }",
            None,
            "found a function called 'cos', expected another name: the module may call the C function",
        ),
    ],
)
def test_refused_modules(text: str, entry: str | None, message: str):
    with pytest.raises(StepwellError, match=message):
        compile_module(parse_text(text), entry=entry)


def test_functions_of_the_process():
    text = """
    func.func private @hypot(f64, f64) -> f64
    func.func @main(%x: f64, %y: f64) -> f64 {
      %r = func.call @hypot(%x, %y) : (f64, f64) -> f64
      func.return %r : f64
    }"""
    assert compile_module(parse_text(text))(3.0, 4.0) == 5


def test_module_is_left_as_it_is():
    text = sum_of(type_="i32", add="addi").replace("arith.addi", "math.ipowi")
    module = parse_text(text)
    before = str(module)
    power = compile_module(module)
    x = np.array([2, 3, -1, -1, 1, 0, 5, 7], np.int32)
    y = np.array([5, 3, -3, -4, -7, 0, -1, 12], np.int32)
    assert power(x, y).tolist() == [32, 27, -1, 1, 1, 1, 0, np.int64(7**12).astype(np.int32)]
    assert str(module) == before


def test_targets():
    assert Target.parse("host") == Target.host()
    v3 = Target.parse("x86-64-v3")
    assert v3.vector_bits == 256 and "x86-64-v3" in str(v3)
    with pytest.raises(
        StepwellError, match="found target 'pdp11', expected host or a core that is known"
    ):
        Target.parse("pdp11")
    foreign = Target.parse("neoverse-v1" if Target.host().triple.startswith("x86") else "znver3")
    assert not foreign.runs_here
    with pytest.raises(StepwellError, match="cannot run code for target"):
        compile_module(parse_text(sum_of()), target=foreign)
    if v3.runs_here:
        np.testing.assert_array_equal(compile_module(parse_text(sum_of()), target=v3)(X, Y), X + Y)


def test_threads_have_arenas_of_their_own():
    main = compile_module(parse_text(WITH_ARENA))
    inputs = [np.full(1000, i + 1, np.float32) for i in range(4)]
    wrong: list[int] = []

    def work(i: int) -> None:
        for _ in range(50):
            # One takes scratch memory from the pool, the other one from its stack.
            for result in (main(inputs[i], out=np.empty(1000, np.float32)), main(inputs[i])):
                if not (result == 1001 * (i + 1)).all():
                    wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert 1 <= len(main._arenas._free) <= 4


def test_threads_may_compile():
    modules = [parse_text(sum_of(type_=type_)) for type_ in ("f32", "f64") * 3]
    results: dict[int, np.ndarray] = {}

    def work(i: int) -> None:
        x = np.arange(8, dtype=("f4", "f8")[i % 2])
        results[i] = compile_module(modules[i])(x, x)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(results[i].tolist() == list(range(0, 16, 2)) for i in range(6))


def resident_kilobytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


@pytest.mark.skipif(not hasattr(resource, "getpagesize"), reason="needs /proc")
def test_calls_do_not_grow_the_process(add8: Executable):
    with_arena = compile_module(parse_text(WITH_ARENA.replace("constant 1000", "constant 2")))
    x = np.arange(1000, dtype=np.float32)
    frozen = X.copy()
    frozen.flags.writeable = False
    for rounds in (2_000, 100_000):
        gc.collect()
        before = resident_kilobytes()
        for _ in range(rounds):
            add8(X, Y)
        for _ in range(rounds // 20):
            add8(frozen, y=Y)
            with_arena(x)
    assert resident_kilobytes() - before < 1024


def test_code_is_unloaded():
    """A thousand compilations would otherwise keep a thousand libraries."""
    import weakref

    module = parse_text(sum_of())
    executable = compile_module(module)
    code = weakref.ref(executable._code)
    del executable
    gc.collect()
    assert code() is None


def test_a_call_is_quick(add8: Executable):
    add8(X, Y)
    seconds = min(timeit.repeat(lambda: add8(X, Y), number=200, repeat=100)) / 200
    assert seconds < 5e-6
