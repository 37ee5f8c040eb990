"""The kernels that `probe.py` times, as text at core level: multiply-adds, streams, packing and register tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..targets.core import LINE_BYTES

UNROLL = 8
"""How many vectors an iteration of a stream kernel handles."""


def fma_kernel(element: str, lanes: int, accumulators: int) -> str:
    """
    `rounds` times `acc = acc * x[0] + x[1]` in every lane of `accumulators` independent vectors.

    The vectors begin and end in `%sums`, so that nothing is known of them, and none is dead.
    """
    vector = f"vector<{lanes}x{element}>"
    sums = f"memref<{accumulators}x{lanes}x{element}>"
    every = range(accumulators)
    lines = [
        f"func.func @probe_fma(%rounds: index, %x: memref<2x{element}>, %sums: {sums}) {{",
        *_constants({0, 1, *every}),
        f"%factor = memref.load %x[%c0] : memref<2x{element}>",
        f"%summand = memref.load %x[%c1] : memref<2x{element}>",
        f"%a = vector.broadcast %factor : {element} to {vector}",
        f"%b = vector.broadcast %summand : {element} to {vector}",
        *(f"%first{n} = vector.load %sums[%c{n}, %c0] : {sums}, {vector}" for n in every),
        f"%last:{accumulators} = scf.for %round = %c0 to %rounds step %c1",
        f"iter_args({_pairs('%acc', '%first', every)}) -> ({_times(vector, every)}) {{",
        *(f"%next{n} = vector.fma %acc{n}, %a, %b : {vector}" for n in every),
        f"scf.yield {_names('%next', every)} : {_times(vector, every)}",
        "}",
        *(f"vector.store %last#{n}, %sums[%c{n}, %c0] : {sums}, {vector}" for n in every),
        "func.return",
        "}",
    ]
    return "\n".join(lines)


def read_kernel(lanes: int) -> str:
    """`rounds` times the sum of all of `%x`, whose size is a multiple of `UNROLL * lanes`, added to `%sums`."""
    vector, sums = f"vector<{lanes}xf32>", f"memref<{UNROLL}x{lanes}xf32>"
    every = range(UNROLL)
    types = _times(vector, every)
    lines = [
        f"func.func @probe_read(%rounds: index, %x: memref<?xf32>, %sums: {sums}) {{",
        *_constants({0, 1, *every, UNROLL * lanes, *(n * lanes for n in every)}),
        "%size = memref.dim %x, %c0 : memref<?xf32>",
        *(f"%first{n} = vector.load %sums[%c{n}, %c0] : {sums}, {vector}" for n in every),
        f"%last:{UNROLL} = scf.for %round = %c0 to %rounds step %c1",
        f"iter_args({_pairs('%outer', '%first', every)}) -> ({types}) {{",
        f"%inner:{UNROLL} = scf.for %i = %c0 to %size step %c{UNROLL * lanes}",
        f"iter_args({_pairs('%acc', '%outer', every)}) -> ({types}) {{",
        *_each(lambda n: _place(n, lanes)),
        *(f"%x{n} = vector.load %x[%i{n}] : memref<?xf32>, {vector}" for n in every),
        *(f"%next{n} = arith.addf %acc{n}, %x{n} : {vector}" for n in every),
        f"scf.yield {_names('%next', every)} : {types}",
        "}",
        f"scf.yield {_names('%inner#', every)} : {types}",
        "}",
        *(f"vector.store %last#{n}, %sums[%c{n}, %c0] : {sums}, {vector}" for n in every),
        "func.return",
        "}",
    ]
    return "\n".join(lines)


def read_rows_kernel(lanes: int, rows: int, piece: int) -> str:
    """As `read_kernel`, of rows in turns: `piece` elements of each, whose vectors are added up one after the other."""
    vector, sums = f"vector<{lanes}xf32>", f"memref<{rows}x{lanes}xf32>"
    matrix, every, places = f"memref<{rows}x?xf32>", range(rows), range(0, piece, lanes)
    types = _times(vector, every)

    def added(row: int, place: int) -> list[str]:
        before = f"%acc{row}" if place == 0 else f"%sum{row}_{place - lanes}"
        name = f"{row}_{place}"
        return [
            f"%x{name} = vector.load %x[%c{row}, %i_{place}] : {matrix}, {vector}",
            f"%sum{name} = arith.addf {before}, %x{name} : {vector}",
        ]

    last = ", ".join(f"%sum{row}_{places[-1]}" for row in every)
    lines = [
        f"func.func @probe_read_rows(%rounds: index, %x: {matrix}, %sums: {sums}) {{",
        *_constants({0, 1, *every, *places, piece}),
        f"%size = memref.dim %x, %c1 : {matrix}",
        *(f"%first{n} = vector.load %sums[%c{n}, %c0] : {sums}, {vector}" for n in every),
        f"%last:{rows} = scf.for %round = %c0 to %rounds step %c1",
        f"iter_args({_pairs('%outer', '%first', every)}) -> ({types}) {{",
        f"%inner:{rows} = scf.for %i = %c0 to %size step %c{piece}",
        f"iter_args({_pairs('%acc', '%outer', every)}) -> ({types}) {{",
        *(f"%i_{place} = arith.addi %i, %c{place} : index" for place in places),
        *(line for place in places for row in every for line in added(row, place)),
        f"scf.yield {last} : {types}",
        "}",
        f"scf.yield {_names('%inner#', every)} : {types}",
        "}",
        *(f"vector.store %last#{n}, %sums[%c{n}, %c0] : {sums}, {vector}" for n in every),
        "func.return",
        "}",
    ]
    return "\n".join(lines)


def chase_kernel(steps: int) -> str:
    """`rounds` times so many loads from `%x`, each of which says where the next one is; `%at` is the place of the first, and then of the next."""
    lines = [
        "func.func @probe_chase(%rounds: index, %x: memref<?xi64>, %at: memref<1xi64>) {",
        *_constants({0, 1, steps}),
        "%first = memref.load %at[%c0] : memref<1xi64>",
        "%last = scf.for %round = %c0 to %rounds step %c1 iter_args(%outer = %first) -> (i64) {",
        f"%inner = scf.for %i = %c0 to %c{steps} step %c1 iter_args(%place = %outer) -> (i64) {{",
        "%index = arith.index_cast %place : i64 to index",
        "%next = memref.load %x[%index] : memref<?xi64>",
        "scf.yield %next : i64",
        "}",
        "scf.yield %inner : i64",
        "}",
        "memref.store %last, %at[%c0] : memref<1xi64>",
        "func.return",
        "}",
    ]
    return "\n".join(lines)


def copy_kernel(lanes: int, *, is_past: bool = False) -> str:
    """`rounds` times `y = x`, for sizes that are multiples of `UNROLL * lanes`; `is_past` the caches, by whole lines."""
    vector = f"vector<{lanes}xf32>"
    hint = " {nontemporal = true}" if is_past else ""
    body = [
        *_each(lambda n: f"%x{n} = vector.load %x[%i{n}] : memref<?xf32>, {vector}"),
        *_each(lambda n: f"vector.store %x{n}, %y[%i{n}]{hint} : memref<?xf32>, {vector}"),
    ]
    return _stream("copy", ("x", "y"), (), body, lanes)


def tile_kernel(rows: int, vectors: int, lanes: int, depth: int, ahead: int = 0) -> str:
    """
    `rounds` times, for each panel of `%wide` and each of `%narrow`, the product of the two in `%tile`: the
    innermost loops of a matrix product, with the sums of one register tile in registers.

    Panels are packed: of `depth` steps of the summation, each with what one step needs. Each step asks L1 for what
    `%wide` has for the one that comes so many steps `ahead`, if that is not 0.
    """
    narrow = f"memref<?x{depth}x{rows}xf32>"
    return _tiles(rows, vectors, lanes, depth, narrow, lambda row: f"%q, %k, %c{row}", ahead)


def strided_tile_kernel(rows: int, vectors: int, lanes: int, depth: int) -> str:
    """As `tile_kernel`, with the one panel of `%narrow` unpacked: a matrix with the tile's rows."""
    return _tiles(rows, vectors, lanes, depth, "memref<?x?xf32>", lambda row: f"%c{row}, %k")


