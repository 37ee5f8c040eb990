"""The verifier: dominance, terminators, symbols, and one-line messages at the operation's place."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from stepwell.analysis.verify import same, snapshot, verify
from stepwell.driver.pass_manager import PassManager
from stepwell.errors import StepwellError
from stepwell.frontend.text import make_context, parse_text
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp, StringAttr, i32, i64
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass

VALID = {
    "straight line": """
        func.func @f(%x: i32) -> i32 {
          %y = arith.addi %x, %x : i32
          func.return %y : i32
        }""",
    "a region sees what is around it": """
        func.func @f(%n: index, %m: memref<4xf32>) {
          %zero = arith.constant 0 : index
          %one = arith.constant 1 : index
          scf.for %i = %zero to %n step %one {
            %v = memref.load %m[%i] : memref<4xf32>
            memref.store %v, %m[%i] : memref<4xf32>
          }
          func.return
        }""",
    "a block sees what dominates it": """
        func.func @f(%c: i1, %x: i32) -> i32 {
          %y = arith.addi %x, %x : i32
          cf.cond_br %c, ^left, ^right
        ^left:
          cf.br ^join(%y : i32)
        ^right:
          %z = arith.muli %y, %y : i32
          cf.br ^join(%z : i32)
        ^join(%r: i32):
          %s = arith.addi %r, %y : i32
          func.return %s : i32
        }""",
    "a loop in blocks": """
        func.func @f(%n: index) -> index {
          %zero = arith.constant 0 : index
          %one = arith.constant 1 : index
          cf.br ^head(%zero : index)
        ^head(%i: index):
          %go = arith.cmpi slt, %i, %n : index
          cf.cond_br %go, ^body, ^done
        ^body:
          %next = arith.addi %i, %one : index
          cf.br ^head(%next : index)
        ^done:
          func.return %i : index
        }""",
    "a block that nothing reaches hides no definition": """
        func.func @f(%x: i32) -> i32 {
          %y = arith.addi %x, %x : i32
          cf.br ^end
        ^dead:
          %z = arith.addi %y, %y : i32
          cf.br ^end
        ^end:
          func.return %y : i32
        }""",
    "functions call in any order": """
        func.func @f(%x: i32) -> i32 {
          %y = func.call @g(%x) : (i32) -> i32
          func.return %y : i32
        }
        func.func private @g(%x: i32) -> i32 {
          func.return %x : i32
        }""",
}


@pytest.mark.parametrize("name", VALID)
def test_valid(name: str) -> None:
    verify(parse_text(VALID[name]))


# (name, text, the place, parts of the message)
INVALID = [
    (
        "use before definition",
        """func.func @f(%x: i32) -> i32 {
  %b = arith.addi %a, %x : i32
  %a = arith.addi %x, %x : i32
  func.return %b : i32
}""",
        "2:8",
        ["'arith.addi' uses %a", "w.mlir:3:8", "before its definition; move the definition up"],
    ),
    (
        "use of itself",
        "func.func @f() { %a = arith.addi %a, %a : i32 func.return }",
        "1:23",
        ["before its definition"],
    ),
    (
        "a definition on one branch only",
        """func.func @f(%c: i1, %x: i32) -> i32 {
  cf.cond_br %c, ^left, ^join
^left:
  %y = arith.addi %x, %x : i32
  cf.br ^join
^join:
  func.return %y : i32
}""",
        "7:3",
        ["'func.return' uses %y", "not defined on every way", "block argument"],
    ),
    (
        "a loop's value used after the loop",
        """"func.func"() <{sym_name = "f", function_type = (index) -> ()}> ({
^entry(%n: index):
  "scf.for"(%n, %n, %n) ({
  ^body(%i: index):
    %v = "arith.addi"(%i, %i) : (index, index) -> index
    "scf.yield"() : () -> ()
  }) : (index, index, index) -> ()
  %w = "arith.addi"(%v, %v) : (index, index) -> index
  "func.return"() : () -> ()
}) : () -> ()""",
        "8:21",
        [
            "found a use of %v",
            "a region that does not enclose this use",
        ],  # the parser sees this one
    ),
    (
        "a loop that starts with what is only in its body",
        """func.func @f() {
  %y = graph.scan 3 carry (%h = %h) : (tensor<2xf32>) -> tensor<2xf32> {
    graph.yield %h : tensor<2xf32>
  }
  func.return
}""",
        "2:33",
        ["found a use of %h", "a region that does not enclose this use"],
    ),
    (
        "a function that uses a value around it",
        """%x = arith.constant 1 : i32
func.func @f() -> i32 {
  func.return %x : i32
}""",
        "3:3",
        ["uses %x", "from outside of 'func.func'", "pass the value in as an argument"],
    ),
    (
        "no terminator",
        "func.func @f() {\n  %a = arith.constant 1 : i32\n}",
        "2:8",
        ["found 'arith.constant' at the end", "expected a terminator"],
    ),
    ("an empty body", "func.func @f() {\n^entry:\n}", "1:1", ["found an empty block"]),
    (
        "a terminator in the middle",
        "func.func @f() {\n  func.return\n  func.return\n}",
        "2:3",
        ["must be the last operation"],
    ),
    (
        "a branch in the middle",
        "func.func @f() {\n  cf.br ^end\n  func.return\n^end:\n  func.return\n}",
        "2:3",
        ["not the last operation of its block"],
    ),
    (
        "a call of nothing",
        "func.func @f() {\n  func.call @nosuch() : () -> ()\n  func.return\n}",
        "2:3",
        ["'func.call'", "@nosuch", "could not be found"],
    ),
    (
        "a call with other types",
        """func.func private @g(f32) -> ()
