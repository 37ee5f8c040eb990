"""tensorize: calls of kernels in place of nests, where both compute the same, at many extents."""

import pytest
from stepwell.dialects.schedule.steps import Split, Tensorize
from stepwell.frontend.text import parse_text
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import apply

from .loop_nests import applied, check_extents, reason
from .producer_texts import function

EXTENTS = (1, 2, 3, 5, 7, 17, 31, 33)
STEP = Tensorize("f/x", "k")
# A part of any buffer of one or two axes.
PART, TILE = "memref<4xi32, strided<[?], offset: ?>>", "memref<4x4xi32, strided<[?, ?], offset: ?>>"


def kernel(body: str, args: str, *, separate: bool = True) -> str:
    """`@k` of buffers `a`, `b` … of which it takes those it writes for memory of their own."""
    mark = " {stepwell.noalias}" if separate else ""
    listed = ", ".join(f"%{name}: {TILE if name in 'mn' else PART}{mark}" for name in args.split())
    return f"func.func private @k({listed}) {{\n{body}\n  func.return\n}}\n"


ADD = kernel(
    f"""
  loop.for parallel "l" %l = 0 to 4 {{
    %p = loop.load %a[%l] : {PART}
    %q = loop.load %b[%l] : {PART}
    %r = arith.addi %p, %q : i32
    loop.store %r, %b[%l] : {PART}
  }}""",
    "a b",
)


def nest(
    source: str = "%x",
    target: str = "%x",
    bounds: str = "0 to 4",
    around: str = "",
    size: str = "99",
) -> str:
    """`B[target] = A[source] + B[target]` for four values of x, inside of the loops `around`."""
    type_ = f"memref<{size}xi32>"
    heads = [line for line in around.split("\n") if line]
    return function(
        [("A", type_), ("B", type_)],
        "\n".join(heads)
        + f"""
    loop.for serial "x" %x = {bounds} {{
      %p = loop.load %A[{source}] : {type_}
      %q = loop.load %B[{target}] : {type_}
      %r = arith.addi %p, %q : i32
      loop.store %r, %B[{target}] : {type_}
    }}"""
        + "\n}" * len(heads),
    )


OUTER = 'loop.for serial "o" %o = 0 to {n} {'


@pytest.mark.parametrize(
    "program",
    [
        nest(),
        nest("%x + 5", "%x * 2 + 3"),
        nest("%x + 5", "%x + 9", "-5 to 3 step 2"),
        nest("%x", "%x + %o", "%o to %o + 4", OUTER),
        nest("%x * 3 + %o", "%o * 2 + %x", around=OUTER),
        nest("%x", "%x - %o + 40", around='loop.for serial "o" %o = -3 to {n} - 3 step 2 {'),
        nest("%x", "%x + %o floordiv 2", around=OUTER),
    ],
)
def test_parts_of_buffers(program: str) -> None:
    check_extents(program + ADD, STEP, extents=EXTENTS)
    assert "func.call @k" in applied((program + ADD).replace("{n}", "9"), STEP)


def test_operands_may_be_exchanged() -> None:
    program = nest().replace("arith.addi %p, %q", "arith.addi %q, %p")
    check_extents(program + ADD, STEP, extents=(1,))


def test_parts_of_one_buffer_have_names_of_their_own() -> None:
    """Steps and messages name buffers: two of one name could not be told apart."""
    sums = kernel(
        f"""
  loop.for parallel "l" %l = 0 to 4 {{
    %p = loop.load %a[%l] : {PART}
    %q = loop.load %b[%l] : {PART}
    %r = arith.addi %p, %q : i32
    loop.store %r, %c[%l] : {PART}
  }}""",
        "a b c",
    )
    program = function(
        [("A", "memref<99xi32>"), ("B", "memref<99xi32>")],
        """
  loop.for serial "x" %x = 0 to 4 {
    %p = loop.load %A[%x] : memref<99xi32>
    %q = loop.load %A[%x + 7] : memref<99xi32>
    %r = arith.addi %p, %q : i32
    loop.store %r, %B[%x] : memref<99xi32>
  }""",
    )
    check_extents(program + sums, STEP, extents=(1,))
    module = parse_text(program + sums, "program.mlir")
    nests = Nests(module)
    apply(STEP, nests)
    (nest,) = nests.resolve("f/")[:1]
    assert [name for name in nest.listing.buffers_by_name if ".part" in name] == [
        "A.part",
        "A.part1",
        "B.part",
    ]


def test_blocks_of_a_larger_nest() -> None:
    size = "{n}"
    whole = nest(bounds="0 to {n}", size=size) + ADD
    blocks = Split("f/x", 4, tail="peel"), Tensorize("f/x.inner", "k")
    check_extents(whole, *blocks, extents=(5, 7, 8, 17, 31, 33))
    small = applied(whole.replace("{n}", "3"), blocks[0])
    assert "which is no" in reason(small, blocks[1]) or "iterations" in reason(small, blocks[1])