def _tiles(
    rows: int,
    vectors: int,
    lanes: int,
    depth: int,
    narrow: str,
    place: Callable[[int], str],
    ahead: int = 0,
) -> str:
    vector, columns = f"vector<{lanes}xf32>", vectors * lanes
    wide, tile = f"memref<?x{depth}x{columns}xf32>", f"memref<{rows}x{columns}xf32>"
    is_packed = narrow.count("x") > 2
    sums = range(rows * vectors)
    lines = [
        f"func.func @probe_tile(%rounds: index, %narrow: {narrow}, %wide: {wide}, %tile: {tile}) {{",
        *_constants({0, 1, depth, ahead, *range(rows), *(n * lanes for n in range(vectors))}),
        "%zero = arith.constant 0.000000e+00 : f32",
        f"%zeros = vector.broadcast %zero : f32 to {vector}",
        f"%wides = memref.dim %wide, %c0 : {wide}",
        f"%narrows = memref.dim %narrow, %c0 : {narrow}" if is_packed else "",
        "scf.for %round = %c0 to %rounds step %c1 {",
        "scf.for %p = %c0 to %wides step %c1 {",
        f"scf.for %q = %c0 to {'%narrows' if is_packed else '%c1'} step %c1 {{",
        f"%last:{len(sums)} = scf.for %k = %c0 to %c{depth} step %c1",
        f"iter_args({', '.join(f'%acc{n} = %zeros' for n in sums)}) -> ({_times(vector, sums)}) {{",
        *(_tile_hints(columns, ahead, wide) if ahead else ()),
        *_tile_term(rows, vectors, lanes, wide, lambda row: f"[{place(row)}] : {narrow}"),
        f"scf.yield {_names('%next', sums)} : {_times(vector, sums)}",
        "}",
        *_tile_stores(rows, vectors, lanes),
        *["}"] * 3,
        "func.return",
        "}",
    ]
    return "\n".join(lines)


