"""
The schedule steps: what each is called and which parameters it takes.

A step is a frozen dataclass. From it come an operation of the `schedule` dialect (`ops.py`), a pass with its fields as
options (`transforms/step_support/planning.py`) and a method of the Python `Schedule`. What it does to loops stands in
the file of its name in `transforms/loop/`.

Fields hold strings, integers, booleans, and tuples of strings or integers; optional fields come last.
Loops are named `"function/loop"`, buffers `"function/buffer"`.
"""

from __future__ import annotations

from .step import Step, step


@step
class Split(Step):
    """
    Split a loop into an outer one over blocks of `factor` iterations and an inner one inside a block.

    Before: `for i in 0..10`. After, with factor 4 and tail `guard`:
    `for i.outer in 0..10 step 4: for i.inner in i.outer..min(i.outer + 4, 10)`.
    """

    loop: str
    factor: int
    outer: str = ""
    inner: str = ""
    tail: str = "guard"


@step
class Tile(Step):
    """
    Split perfectly nested loops and put the loops over tiles outside of those inside a tile.

    Before: `for i: for j: S(i, j)`. After, with factors (4, 8):
    `for i.outer: for j.outer: for i.inner: for j.inner: S(i.inner, j.inner)`.
    """

    loop: str
    factors: tuple[int, ...]
    tail: str = "guard"


@step
class Reorder(Step):
    """
    Put perfectly nested loops in the order given, outermost first (interchange).

    Before: `for i: for j: S(i, j)`. After `reorder("f/i", order=["j", "i"])`: `for j: for i: S(i, j)`.
    """

    loop: str
    order: tuple[str, ...]


@step
class Fuse(Step):
    """
    Fuse two perfectly nested loops into one (collapse).

    Before: `for i in 0..N: for j in 0..M: S(i, j)`. After: `for i.j in 0..N*M: S(i.j floordiv M, i.j mod M)`.
    """

    loop: str
    inner: str
    into: str = ""


@step
class Unroll(Step):
    """
    Write a loop's body out, once for each iteration, or `factor` times in a loop of larger step.

    Before: `for i in 0..4: S(i)`. After: `S(0); S(1); S(2); S(3)`.
    With `mark` the loop stays as it is, marked `unroll`, and is written out on the way down.
    """

    loop: str
    factor: int = 0
    tail: str = "peel"
    mark: bool = False


@step
class UnrollAndJam(Step):
    """
    Unroll an outer loop and join the copies of the loops inside of it.

    Before: `for i: for j: S(i, j)`. After, with factor 2: `for i step 2: for j: S(i, j); S(i + 1, j)`.
    """

    loop: str
    factor: int
    tail: str = "peel"


@step
class Vectorize(Step):
    """
    Mark a loop to run `width` iterations at a time in vector lanes; other lengths are split first.

    Before: `for i in 0..64: S(i)`. After, with width 8: `for i.outer step 8: for vector i.inner: S`.
    """

    loop: str
    width: int = 0
    tail: str = "peel"


@step
class Parallel(Step):
    """
    Mark a loop to run its iterations on several threads.

    Before: `for i: S(i)`. After: `for threads i: S(i)`.
    """

    loop: str


@step
class Peel(Step):
    """
    Take iterations off the front or the back of a loop into a loop of their own.

    Before: `for i in 0..10`. After `peel("f/i", front=1)`: `for i.front in 0..1; for i in 1..10`.
    """

    loop: str
    front: int = 0
    back: int = 0


@step
class IndexSetSplit(Step):
    """
    Run a loop as two, before and from a point on, or as several where a condition of its body holds and where not.

    Before: `for i in 0..10`. After `index_set_split("f/i", at="4")`: `for i in 0..4; for i.rest in 4..10`.
    `at` is an affine expression over the loops around and the function's index arguments.
    """

    loop: str
    at: str


@step
class Partition(Step):
    """
    Run the iterations in which all conditions inside of a loop hold in a loop by themselves, and those at the borders in others.

    Before: `for i in 0..10: if i - 1 >= 0: S(i)`. After `partition("f/i")`: `for i.front in 0..1: if i - 1 >= 0: S(i)`
    then `for i in 1..10: S(i)`. Conditions on loops inside hold for all of their iterations then.
    """

    loop: str


@step
class SkipPadding(Step):
    """
    Leave out the iterations of a loop in which a reduction reads nothing but padding, which changes no result.

    Before: `for i: for k in 0..3: x = A[i + k - 1] if 0 <= i + k - 1 < N else 0.0; C[i] += x * w[k]`. After
    `skip_padding("f/k")`: `for i: for k in max(0, 1 - i)..min(3, N + 1 - i)`, with the same body.
    """

    loop: str


@step
class Mirror(Step):
    """
    Compute only what is on and below the diagonal of a symmetric matrix, and copy the rest from there.

    Before: `for i: for j in 0..N: C[i, j] = 0; for k: C[i, j] += A[k, i] * A[k, j]`. After `mirror("f/j")`:
    `for i: for j in 0..i + 1: …` then `for row: for column in row + 1..N: C[row, column] = C[column, row]`. Of a loop
    over tiles those are left out that are above the diagonal as a whole.
    """

    loop: str


