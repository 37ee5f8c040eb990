"""What the rule for contractions makes of shapes that differ in kind, for a fixed target."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.plans.cost import bytes_taken, most_in_a_set
from stepwell.analysis.plans.terms_written_out import control_cycles
from stepwell.analysis.plans.threads import dealt
from stepwell.targets.core import Cache
from stepwell.targets.target import Target

TARGET = "x86-64-v4"


def loops(m: int, n: int, k: int, *, turned: bool = False, target: str = TARGET) -> str:
    """The scheduled loops of `a @ b`, with `a` read across when it is turned."""
    a, b = np.zeros((k, m) if turned else (m, k), np.float32), np.zeros((k, n), np.float32)
    product = (lambda a, b: sw.swapaxes(a, 0, 1) @ b) if turned else (lambda a, b: a @ b)
    return sw.jit(product, target=target).lower(a, b).as_text("loop")


def order(text: str, *names: str) -> bool:
    """Whether loops of these names stand in this order."""
    places = [text.find(f'"{name}"') for name in names]
    return -1 not in places and places == sorted(places)


def test_tiles_ask_for_the_result_a_few_lines_at_a_time():
    """
    And of what it is finished with: those of 10 x 32 for 20 lines, eight at each of four places; the first ones, which ask for rows of A too,
    after each 32 terms. Without such an array prefetchers follow what they write.
    """
    a = np.zeros((1024, 1024), np.float32)
    low = sw.jit(lambda a, b: a @ b, target="zen5").lower(a, a)
    assert "k.back" not in low.script()
    low = sw.jit(lambda a, b, c: a @ b + c, target="zen5").lower(a, a, a)
    parts = re.findall(r'schedule.split "\S+/(\S+)" factor = (\d+) outer = "k.part', low.script())
    assert parts == [("k", "32"), ("k.back", "256")], low.script()


def test_a_sum_in_one_go_stays_in_registers():
    text = loops(256, 256, 256)
    assert order(text, "j.tile", "i.init", "k.part", "k.term", "i.row", "j.column", "tile.out0")
    assert "k.block" not in text and "tile.in0" not in text


def test_a_long_sum_goes_by_blocks():
    text = loops(1000, 1000, 5000)
    assert order(text, "k.block", "i.block", "j.tile", "i.tile", "tile.in0", "k.term", "tile.out0")
    # A tile is added to the result when it is complete, which it asks for before.
    assert "fastmath<reassoc,contract>" in text[text.index('"tile.out0"') :]
    assert order(text, "k.part", "k.term", "tile.out0") and "loop.prefetch %matmul[%i_block" in text


def test_all_of_b_is_packed_where_several_blocks_of_rows_use_it():
    # A block of A stays in L2 while the panels of B, each asked for in time, go by: an L3 is fast enough for that.
    text = loops(2000, 256, 512, turned=True, target=f"{TARGET}:read_l3=64e9")
    to_l2 = r"loop.prefetch %right.*, locality<2>"
    assert order(text, "right.panel", "i.block", "j.tile") and re.search(to_l2, text)
    text = loops(2000, 64, 512)  # all of B stays in L2
    assert order(text, "i.block", "j.tile", "i.row") and not re.search(to_l2, text)


def test_rows_that_come_from_beyond_l2_are_asked_for():
    # Those of the next tiles, which are contiguous: some elements before each 32 terms of the sums of the tiles beside each other.
    text = loops(512, 512, 512)
    assert re.search(
        r"loop.prefetch %a\[%i_\w+ \* (\d+) \+ \1, %j_tile \* \d+ \+ %k_part \* \d+", text
    )
    assert "loop.prefetch %a" not in loops(96, 96, 96)


@pytest.mark.parametrize("epilogue", [False, True])
def test_blocks_of_one_row_of_tiles_are_cut_once(epilogue: bool):
    a, b = np.zeros((512, 512), np.float32), np.zeros((512, 512), np.float32)
    low = sw.jit(lambda a, b: sw.relu(a @ b) if epilogue else a @ b, target="zen5").lower(a, b)
    cuts = re.findall(r'schedule.split "\S+/(i\S*)" .*outer = "(\S+?)(?:_\d)?"', low.script())
    assert "N tiles innermost" in str(low.plan())
    assert {outer for _, outer in cuts} == ({"i.block", "i.tile"} if epilogue else {"i.block"})


@pytest.mark.parametrize("k", [400, 410])
def test_terms_are_written_out_in_parts_of_one_length(k: int):
    """What is left of a sum in parts of 32 terms stands apart, so that two terms of each part stand in an iteration."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 4, shape).astype(np.float32) for shape in ((601, k), (k, 401)))
    low = sw.jit(lambda a, b: a @ b, target="x86-64-v3").lower(a, b)
    (unrolled,) = (
        line for line in low.script().splitlines() if "unroll" in line and "k.term" in line
    )
    assert "tile 6x16" in str(low.plan()) and "factor = 2" in unrolled
    assert order(low.as_text("loop"), "k.part", "k.term")
    np.testing.assert_array_equal(low.compile()(a, b), a @ b)