def rows_tile_kernel(
    rows: int,
    vectors: int,
    lanes: int,
    depth: int,
    panels: int,
    part: int,
    *,
    is_asked: bool,
) -> str:
    """
    As `tile_kernel`, with the rows of `%narrow` as they are, block by block of as many as the tile has, each with all `panels`.

    The sums go by parts of so many steps. Where what comes is `is_asked` for, a hint before each part asks for a piece of the
    next block: for all of it in the course of the panels.
    """
    vector, columns = f"vector<{lanes}xf32>", vectors * lanes
    narrow, wide = f"memref<?x{rows}x{depth}xf32>", f"memref<{panels}x{depth}x{columns}xf32>"
    tile = f"memref<{rows}x{columns}xf32>"
    sums, parts = range(rows * vectors), depth // part
    piece = rows * depth // (panels * parts)
    types, hints = _times(vector, sums), range(0, piece if is_asked else 0, 16)
    every = {0, 1, part, panels, parts, piece, *range(rows), *(n * lanes for n in range(vectors))}
    lines = [
        f"func.func @probe_rows(%rounds: index, %narrow: {narrow}, %wide: {wide}, %tile: {tile}) {{",
        *_constants(every | {*hints}),
        "%zero = arith.constant 0.000000e+00 : f32",
        f"%zeros = vector.broadcast %zero : f32 to {vector}",
        f"%blocks = memref.dim %narrow, %c0 : {narrow}",
        "scf.for %round = %c0 to %rounds step %c1 {",
        "scf.for %q = %c0 to %blocks step %c1 {",
        "%after = arith.addi %q, %c1 : index",
        f"scf.for %p = %c0 to %c{panels} step %c1 {{",
        f"%last:{len(sums)} = scf.for %s = %c0 to %c{parts} step %c1",
        f"iter_args({', '.join(f'%sum{n} = %zeros' for n in sums)}) -> ({types}) {{",
        f"%first = arith.muli %s, %c{part} : index",
        f"%end = arith.addi %first, %c{part} : index",
        f"%before = arith.muli %p, %c{parts} : index",
        "%number = arith.addi %before, %s : index",
        f"%begin = arith.muli %number, %c{piece} : index",
        *(f"%at{n} = arith.addi %begin, %c{n} : index" for n in hints),
        *(
            f"memref.prefetch %narrow[%after, %c0, %at{n}], read, locality<2>, data : {narrow}"
            for n in hints
        ),
        f"%inner:{len(sums)} = scf.for %k = %first to %end step %c1",
        f"iter_args({_pairs('%acc', '%sum', sums)}) -> ({types}) {{",
        *_tile_term(rows, vectors, lanes, wide, lambda row: f"[%q, %c{row}, %k] : {narrow}"),
        f"scf.yield {_names('%next', sums)} : {types}",
        "}",
        f"scf.yield {_names('%inner#', sums)} : {types}",
        "}",
        *_tile_stores(rows, vectors, lanes),
        *["}"] * 3,
        "func.return",
        "}",
    ]
    return "\n".join(lines)