@step
class Fission(Step):
    """
    Run the first part of a loop's body for all iterations, then the rest (distribution).

    Before: `for i: S(i); T(i)`. After `fission("f/i", after="S")`: `for i: S(i)` then `for i.rest: T(i)`.
    `after` names the buffer the last statement of the first part stores to, or a loop of the body.
    """

    loop: str
    after: str


@step
class FuseLoops(Step):
    """
    Merge two loops that follow each other into one (fusion), the second `shift` iterations later, or two nests `depth` loops deep.

    Before: `for i: S(i)` then `for j: T(j)`. After: `for i: S(i); T(i)`.
    """

    loop: str
    other: str
    shift: int = 0
    depth: int = 1


@step
class Skew(Step):
    """
    Move an inner loop's variable ahead by `factor` times the outer loop's.

    Before: `for i: for j in 0..M: S(i, j)`. After: `for i: for j in i..M + i: S(i, j - i)`.
    """

    loop: str
    by: str
    factor: int = 1


@step
class Reverse(Step):
    """
    Run a loop backwards.

    Before: `for i in 0..n: S(i)`. After: `for i in 0..n: S(n - 1 - i)`.
    """

    loop: str


@step
class ComputeAt(Step):
    """
    Compute a producer where a loop of its consumer needs it: only the part one iteration reads.

    Before: `for i: B[i] = f(A[i])` then `for j: C[j] = g(B[j], B[j + 1])`. After
    `compute_at("f/B", at="j")`: `for j: for i in j..j + 2: B[i] = f(A[i]); C[j] = g(B[j], B[j + 1])`.
    """

    buffer: str
    at: str


@step
class ReverseComputeAt(Step):
    """
    Compute a consumer inside a loop of its producer, as soon as what it reads is complete.

    Before: `for i: for j: B[i, j] = …` then `for i: for j: C[i, j] = g(B[i, j])`. After
    `reverse_compute_at("f/C", at="i")`: `for i: (for j: B[i, j] = …); (for j: C[i, j] = g(B[i, j]))`.
    """

    buffer: str
    at: str


@step
class Inline(Step):
    """
    Compute a buffer's elements where they are read and do away with the buffer.

    Before: `for i: B[i] = f(A[i])` then `for j: C[j] = g(B[j])`. After: `for j: C[j] = g(f(A[j]))`.
    """

    buffer: str


@step
class ReverseInline(Step):
    """
    Compute an element-wise consumer where its operand is produced and do away with the operand's buffer.

    Before: `for i: B[i] = f(A[i])` then `for j: C[j] = g(B[j])`. After: `for i: C[i] = g(f(A[i]))`.
    """

    buffer: str


@step
class Stage(Step):
    """
    Copy the region of a buffer that one iteration of a loop uses to a scratch buffer, and use that.

    Before: `for i.outer: for k: … A[i, k] …`. After `stage("f/A", at="i.outer", scope="stack")`: `for i.outer: alloc A.staged;
    copy A → A.staged; for k: … A.staged[i - i.outer, k] …`, and copied back at the end when the region is written.

    A copy may have its axes in another `order`, the last one packed in panels of `panel` elements, and sizes that are rounded up
    (`pad`, `pads`). Its `element` type may be another, which must hold all numbers exactly: what extends the elements that are
    read is then done while they are copied, and products of narrow integers are added up as floats. With `along`, only accesses
    with that loop's variable in a subscript use the copy, and others the buffer, such as one of two operands that are one buffer.
    With `accumulate`, a copy of sums begins with zeros, and is added to the buffer.
    """

    buffer: str
    at: str = ""
    into: str = ""
    scope: str = "stack"
    order: tuple[int, ...] = ()
    panel: int = 0
    pad: int = 0
    pads: tuple[int, ...] = ()
    along: str = ""
    element: str = ""
    accumulate: bool = False


@step
class StageHalo(Step):
    """
    Copy what one iteration of a loop reads of a buffer and around it, where reads have a value from outside of it.

    Before: `for i: for k: x = A[i + k - 1] if 0 <= i + k - 1 < N else 0.0`. After `stage_halo("f/A")`: `A.halo[0] = 0.0; for j:
    A.halo[j + 1] = A[j]; A.halo[N + 1] = 0.0` then `for i: for k: x = A.halo[i + k]`, without a condition.

    `order` permutes the copy's axes, and `pads` rounds their sizes up to multiples: what is added has the value of outside, too.
    With `align`, the copy's last axis begins further in front and is longer, so that elements of the buffer at multiples of it
    are at multiples of it in the copy: its rows are then written in whole vectors, each in one cache line.
    """

    buffer: str
    at: str = ""
    into: str = ""
    scope: str = "arena"
    order: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    align: int = 0


