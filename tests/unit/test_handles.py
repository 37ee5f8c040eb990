"""Handles: what steps return, what survives them, and what is a copy of what."""

from pathlib import Path

import pytest
import stepwell as sw
from stepwell.dialects.schedule import STEPS, ScriptOp
from stepwell.dialects.schedule.call_syntax import parse_call
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_file, parse_text
from stepwell.transforms.step_support.handles import Handle, LoopHandle, buffer_handle, loop_handle
from stepwell.transforms.step_support.made import Made
from stepwell.transforms.step_support.nest import Nest, Nests
from stepwell.transforms.step_support.planning import apply
from xdsl.dialects.builtin import ModuleOp

EXAMPLES = Path(__file__).parents[2] / "docs" / "schedules"

PRODUCT = """
func.func @f(
  %A: memref<20x12xf32> {stepwell.noalias},
  %B: memref<12x16xf32> {stepwell.noalias},
  %C: memref<20x16xf32> {stepwell.noalias}
) {
  %zero = arith.constant 0.0 : f32
  loop.for serial "i" %i = 0 to 20 {
    loop.for serial "j" %j = 0 to 16 {
      loop.store %zero, %C[%i, %j] : memref<20x16xf32>
      loop.for reduction "k" %k = 0 to 12 {
        %a = loop.load %A[%i, %k] : memref<20x12xf32>
        %b = loop.load %B[%k, %j] : memref<12x16xf32>
        %c = loop.load %C[%i, %j] : memref<20x16xf32>
        %p = arith.mulf %a, %b fastmath<reassoc> : f32
        %s = arith.addf %c, %p fastmath<reassoc> : f32
        loop.store %s, %C[%i, %j] : memref<20x16xf32>
      }
    }
  }
  func.return
}
"""

COPIES = """
func.func @f(%A: memref<20x16xf32> {stepwell.noalias}, %C: memref<20x16xf32> {stepwell.noalias}) {
  loop.for serial "i" %i = 0 to 20 {
    loop.for serial "j" %j = 0 to 16 {
      %a = loop.load %A[%i, %j] : memref<20x16xf32>
      loop.store %a, %C[%i, %j] : memref<20x16xf32>
    }
  }
  func.return
}
"""


class Scheduled:
    """A function, its steps given as calls."""

    def __init__(self, text: str):
        self.module: ModuleOp = parse_text(text)
        self.nests = Nests(self.module)
        self.nest: Nest = self.nests.resolve("f/")[0]

    def __call__(self, call: str) -> Made[Handle]:
        made = apply(parse_call(call), self.nests)
        self.module.verify()
        return made

    def loop(self, name: str) -> LoopHandle:
        return loop_handle(self.nest, self.nest.loop(name))


def names(handles: object) -> list[str]:
    return [handle.name for handle in handles]


MADE_OF_COPIES = [
    ('split("f/i", 4)', ["i.outer", "i.inner"], {"tail": None}),
    ('split("f/i", 8, tail="peel")', ["i.outer", "i.inner"], {"tail": "i.tail"}),
    (
        'tile("f/i", [8, 3], tail="peel")',
        ["i.outer", "j.outer", "i.inner", "j.inner"],
        {"outer": ["i.outer", "j.outer"], "inner": ["i.inner", "j.inner"]},
    ),
    ('reorder("f/i", ["j", "i"])', ["j", "i"], {}),
    ('fuse("f/i", "j")', ["i.j"], {"loop": "i.j"}),
    ('unroll("f/j")', [], {}),
    ('unroll("f/j", 3)', ["j"], {"loop": "j", "tail": "j.tail"}),
    ('unroll("f/j", mark=True)', ["j"], {"loop": "j", "tail": None}),
    ('unroll_and_jam("f/i", 3)', ["i"], {"loop": "i", "tail": "i.tail"}),
    ('vectorize("f/j")', ["j"], {"loop": "j", "outer": None, "tail": None}),
    (
        'vectorize("f/j", 6)',
        ["j.outer", "j.inner"],
        {"loop": "j.inner", "outer": "j.outer", "tail": "j.tail"},
    ),
    ('parallel("f/i")', ["i"], {"loop": "i"}),
    ('peel("f/i", front=1)', ["i.front", "i"], {"front": "i.front", "loop": "i", "back": None}),
    ('peel("f/i", 1, 2)', ["i.front", "i", "i.back"], {"back": "i.back"}),
    ('index_set_split("f/i", "5")', ["i", "i.rest"], {"loops": ["i", "i.rest"]}),
    ('index_set_split("f/i", "i == 5")', ["i", "i.at", "i.rest"], {}),
    ('skew("f/j", "i")', ["j"], {"loop": "j"}),
    ('reverse("f/i")', ["i"], {"loop": "i"}),
    ('pragma("f/i", "fast")', ["i"], {"loop": "i"}),
    (
        'stage("f/A", at="i")',
        ["A.staged"],
        {"buffer": "A.staged", "copy_in": ["A.staged.in1"], "copy_out": []},
    ),
    (
        'stage("f/C", scope="arena")',
        ["C.staged"],
        {"copy_in": [], "copy_out": ["C.staged.out0", "C.staged.out1"]},
    ),
    ('prefetch("f/C", at="j")', [], {}),
    ('nontemporal("f/C")', ["C"], {"buffer": "C"}),
    ('simplify("f")', [], {}),
]
"""Steps on `COPIES`: what they return unpacks into, and what its fields hold."""