def pieces_tile_kernel(
    rows: int, vectors: int, lanes: int, depth: int, pieces: int, tiles: int, apart: int
) -> str:
    """
    As `tile_kernel`, with the rows of `%narrow` as they are, so many elements `apart`, and one panel for each of the `pieces` of rows. All
    first pieces of a block of so many `tiles` of rows are used before the second ones, as products do whose sums are in blocks.
    """
    vector, columns = f"vector<{lanes}xf32>", vectors * lanes
    narrow, wide = (
        f"memref<?x{tiles}x{rows}x{apart}xf32>",
        f"memref<{pieces}x{depth}x{columns}xf32>",
    )
    tile = f"memref<{rows}x{columns}xf32>"
    sums = range(rows * vectors)
    every = {0, 1, depth, pieces, tiles, *range(rows), *(n * lanes for n in range(vectors))}
    lines = [
        f"func.func @probe_pieces(%rounds: index, %narrow: {narrow}, %wide: {wide}, %tile: {tile}) {{",
        *_constants(every),
        "%zero = arith.constant 0.000000e+00 : f32",
        f"%zeros = vector.broadcast %zero : f32 to {vector}",
        f"%blocks = memref.dim %narrow, %c0 : {narrow}",
        "scf.for %round = %c0 to %rounds step %c1 {",
        "scf.for %q = %c0 to %blocks step %c1 {",
        f"scf.for %p = %c0 to %c{pieces} step %c1 {{",
        f"%first = arith.muli %p, %c{depth} : index",
        f"scf.for %t = %c0 to %c{tiles} step %c1 {{",
        f"%last:{len(sums)} = scf.for %k = %c0 to %c{depth} step %c1",
        f"iter_args({', '.join(f'%acc{n} = %zeros' for n in sums)}) -> ({_times(vector, sums)}) {{",
        "%at = arith.addi %first, %k : index",
        *_tile_term(rows, vectors, lanes, wide, lambda row: f"[%q, %t, %c{row}, %at] : {narrow}"),
        f"scf.yield {_names('%next', sums)} : {_times(vector, sums)}",
        "}",
        *_tile_stores(rows, vectors, lanes),
        *["}"] * 4,
        "func.return",
        "}",
    ]
    return "\n".join(lines)


