"""Operations made the short way are those that xDSL's way makes, in the same lists."""

from __future__ import annotations

from typing import Any

import pytest
from stepwell.analysis.operations import operands_of
from stepwell.dialects import leaf_operations
from stepwell.dialects.leaf_operations import (
    append_leaf,
    bit_attribute,
    block_with,
    copy_of,
    erase_leaf,
    half_word_attribute,
    index_attribute,
    insert_leaf_before,
    inserted,
    jump,
    keep_name,
    leaf,
    numbers_attribute,
    region_of,
    replace_uses,
    set_name,
    set_operands,
    splat,
    structured,
    take_name,
    vector_of,
    word_attribute,
)
from stepwell.dialects.shaped import dense_tensor, row_major
from stepwell.frontend.text import parse_text
from stepwell.lowering.core_to_llvm.properties import (
    INTERNAL,
    VOID,
    function_type,
    function_without_body,
)
from xdsl.builder import Builder
from xdsl.dialects import arith, llvm, memref, scf, vector
from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FloatAttr,
    FunctionType,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
    VectorType,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

LANES = VectorType(f32, [8])
BLOCK = Block(arg_types=[f32, f32, MemRefType(f32, [4]), llvm.LLVMPointerType(), LANES])
A, B, BUFFER, POINTER, VECTOR = BLOCK.args
PLACE = FileLineColLoc(StringAttr("f.py"), IntAttr(1), IntAttr(2))

CASES: list[tuple[type[Operation], list[Any], list[Attribute], dict[str, Attribute]]] = [
    (arith.AddfOp, [A, B], [f32], {}),
    (arith.AddfOp, [A, A], [f32], {"fastmath": arith.FastMathFlagsAttr("fast")}),
    (arith.ConstantOp, [], [i64], {"value": IntegerAttr(3, i64)}),
    (memref.StoreOp, [A, BUFFER], [], {}),
    (vector.BroadcastOp, [A], [LANES], {}),
    (llvm.LoadOp, [POINTER], [f32], {}),
    (llvm.FAddOp, [A, B], [f32], {}),
    (llvm.StoreOp, [A, POINTER], [], {}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].name)
def test_an_operation_is_as_xdsl_makes_it(case: Any):
    kind, operands, results, properties = case
    made = leaf(kind, operands, results, properties, {"note": StringAttr("n")}, PLACE)
    expected = kind.create(
        operands=operands,
        result_types=results,
        properties=properties,
        attributes={"note": StringAttr("n")},
        location=PLACE,
    )
    assert made.is_structurally_equivalent(expected) and type(made) is kind
    assert list(made.properties) == list(expected.properties) and made.location == PLACE
    assert vars(made).keys() >= vars(expected).keys() - {"_successors", "_successor_uses"}
    assert not made.successors and not made.regions
    uses = [(use.operation, use.index) for value in {*operands} for use in value.uses]
    assert all((made, index) in uses for index in range(len(operands)))
    for op in (made, expected):
        op.erase()
    assert not any(use.operation is made for value in operands for use in value.uses)


def test_blocks_have_them_in_order():
    quick, plain = Block(), Block()
    for block, append, insert in (
        (quick, append_leaf, insert_leaf_before),
        (plain, Block.add_op, Block.insert_op_before),
    ):
        ops = [leaf(arith.ConstantOp, (), (i64,), {"value": IntegerAttr(n, i64)}) for n in range(5)]
        append(block, ops[1])
        append(block, ops[3])
        insert(block, ops[0], ops[1])
        insert(block, ops[2], ops[3])
        append(block, ops[4])
        assert [*block.ops] == ops and [*reversed(block.ops)] == ops[::-1]
        assert all(op.parent is block for op in ops)
        ops[2].detach()
        ops[0].detach()
        assert [*block.ops] == [ops[1], ops[3], ops[4]]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_operation_is_where_a_builder_puts_it(at: int):
    blocks: list[list[Any]] = []
    for is_quick in (True, False):
        block = Block()
        ops = [leaf(arith.ConstantOp, (), (i64,), {"value": IntegerAttr(n, i64)}) for n in range(3)]
        append_leaf(block, ops[0])
        append_leaf(block, ops[1])
        place = (*block.ops, None)[at]
        point = InsertPoint.at_end(block) if place is None else InsertPoint.before(place)
        builder = Builder(point)
        if is_quick:
            inserted(builder, ops[2])
        else:
            builder.insert(ops[2])
        blocks.append([op.properties["value"] for op in block.ops])
    assert blocks[0] == blocks[1]


