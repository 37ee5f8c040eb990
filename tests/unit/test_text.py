"""Reading IR from text: positions, resources, and what is said about a wrong text."""

from io import StringIO
from pathlib import Path

import pytest
from stepwell.errors import StepwellError
from stepwell.frontend.text import make_context, parse_file, parse_text
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

ADD = """func.func @add(%x: i32) -> i32 {
  %one = arith.constant 1 : i32
  %sum = arith.addi %x, %one : i32
  func.return %sum : i32
}
"""


def printed(module: ModuleOp, ctx: Context) -> str:
    stream = StringIO()
    printer = Printer(stream)
    printer.print_op(module)
    printer.print_metadata(ctx.loaded_dialects)
    return stream.getvalue()


def test_every_operation_knows_where_its_name_stands() -> None:
    module = parse_text(ADD, "add.mlir")
    places = [f"{op.name} {op.location}" for op in module.walk()]
    assert places == [
        'builtin.module loc("add.mlir":1:1)',
        'func.func loc("add.mlir":1:1)',
        'arith.constant loc("add.mlir":2:10)',
        'arith.addi loc("add.mlir":3:10)',
        'func.return loc("add.mlir":4:3)',
    ]


def test_positions_do_not_show_in_printed_ir() -> None:
    assert "loc(" not in str(parse_text(ADD, "add.mlir"))


def test_a_given_location_is_kept() -> None:
    module = parse_text('%a = arith.constant 1 : i32 loc("model.py":7:9)', "add.mlir")
    op = module.body.block.first_op
    assert str(op and op.location) == 'loc("model.py":7:9)'


def test_line_offset_moves_positions() -> None:
    module = parse_text(ADD, "add.mlir", line_offset=10)
    op = module.body.block.first_op
    assert str(op and op.location) == 'loc("add.mlir":11:1)'


def test_columns_count_characters_not_bytes() -> None:
    with pytest.raises(StepwellError, match=r"^u\.mlir:1:19: "):
        parse_text('"t.é"() {a = "é"} }', "u.mlir", make_context(allow_unregistered=True))


# Resources


def with_resource(name: str, blob: str | None) -> str:
    text = f"""func.func @f() -> tensor<2xf32> {{
  %a = arith.constant dense_resource<{name}> : tensor<2xf32>
  %b = arith.constant dense_resource<{name}> : tensor<2xf32>
  func.return %a : tensor<2xf32>
}}
"""
    if blob is None:
        return text
    return text + f'{{-# dialect_resources: {{ builtin: {{ {name}: "{blob}" }} }} #-}}\n'


ONES = "0x40000000" + "0000803F" * 2
TWOS = "0x40000000" + "00000040" * 2


def test_a_resource_used_twice_is_one_resource() -> None:
    ctx = make_context()
    text = printed(parse_text(with_resource("used_twice", ONES), ctx=ctx), ctx)
    assert text.count("dense_resource<used_twice>") == 2
    assert ONES in text


def test_the_same_name_with_other_bytes_is_another_resource() -> None:
    ctx = make_context()
    first = parse_text(with_resource("clash", ONES), ctx=ctx)
    second = parse_text(with_resource("clash", TWOS), ctx=ctx)
    assert ONES in printed(first, ctx) and TWOS not in printed(first, ctx)
    assert TWOS in printed(second, ctx) and ONES not in printed(second, ctx)


def test_the_same_name_with_the_same_bytes_is_shared() -> None:
    ctx = make_context()
    first = parse_text(with_resource("shared", ONES), ctx=ctx)
    second = parse_text(with_resource("shared", ONES), ctx=ctx)
    assert printed(first, ctx) == printed(second, ctx)


def test_a_resource_without_bytes_does_not_take_those_of_another_text() -> None:
    ctx = make_context()
    other = parse_text(with_resource("elsewhere", ONES), ctx=ctx)
    assert ONES not in printed(parse_text(with_resource("elsewhere", None), ctx=ctx), ctx)
    assert ONES in printed(other, ctx)


def test_printing_and_parsing_resources_is_a_fixed_point() -> None:
    ctx = make_context()
    other = parse_text(with_resource("fixed", ONES), ctx=ctx)
    once = printed(parse_text(with_resource("fixed", TWOS), ctx=ctx), ctx)
    assert printed(parse_text(once, ctx=ctx), ctx) == once
    assert ONES in printed(other, ctx)


# Files


def test_parse_file(tmp_path: Path) -> None:
    path = tmp_path / "add.mlir"
    path.write_text(ADD)
    module = parse_file(path)
    op = module.body.block.first_op
    assert str(op and op.location) == f'loc("{path}":1:1)'


# Wrong texts: (text, the place, a part of the message)

WRONG_TEXTS = [
    ("", "1:1", "found an empty text"),
    ("// nothing", "1:11", "found the end of the text, expected an operation"),
    ("func.func @f() { %a = arith.addd %b, %b : i32 }", "1:23", "did you mean 'arith.addi'"),
    ("nosuch.op", "1:1", "unknown dialect 'nosuch'"),
    ("aritth.addi", "1:1", "did you mean 'arith'"),
    ("func @f()", "1:1", "expected an operation"),
    ("func.func @f(%p: !llvm.pt) { func.return }", "1:19", "did you mean 'llvm.ptr'"),
    ("func.func @f(%x: f3) { func.return }", "1:18", "found 'f3', expected type"),
    ("func.func @f(%x: i32 { func.return }", "1:37", "found the end of the text, expected ')'"),
    ("func.func @f() { func.return", "1:29", "close the region with '}'"),
    ("func.func @f(%value: i32) { func.return %valeu : i32 }", "1:41", "did you mean '%value'"),
    ("func.func @f(%x: i32) { func.return %x : f32 }", "1:37", "used as f32, expected i32"),
    ("%a = arith.constant 1 : i32 %a = arith.constant 1 : i32", "1:29", "second definition of %a"),
    ("%a, %b = arith.constant 1 : i32", "1:1", "found 2 result name(s), expected 1"),
    ("%a = arith.constant 1.5 : i32", "1:30", "found a floating-point value, expected an integer"),
    ("%a = arith.constant dense<[1, 2]> : tensor<3xi32>", "1:50", "shape [2] in a dense literal"),
    ("%a = arith.constant dense<[[1], [1, 2]]> : tensor<3xi32>", "1:40", "different lengths"),
    ('"abc', "1:1", "close it on its line"),
    ("§", "1:1", "found '§'"),
    ("func.func @f() { cf.br ^end }", "1:24", "found a branch to block(s) end"),
    ("#map = affine_map<(i) -> (j)>", "1:27", "found 'j', expected a name that the map declares"),
    ('"t.t"() {a = #nosuch.attr} : () -> ()', "1:1", "unknown dialect 't'"),
    ('"func.func"() {a = 1 : i77777777777777} : () -> ()', "1:39", "found '}'"),
]


@pytest.mark.parametrize(("text", "place", "part"), WRONG_TEXTS)
def test_a_wrong_text_is_one_line_at_its_place(text: str, place: str, part: str) -> None:
    with pytest.raises(StepwellError) as caught:
        parse_text(text, "wrong.mlir")
    message = str(caught.value)
    assert message.startswith(f"wrong.mlir:{place}: ")
    assert part in message
    assert "\n" not in message
