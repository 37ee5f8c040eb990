"""Programs on which loop transformations of other compilers went wrong: fusion and reordering."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import (
    ComputeAt,
    FuseLoops,
    Inline,
    Reorder,
    ReverseComputeAt,
    Skew,
    Tile,
)


def func(arguments: str, body: str, marks: str = "attributes {stepwell.noalias}") -> str:
    """A function `f`; `{n}` stays for the extent, and `x` in types is written out by the callers."""
    return f"func.func @f({arguments}) {marks} {{\n{body}\nfunc.return\n}}"


def loop_(name: str, bounds: str, *body: str) -> str:
    return "\n".join([f'loop.for serial "{name}" %{name} = {bounds} {{', *body, "}"])


def copy(source: str, target: str, type_: str, value: str = "a") -> str:
    """`target = source + source`, on i32."""
    return "\n".join(
        [
            f"%{value} = loop.load %{source} : {type_}",
            f"%{value}_twice = arith.addi %{value}, %{value} : i32",
            f"loop.store %{value}_twice, %{target} : {type_}",
        ]
    )


LINE = "memref<40xi32>"
GRID = "memref<20x20xi32>"
LINES = f"%A: {LINE}, %B: {LINE}, %C: {LINE}"
GRIDS = f"%A: {GRID}, %B: {GRID}"


@dataclass(frozen=True)
class Pitfall:
    """A program on which steps are legal, and one on which the last of them is refused."""

    name: str
    legal: str
    steps: tuple[Step, ...]
    illegal: str
    refused: Step
    message: str


def two_loops(first: str, second: str, bounds: tuple[str, str] = ("0 to {n}", "0 to {n}")) -> str:
    return loop_("i", bounds[0], first) + "\n" + loop_("j", bounds[1], second)


def square(statement: str, rows: str = "0 to {n}", columns: str = "0 to {n}") -> str:
    return loop_("i", rows, loop_("j", columns, statement))


PRODUCER_CONSUMER = two_loops(copy("A[%i]", "B[%i]", LINE), copy("B[%j]", "C[%j]", LINE, "b"))
DIAGONAL = square(copy("A[%i - 1, %j + 1]", "A[%i, %j]", GRID), "1 to {n} + 1", "0 to {n}")
FORWARD = square(copy("A[%i - 1, %j]", "A[%i, %j]", GRID), "1 to {n} + 1", "0 to {n}")


def of_lengths(first: str, second: str, read: str) -> str:
    return func(
        LINES,
        two_loops(
            copy("A[%i]", "B[%i]", LINE), copy(f"B[{read}]", "C[%j]", LINE, "b"), (first, second)
        ),
    )


FUSION = (
    Pitfall(
        # llvm#212028: the consumer's shorter loop became the producer's, whose last iterations were lost.
        "the producer runs further than the consumer",
        of_lengths("0 to {n} + 3", "0 to {n}", "%j"),
        (FuseLoops("f/i", "j"),),
        of_lengths("0 to {n} + 3", "0 to {n}", "-%j + {n}"),
        FuseLoops("f/i", "j"),
        "flow dependence through '%B'",
    ),
    Pitfall(
        # llvm#152077, llvm#196604: the consumer reads what the merged iteration has not made yet.
        "the consumer reads more than has been produced",
        of_lengths("0 to {n} + 2", "0 to {n}", "%j + 2"),
        (FuseLoops("f/i", "j", shift=2),),
        of_lengths("0 to {n} + 2", "0 to {n}", "%j + 2"),
        FuseLoops("f/i", "j", shift=1),
        "flow dependence through '%B'",
    ),
    Pitfall(
        # llvm#212032: a later iteration of the producer reads what the consumer overwrites.
        "the consumer writes what the producer still reads",
        func(LINES, two_loops(copy("A[%i]", "B[%i]", LINE), copy("B[%j]", "A[%j]", LINE, "b"))),
        (FuseLoops("f/i", "j"),),
        func(LINES, two_loops(copy("A[1]", "B[%i]", LINE), copy("B[%j]", "A[%j]", LINE, "b"))),
        FuseLoops("f/i", "j"),
        "anti dependence through '%A'",
    ),
    Pitfall(
        # llvm#211599, llvm#75852: two names of one buffer were taken for two buffers.
        "the buffers may be one",
        func(LINES, PRODUCER_CONSUMER),
        (FuseLoops("f/i", "j"),),
        func(
            LINES,
            two_loops(copy("A[%i]", "B[%i]", LINE), copy("B[%j]", "C[%j + 1]", LINE, "b")),
            marks="",
        ),
        FuseLoops("f/i", "j"),
        "stepwell.noalias",
    ),
    Pitfall(
        # llvm#211591: an unknown function was given the produced buffer inside of the producer's loop.
        "an unknown function uses the buffer",
        func(LINES, PRODUCER_CONSUMER),
        (FuseLoops("f/i", "j"),),
        f"func.func private @opaque({LINE})\n"
        + func(
            LINES,
            two_loops(
                copy("A[%i]", "B[%i]", LINE) + f"\nfunc.call @opaque(%B) : ({LINE}) -> ()",
                copy("B[%j]", "C[%j]", LINE, "b"),
            ),
        ),
        FuseLoops("f/i", "j"),
        "func.call",
    ),
)


def private_producer(consumers: str, producer: str = "") -> str:
    made = producer or loop_("i", "0 to {n} + 2", copy("A[%i]", "T[%i]", LINE))
    return func(LINES, f"%T = loop.alloc arena : {LINE}\n{made}\n{consumers}")


READS_THREE = loop_(
    "j",
    "0 to {n}",
    f"%x = loop.load %T[%j] : {LINE}",
    f"%y = loop.load %T[%j + 2] : {LINE}",
    "%z = arith.addi %x, %y : i32",
    f"loop.store %z, %C[%j] : {LINE}",
)
IN_PLACE = (
    loop_("p", "0 to {n} + 2", copy("A[%p]", "T[%p]", LINE, "first"))
    + "\n"
    + loop_("i", "0 to {n} + 2", copy("T[%i]", "T[%i]", LINE))
)

PRODUCERS = (
    Pitfall(
        # llvm#120227, llvm#212039: the private buffer was smaller than what its reader touched.
        "the consumer's region is larger than an element",
        private_producer(READS_THREE),
        (ComputeAt("f/T", "j"),),
        private_producer(
            READS_THREE.removesuffix("}") + copy("B[%j]", "A[%j + 2]", LINE, "b") + "\n}"
        ),
        ComputeAt("f/T", "j"),
        "through '%A'",
    ),
    Pitfall(
        # llvm#126028: a producer with another reader was made private to the first one.
        "the producer feeds something else too",
        private_producer(
            READS_THREE + "\n" + loop_("k", "0 to {n} + 2", copy("T[%k]", "B[%k]", LINE))
        ),
        (ComputeAt("f/T", "j"),),
        private_producer(
            READS_THREE + "\n" + loop_("k", "0 to {n} + 3", copy("T[%k]", "B[%k]", LINE)),
            loop_("i", "0 to {n} + 3", copy("A[%i]", "T[%i]", LINE)),
        ),
        ComputeAt("f/T", "j"),
        r"elsewhere reads elements of '%T'.*keep the producer",
    ),
    Pitfall(
        # llvm#210490: an update in place was repeated for the consumer and counted twice.
        "the producer updates in place",
        private_producer(READS_THREE),
        (ComputeAt("f/T", "j"),),
        private_producer(READS_THREE, IN_PLACE),
        Inline("f/T"),
        "computed from elements of its own",
    ),
    Pitfall(
        # apache/tvm#15911: part of the consumer was not computed any more.
        "the consumer needs more than one iteration has made",
        private_producer(
            loop_("j", "0 to {n}", copy("T[%j]", "C[%j]", LINE, "b")),
            loop_("i", "0 to {n}", copy("A[%i]", "T[%i]", LINE)),
        ),
        (ReverseComputeAt("f/C", "i"),),
        private_producer(
            loop_("m", "0 to {n}", copy("T[-%m + {n}]", "T[%m]", LINE, "m_"))
            + "\n"
            + loop_("j", "0 to {n}", copy("T[%j]", "C[%j]", LINE, "b"))
        ),
        ReverseComputeAt("f/C", "i"),
        "flow dependence through '%T'",
    ),
)

UNKNOWN = square(
    "\n".join(
        [
            "%p = memref.load %I[%i] : memref<20xindex>",
            "%q = memref.load %I[%j] : memref<20xindex>",
            f"%a = memref.load %A[%p, %q] : {GRID}",
            f"loop.store %a, %A[%i, %j] : {GRID}",
        ]
    )
)
REORDERING = (
    Pitfall(
        # llvm#210585: where nothing was known of a dependence there was taken to be none.
        "interchange without knowing the dependences",
        func(GRIDS, FORWARD),
        (Reorder("f/i", ("j", "i")),),
        func(GRIDS + ", %I: memref<20xindex>", UNKNOWN),
        Reorder("f/i", ("j", "i")),
        r"may exist \(an access is not affine\)",
    ),
    Pitfall(
        # llvm#210585 again.
        "tiling without knowing the dependences",
        func(GRIDS, FORWARD),
        (Tile("f/i", (3, 4)),),
        func(GRIDS + ", %I: memref<20xindex>", UNKNOWN),
        Tile("f/i", (3, 4)),
        r"may exist \(an access is not affine\)",
    ),
    Pitfall(
        # llvm#191147, llvm#192858, llvm#196972: a distance of exactly -1 passed the test of tiling.
        "tiling with a distance of exactly -1",
        func(GRIDS, DIAGONAL),
        (Skew("f/j", "i"), Tile("f/i", (2, 3))),
        func(GRIDS, DIAGONAL),
        Tile("f/i", (2, 3)),
        r"distance \(1, -1\)",
    ),
    Pitfall(
        # llvm#116144: an anti dependence was given the direction of a flow dependence.
        "interchange against an anti dependence",
        func(LINES, square(copy("A[%j + 1]", "B[%j]", LINE))),
        (Reorder("f/i", ("j", "i")),),
        func(LINES, square(copy("A[%j + 1]", "A[%j]", LINE))),
        Reorder("f/i", ("j", "i")),
        "would be swapped",
    ),
    Pitfall(
        # llvm#123920: "at least 0" was taken for "more than 0".
        "interchange where an outer distance may be 0",
        func(GRIDS, loop_("t", "0 to {n}", FORWARD)),
        (Reorder("f/i", ("j", "i")),),
        func(GRIDS, loop_("t", "0 to {n}", DIAGONAL)),
        Reorder("f/i", ("j", "i")),
        "would be swapped",
    ),
    Pitfall(
        # llvm#48650, llvm#202220, llvm#202383: bounds of a triangle were kept as those of a square.
        "interchange in a triangle",
        func(GRIDS, square(copy("B[%j, %i]", "A[%j, %i]", GRID), "0 to {n}", "0 to %i + 1")),
        (Reorder("f/i", ("j", "i")),),
        func(
            GRIDS,
            square(copy("A[%i - 1, %j + 1]", "A[%i, %j]", GRID), "1 to {n}", "0 to %i + 1"),
        ),
        Reorder("f/i", ("j", "i")),
        r"distance \(1, -1\)",
    ),
    Pitfall(
        # llvm#54176, llvm#46867, llvm#119345: dependences through one element were left out.
        "interchange with a value carried in one element",
        func(
            f"{GRIDS}, %s: memref<1xi32>",
            square(
                f"%a = loop.load %A[%i, %j] : {GRID}\n%o = loop.load %s[0] : memref<1xi32>\n"
                "%n = arith.addi %o, %a : i32\nloop.store %n, %s[0] : memref<1xi32>"
            ),
        ),
        (Reorder("f/i", ("j", "i")),),
        func(
            f"{GRIDS}, %s: memref<1xi32>",
            square(
                f"%a = loop.load %A[%i, %j] : {GRID}\n%o = loop.load %s[0] : memref<1xi32>\n"
                "%n = arith.addi %o, %a : i32\nloop.store %n, %s[0] : memref<1xi32>\n"
                f"loop.store %n, %B[%i, %j] : {GRID}"
            ),
        ),
        Reorder("f/i", ("j", "i")),
        "through '%s'",
    ),
    Pitfall(
        # llvm#202089: the last of several values was taken for a reduction.
        "interchange when the last value wins",
        func(
            f"{GRIDS}, %s: memref<1xi32>",
            square(
                f"%a = loop.load %A[%i, %j] : {GRID}\n%o = loop.load %s[0] : memref<1xi32>\n"
                "%n = arith.maxsi %o, %a : i32\nloop.store %n, %s[0] : memref<1xi32>"
            ),
        ),
        (Reorder("f/i", ("j", "i")),),
        func(
            f"{GRIDS}, %s: memref<1xi32>",
            square(f"%a = loop.load %A[%i, %j] : {GRID}\nloop.store %a, %s[0] : memref<1xi32>"),
        ),
        Reorder("f/i", ("j", "i")),
        "output dependence through '%s'",
    ),
)
