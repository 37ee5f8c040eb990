"""Buffers keep their names through text, clones and steps, also names that SSA hints lose."""

import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.analysis.operations import operations_in
from stepwell.dialects import loop
from stepwell.driver.pass_manager import module_text
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.transforms.step_support.nest import Nests
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

TWO = """
func.func @f(%a: memref<8xf32> {stepwell.noalias}, %a_1: memref<8xf32> {stepwell.noalias}) {
  %t_2 = loop.alloc stack : memref<8xf32>
  loop.for parallel "i" %i = 0 to 8 {
    %x = loop.load %a[%i] : memref<8xf32>
    loop.store %x, %t_2[%i] : memref<8xf32>
  }
  loop.for parallel "j" %j = 0 to 8 {
    %y = loop.load %t_2[%j] : memref<8xf32>
    loop.store %y, %a_1[%j] : memref<8xf32>
  }
  func.return
}
"""


def names(module: ModuleOp) -> list[str | None]:
    nest, _ = Nests(module).resolve("f/")
    return [loop.buffer_name(value) for value in nest.buffers()]


def test_names_with_numbers_are_those_of_the_text() -> None:
    module = parse_text(TWO)
    assert names(module) == ["a", "a_1", "t_2"]
    text = module_text(module)
    assert '%t = loop.alloc stack "t_2" : memref<8xf32>' in text
    assert names(parse_text(text)) == ["a", "a_1", "t_2"]
    assert module_text(parse_text(text)) == text
    assert names(module.clone()) == ["a", "a_1", "t_2"]


def test_the_text_says_the_name_only_where_the_value_does_not() -> None:
    plain = TWO.replace("t_2", "t").replace("a_1", "b")
    text = module_text(parse_text(plain))
    assert "%t = loop.alloc stack : memref<8xf32>" in text and "stepwell.name" not in text
    # A value that is no buffer has taken the name that is printed.
    shadowed = plain.replace("  %t =", "  %t = arith.constant 1.0 : f32\n  %t_1 =")
    shadowed = shadowed.replace("%t[", "%t_1[")
    again = parse_text(module_text(parse_text(shadowed)))
    assert names(again) == ["a", "b", "t_1"]


def test_steps_call_buffers_by_these_names() -> None:
    s = sw.Schedule(TWO)
    assert s.buffer("a_1").name == "a_1"
    s.stage("a", at="i", into="b_7")
    assert s.buffer("b_7").name == "b_7"
    s.set_scope("t_2", "arena").stage("a_1", at="j", into="c_1")
    again = sw.Schedule(TWO, script=str(s)).run()
    assert str(again.module) == str(s.module)
    # The text between two steps calls the same buffers the same.
    first, second = s.steps[:1], s.steps[1:]
    half = sw.Schedule(TWO)
    half.apply(first[0])
    rest = sw.Schedule(module_text(half.module))
    for step in second:
        rest.apply(step)
    assert module_text(rest.module) == module_text(s.module)


def test_a_name_that_no_value_can_have() -> None:
    s = sw.Schedule(TWO)
    s.stage("a", at="i", into="7 up")
    assert '= loop.alloc stack "7 up" :' in module_text(s.module)
    assert sw.Schedule(module_text(s.module)).buffer("7 up").name == "7 up"


def test_a_missing_buffer_lists_the_names() -> None:
    with pytest.raises(StepwellError, match=r"has no buffer 'a_2'.*'a_1'"):
        sw.Schedule(TWO).buffer("a_2")


def test_buffers_of_one_name_are_named_apart() -> None:
    module = parse_text(TWO.replace("%t_2 = loop.alloc stack", '%t_2 = loop.alloc stack "a"'))
    assert names(module) == ["a", "a_1", "a"]
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    loop.name_apart(function, operations_in(function))
    assert names(module) == ["a", "a_1", "a_2"]


NAME = st.from_regex(r"[a-z][a-z0-9_.]{0,5}", fullmatch=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(NAME, min_size=3, max_size=3, unique=True))
def test_any_names_round_trip(given_names: list[str]) -> None:
    module = parse_text(TWO)
    nest, _ = Nests(module).resolve("f/")
    for value, name in zip(list(nest.buffers()), given_names, strict=True):
        loop.set_buffer_name(value, name)
    assert names(module) == given_names
    assert names(parse_text(module_text(module))) == given_names