def test_all_but_the_last_block_of_terms_are_whole_parts():
    """Blocks of 992 of 1931 terms, and not of 966: what is left of the last one's parts stands apart."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, shape).astype(np.float32) for shape in ((300, 1931), (1931, 700)))
    low = sw.jit(lambda a, b: a @ b, target="x86-64-v3").lower(a, b)
    assert "KC 992" in str(low.plan()) and 'k.term" factor = 2' in low.script()
    np.testing.assert_array_equal(low.compile()(a, b), a @ b)


def test_control_takes_ports_where_scalars_share_them():
    intels, amds = (Target.parse(name).core for name in ("haswell", "zen3"))
    assert control_cycles(intels, 4, 3) == 2 * control_cycles(intels, 6, 2) > 0
    assert control_cycles(amds, 4, 3) == 0


def _has_two_terms(m: int, n: int, k: int, target: str) -> bool:
    """Whether the script of a product writes out two terms of the sums of its tiles."""
    a, b = np.zeros((m, k), np.float32), np.zeros((k, n), np.float32)
    low = sw.jit(lambda a, b: a @ b, target=target).lower(a, b)
    return re.search(r'unroll "[^"]*/k[.\w]*" factor = 2', low.script()) is not None


def test_two_terms_stand_between_hints_where_control_takes_ports():
    """In tiles that are long beside their control, too; not where a term is left of pairs, nor of integers."""
    assert _has_two_terms(512, 512, 512, "icelake-server")
    assert _has_two_terms(300, 333, 302, "sapphire-rapids")
    assert not _has_two_terms(300, 336, 301, "sapphire-rapids")
    assert not _has_two_terms(512, 512, 512, "znver4")
    a = np.zeros((512, 512), np.int8)
    low = sw.jit(lambda a, b: a @ b, target="icelake-server").lower(a, a)
    assert "prefetch" in low.script() and "factor = 2" not in low.script()


def test_b_is_read_as_it_is_where_its_rows_stream():
    assert "arena" not in loops(96, 96, 400)
    assert "%right" in loops(96, 1024, 400)  # rows a page apart
    # Rows that are nearer are asked for while others are waited for.
    assert "%right" not in loops(96, 960, 400)
    assert "%right" not in loops(12, 100, 400)  # the last columns have a tile of their own


def test_tiles_of_the_first_rows_pack_b_in_l2():
    """Each term's row is used and stored; the last columns, which have a tile of their own, are copied before that."""
    for columns, target, copies in ((96, "sapphire-rapids", 1), (100, TARGET, 2)):
        text = loops(96, columns, 400, target=target)
        stores = re.findall(r"loop.store %\w+, %right\[", text)
        assert len(stores) == copies, text
        assert re.search(r'reduction "right.in0".*?loop.store %\w+, %right', text, re.DOTALL), text


def test_the_last_columns_of_several_blocks_are_a_block_of_their_own():
    # Of 512 columns two blocks have five tiles of 48, and 32 are left: no tile is computed for columns that are not there.
    text = loops(512, 512, 512, target="icelake-server")
    tiles = re.findall(r"loop.alloc register : memref<(\d+)x(\d+)xf32>", text)
    rows = re.findall(r'"i.row[.\w]*" %\w+ = 0 to (\d+)', text)
    assert [wide for _, wide in tiles] == ["48", "48", "32", "32"] and "loop.if" not in text
    assert rows == ["9", "9", "8", "9", "8"]  # the first tile has two terms in an iteration
    assert (
        '"j.block" %j_block = 0 to 2' in text
        and "memref<5x512x48xf32>" in text
        and "memref<512x32xf32>" in text
    )


def test_the_last_columns_of_several_blocks_are_a_tile_of_the_last_one():
    # Of 355 columns three blocks have two tiles of 48, and the last one has one, and 19 columns: two vectors.
    text = loops(2259, 355, 1546, target="icelake-server")
    tiles = re.findall(r"loop.alloc register : memref<(\d+)x(\d+)xf32>", text)
    assert tiles == [("9", "48"), ("9", "32")]
    assert '"j.block" %j_block = 0 to 4' in text and "memref<2x1546x48xf32>" in text
    before, rest = text.split('"j.tile.rest" %j_tile_1 = 0 to %j_block * 2 - 5')
    assert '"j.tile" %j_tile = 0 to min(2, %j_block * -2 + 7)' in before
    assert "j_tile_1" not in rest  # it is one at most, which keeps its sums in registers