MATMUL = kernel(
    f"""
  loop.for parallel "u" %u = 0 to 4 {{
    loop.for parallel "v" %v = 0 to 4 {{
      %p = loop.load %m[%u, %v] : {TILE}
      %q = loop.load %b[%v] : {PART}
      %r = arith.muli %p, %q : i32
      %s = loop.load %n[%v, %u] : {TILE}
      %t = arith.subi %s, %r : i32
      loop.store %t, %n[%v, %u] : {TILE}
    }}
  }}""",
    "m b n",
)


def test_tiles_of_larger_buffers() -> None:
    # One buffer has an axis that the kernel does not know, another is indexed the other way around.
    program = function(
        [("M", "memref<3x50x50xi32>"), ("B", "memref<50x50xi32>"), ("N", "memref<50x50xi32>")],
        """
  loop.for serial "o" %o = 0 to {n} {
    loop.for parallel "x" %x = 2 to 6 {
      loop.for parallel "y" %y = %o to %o + 4 {
        %p = loop.load %M[1, %x, %y] : memref<3x50x50xi32>
        %q = loop.load %B[%y, %o] : memref<50x50xi32>
        %r = arith.muli %p, %q : i32
        %s = loop.load %N[%y + 7, %x + 3] : memref<50x50xi32>
        %t = arith.subi %s, %r : i32
        loop.store %t, %N[%y + 7, %x + 3] : memref<50x50xi32>
      }
    }
  }""",
    )
    check_extents(program + MATMUL, STEP, extents=EXTENTS)


def test_scalars() -> None:
    scaled = (
        ADD.replace("%a: ", "%f: i32, %a: ").replace("%p, %q", "%p, %f").replace("%q = ", "%q0 = ")
    )
    program = nest().replace("%p, %q", "%p, %g").replace("%q = ", "%q0 = ")
    program = program.replace(
        'loop.for serial "x"', '%g = arith.constant 5 : i32\nloop.for serial "x"'
    )
    check_extents(program + scaled, STEP, extents=(1,))
    changing = nest().replace("%q = ", "%g = ").replace("%p, %q", "%p, %g")
    message = reason(changing + scaled, STEP)
    assert "'%f' of the kernel would change inside of the nest" in message


def test_a_value_loaded_before_the_nest() -> None:
    first = ADD.replace("%a[%l]", "%a[0]")
    load = "%p = loop.load %A[7] : memref<99xi32>"
    program = nest().replace("      %p = loop.load %A[%x] : memref<99xi32>\n", "")
    before = program.replace('loop.for serial "x"', f'{load}\n$CHANGE\nloop.for serial "x"')
    check_extents(before.replace("$CHANGE", "") + first, STEP, extents=(1,))
    # The kernel would load what has been stored since.
    change = "%z = arith.constant 9 : i32\nloop.store %z, %A[7] : memref<99xi32>"
    load_of_kernel = f"    %p = loop.load %a[0] : {PART}\n"
    early = first.replace(load_of_kernel, "")
    early = early.replace("  loop.for parallel", f"{load_of_kernel}  loop.for parallel")
    for other in (first, early):
        message = reason(before.replace("$CHANGE", change) + other, STEP)
        assert "the load of '%a' stands at another place in the nest" in message


def test_loads_of_what_is_written_stay_between_the_same_statements() -> None:
    # The arguments may overlap, in the kernel as in the nest, and the kernel loads after its first store.
    late = kernel(
        f"""
  loop.for serial "l" %l = 0 to 4 {{
    %z = arith.constant 9 : i32
    loop.store %z, %b[%l] : {PART}
    %p = loop.load %a[%l] : {PART}
    loop.store %p, %c[%l] : {PART}
  }}""",
        "a b c",
        separate=False,
    )
    statements = (
        "%p = loop.load %A[%x] : memref<99xi32>",
        "%z = arith.constant 9 : i32\nloop.store %z, %B[%x] : memref<99xi32>",
        "loop.store %p, %C[%x] : memref<99xi32>",
    )
    for order, is_same in (((1, 0, 2), True), ((0, 1, 2), False)):
        body = "\n".join(statements[n] for n in order)
        program = function(
            [(name, "memref<99xi32>") for name in "ABC"],
            f'loop.for serial "x" %x = 0 to 4 {{\n{body}\n}}',
            separate=is_same,
        )
        if is_same:
            check_extents(program + late, STEP, extents=(1,))
        else:
            assert "the load of '%a' stands at another place" in reason(program + late, STEP)


