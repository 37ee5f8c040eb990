"""Steps written as calls, and scripts read from text of their own."""

import pytest
from stepwell.dialects.schedule.call_syntax import parse_call
from stepwell.dialects.schedule.script_text import parse_script, script_text
from stepwell.dialects.schedule.steps import FuseLoops, Reorder, Split, StorageAlign, Tile
from stepwell.errors import StepwellError
from stepwell.transforms.step_support.refusal import describe


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ('split("f/i", factor=4)', Split("f/i", 4)),
        ("split(f/i.outer, 4, tail=peel)", Split("f/i.outer", 4, tail="peel")),
        (" fuse_loops(a, b, shift=-1) ", FuseLoops("a", "b", shift=-1)),
        ("reorder(main.k/i, [j, 'i.inner'])", Reorder("main.k/i", ("j", "i.inner"))),
        ("tile(f/i, (4, 8))", Tile("f/i", (4, 8))),
        ("storage_align(f/T, axis=1, factor=16)", StorageAlign("f/T", 1, 16)),
    ],
)
def test_calls(text: str, step: object) -> None:
    assert parse_call(text) == step
    assert parse_call(describe(parse_call(text))) == step


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a step"),
        ("split", "expected a step"),
        ("split(a", "'(' was never closed"),
        ("s.split(a, 4)", "expected a step"),
        ("splt(a, 4)", "did you mean 'split'"),
        ("split(a)", "found no 'factor' for step 'split'"),
        ("split(a, 4, factor=4)", "found parameter 'factor' of step 'split' twice"),
        ("split(a, 4, o, i, peel, 1)", "found 6 parameters of step 'split', expected at most 5"),
        ("split(a, fcator=4)", "did you mean 'factor'"),
        ("split(a, '4')", "found factor='4' for step 'split', expected a whole number"),
        ("split(a, True)", "found factor=True for step 'split', expected a whole number"),
        ("split(a, 4.0)", "found '4.0' as a parameter"),
        ("split(a, **b)", "found '**'"),
        ("split(f(a), 4)", "found 'f(a)' as a parameter"),
        ("reorder(a, b)", "found order='b' for step 'reorder', expected a list of strings"),
        ("split(a/1, 4)", "found '1' as a name"),
    ],
)
def test_wrong_calls(text: str, message: str) -> None:
    with pytest.raises(StepwellError) as caught:
        parse_call(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_script_keeps_its_places() -> None:
    text = script_text([Split("f/i", 4), Reorder("f/j", ("k", "j"))])
    module = parse_script(text, "s.mlir")
    (script,) = module.ops
    assert [str(op.location) for op in script.body.block.ops] == [
        'loc("s.mlir":2:3)',
        'loc("s.mlir":3:3)',
    ]
    assert script_text(script.steps) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \n", "s:1:1: found an empty text"),
        ('schedule.split "f/i" factor = 4', "s:1:1: found 'schedule.split' outside of a script"),
        ("schedule.script {\n  func.return\n}", "s:2:3: found 'func.return', expected a step"),
        ("schedule.script {\n  schedule.splt\n}", "s:2:3: found 'schedule.splt', expected a step"),
        ('schedule.script { schedule.split "i" fctor = 4 }', "s:1:38: found parameter 'fctor'"),
        ('schedule.script { schedule.split "i" factor = a }', "s:1:47: found 'a'"),
        ('schedule.script { schedule.split "i" factor = 1 factor = 2 }', "s:1:49: found parameter"),
        ("schedule.script {", "s:1:18: found the end of the text"),
        ("schedule.script {}; @", "s:1:19: found ';'"),
    ],
)
def test_wrong_scripts(text: str, message: str) -> None:
    with pytest.raises(StepwellError) as caught:
        parse_script(text, "s")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