def test_the_last_rows_and_columns_have_tiles_of_their_own():
    text = loops(101, 112, 100)
    rows = re.findall(r'"i.row[.\w]*" %\w+ = 0 to (\d+)', text)
    wide = re.findall(r"loop.alloc register : memref<\d+x(\d+)xf32>", text)
    assert len(set(zip(rows, wide, strict=True))) == 4 and "loop.if" not in text


@pytest.mark.parametrize(
    ("m", "k", "turned", "packed"),
    [
        (256, 256, False, False),
        (257, 256, False, False),
        (1999, 256, False, False),
        (256, 256, True, True),  # read across
        (672, 1024, True, True),
        (672, 1000, False, False),
    ],
)
def test_a_is_packed_where_its_rows_are_no_streams(m: int, k: int, turned: bool, packed: bool):
    assert ("%left" in loops(m, 672, k, turned=turned)) is packed


def test_few_columns_go_into_rows_and_rows_into_lanes():
    text = loops(500, 4, 500, turned=True)
    assert re.search(r"loop.alloc register : memref<4x\d+xf32>", text)
    assert '"panel.out0"' in text


def test_a_vector_is_no_contraction():
    for m, n in ((1, 1000), (1000, 1)):
        assert "register" not in loops(m, n, 1000)


def test_threads_have_as_much_to_do():
    for rows in range(200, 2000, 37):
        size = dealt(rows, 256, 14, 2, 14)
        blocks = math.ceil(rows / size)
        share = math.ceil(blocks / 2) * size
        assert share <= rows / 2 * 1.12, (rows, size)


def test_lines_in_a_set():
    level_1 = Cache(1, 32 << 10, 8)
    assert most_in_a_set(level_1, 9, 4096) == 9
    assert most_in_a_set(level_1, 14, 4096 + 64) == 1
    assert most_in_a_set(level_1, 16, 2048) == 8
    assert most_in_a_set(level_1, 4, 4096, 128) == 4


def test_pieces_that_share_sets_take_the_ways_that_these_need():
    level_2 = Cache(2, 1 << 20, 16)
    assert bytes_taken(level_2, 32 << 12, 32, level_2.way_bytes, 1 << 12) == 31 * level_2.way_bytes
    assert bytes_taken(level_2, 32 << 12, 32, 1 << 12, 1 << 12) == 32 << 12  # one after the other
    assert bytes_taken(level_2, 40 << 11, 40, 1 << 12, 1 << 11) == 2 * level_2.way_bytes


@pytest.mark.sampled(4)
@pytest.mark.parametrize("n", [31, 33, 49, 100, 255, 300])
@pytest.mark.parametrize("turned", ["", "left", "right"])
def test_one_buffer_as_both_operands(n: int, turned: str):
    """One is packed, or both are by themselves."""
    x = np.random.default_rng(n).integers(-4, 5, (n, n)).astype(np.float32)

    def product(x: Any) -> Any:
        across = sw.swapaxes(x, 0, 1)
        return (across if turned == "left" else x) @ (across if turned == "right" else x)

    low = sw.jit(product).lower(x)
    keeps_its_schedule(product, x)
    expected = (x.T if turned == "left" else x) @ (x.T if turned == "right" else x)
    np.testing.assert_array_equal(low.compile(threads=1)(x), expected)


def whole(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(np.float32)


def keeps_its_schedule(function: Any, *arrays: np.ndarray) -> None:
    """Whether tiles are in registers, for two targets."""
    for target in (TARGET, "x86-64-v3"):
        text = sw.jit(function, target=target).lower(*arrays).as_text("loop")
        assert "loop.alloc register" in text, target


@pytest.mark.parametrize(("m", "n", "k"), [(97, 97, 130), (129, 65, 130), (64, 97, 15)])
def test_an_epilogue_where_rows_and_columns_are_peeled(m: int, n: int, k: int):
    a, b, c = whole(m, k), whole(k, n), whole(n)

    def layer(a: Any, b: Any, c: Any) -> Any:
        return sw.maximum(a @ b + c, 0)

    keeps_its_schedule(layer, a, b, c)
    np.testing.assert_array_equal(sw.jit(layer)(a, b, c), np.maximum(a @ b + c, 0))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 127, 48), (48, 47)),
        ((127, 47), (2, 47, 48)),
        ((2, 1, 64, 64), (1, 3, 64, 64)),
        ((2, 3, 40, 50), (50, 60)),
        ((2, 200, 300), (300, 4)),
    ],
)
def test_an_operand_that_a_batch_shares(left: tuple[int, ...], right: tuple[int, ...]):
    a, b = whole(*left), whole(*right)
    keeps_its_schedule(lambda a, b: a @ b, a, b)
    np.testing.assert_array_equal(sw.jit(lambda a, b: a @ b)(a, b), a @ b)
    np.testing.assert_array_equal(sw.jit(lambda a: a @ b + 1)(a), a @ b + 1)


