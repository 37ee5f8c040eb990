"""fuse_loops: two loops that follow each other as one."""

import re
from collections.abc import Sequence
from random import Random

import pytest
from stepwell.dialects import loop
from stepwell.dialects.schedule.steps import FuseLoops
from stepwell.transforms.step_support.refusal import Refusal

from .step_agreement import check_extents, check_random, check_steps

T = "memref<120xi32>"


def siblings(first: str, second: str, read: str = "%j + 30", symbol: bool = False) -> str:
    """A producer and a consumer in a loop that runs twice."""
    n = ", %n: index" if symbol else ""
    return f"""
func.func @f(%A: {T}, %B: {T}, %C: {T}{n}) attributes {{stepwell.noalias}} {{
  loop.for serial "r" %r = 0 to 2 {{
    loop.for serial "i" %i = {first} {{
      %a = loop.load %A[%i + 30] : {T}
      %b = arith.muli %a, %a : i32
      loop.store %b, %B[%i + 30] : {T}
    }}
    loop.for serial "j" %j = {second} {{
      %a = loop.load %B[{read}] : {T}
      %x = affine.apply affine_map<(d0) -> (d0 + 30)>(%j)
      %b = memref.load %C[%x] : {T}
      %c = arith.addi %a, %b : i32
      memref.store %c, %C[%x] : {T}
    }}
  }}
  func.return
}}"""


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("0 to {n}", "0 to {n}"),
        ("0 to {n}", "0 to 9"),
        ("0 to 12", "0 to {n}"),
        ("-3 to {n}", "-1 to {n} + 2"),
        ("2 to {n} + 3", "-5 to {n} + 5"),
        ("0 to {n} step 3", "0 to 20 step 3"),
        ("0 to 20 step 3", "6 to {n} + 7 step 3"),
        ("%r to {n} + 1", "%r to {n} + 1"),
        ("%r to {n} + 1", "0 to {n} + 1"),
        ("0 to min({n}, 8)", "0 to {n}"),
        ("max(0, %r) to {n} + 1", "0 to {n} + 1"),
        ("0 to {n} floordiv 2 + 1", "0 to {n}"),
    ],
)
def test_extents(first: str, second: str) -> None:
    check_extents(
        lambda n: siblings(first.format(n=n), second.format(n=n), read="%j + 20"),
        [FuseLoops("f/i", "j")],
    )


@pytest.mark.parametrize("shift", [2, 5, 9])
def test_shifted(shift: int) -> None:
    def text(n: int) -> str:
        return siblings(f"0 to {n + 12}", f"0 to {n + 4}", read="%j + 32")

    check_extents(text, [FuseLoops("f/i", "j", shift)])


def test_shift_counts_iterations() -> None:
    check_steps(
        siblings("0 to 30 step 3", "0 to 30 step 3", read="%j + 33"), [FuseLoops("f/i", "j", 1)]
    )


def test_with_symbols() -> None:
    """Which of the loops is the longer one shows at run time only."""
    text = siblings("0 to %n", "0 to 5", read="%j + 20", symbol=True)
    for n in range(-2, 12):
        module_text = text.replace("%n: index", "%n0: index").replace("%n", "%n0")
        module_text = module_text.replace("%n00", "%n0")
        check_steps(
            module_text.replace(
                "%r = 0 to 2 {", f"%r = 0 to 2 {{ %k{n + 2} = arith.constant {n} : index"
            ),
            [FuseLoops("f/i", "j")],
            native=n in (-1, 5, 7),
        )


def test_the_shift_that_a_refusal_names_is_the_least() -> None:
    for ahead in range(1, 8):
        text = siblings("0 to 20", "0 to 20", read=f"%j + {30 + ahead}")
        with pytest.raises(Refusal) as refusal:
            check_steps(text, [FuseLoops("f/i", "j")])
        found = re.search(r"shift=(\d+) keeps", str(refusal.value))
        assert found is not None
        shift = int(found[1])
        check_steps(text, [FuseLoops("f/i", "j", shift)], native=False)
        with pytest.raises(Refusal, match="would be swapped"):
            check_steps(text, [FuseLoops("f/i", "j", shift - 1)], native=False)


def test_kind_of_the_fused_loop() -> None:
    for ahead, kind in ((0, "parallel"), (1, "serial")):
        text = siblings("0 to 20", "0 to 19", read=f"%j + {30 - ahead}")
        module = check_steps(
            text.replace('serial "i"', 'parallel "i"').replace('serial "j"', 'parallel "j"'),
            [FuseLoops("f/i", "j")],
        )
        assert f'loop.for {kind} "i" ' in str(module)


