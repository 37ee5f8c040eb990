"""`te` from Python, what fusion decides and why, and the order of loops."""

from __future__ import annotations

import numpy as np
import pytest
from stepwell.analysis.cost import CHEAP, body_cost, is_data_movement
from stepwell.analysis.fusion import is_epilogue_of, plan_fusion
from stepwell.analysis.fusion.grouping import NestGrouping
from stepwell.analysis.fusion.inlining import MAX_OPERATIONS, MAX_READS
from stepwell.analysis.verify import verify
from stepwell.dialects import te
from stepwell.dialects.combiner import Combiner
from stepwell.dialects.dtypes import is_float, numpy_dtype
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.lowering.te_loop_order import LoopOrder, choose_order
from stepwell.lowering.te_to_loop import ConvertTeToLoopPass
from stepwell.transforms.te.fuse import TeFusePass
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

ADD = "%s = arith.addf %a, %a : f32 te.yield %s : f32"
EXP = "%s = math.exp %a : f32 te.yield %s : f32"
COPY = "te.yield %a : f32"


def te_function(*lines: str, arguments: str = "%x: tensor<4x3xf32>") -> func.FuncOp:
    """A function with these operations; `tensor<...>` results are `NAME = te.compute ...`."""
    text = "\n".join(lines)
    module = parse_text(f"func.func @main({arguments}) {{\n{text}\nfunc.return\n}}")
    verify(module)
    function = next(iter(module.ops))
    assert isinstance(function, func.FuncOp)
    return function


def computes(function: func.FuncOp) -> dict[str, te.ComputeOp]:
    return {op.result.name_hint or "": op for op in function.walk() if isinstance(op, te.ComputeOp)}


# The operation from Python


def scaled_sum(x: SSAValue, pad: FloatAttr | None = None) -> te.ComputeOp:
    """`r[i] = sum over k of x[i, k + 1]`."""
    i, k = AffineExpr.dimension(0), AffineExpr.dimension(1)
    read = te.Read(x, AffineMap(2, 0, (i, k + 1)), pad)
    parallel, reduction = [te.Iterator("i", 4)], [te.Iterator("k", 3)]
    block = te.compute_block([*parallel, *reduction], [read], ["a"])
    Builder(InsertPoint.at_end(block)).insert(te.YieldOp(block.args[2]))
    return te.ComputeOp(
        parallel,
        [read],
        TensorType(f32, (4,)),
        Region(block),
        reduction=reduction,
        combiner=te.Combiner.ADD,
    )


def tensor_argument(shape: tuple[int, ...]) -> SSAValue:
    argument = Block(arg_types=[TensorType(f32, shape)]).args[0]
    argument.name_hint = "x"
    return argument


def test_a_compute_made_in_python_shows_what_it_was_made_from():
    x = tensor_argument((4, 4))
    op = scaled_sum(x)
    op.verify()
    assert [(it.name, it.extent) for it in op.iterators] == [("i", 4), ("k", 3)]
    assert op.parallel == op.iterators[:1] and op.reduction == op.iterators[1:]
    assert op.combining is te.Combiner.ADD
    (read,) = op.reads
    assert read.source is x and read.pad is None
    assert op.yielded == op.read_args
    assert str(op).startswith("%0 = te.compute [%i = 4] add [%k = 3] (%a = %x[%i, %k + 1])")


def test_a_read_outside_is_refused_unless_it_is_padded():
    x = tensor_argument((4, 3))
    with pytest.raises(Exception, match="running from 1 to 3, expected it inside the 3 elements"):
        scaled_sum(x).verify()
    scaled_sum(x, FloatAttr(0.0, f32)).verify()