def _tile_hints(columns: int, ahead: int, wide: str) -> list[str]:
    """Ask L1 for each line of the so many columns that a tile reads so many steps later."""
    places = range(0, columns, LINE_BYTES // 4)
    return [
        f"%later = arith.addi %k, %c{ahead} : index",
        *(
            f"memref.prefetch %wide[%p, %later, %c{n}], read, locality<3>, data : {wide}"
            for n in places
        ),
    ]


def _tile_term(
    rows: int, vectors: int, lanes: int, wide: str, narrow: Callable[[int], str]
) -> list[str]:
    """One step of the summation of a tile: `narrow` says where a row's element is, and of what type."""
    vector = f"vector<{lanes}xf32>"
    lines = [
        f"%b{n} = vector.load %wide[%p, %k, %c{n * lanes}] : {wide}, {vector}"
        for n in range(vectors)
    ]
    return [
        *lines,
        *(line for row in range(rows) for line in _tile_row(row, vectors, narrow(row), vector)),
    ]


def _tile_stores(rows: int, vectors: int, lanes: int) -> list[str]:
    """A tile's sums, the results of `%last`, stored in `%tile`."""
    types = f"memref<{rows}x{vectors * lanes}xf32>, vector<{lanes}xf32>"
    pairs = [(row, number) for row in range(rows) for number in range(vectors)]
    return [
        f"vector.store %last#{n}, %tile[%c{row}, %c{number * lanes}] : {types}"
        for n, (row, number) in enumerate(pairs)
    ]


def _tile_row(row: int, vectors: int, place: str, vector: str) -> list[str]:
    """One step of the summation in one row of the tile: a register at a time holds an element of the narrow one."""
    first = row * vectors
    return [
        f"%x{row} = memref.load %narrow{place}",
        f"%a{row} = vector.broadcast %x{row} : f32 to {vector}",
        *(
            f"%next{first + n} = vector.fma %a{row}, %b{n}, %acc{first + n} : {vector}"
            for n in range(vectors)
        ),
    ]


def pack_kernel(vectors: int, lanes: int, depth: int, panels: int) -> str:
    """
    `rounds` times, each block of `%x`, which is a matrix of `depth` rows, copied to `panels` panels of so many
    `vectors` columns: what packing the wide operand of a product is.
    """
    vector, columns = f"vector<{lanes}xf32>", vectors * lanes
    block, packed = (
        f"memref<?x{depth}x{panels * columns}xf32>",
        f"memref<{panels}x{depth}x{columns}xf32>",
    )
    every = range(vectors)
    lines = [
        f"func.func @probe_pack(%rounds: index, %x: {block}, %panels: {packed}) {{",
        *_constants({0, 1, depth, panels, columns, *(n * lanes for n in every)}),
        f"%blocks = memref.dim %x, %c0 : {block}",
        "scf.for %round = %c0 to %rounds step %c1 {",
        "scf.for %b = %c0 to %blocks step %c1 {",
        f"scf.for %p = %c0 to %c{panels} step %c1 {{",
        f"%i = arith.muli %p, %c{columns} : index",
        f"scf.for %k = %c0 to %c{depth} step %c1 {{",
        *(_place(n, lanes) for n in every),
        *(f"%x{n} = vector.load %x[%b, %k, %i{n}] : {block}, {vector}" for n in every),
        *(
            f"vector.store %x{n}, %panels[%p, %k, %c{n * lanes}] : {packed}, {vector}"
            for n in every
        ),
        *["}"] * 4,
        "func.return",
        "}",
    ]
    return "\n".join(lines)


def _stream(
    name: str, arrays: Iterable[str], prologue: Iterable[str], body: Iterable[str], lanes: int
) -> str:
    """A function that goes `rounds` times over its arrays; `body` is at `%i0`, `%i1` and so on."""
    arguments = ", ".join(f"%{array}: memref<?xf32>" for array in arrays)
    lines = [
        f"func.func @probe_{name}(%rounds: index, {arguments}) {{",
        *_constants({0, 1, UNROLL * lanes, *(n * lanes for n in range(UNROLL))}),
        *prologue,
        "%size = memref.dim %x, %c0 : memref<?xf32>",
        "scf.for %round = %c0 to %rounds step %c1 {",
        f"scf.for %i = %c0 to %size step %c{UNROLL * lanes} {{",
        *_each(lambda n: _place(n, lanes)),
        *body,
        "}",
        "}",
        "func.return",
        "}",
    ]
    return "\n".join(lines)


def _each(line: Callable[[int], str]) -> list[str]:
    return [line(number) for number in range(UNROLL)]


def _place(number: int, lanes: int) -> str:
    return f"%i{number} = arith.addi %i, %c{number * lanes} : index"


def _constants(values: set[int]) -> list[str]:
    return [f"%c{value} = arith.constant {value} : index" for value in sorted(values)]


def _names(prefix: str, numbers: Iterable[int]) -> str:
    return ", ".join(f"{prefix}{number}" for number in numbers)


def _pairs(inside: str, outside: str, numbers: Iterable[int]) -> str:
    """`%acc0 = %first0, %acc1 = %first1`, …; results of `%outer` have a `#` when they are of a loop."""
    return ", ".join(f"{inside}{number} = {outside}{number}" for number in numbers)


def _times(type_: str, numbers: Iterable[int]) -> str:
    return ", ".join(type_ for _ in numbers)