def test_operands_are_exchanged_as_by_xdsl():
    (value,) = (leaf(arith.ConstantOp, (), (f32,), {"value": FloatAttr(1.0, f32)}).results[0],)
    quick, plain = (leaf(arith.AddfOp, (value, value), (f32,)) for _ in range(2))
    set_operands(quick, (A, value))
    plain.operands = (A, value)
    assert [*quick.operands] == [*plain.operands]
    assert [(use.operation, use.index) for use in value.uses] == [(plain, 1), (quick, 1)]
    for op in (quick, plain):
        op.erase()
    assert value.first_use is None and A.first_use is None


def test_operands_that_are_there_already_stay_as_they_are():
    op = leaf(arith.AddfOp, (A, A), (f32,))
    before, uses = operands_of(op), [*A.uses]
    set_operands(op, [A, A])
    assert operands_of(op) is before
    assert [*map(id, A.uses)] == [*map(id, uses)]
    op.erase()


def _loop(make: Any) -> Operation:
    lower, upper, step = (
        leaf(arith.ConstantOp, (), (i64,), {"value": IntegerAttr(n, i64)}) for n in range(3)
    )
    body = Block([leaf(scf.YieldOp, ())], arg_types=[i64])
    return make(scf.ForOp, [op.results[0] for op in (lower, upper, step)], [Region(body)])


def test_what_has_regions_is_as_xdsl_makes_it():
    made = _loop(structured)
    expected = _loop(
        lambda kind, operands, regions: kind.create(operands=operands, regions=regions)
    )
    assert made.is_structurally_equivalent(
        expected, dict(zip(made.operands, expected.operands, strict=True))
    )
    assert made.regions[0].parent is made
    made.verify()


def test_what_branches_is_as_xdsl_makes_it():
    then, other = Block(arg_types=[f32]), Block()
    condition = leaf(arith.ConstantOp, (), (i1,), {"value": IntegerAttr(1, i1)}).results[0]
    quick = jump(llvm.CondBrOp, (condition, A), (then, other), {"note": StringAttr("n")}, PLACE)
    plain = llvm.CondBrOp.create(
        operands=(condition, A),
        successors=(then, other),
        properties={"note": StringAttr("n")},
        location=PLACE,
    )
    assert quick.is_structurally_equivalent(
        plain, {then: then, other: other, condition: condition, A: A}
    )
    assert [*quick.successors] == [then, other] and quick.location == plain.location
    assert [use.operation for use in then.uses] == [plain, quick]
    for op in (quick, plain):
        op.erase()
    assert then.first_use is None


def test_values_and_operations_are_found_by_their_identity():
    block = Block(arg_types=[i32])
    for one, other in (
        (arith.ConstantOp.from_int_and_width(1, 32), arith.ConstantOp.from_int_and_width(1, 32)),
        (block.args[0], Block(arg_types=[i32]).args[0]),
        (*[leaf(llvm.UndefOp, (), (i32,)).results[0] for _ in range(2)],),
    ):
        assert one == one and one != other and hash(one) == hash(one)
        assert {one: 1}.get(other) is None and [other, one].index(one) == 1


def test_types_are_as_xdsl_makes_them():
    for quick, plain in (
        (dense_tensor(f32, [2, -1]), TensorType(f32, [2, -1])),
        (row_major(f32, [3]), MemRefType(f32, [3])),
    ):
        assert quick == plain and hash(quick) == hash(plain) and str(quick) == str(plain)
        assert quick.parameters == plain.parameters