def test_names_of_iterators_are_all_different():
    iterators = [te.Iterator("i", 2), te.Iterator("i", 3), te.Iterator("i_1", 4)]
    block = te.compute_block(iterators, [])
    builder = Builder(InsertPoint.at_end(block))
    one = builder.insert(arith.ConstantOp(FloatAttr(1.0, f32)))
    builder.insert(te.YieldOp(one.result))
    op = te.ComputeOp(iterators, [], TensorType(f32, (2, 3, 4)), Region(block))
    names = [it.name for it in op.iterators]
    assert len(set(names)) == 3 and names[0] == "i"


# Combiners

TYPES: tuple[Attribute, ...] = (f32, f64, i8, i32, i64, i1)
JOINING = [(c, t) for c in Combiner for t in TYPES if not c.is_arg and c.is_defined_on(t)]


@pytest.mark.parametrize(("combiner", "type_"), JOINING, ids=str)
def test_the_identity_changes_nothing(combiner: Combiner, type_: Attribute):
    dtype = numpy_dtype(type_)
    if is_float(type_):
        values = np.array([-np.inf, -1.5, 0.0, 2.0, np.inf, np.nan], dtype)
    elif dtype == np.bool_:
        values = np.array([False, True])
    else:
        values = np.array([np.iinfo(dtype).min, -1, 0, 1, np.iinfo(dtype).max], dtype)
    size = len(values)
    module = parse_text(f"""
      func.func @main(%x: tensor<{size}x{type_}>) -> tensor<{size}x{type_}> {{
        %r = te.compute [%i = {size}] {combiner} [%k = 1] (%a = %x[%i]) : (tensor<{size}x{type_}>) -> tensor<{size}x{type_}> {{
          te.yield %a : {type_}
        }}
        func.return %r : tensor<{size}x{type_}>
      }}""")
    ConvertTeToLoopPass().apply(Context(), module)
    if combiner is Combiner.MAXNUM:
        values = np.where(np.isnan(values), -np.inf, values)  # of no numbers
    np.testing.assert_array_equal(interpret(module, [values])[0], values)


@pytest.mark.parametrize("combiner", [Combiner.UMAX, Combiner.UMIN, Combiner.AND, Combiner.OR])
def test_combiners_of_integers_only(combiner: Combiner):
    assert not combiner.is_defined_on(f32)
    with pytest.raises(ValueError, match="not defined on f32"):
        combiner.identity(f32)
    assert isinstance(combiner.identity(i8), IntegerAttr)


def test_maxnum_is_of_floats_only():
    assert not Combiner.MAXNUM.is_defined_on(i8)
    with pytest.raises(ValueError, match="'maxnum' is not defined on i8"):
        Combiner.MAXNUM.identity(i8)


# What is inlined

READ_ROWS = "(tensor<4x3xf32>) -> tensor<4x3xf32>"