def test_what_reads_the_result_elsewhere():
    a, b = whole(2, 65, 96), whole(2, 96, 65)

    def shifted(a: Any, b: Any) -> Any:
        return (a @ b)[:, 1:, :] + 1

    def turned(a: Any, b: Any) -> Any:
        return sw.swapaxes(a @ b, 1, 2) * 2

    for function in (shifted, turned):
        keeps_its_schedule(function, a, b)
    np.testing.assert_array_equal(sw.jit(shifted)(a, b), (a @ b)[:, 1:, :] + 1)
    np.testing.assert_array_equal(sw.jit(turned)(a, b), np.swapaxes(a @ b, 1, 2) * 2)


def test_a_result_whose_last_axis_is_one():
    a, b, c = whole(17, 63), whole(2, 63, 1), whole(1)
    layer = sw.jit(lambda a, b, c: sw.maximum(a @ b + c, 0))
    np.testing.assert_array_equal(layer(a, b, c), np.maximum(a @ b + c, 0))


def test_what_is_made_of_a_far_result_is_asked_for_ahead():
    """All that is stored of a tile, in the tile before it; but not where results stay in the second cache."""

    def layer(a: Any, b: Any, c: Any) -> Any:
        product = a @ b
        return product + c, sw.maximum(product, 0)

    def text(m: int) -> str:
        arrays = (np.zeros(shape, np.float32) for shape in ((m, 256), (256, 128), (128,)))
        return sw.jit(layer, target="zen4").lower(*arrays).as_text("loop")

    assert {f"loop.prefetch %{name}[" in text(1024) for name in ("add", "maximum")} == {True}
    assert ", write, locality" not in text(64)


@pytest.mark.parametrize("scale", [(), (256,), (512, 1)])
def test_an_operand_is_computed_where_it_is_packed(scale: tuple[int, ...]):
    """Block of rows by block of rows, and no larger part of it is ever stored, where it is more than a few tiles wide."""
    a, b, s = np.ones((512, 256), np.float32), np.ones((256, 256), np.float32), whole(*scale)
    low = sw.jit(lambda a, b, s: (a * s) @ sw.maximum(b, 0), target="zen4").lower(a, b, s)
    made = re.findall(r"%([\w.]+) = loop\.alloc (\w+) : memref<(\d+)x", low.as_text("loop"))
    assert {name.split("_")[0] for name, scope, _ in made if scope != "register"} <= {
        "left",
        "right",
    }
    assert all(int(rows) < 100 for name, scope, rows in made if scope == "stack")


def test_a_residual_that_is_updated_in_place_finishes_the_tiles():
    """The sum lies where one of its terms did, as in an encoder layer, and is taken tile by tile all the same."""
    x, w = np.zeros((40, 48), np.float32), np.zeros((48, 48), np.float32)

    def residual(x: Any, w: Any) -> Any:
        h = sw.tanh(x)
        return sw.softmax(h + sw.relu(h @ w) @ w, axis=-1)

    text = sw.jit(residual, target=TARGET).lower(x, w).as_text("loop")
    kernel = next(part for part in text.split("func.func") if "@main.matmul_add" in part)
    assert re.search(r"loop\.store %\d+, %tanh\[", kernel), "the sum is not in place"
    assert order(kernel, "i.panel", "k", "i.finish")
    assert '"i.finish" %i_2 = 0 to 9 ' in kernel, "the rows of a tile"


@pytest.mark.parametrize("m", [17, 31, 33, 38])
@pytest.mark.parametrize("k", [512, 700])
def test_the_last_rows_of_blocks_of_terms_have_tiles_of_their_own(m: int, k: int):
    """They are finished with the others, and each loop over blocks of terms asks for the next one."""
    a, b, c = whole(m, k), whole(k, 96), whole(m, 96)

    def layer(a: Any, c: Any) -> Any:
        return sw.maximum(a @ b + c, 0)

    target = "x86-64-v3:l2=64K,beyond_l2=4e9"
    text = sw.jit(layer, target=target).lower(a, c).as_text("loop")
    blocks = re.findall(r'"k.block[.\w]*" %(\w+) ', text)
    asked = re.findall(r"loop.prefetch %right\[%\w+, %(\w+) \* \d+ \+ \d+,", text)
    rows = [int(count) for count in re.findall(r"loop.alloc register : memref<(\d+)x", text)]
    assert blocks and set(asked) == set(blocks) and "loop.if" not in text
    assert set(rows) == {rows[0]} | ({m % rows[0]} - {0}), rows
    np.testing.assert_array_equal(sw.jit(layer, target=target)(a, c), np.maximum(a @ b + c, 0))