@pytest.mark.parametrize("value", [0, 7, -1, 2**63 - 1, -(2**63)])
def test_numbers_are_attributes_as_xdsl_makes_them(value: int):
    for quick, plain in (
        (index_attribute(value), IntegerAttr(value, IndexType())),
        (word_attribute(value), IntegerAttr(value, i64)),
    ):
        assert quick == plain and hash(quick) == hash(plain) and str(quick) == str(plain)
        assert quick.value.data == value and quick.parameters == plain.parameters


@pytest.mark.parametrize(
    ("quick", "plain"),
    [
        (half_word_attribute(3), IntegerAttr(3, i32)),
        (bit_attribute(True), BoolAttr.from_bool(True)),
        (bit_attribute(False), BoolAttr.from_bool(False)),
        (row_major(f32, (4, -1)), MemRefType(f32, (4, -1))),
        (row_major(f32, ()), MemRefType(f32, ())),
        (function_type([i64, f32], VOID), llvm.LLVMFunctionType([i64, f32])),
        (function_type([], f32), llvm.LLVMFunctionType([], f32)),
        (
            leaf_operations.function_type([i64, LANES], [f32]),
            FunctionType.from_lists([i64, LANES], [f32]),
        ),
        (leaf_operations.function_type([], []), FunctionType.from_lists([], [])),
        (vector_of(f32, 8), VectorType(f32, [8])),
        (vector_of(i1, 2, 4), VectorType(i1, [2, 4])),
        (
            splat(vector_of(f32, 8), 0.1),
            DenseIntOrFPElementsAttr.from_list(VectorType(f32, [8]), [0.1]),
        ),
        (
            splat(vector_of(i32, 1), -3),
            DenseIntOrFPElementsAttr.from_list(VectorType(i32, [1]), [-3]),
        ),
        (
            splat(vector_of(i64, 4), -(2**63)),
            DenseIntOrFPElementsAttr.from_list(VectorType(i64, [4]), [-(2**63)]),
        ),
        (numbers_attribute(i32, (1, -2, 3)), DenseArrayBase.from_list(i32, (1, -2, 3))),
        (numbers_attribute(i32, ()), DenseArrayBase.from_list(i32, ())),
        (
            numbers_attribute(i64, (2**63 - 1, -(2**63))),
            DenseArrayBase.from_list(i64, (2**63 - 1, -(2**63))),
        ),
    ],
    ids=str,
)
def test_attributes_and_types_are_as_xdsl_makes_them(quick: Any, plain: Any):
    assert quick == plain and hash(quick) == hash(plain) and str(quick) == str(plain)
    assert quick.parameters == plain.parameters
    quick.verify()


def test_a_block_and_its_region_are_as_xdsl_makes_them():
    quick, plain = block_with([f32, i64]), Block(arg_types=[f32, i64])
    assert vars(quick).keys() == vars(plain).keys() and quick.arg_types == plain.arg_types
    assert [vars(arg) | {"block": plain} for arg in quick.args] == [vars(a) for a in plain.args]
    assert not quick.ops and quick.first_use is None and quick.name_hint is None
    made, expected = region_of(quick), Region(plain)
    assert quick.parent is made and [*made.blocks] == [quick] and made.parent is None
    assert vars(made).keys() >= vars(expected).keys() and made.is_structurally_equivalent(expected)


def test_a_function_is_as_xdsl_makes_it():
    type_, properties = llvm.LLVMFunctionType([i64]), {"no_inline": UnitAttr()}
    quick = function_without_body("f", type_, INTERNAL, properties, {"note": StringAttr("n")})
    quick.add_region(Region())
    plain = llvm.FuncOp(
        "f",
        type_,
        llvm.LinkageAttr("internal"),
        other_props={"no_inline": UnitAttr()},
        extra_attrs={"note": StringAttr("n")},
    )
    assert quick.is_structurally_equivalent(plain) and str(quick) == str(plain)
    assert [*quick.properties] == [*plain.properties]
    quick.verify()