REFUSALS: dict[str, tuple[tuple[str, ...], str]] = {
    "reduction": (
        (
            f"%p = te.compute [%i = 4] add [%k = 3] (%a = %x[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xf32> {{ {COPY} }}",
            f"%c = te.compute [%i = 4] (%a = %p[%i]) : (tensor<4xf32>) -> tensor<4xf32> {{ {ADD} }}",
        ),
        "the producer is a reduction",
    ),
    "whole tensor": (
        (
            f"%p = te.compute [%i = 4, %j = 3] (%a = %x[%i, %j]) : {READ_ROWS} {{ {COPY} }}",
            f"%c = te.compute [%i = 4, %j = 3] (%t = %p) : {READ_ROWS} {{ %a = tensor.extract %t[%i, %j] : tensor<4x3xf32> {COPY} }}",
        ),
        "the consumer reads it at computed indices",
    ),
    "outside of a computation": (
        (
            f"%p = te.compute [%i = 4, %j = 3] (%a = %x[%i, %j]) : {READ_ROWS} {{ {ADD} }}",
            f"%c = te.compute [%i = 4, %j = 3] (%a = %p[%i + 1, %j] else 0.0 : f32) : {READ_ROWS} {{ {COPY} }}",
        ),
        "the consumer only moves data",
    ),
    "outside of a pad": (
        (
            f"%p = te.compute [%i = 4, %j = 3] (%a = %x[%i - 1, %j] else 1.0 : f32) : {READ_ROWS} {{ {COPY} }}",
            f"%c = te.compute [%i = 4, %j = 3] (%a = %p[%i + 1, %j] else 0.0 : f32) : {READ_ROWS} {{ {COPY} }}",
        ),
        "the consumer only moves data",
    ),
    "outside of a slice": (
        (
            f"%p = te.compute [%i = 2, %j = 3] (%a = %x[%i, %j]) : (tensor<4x3xf32>) -> tensor<2x3xf32> {{ {COPY} }}",
            f"%c = te.compute [%i = 4, %j = 3] (%a = %p[%i, %j] else 0.0 : f32) : (tensor<2x3xf32>) -> tensor<4x3xf32> {{ {COPY} }}",
        ),
        "the consumer only moves data",
    ),
    "outside of a gather": (
        (
            "%p = te.compute [%i = 4] (%t = %x) : (tensor<4x3xf32>) -> tensor<4xf32> { %z = arith.constant 0 : index %a = tensor.extract %t[%i, %z] : tensor<4x3xf32> te.yield %a : f32 }",
            f"%c = te.compute [%i = 4] (%a = %p[%i + 1] else 0.0 : f32) : (tensor<4xf32>) -> tensor<4xf32> {{ {ADD} }}",
        ),
        "outside of it the producer would read at any indices",
    ),
    "outside of it, in a reduction": (
        (
            f"%p = te.compute [%i = 4, %j = 3] (%a = %x[%i, %j]) : {READ_ROWS} {{ {ADD} }}",
            f"%c = te.compute [%i = 4] add [%k = 3] (%a = %p[%i + 1, %k] else 0.0 : f32) : (tensor<4x3xf32>) -> tensor<4xf32> {{ {COPY} }}",
        ),
        "a reduction reads outside of it",
    ),
    "gather in a reduction": (
        (
            "%p = te.compute [%i = 4] (%t = %x) : (tensor<4x3xf32>) -> tensor<4xf32> { %z = arith.constant 0 : index %a = tensor.extract %t[%i, %z] : tensor<4x3xf32> te.yield %a : f32 }",
            f"%c = te.compute [] add [%k = 4] (%a = %p[%k]) : (tensor<4xf32>) -> tensor<f32> {{ {COPY} }}",
        ),
        "the producer reads at computed indices, inside a reduction",
    ),
    "epilogue": (
        (
            f"%q = te.compute [%i = 4] add [%k = 3] (%a = %x[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xf32> {{ {COPY} }}",
            f"%p = te.compute [%i = 4] (%a = %q[%i]) : (tensor<4xf32>) -> tensor<4xf32> {{ {ADD} }}",
            f"%c = te.compute [%i = 4, %j = 2] (%a = %p[%i]) : (tensor<4xf32>) -> tensor<4x2xf32> {{ {COPY} }}",
        ),
        "the producer is the epilogue of a reduction",
    ),
    "broadcast of an expensive one": (
        (
            f"%p = te.compute [%j = 3] (%a = %x[0, %j]) : (tensor<4x3xf32>) -> tensor<3xf32> {{ {EXP} }}",
            f"%c = te.compute [%i = 4, %j = 3] (%a = %p[%j]) : (tensor<3xf32>) -> tensor<4x3xf32> {{ {COPY} }}",
        ),
        "each of its elements, costing 20 additions, would be computed 4 times",
    ),
    "an expensive one read at two places": (
        (
            f"%p = te.compute [%j = 3] (%a = %x[0, %j]) : (tensor<4x3xf32>) -> tensor<3xf32> {{ {EXP} }}",
            f"%c = te.compute [%j = 3] (%a = %p[%j], %b = %p[2 - %j]) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32> {{ {COPY} }}",
        ),
        "each of its elements, costing 20 additions, would be computed 2 times",
    ),
    "an expensive one of two readers": (
        (
            f"%p = te.compute [%j = 3] (%a = %x[0, %j]) : (tensor<4x3xf32>) -> tensor<3xf32> {{ {EXP} }}",
            f"%c = te.compute [%j = 3] (%a = %p[%j]) : (tensor<3xf32>) -> tensor<3xf32> {{ {ADD} }}",
            f"%d = te.compute [%j = 3] (%a = %p[%j]) : (tensor<3xf32>) -> tensor<3xf32> {{ {ADD} }}",
        ),
        "each of its elements, costing 20 additions, would be computed 2 times",
    ),
    "a copy that is not linear, in a reduction": (
        (
            f"%p = te.compute [%i = 12] (%a = %x[%i floordiv 3, %i mod 3]) : (tensor<4x3xf32>) -> tensor<12xf32> {{ {COPY} }}",
            f"%c = te.compute [] add [%k = 12] (%a = %p[%k]) : (tensor<12xf32>) -> tensor<f32> {{ {COPY} }}",
        ),
        "the copy's subscripts are not linear, inside a reduction",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_why_a_producer_stays(name: str):
    lines, reason = REFUSALS[name]
    assert (why_stored(te_function(*lines), "p", "c") or "").startswith(reason)


def why_stored(function: func.FuncOp, producer: str, consumer: str) -> str | None:
    """Why the producer is not computed where the consumer reads it."""
    grouping = NestGrouping(function.body.block)
    one, other = (grouping.graph.position[computes(function)[n]] for n in (producer, consumer))
    return grouping.why_stored(one, other)


def wide_sum(name: str, sources: list[str]) -> str:
    """The sum of all elements at the same place of these tensors."""
    reads = ", ".join(f"%r{name}_{n} = %{s}[%i]" for n, s in enumerate(sources))
    types = ", ".join(["tensor<4xf32>"] * len(sources))
    sums = [
        f"%s{name}_{n} = arith.addf %s{name}_{n - 1}, %r{name}_{n} : f32"
        for n in range(1, len(sources))
    ]
    sums[0] = f"%s{name}_1 = arith.addf %r{name}_0, %r{name}_1 : f32"
    return (
        f"%{name} = te.compute [%i = 4] ({reads}) : ({types}) -> tensor<4xf32> {{ "
        f"{' '.join(sums)} te.yield %s{name}_{len(sources) - 1} : f32 }}"
    )


def test_the_number_of_operands_is_limited():
    names = [f"x{n}" for n in range(MAX_READS + 1)]
    arguments = ", ".join(f"%{name}: tensor<4xf32>" for name in names)
    lines = [wide_sum("p", names[:-1]), wide_sum("c", ["p", names[-1]])]
    reason = why_stored(te_function(*lines, arguments=arguments), "p", "c")
    assert reason == f"the consumer would have more than {MAX_READS} operands"
    fitting = [wide_sum("p", names[:-2]), wide_sum("c", ["p", names[-1]])]
    assert why_stored(te_function(*fitting, arguments=arguments), "p", "c") is None


def doublings(count: int) -> list[str]:
    return [
        f"%x{n + 1} = te.compute [%i = 4] (%a = %x{n}[%i], %b = %x{n}[%i]) : "
        f"(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {{ %s = arith.addf %a, %b : f32 te.yield %s : f32 }}"
        for n in range(count)
    ]


def number_of_operations(function: func.FuncOp) -> int:
    return sum(1 for _ in function.walk())


def fused(function: func.FuncOp) -> func.FuncOp:
    module = function.parent_op()
    assert module is not None
    TeFusePass().apply(Context(), module)
    verify(module)
    return function


def test_a_chain_of_doublings_becomes_one_body_without_growing():
    function = fused(te_function(*doublings(30), arguments="%x0: tensor<4xf32>"))
    (only,) = computes(function).values()
    assert sum(isinstance(op, arith.AddfOp) for op in only.body.block.ops) == 30


@pytest.mark.parametrize("count", [100, 400])
def test_a_long_chain_stays_linear_in_size(count: int):
    function = te_function(*doublings(count), arguments="%x0: tensor<4xf32>")
    before = number_of_operations(function)
    assert number_of_operations(fused(function)) <= before
    assert all(
        sum(1 for _ in op.body.walk()) <= MAX_OPERATIONS for op in computes(function).values()
    )


def test_chains_of_reused_values_stay_linear_in_size():
    """Each step reads the step before through two computes: 2^n paths from the end to the start."""
    lines: list[str] = []
    for n in range(60):
        for side in "lr":
            lines.append(
                f"%{side}{n} = te.compute [%i = 4] (%a = %x{n}[%i]) : (tensor<4xf32>) -> tensor<4xf32> "
                f"{{ %s = arith.negf %a : f32 te.yield %s : f32 }}"
            )
        lines.append(
            f"%x{n + 1} = te.compute [%i = 4] (%a = %l{n}[%i], %b = %r{n}[%i]) : "
            "(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> { %s = arith.mulf %a, %b : f32 te.yield %s : f32 }"
        )
    function = te_function(*lines, arguments="%x0: tensor<4xf32>")
    before = number_of_operations(function)
    assert number_of_operations(fused(function)) <= 2 * before


# Analyses


def test_cost():
    function = te_function(
        f"%copy = te.compute [%i = 3] (%a = %x[0, %i]) : (tensor<4x3xf32>) -> tensor<3xf32> {{ {COPY} }}",
        f"%exp = te.compute [%i = 3] (%a = %x[0, %i]) : (tensor<4x3xf32>) -> tensor<3xf32> {{ {EXP} }}",
        "%one = te.compute [%i = 3] (%a = %x[0, %i]) : (tensor<4x3xf32>) -> tensor<3xf32> "
        "{ %c = arith.constant 1.0 : f32 te.yield %c : f32 }",
    )
    found = computes(function)
    assert body_cost(found["copy"]) == 0 and is_data_movement(found["copy"])
    assert body_cost(found["exp"]) > CHEAP and not is_data_movement(found["exp"])
    assert body_cost(found["one"]) == 0 and not is_data_movement(found["one"])


SUM = f"%sum = te.compute [%i = 4] add [%k = 3] (%a = %x[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xf32> {{ {COPY} }}"
V4 = "tensor<4xf32>"

EPILOGUES: dict[str, tuple[bool, tuple[str, ...]]] = {
    "element-wise": (True, (f"[%i = 4] (%a = %sum[%i]) : ({V4}) -> {V4}",)),
    "twice at its point": (
        True,
        (f"[%i = 4] (%a = %sum[%i], %b = %sum[%i]) : ({V4}, {V4}) -> {V4}",),
    ),
    "elsewhere": (False, (f"[%i = 4] (%a = %sum[3 - %i]) : ({V4}) -> {V4}",)),
    "at its point and elsewhere": (
        False,
        (f"[%i = 4] (%a = %sum[%i], %b = %sum[0]) : ({V4}, {V4}) -> {V4}",),
    ),
    "padded": (False, (f"[%i = 4] (%a = %sum[%i + 1] else 0.0 : f32) : ({V4}) -> {V4}",)),
    "whole": (
        False,
        (f"[%i = 4] (%a = %x[%i, 0], %b = %sum) : (tensor<4x3xf32>, {V4}) -> {V4}",),
    ),
    "broadcast": (False, (f"[%i = 4, %j = 2] (%a = %sum[%i]) : ({V4}) -> tensor<4x2xf32>",)),
    "part": (False, (f"[%i = 2] (%a = %sum[%i]) : ({V4}) -> tensor<2xf32>",)),
    "reduced again": (False, (f"[] add [%i = 4] (%a = %sum[%i]) : ({V4}) -> tensor<f32>",)),
}


@pytest.mark.parametrize("name", EPILOGUES)
def test_epilogues(name: str):
    expected, consumers = EPILOGUES[name]
    lines = [f"%c{n} = te.compute {text} {{ {COPY} }}" for n, text in enumerate(consumers)]
    function = te_function(SUM, *lines)
    found = computes(function)
    assert is_epilogue_of(found["c0"], found["sum"]) is expected
    assert (anchors(function) == {"c0": "sum"}) is expected


def anchors(function: func.FuncOp) -> dict[str | None, str | None]:
    """The reductions that are finished by other computes, by the names of these."""
    kernels = plan_fusion(function.body.block).kernels
    nests = [nest for kernel in kernels for nest in kernel.nests]
    return {nest.name: nest.anchor.name for nest in nests if nest.anchor is not None}


def test_two_reductions_and_their_common_reader():
    """Only one of them can have it as its epilogue."""
    function = te_function(
        SUM,
        f"%t = te.compute [%i = 4] max [%k = 3] (%a = %x[3 - %i, %k]) : (tensor<4x3xf32>) -> tensor<4xf32> {{ {COPY} }}",
        "%c = te.compute [%i = 4] (%a = %sum[%i], %b = %t[%i]) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> "
        "{ %d = arith.divf %a, %b : f32 te.yield %d : f32 }",
    )
    assert anchors(function) == {"c": "sum"}


ORDERS: dict[str, tuple[str, LoopOrder]] = {
    "element-wise keeps its order": (
        "[%i = 3, %j = 4] (%a = %x[%j, %i]) : (tensor<4x3xf32>) -> tensor<3x4xf32>",
        LoopOrder((0, 1), (), ()),
    ),
    "rows": (
        "[%i = 4] add [%k = 3] (%a = %x[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xf32>",
        LoopOrder((0,), (1,), ()),
    ),
    "columns": (
        "[%j = 3] add [%k = 4] (%a = %x[%k, %j]) : (tensor<4x3xf32>) -> tensor<3xf32>",
        LoopOrder((), (1,), (0,)),
    ),
    "all": (
        "[] add [%k = 4, %l = 3] (%a = %x[%k, %l]) : (tensor<4x3xf32>) -> tensor<f32>",
        LoopOrder((), (0, 1), ()),
    ),
    "all, the other way round": (
        "[] add [%l = 3, %k = 4] (%a = %x[%k, %l]) : (tensor<4x3xf32>) -> tensor<f32>",
        LoopOrder((), (1, 0), ()),
    ),
    "not linear": (
        "[%j = 3] add [%k = 4] (%a = %x[%k, %j floordiv 2]) : (tensor<4x3xf32>) -> tensor<3xf32>",
        LoopOrder((), (1,), (0,)),
    ),
}


@pytest.mark.parametrize("name", ORDERS)
def test_loop_order(name: str):
    text, expected = ORDERS[name]
    compute = computes(te_function(f"%c = te.compute {text} {{ {COPY} }}"))["c"]
    assert choose_order(compute) == expected


def test_a_kept_order_of_reductions():
    text, expected = ORDERS["all, the other way round"]
    compute = computes(te_function(f"%c = te.compute {text} {{ {COPY} }}"))["c"]
    assert choose_order(compute, keep_reductions=True).reduction == (0, 1) != expected.reduction


def test_an_arg_reduction_keeps_one_value_and_index():
    compute = computes(
        te_function(
            "%c = te.compute [%j = 3] argmax [%k = 4] (%a = %x[%k, %j]) : (tensor<4x3xf32>) -> tensor<3xi64> "
            "{ %n = arith.index_cast %k : index to i64 te.yield %a, %n : f32, i64 }"
        )
    )["c"]
    assert choose_order(compute) == LoopOrder((0,), (1,), ())


def test_a_mistake_names_its_place():
    with pytest.raises(StepwellError) as error:
        te_function(
            "%c = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4x3xf32>) -> tensor<4xf32> { te.yield %a : f32 }"
        )
    assert error.value.where == "<string>:2:6"
    assert "\n" not in str(error.value)