func.func @f(%x: i32) {
  func.call @g(%x) : (i32) -> ()
  func.return
}""",
        "3:3",
        ["'func.call'", "f32", "i32"],
    ),
    (
        "a type that the operation does not take",
        'func.func @f(%x: f32) {\n  %y = "arith.addi"(%x, %x) : (f32, f32) -> f32\n  func.return\n}',
        "2:8",
        ["'arith.addi'", "f32"],
    ),
    (
        "a return of another type",
        "func.func @f(%x: i32) -> f32 {\n  func.return %x : i32\n}",
        "2:3",
        ["'func.return'"],
    ),
    (
        "two functions of one name",
        "func.func @f() {\n  func.return\n}\nfunc.func @f() {\n  func.return\n}",
        "1:1",
        ["'builtin.module'", 'Redefinition of symbol "f"'],
    ),
    ("a branch out of nowhere", "cf.br ^end", "1:1", ["'cf.br' branches to a block of another"]),
]


@pytest.mark.parametrize(
    ("text", "place", "parts"), [row[1:] for row in INVALID], ids=[row[0] for row in INVALID]
)
def test_invalid_is_one_line_at_its_place(text: str, place: str, parts: list[str]) -> None:
    with pytest.raises(StepwellError) as caught:
        verify(parse_text(text, "w.mlir"))
    message = str(caught.value)
    assert all(part in message for part in parts), message
    assert message.startswith(f"w.mlir:{place}: ")
    assert "\n" not in message


def test_a_value_whose_operation_is_gone() -> None:
    constant = arith.ConstantOp.from_int_and_width(1, i32)
    body = Block([func.ReturnOp(constant.result)])
    module = ModuleOp([func.FuncOp("f", ((), (i32,)), Region(body))])
    with pytest.raises(StepwellError, match="no longer in the module"):
        verify(module)


def test_an_operation_that_a_rewrite_has_left_behind() -> None:
    constant = arith.ConstantOp.from_int_and_width(1, i32)
    body = Block([constant, func.ReturnOp(constant.result)])
    module = ModuleOp([func.FuncOp("f", ((), (i32,)), Region(body))])
    left = arith.AddiOp(constant.result, constant.result)
    message = (
        "'arith.addi' uses a value, the result of 'arith.constant', from outside of the module"
    )
    with pytest.raises(StepwellError, match=message):
        verify(module)
    left.erase()
    verify(module)


def test_a_long_chain_of_blocks_is_no_recursion() -> None:
    blocks = "".join(f"^b{i}:\n  cf.br ^b{i + 1}\n" for i in range(1, 3000))
    verify(parse_text(f"func.func @f() {{\n  cf.br ^b1\n{blocks}^b3000:\n  func.return\n}}"))


# What need not be verified again

TWO_BLOCKS = """
func.func @f(%x: i32, %y: i32) -> i32 {
  %s = arith.addi %x, %y : i32
  %d = arith.subi %s, %y {a = 1 : i32} : i32
  cf.br ^next(%d : i32) {a = 1 : i32}
^next(%r: i32):
  func.return %r : i32
}"""


def change(module: ModuleOp, what: str) -> None:
    function = next(op for op in module.walk() if isinstance(op, func.FuncOp))
    first, second, branch = function.body.blocks[0].ops
    match what:
        case "an operand":
            second.operands[0] = function.args[0]
        case "a successor":
            branch.successors[0] = function.body.blocks[0]
        case "the type of a result":
            first.results[0]._type = i64
        case "the type of an argument":
            function.body.blocks[1].args[0]._type = i64
        case "a property":
            first.properties["overflowFlags"] = second.attributes["a"]
        case "an attribute":
            second.attributes["a"] = i32
        case "an attribute that is a property now":
            branch.properties |= branch.attributes
            branch.attributes.clear()
        case "the order":
            first.detach()
            function.body.blocks[0].insert_op_after(first, second)
        case "where an operation stands":
            branch.detach()
            last = function.body.blocks[1]
            last.insert_op_before(branch, last.first_op)
        case _:
            function.sym_name = StringAttr("g")


CHANGES = (
    *("an operand", "a successor", "the type of a result", "the type of an argument", "a property"),
    *("an attribute", "an attribute that is a property now", "the order"),
    *("where an operation stands", "a name"),
)


@pytest.mark.parametrize("what", CHANGES)
def test_a_snapshot_shows_each_change(what: str) -> None:
    module = parse_text(TWO_BLOCKS)
    before = snapshot(module)
    assert same(before, snapshot(module))
    change(module, what)
    assert not same(before, snapshot(module))


@dataclass(frozen=True)
class Step(ModulePass):
    """A pass that does something to its module."""

    name = "step"
    do: Callable[[ModuleOp], None]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.do(op)


@pytest.mark.parametrize("nothing", [0, 1, 2])
def test_what_a_pass_breaks_is_found_after_passes_that_change_nothing(nothing: int) -> None:
    left: list[arith.AddiOp] = []

    def leave_behind(module: ModuleOp) -> None:
        value = next(op for op in module.walk() if isinstance(op, arith.SubiOp)).result
        left.append(arith.AddiOp(value, value))

    passes = [Step(lambda _: None)] * nothing
    for do, message in (
        (lambda module: change(module, "the order"), "before its definition"),
        (leave_behind, "from outside of the module"),
    ):
        with pytest.raises(StepwellError, match=rf"{message}.*\(invalid after pass 'step'\)"):
            PassManager([*passes, Step(do), *passes]).run(make_context(), parse_text(TWO_BLOCKS))