MADE_OF_EXAMPLES = {
    "compute_at": (["i"], {}),
    "decompose_reduction": (["i.init"], {}),
    "double_buffer": (["T"], {"buffer": "T"}),
    "fission": (["i", "i.rest"], {"first": "i", "rest": "i.rest"}),
    "fold_storage": (["T"], {"buffer": "T"}),
    "fuse_loops": (["i"], {"loop": "i", "fronts": [], "backs": []}),
    "inline": ([], {}),
    "mirror": (["row.mirror", "column.mirror"], {}),
    "normalize": ([], {}),
    "partition": (["i.front", "i", "i.back"], {"loop": "i"}),
    "skip_padding": (["k"], {"loop": "k"}),
    "reverse_compute_at": (["i2", "j2"], {"loops": ["i2", "j2"]}),
    "reverse_inline": ([], {}),
    "rfactor": (["y.rf"], {"initialise": ["y.rf.init0"], "combine": ["l.combine"]}),
    "set_scope": (["T"], {"buffer": "T"}),
    "stage_halo": (["A.halo"], {"buffer": "A.halo", "copy_in": ["A.halo.in0"]}),
    "storage_align": (["T"], {"buffer": "T"}),
    "tensorize": ([], {}),
}
"""The same of other steps, each on the example of it in the documentation."""


@pytest.mark.parametrize(("call", "made", "more"), MADE_OF_COPIES)
def test_a_step_returns_what_it_made(call: str, made: list[str], more: dict[str, object]) -> None:
    check_made(Scheduled(COPIES)(call), made, more)


@pytest.mark.parametrize("keyword", MADE_OF_EXAMPLES)
def test_the_step_of_an_example_returns_what_it_made(keyword: str) -> None:
    module = parse_file(EXAMPLES / f"{keyword}.mlir")
    nests = Nests(module)
    (*before, last) = [step for op in module.ops if isinstance(op, ScriptOp) for step in op.steps]
    for step in before:
        apply(step, nests)
    assert last.keyword == keyword
    check_made(apply(last, nests), *MADE_OF_EXAMPLES[keyword])


def test_it_is_known_what_every_step_returns() -> None:
    called = {parse_call(call).keyword for call, _, _ in MADE_OF_COPIES}
    assert called | set(MADE_OF_EXAMPLES) == set(STEPS)


def check_made(result: Made[Handle], made: list[str], more: dict[str, object]) -> None:
    assert names(result) == made
    for field, expected in more.items():
        found = getattr(result, field)
        assert (names(found) if isinstance(expected, list) else found and found.name) == expected


def test_handles_survive_steps_that_keep_their_loop() -> None:
    s = Scheduled(PRODUCT)
    i, j, k = (s.loop(name) for name in "ijk")
    s('decompose_reduction("f/C", at="i")')
    s('reorder("f/i", ["k", "i", "j"])')
    assert [i.name, j.name, k.name] == ["i", "j", "k"]
    assert k.op.parent_op() is s.nest.function
    assert (i.trips, j.trips, k.trips) == (20, 16, 12)
    s('split("f/j", 4)')
    assert (i.is_gone, j.is_gone) == (False, True)


def test_a_handle_that_is_gone_says_by_which_step() -> None:
    s = Scheduled(PRODUCT)
    i, j = s.loop("i"), s.loop("j")
    s('split("f/i", factor=4)')
    s('parallel("f/i.outer")')
    assert i.is_gone and not j.is_gone
    with pytest.raises(StepwellError) as caught:
        _ = i.op
    assert str(caught.value) == (
        "loop 'i' is gone since split(\"f/i\", factor=4); take a handle from what that step returned, "
        "or by name"
    )
    assert repr(i) == "<loop 'i', gone since split(\"f/i\", factor=4)>"
    assert repr(j) == "<loop 'j'>"