def test_nothing_the_nest_does_is_left_out() -> None:
    # A condition with results is a statement when it stores.
    store = "loop.store %r, %B[%x] : memref<99xi32>"
    condition = """%w = loop.if (%x - 2 >= 0) -> (i32) {
        loop.store %r, %B[50] : memref<99xi32>
        loop.yield %r : i32
      } else {
        loop.yield %p : i32
      }"""
    message = reason(nest().replace(store, f"{store}\n{condition}") + ADD, STEP)
    assert "has 1 statements in the kernel and 2 in the nest" in message


REFUSED = {
    "another count": (nest(bounds="0 to 5"), "runs 4 iterations, and 'x' of the nest 5"),
    "a count that varies": (
        nest(bounds="%o to 4", around='loop.for serial "o" %o = 0 to 9 {'),
        "runs 4 iterations, and 'x' of the nest from 0 to 4",
    ),
    "another operation": (
        nest().replace("addi", "muli"),
        "the kernel has 'arith.addi' where the nest has 'arith.muli'",
    ),
    "a neighbour": (
        nest().replace("%q = loop.load %B[%x]", "%q = loop.load %B[%x + 1]"),
        "the subscripts of '%B' are not those of '%b' moved by an offset",
    ),
    "backwards": (nest("-%x + 9"), "the subscripts of '%A' are not those of '%a' moved"),
    "one buffer for both": (
        nest().replace("%A[%x]", "%B[%x + 50]"),
        "'%b' and '%a' of the kernel are separate, and both stand for '%B'",
    ),
    "a mark": (nest().replace('serial "x"', 'parallel vector "x"'), "is marked 'vector'"),
    "lanes around": (
        nest(around='loop.for parallel vector "o" %o = 0 to 4 {', target="%x + %o * 4"),
        "inside loop 'o', which is marked 'vector'",
    ),
    "beyond the end": (nest("%x + 96"), "would not be inside of it along axis 0"),
    "another type": (
        nest().replace("i32", "i64"),
        "'%b' of the kernel and '%B' have elements of other types",
    ),
    "one statement more": (
        nest().replace(
            "%r, %B[%x] : memref<99xi32>",
            "%r, %B[%x] : memref<99xi32>\nloop.store %r, %A[%x] : memref<99xi32>",
        ),
        "has 1 statements in the kernel and 2 in the nest",
    ),
}


@pytest.mark.parametrize(("program", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_differences_are_explained(program: str, message: str) -> None:
    found = reason(program + ADD, STEP)
    assert message in found
    assert "\n" not in found


def test_kernels_that_are_none() -> None:
    assert "did you mean 'k'?" in reason(nest() + ADD, Tensorize("f/x", "kk"))
    assert "it has 'k'" in reason(nest() + ADD, Tensorize("f/x", "add"))
    assert "the module has no function 'k' with a body; add the kernel" in reason(
        nest(), Tensorize("x", "k")
    )
    assert "cannot call itself" in reason(nest() + ADD, Tensorize("f/x", "f"))
    layout = ADD.replace(PART, "memref<4xi32>")
    message = reason(nest("%x + 3") + layout, STEP)
    assert "declare the kernel's argument with strided<[?, …, 1], offset: ?>" in message
    unused = ADD.replace("%a: ", f"%u: {PART}, %a: ")
    assert "nothing in the nest stands for '%u' of the kernel" in reason(nest() + unused, STEP)


def test_floating_point_flags() -> None:
    # A kernel may be stricter than the nest, and not freer.
    free, strict = "arith.addf %p, %q fastmath<reassoc> :", "arith.addf %p, %q :"
    programs = {
        flags: nest().replace("arith.addi %p, %q :", flags).replace("i32", "f32")
        for flags in (free, strict)
    }
    kernels = {
        flags: ADD.replace("arith.addi %p, %q :", flags).replace("i32", "f32")
        for flags in (free, strict)
    }
    assert "func.call" in applied(programs[free] + kernels[strict], STEP)
    assert "has fast-math flags in the kernel" in reason(programs[strict] + kernels[free], STEP)


NEVER = """
func.func @f(%B: memref<1xi32> {stepwell.noalias}, %v: i32) {
  loop.for serial "i" %i = 0 to 0 {
    loop.store %v, %B[1] : memref<1xi32>
  }
  func.return
}
func.func private @kernel(%B: memref<1xi32, strided<[?], offset: ?>>, %v: i32) {
  loop.for serial "i" %i = 0 to 0 {
    loop.store %v, %B[0] : memref<1xi32, strided<[?], offset: ?>>
  }
  func.return
}
"""


def test_a_nest_that_never_runs_may_name_what_does_not_exist() -> None:
    message = "where no iteration of it runs, the part of '%B' that the kernel is given would reach"
    assert message in reason(NEVER, Tensorize("f/i", "kernel"))