def test_uses_are_replaced_and_operations_erased_as_by_xdsl():
    def block() -> tuple[Block, list[Operation]]:
        first, second = (
            leaf(arith.ConstantOp, (), (f32,), {"value": FloatAttr(n, f32)}) for n in (1.0, 2.0)
        )
        first.results[0].name_hint = "first"
        sums = [arith.AddfOp(a, b) for a, b in ((first, first), (second, first), (first, second))]
        made = Block([first, second, *sums])
        return made, [*made.ops]

    quick, ops = block()
    plain, expected = block()
    replace_uses(ops[0].results[0], ops[1].results[0])
    expected[0].results[0].replace_all_uses_with(expected[1].results[0])
    for one in (ops, expected):
        replace_uses(one[1].results[0], one[1].results[0])
        assert one[0].results[0].first_use is None and one[1].results[0].name_hint == "first"
    for n in (0, 4, 3):
        erase_leaf(ops[n])
        plain.erase_op(expected[n])
        assert ops[n].parent is None and [*quick.ops] == [*reversed([*reversed(quick.ops)])]
        assert [type(op) for op in quick.ops] == [type(op) for op in plain.ops]
        for mine, theirs in ((ops, quick), (expected, plain)):
            assert all(op in mine for op in theirs.ops)
        uses, others = (
            [(one.index(u.operation), u.index) for u in one[1].results[0].uses]
            for one in (ops, expected)
        )
        assert uses == others
    assert quick.first_op is ops[1] and quick.last_op is ops[2]


def test_a_value_keeps_its_name():
    first, second = (
        leaf(arith.ConstantOp, (), (f32,), {"value": FloatAttr(1.0, f32)}).results[0]
        for _ in range(2)
    )
    set_name(first, "a")
    keep_name(first, second)
    assert second.name_hint == "a"
    set_name(first, "b")
    keep_name(first, second)
    assert second.name_hint == "a"
    take_name(first, second)
    assert second.name_hint == "b"


NESTS = """
func.func @f(%A: memref<9xf32>, %n: index) {
  %T = loop.alloc stack : memref<9xf32>
  loop.for parallel "i" %i = 0 to %n {
    loop.if (%i - 3 >= 0) {
      %a = loop.load %A[%i] : memref<9xf32>
      %b = arith.mulf %a, %a fastmath<contract> : f32
      loop.store %b, %T[%i] : memref<9xf32>
    } else {
      loop.for parallel vector "k" %k = 0 to %i {
        %c = loop.load %T[%k] : memref<9xf32>
        loop.store %c, %A[%k] : memref<9xf32>
      }
    }
  }
  func.return
}"""


def test_a_copy_of_loops_is_what_xdsl_clones():
    module = parse_text(NESTS, "nests.mlir")
    (function,) = module.ops
    (for_op,) = (op for op in function.regions[0].block.ops if op.regions)
    values: dict[SSAValue, SSAValue] = {}
    made, expected = copy_of(for_op, values), for_op.clone()
    assert made.is_structurally_equivalent(expected)
    for mine, theirs in zip(made.walk(), expected.walk(), strict=True):
        assert type(mine) is type(theirs) and mine.location == theirs.location
        assert list(mine.properties) == list(theirs.properties)
        assert [value.name_hint for value in mine.results] == [v.name_hint for v in theirs.results]
        assert (mine is made) is (mine.parent is None)
    copied = {result for op in for_op.walk() for result in op.results}
    assert not values  # what is inside is seen from nowhere else
    assert not any(operand in copied for op in made.walk() for operand in op.operands)
    made.erase()
    assert str(parse_text(NESTS, "nests.mlir")) == str(module)
    alloc, argument = function.regions[0].block.first_op, function.regions[0].block.args[0]
    assert alloc is not None
    values = {argument: alloc.results[0]}
    inside = copy_of(for_op, values)
    assert [op.operands[0] for op in inside.walk() if op.name == "loop.load"] == [
        alloc.results[0]
    ] * 2
    allocated = copy_of(alloc, values)
    assert values[alloc.results[0]] is allocated.results[0]
    for made in (inside, allocated):
        made.erase()