def test_all_copies_of_a_loop_after_peeling_splitting_and_jamming() -> None:
    s = Scheduled(PRODUCT)
    k = s.loop("k")
    assert names(k.copies) == ["k"]
    s('decompose_reduction("f/C", at="i")')
    s('split("f/i", 3, tail="peel")')
    assert names(k.copies) == ["k", "k.tail"]
    s('split("f/j", 5, tail="peel")')
    assert names(k.copies) == ["k", "k.tail_1", "k.tail"]
    assert names(k.copies_in(s.loop("i.tail"))) == ["k.tail"]
    assert [copy.main for copy in k.copies] == [k] * 3
    s('unroll_and_jam("f/j.inner", 5)')
    assert names(k.copies) == ["k", "k.tail_1", "k.tail"]
    s('unroll("f/k.tail")')
    assert names(k.copies) == ["k", "k.tail_1"]


def test_copies_outlive_what_they_were_made_from() -> None:
    s = Scheduled(COPIES)
    j = s.loop("j")
    s('peel("f/i", front=1)')
    s('unroll("f/j")')
    assert j.is_gone
    (left,) = j.copies
    assert left.name == "j.front"
    assert left.main == left


def test_loops_that_a_step_clones_are_copies() -> None:
    s = Scheduled(PRODUCT)
    i = s.loop("i")
    s('decompose_reduction("f/C", at="i")')
    assert names(i.copies) == ["i", "i.init"]
    s('fuse_loops("f/i.init", "i")')
    assert i.is_gone
    assert names(i.copies) == ["i.init"]


def test_buffers_have_handles_too() -> None:
    s = Scheduled(COPIES)
    (staged,) = s('stage("f/A", at="i")')
    a = buffer_handle(s.nest, s.nest.buffer("A"))
    s('peel("f/i", front=1)')
    assert staged.name == "A.staged"
    assert len(staged.copies) == 2
    s('double_buffer("f/A.staged", at="i")')
    assert not staged.is_gone and staged.value.type.get_shape() == (2, 1, 16)
    s('storage_align("f/A.staged", axis=2, factor=5)')
    assert staged.value.type.get_shape() == (2, 1, 20)
    s('inline("f/A.staged_front")')
    assert not a.is_gone
    assert names(staged.copies) == ["A.staged"]


def test_a_schedule_reads_as_a_straight_line() -> None:
    s = sw.Schedule(PRODUCT)
    i, j, k = (s.loop(name) for name in "ijk")
    init, *_ = s.decompose_reduction("C", at=i)
    io, ii = s.split(i, 4)
    jo, ji = s.split(j, 5, tail="peel")
    s.fission(ii, after=jo)
    tail = s.loop("j.tail")
    tile = s.stage("B", at=io, scope="stack")
    s.set_scope(tile, "arena")
    s.unroll_and_jam(ji, 5)
    assert names(k.copies) == ["k", "k.tail"]
    for each in k.copies_in(tail):
        s.unroll(each, mark=True)
    assert init.name == "i.init"
    by_name = sw.Schedule(PRODUCT, script=str(s)).run()
    assert str(by_name.module) == str(s.module)


def test_a_chain_goes_on_from_what_a_step_returns() -> None:
    s = sw.Schedule(COPIES)
    then = s.split("i", 4).reorder("i.inner", ["j", "i.inner"]).parallel("i.outer")
    assert str(then) == str(s) and len(s.steps) == 3
    assert then.made.loop == s.loop("i.outer")
    then.undo()
    assert len(s.steps) == 2


def test_handles_after_undo_and_redo() -> None:
    s = sw.Schedule(COPIES)
    i, j = s.loop("i"), s.loop("j")
    outer, inner = s.split(i, 4)
    s.reorder(inner, [j, inner])
    assert i.is_gone
    s.undo().undo()
    assert (i.name, i.trips, j.name) == ("i", 20, "j")
    assert i.op.parent_op().sym_name.data == "f"
    with pytest.raises(StepwellError, match=r'undo of split\("f/i", factor=4\)'):
        _ = outer.op
    s.redo()
    assert i.is_gone and s.loop("i.outer").trips == 5


def test_a_gone_handle_given_to_a_step_is_one_clear_line() -> None:
    s = sw.Schedule(COPIES)
    i = s.loop("i")
    s.split(i, 4)
    with pytest.raises(StepwellError) as caught:
        s.parallel(i)
    assert str(caught.value) == (
        "loop 'i' is gone since split(\"f/i\", factor=4); take a handle from what that step returned, "
        "or by name"
    )
    with pytest.raises(
        StepwellError, match="found what made 2 loops or buffers in the place of one"
    ):
        s.parallel(s.split("j", 4))


def test_what_made_one_thing_stands_for_it() -> None:
    s = sw.Schedule(COPIES)
    staged = s.stage("A", at="i")
    s.double_buffer(staged, at=s.loop("i"))
    fused = sw.Schedule(COPIES).fuse("i", "j")
    assert fused.parallel(fused).steps[-1].loop == "f/i.j"