def test_ranges_that_do_not_meet() -> None:
    with pytest.raises(Refusal, match="no iterations in common"):
        check_steps(siblings("0 to 5", "7 to 9"), [FuseLoops("f/i", "j")])


def test_ranges_with_several_ends() -> None:
    with pytest.raises(Refusal, match="no single range"):
        check_steps(
            siblings("0 to 20", "0 to min(%n, %n * 2)", symbol=True), [FuseLoops("f/i", "j")]
        )


@pytest.mark.parametrize(
    "seeds", [range(26), pytest.param(range(26, 80), marks=pytest.mark.slow)], ids=str
)
def test_keeps_random_functions(seeds: range) -> None:
    def fuse(random: Random, loops: Sequence[loop.ForOp]) -> FuseLoops | None:
        first = random.choice(loops)
        following: list[str] = []
        current = first.next_op
        while current is not None:
            if isinstance(current, loop.ForOp):
                following.append(current.loop_name.data)
            current = current.next_op
        if not following:
            return None
        shift = random.choice((0, 0, 1, 2, 3, 6, -1))
        return FuseLoops(f"f/{first.loop_name.data}", following[0], shift)

    legal, refused = check_random(fuse, seeds)
    assert legal > len(seeds) // 4
    assert refused > len(seeds) // 4


def nests(read: str, n: int = 20, *, kinds: str = "serial", after: str = "", end: int = 0) -> str:
    """Two nests of two loops each, of which the second reads what the first one writes."""
    return f"""
func.func @f(%A: memref<40x40xi32>, %B: memref<41x41xi32>, %C: memref<40x40xi32>) attributes {{stepwell.noalias}} {{
  loop.for {kinds} "i" %i = 0 to 9 {{
    loop.for {kinds} "k" %k = %i to {n} {{
      %a = loop.load %A[%i, %k] : memref<40x40xi32>
      %b = arith.muli %a, %a : i32
      loop.store %b, %B[%i, %k] : memref<41x41xi32>
    }}
  }}
  loop.for {kinds} "j" %j = 0 to 9 {{
    loop.for {kinds} "l" %l = %j to {end or n} {{
      %a = loop.load %B[{read}] : memref<41x41xi32>
      loop.store %a, %C[%j, %l] : memref<40x40xi32>
    }}{after}
  }}
  func.return
}}"""


def test_nests_are_fused_as_their_loops_one_by_one() -> None:
    check_extents(lambda n: nests("%j, %l", n), [FuseLoops("f/i", "j", depth=2)])
    at_once = check_steps(nests("%j, %l"), [FuseLoops("f/i", "j", depth=2)])
    steps = [FuseLoops("f/i", "j"), FuseLoops("f/k", "l")]
    assert str(at_once) == str(check_steps(nests("%j, %l"), steps))


@pytest.mark.parametrize(
    ("read", "outer", "inner"),
    [
        ("%j, %l", "parallel", "parallel"),
        ("%j, %l - %j", "parallel", "serial"),
        ("%j floordiv 2, %l", "serial", "parallel"),
    ],
)
def test_kinds_of_fused_nests(read: str, outer: str, inner: str) -> None:
    text = nests(read, kinds="parallel")
    module = check_steps(text, [FuseLoops("f/i", "j", depth=2)])
    assert f'loop.for {outer} "i" ' in str(module)
    assert f'loop.for {inner} "k" ' in str(module)
    one_by_one = check_steps(text, [FuseLoops("f/i", "j"), FuseLoops("f/k", "l")])
    assert str(module) == str(one_by_one)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (nests("%j, %l + 1"), "would be swapped; fuse fewer loops"),
        (nests("%j + 1, %l"), "would be swapped"),
        (nests("%j, %l", end=9), "'k' and 'l' do not run through the same"),
        (
            nests("%j, %l", after='\n    loop.for serial "m" %m = 0 to 9 {\n    }'),
            "'i' and 'j' have more in them than one loop each",
        ),
    ],
)
def test_nests_that_are_not_fused_at_once(text: str, message: str) -> None:
    with pytest.raises(Refusal, match=message):
        check_steps(text, [FuseLoops("f/i", "j", depth=2)])


def test_a_depth_has_no_shift() -> None:
    with pytest.raises(Refusal, match="depth is 2 and shift 1, expected a depth of at least 1"):
        check_steps(nests("%j, %l"), [FuseLoops("f/i", "j", 1, 2)])