@step
class Rfactor(Step):
    """
    Give each iteration of a reduction loop its own partial result, combined afterwards.

    Before: `for i: for k.o: for k.i: C[i] += A[i, k]`. After `rfactor("f/k.i")`: partial results
    `C.rf[i, k.i]` over `k.o`, then `C[i] += C.rf[i, k.i]` over `k.i`. `axis` is where the loop's axis is
    among those of the partial results. Where the loop reduces into several buffers, `of` names one.
    """

    loop: str
    into: str = ""
    axis: int = -1
    of: str = ""


@step
class DecomposeReduction(Step):
    """
    Move a reduction's initialisation in front of a loop, in a nest of its own.

    Before: `for i: for j: C[i, j] = 0; for k: C[i, j] += …`. After `decompose_reduction("f/C", at="i")`:
    `for i.init: for j.init: C[i, j] = 0` then `for i: for j: for k: C[i, j] += …`.
    """

    buffer: str
    at: str


@step
class DoubleBuffer(Step):
    """
    Use two copies of a staged buffer in turn, filling the next while the present one is used.

    Before: `for i: copy A → T; use T`. After: `copy → T[0]; for i: copy next → T[(i + 1) mod 2]; use T[i mod 2]`.
    """

    buffer: str
    at: str


@step
class Prefetch(Step):
    """
    Ask for the elements a later iteration of a loop will read, `distance` iterations ahead.

    Before: `for i: … A[i] …`. After: `for i: prefetch A[i + distance]; … A[i] …`. `locality` is from 0, used once, to 3, used
    often: to which cache they come.

    With `inside`, a loop in the body, each of its iterations asks for a part: `for i: for j: prefetch part j of A[i + distance];
    … A[i] …`. A `distance` of 0 asks for what the iteration itself uses after that. With `then`, a loop around, the last
    iterations ask for what the first ones of the next iteration of that loop read: of 8 iterations of i, `for t: for i: prefetch
    A[t + (i + distance) floordiv 8, (i + distance) mod 8]; … A[t, i] …`.
    """

    buffer: str
    at: str
    distance: int = 1
    locality: int = 3
    inside: str = ""
    then: str = ""


@step
class Nontemporal(Step):
    """
    Store to a buffer past the caches: what is stored is not used soon, and its lines need not be fetched.

    Before: `loop.store %v, %A[%i]`. After: `loop.store %v, %A[%i] {nontemporal}`.
    """

    buffer: str


@step
class SetScope(Step):
    """
    Decide where a scratch buffer lives: `register`, `stack`, `thread` or `arena`.

    Before: `alloc arena : memref<64xf32>`. After: `alloc stack : memref<64xf32>`.
    """

    buffer: str
    scope: str


@step
class StorageAlign(Step):
    """
    Pad an axis of a scratch buffer so that the next outer stride is `offset` modulo `factor` elements.

    Before: `alloc : memref<8x64xf32>`. After `storage_align("f/T", axis=1, factor=16, offset=1)`: `alloc : memref<8x65xf32>`.
    """

    buffer: str
    axis: int
    factor: int
    offset: int = 0


@step
class FoldStorage(Step):
    """
    Keep `factor` elements along an axis of a scratch buffer, in turn (a circular buffer): element i is at `i mod factor`.

    Before: `for i: T[i + 1] = f(A[i + 1]); B[i] = g(T[i], T[i + 1])`. After `fold_storage("f/T", axis=0, factor=2)`:
    `for i: T[(i + 1) mod 2] = f(A[i + 1]); B[i] = g(T[i mod 2], T[(i + 1) mod 2])`.
    """

    buffer: str
    axis: int
    factor: int


@step
class Tensorize(Step):
    """
    Replace a nest by a call of a function of the module that computes the same (a micro-kernel).

    Before: `for i in 0..4: for j in 0..4: …`. After `tensorize("f/i", kernel="mm4x4")`: `func.call @mm4x4(subviews)`.
    """

    loop: str
    kernel: str


@step
class Pragma(Step):
    """
    Note something for later stages on a loop: `stepwell.pragma.<key> = value`.

    Before: `for i`. After `pragma("f/i", key="unroll_explicit", value="4")`: the loop with that attribute.
    """

    loop: str
    key: str
    value: str = ""


@step
class Simplify(Step):
    """
    Clean up: no redundant terms in bounds, no dead conditions, no loops of one iteration. Other loops' numbers stay.

    Before: `for i in max(0, 4)..min(8, 16): if (i >= 0): S(i)`. After: `for i in 4..8: S(i)`.
    """

    function: str


@step
class Normalize(Step):
    """
    Let loops run from 0 by one: what is in them computes the old number from the new one.

    Before: `for i in 4..20 step 8: S(i)`. After: `for i in 0..2: S(i * 8 + 4)`.
    A loop that starts at the largest of several bounds stays as it is; `simplify` may find which of them it is.
    """

    function: str


STEPS: dict[str, type[Step]] = {cls.keyword: cls for cls in Step.__subclasses__()}
"""Every step by its keyword, in the order of this file."""
