"""
A new schedule for whole functions by isl: outer parallel loops, tilable bands, skewing where needed.

The scheduler is isl's variant of Pluto's (Bondhugula et al., A practical automatic polyhedral
parallelizer and locality optimizer, 2008); loops are generated from isl's syntax tree (Grosser, Verdoolaege
and Cohen, Polyhedral AST generation is more than scanning polyhedra, 2015).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import islpy as isl
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import affine, func
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...analysis.affine_isl import as_map
from ...analysis.dependence import Dependences, dependences
from ...analysis.levels import Level
from ...analysis.statements import Statement, find_statements, is_free
from ...dialects import loop
from ...errors import StepwellError
from ...frozen import frozen
from ..remarks import remark
from ..step_support.auto import functions_with_loops
from ..step_support.isl_ast import AstToLoops
from ..step_support.isl_scheduler import SECONDS, scheduled
from ..step_support.rewrite import substitute
from ..stepwell_pass import StepwellPass

FUSIONS = ("max", "min")


OPERATIONS = 120_000
"""Of isl's arithmetic, after which a schedule is given up: a few seconds. `examples/kernels` take 50 000."""


@frozen
class LoopPolyhedralPass(StepwellPass):
    """
    Schedule the loops of each function anew with isl, for parallelism and locality.

    `tile` is the edge of the tiles of permutable bands (0 for none), `fuse` whether statements share
    loops wherever they can (`max`) or only within a dependence cycle (`min`), `function` the only one to
    schedule.
    """

    name = "loop-polyhedral"
    level_in = Level.LOOP
    level_out = Level.LOOP
    numerics = "reassociates"

    zero_has_meaning = frozenset({"tile"})

    tile: int = 32
    fuse: str = "max"
    function: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.fuse not in FUSIONS:
            raise StepwellError(
                f"found fuse={self.fuse} for pass '{self.name}', expected one of {', '.join(FUSIONS)}; write one of these"
            )
        for function in functions_with_loops(op):
            if self.function in ("", function.sym_name.data):
                reschedule(function, self.tile, self.fuse)


def reschedule(function: func.FuncOp, tile: int, fuse: str) -> None:
    """
    Replace the loops of a function by those of a new schedule.

    Raises StepwellError, with the function as it was, when something in it is not affine.
    """
    found = dependences(function)
    _check_affine(function, found)
    statements = find_statements(found.scop)
    if not statements:
        return
    schedule = compute_schedule(found, statements, fuse)
    _report(found, statements, schedule, tile)
    if tile:
        schedule = schedule.map_schedule_node_bottom_up(lambda node: _tiled(node, tile))
    schedule = schedule.map_schedule_node_bottom_up(_with_kinds)
    _generate(function, found, statements, schedule)


def _check_affine(function: func.FuncOp, found: Dependences) -> None:
    for access in found.scop.accesses:
        if not access.is_direct:
            raise StepwellError(
                f"'{access.op.name}' is not an affine access, so '{function.sym_name.data}' cannot be "
                "scheduled as a whole; use single steps on the loops around it",
                op=access.op,
            )
    for op in function.walk():
        if isinstance(op, loop.AllocOp) and op.parent is not function.body.block:
            raise StepwellError(
                f"'%{loop.buffer_name(op.buffer) or 'a buffer'}' is made inside of a loop, so its iterations "
                "cannot be moved apart; make it at the start of the function",
                op=op,
            )


def compute_schedule(
    found: Dependences, statements: Sequence[Statement], fuse: str
) -> isl.Schedule:
    """isl's schedule of the statements that keeps all dependences."""
    statement_of = {access: s for s in statements for access in s.accesses}
    empty = isl.UnionMap.empty(statements[0].domain.get_space().params())
    validity, domain = empty, statements[0].domain.to_union_set()
    for statement in statements[1:]:
        domain = domain.union(statement.domain.to_union_set())
    for dependence in found.all:
        source, sink = statement_of[dependence.source], statement_of[dependence.sink]
        pairs = dependence.relation.set_tuple_name(isl.dim_type.in_, source.name)
        pairs = pairs.set_tuple_name(isl.dim_type.out, sink.name)
        if source is sink:
            pairs = pairs.subtract(isl.Map.identity(pairs.get_space()))
        validity = validity.union(pairs.to_union_map())
    constraints = isl.ScheduleConstraints.on_domain(domain)
    constraints = constraints.set_validity(validity)
    constraints = constraints.set_coincidence(validity)
    constraints = constraints.set_proximity(validity)
    try:
        return scheduled(
            constraints,
            statements=len(statements),
            serialize=fuse == "min",
            operations=OPERATIONS,
        )
    except (isl.Error, TimeoutError) as error:
        function = found.scop.function
        raise StepwellError(_why_none(function.sym_name.data, error), op=function) from None


def _why_none(name: str, error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"found no schedule of '{name}' in {SECONDS} seconds; use single steps, or split the function"
    if "maximal number of operations" in str(error):
        return (
            f"found no schedule of '{name}' in {OPERATIONS} operations of isl; use single steps, or split "
            "the function"
        )
    # Statements that depend on each other both ways in one iteration.
    return (
        f"found no schedule of '{name}' that keeps all dependences: a value is loaded before and used "
        "after another statement that overwrites it; load it where it is used, or store it to a buffer "
        "of its own"
    )


def _report(
    found: Dependences, statements: Sequence[Statement], schedule: isl.Schedule, tile: int
) -> None:
    """Remark on each band of loops: when each of its statements runs, what is parallel, what is tiled."""
    names = [value.name_hint or "?" for value in found.scop.parameters]

    loops = {s.name: [for_op.loop_name.data for for_op in s.loops] for s in statements}
    for band in _bands(schedule.get_root()):
        times = _times(band, names, loops)
        own = [statement for statement in statements if statement.name in times]
        count = band.band_n_member()
        free = [str(n + 1) for n in range(count) if band.band_member_get_coincident(n)]
        parts = [
            f"a band of {count} loops" if count > 1 else "a loop of its own",
            "permutable" if band.band_get_permutable() else "in this order only",
            f"tiled by {tile}" if tile and _is_tilable(band) else "not tiled",
            f"parallel: {', '.join(free) or 'none'}",
            *(f"{_statement_text(s)} at ({', '.join(times[s.name])})" for s in own),
        ]
        remark(own[0].ops[-1], "; ".join(parts))


def _bands(node: isl.ScheduleNode) -> Iterator[isl.ScheduleNode]:
    """The bands of a schedule, outermost first."""
    if node.get_type() == isl.schedule_node_type.band:
        yield node
    for n in range(node.n_children()):
        yield from _bands(node.child(n))


def _times(
    band: isl.ScheduleNode, parameters: Sequence[str], loops: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """For each statement by name the expressions of its loops' variables that the band's loops count."""
    times: dict[str, list[str]] = {}
    functions = band.band_get_partial_schedule()
    for n in range(band.band_n_member()):
        parts = functions.get_union_pw_aff(n).get_pw_aff_list()
        for function in (parts.get_at(m) for m in range(parts.n_pw_aff())):
            # isl prints `[p0] -> { S0[i0, i1] -> [(i0 + i1)] }`.
            text = re.sub(r".*?\[\((.*?)\)\].*", r"\1", str(function), flags=re.DOTALL)
            text = re.sub(r"\bp(\d+)\b", lambda found: f"%{parameters[int(found[1])]}", text)
            name = function.get_space().get_tuple_name(isl.dim_type.in_) or ""
            own = loops.get(name, ())
            text = re.sub(r"(?<!%)\bi(\d+)\b", lambda found: own[int(found[1])], text)  # noqa: B023
            times.setdefault(name, []).append(text)
    return times


def _statement_text(statement: Statement) -> str:
    """`the store to '%A'`"""
    written = [access.buffer for access in statement.accesses if access.is_write]
    names = ", ".join(dict.fromkeys(f"'%{loop.buffer_name(buffer) or '?'}'" for buffer in written))
    around = ", ".join(for_op.loop_name.data for for_op in statement.loops)
    return (f"the store to {names}" if names else "the loads") + f" of ({around})"


def _is_tilable(node: isl.ScheduleNode) -> bool:
    return bool(
        node.get_type() == isl.schedule_node_type.band
        and node.band_get_permutable()
        and node.band_n_member() > 1
    )


def _tiled(node: isl.ScheduleNode, size: int) -> isl.ScheduleNode:
    """The node with its band tiled, when it is a permutable band of two or more loops."""
    if not _is_tilable(node):
        return node
    sizes = isl.MultiVal.zero(node.band_get_space())
    for n in range(node.band_n_member()):
        sizes = sizes.set_val(n, isl.Val(size))
    return node.band_tile(sizes)


def _with_kinds(node: isl.ScheduleNode) -> isl.ScheduleNode:
    """The node with a mark above each member of its band, which says whether that loop is parallel."""
    if node.get_type() != isl.schedule_node_type.band:
        return node
    if node.band_n_member() > 1:
        node = node.band_split(1)
        node = _with_kinds(node.child(0)).parent()
    kind = loop.LoopKind.PARALLEL if node.band_member_get_coincident(0) else loop.LoopKind.SERIAL
    return node.insert_mark(isl.Id(kind.value))


def _generate(
    function: func.FuncOp,
    found: Dependences,
    statements: Sequence[Statement],
    schedule: isl.Schedule,
) -> None:
    context = isl.DEFAULT_CONTEXT
    context.set_ast_build_atomic_upper_bound(1)
    parameters = found.scop.parameters
    names = ", ".join(f"p{n}" for n in range(len(parameters)))
    build = isl.AstBuild.from_context(isl.Set(f"[{names}] -> {{ : }}"))
    tree = build.node_from_schedule(schedule)
    by_name = {statement.name: statement for statement in statements}

    places: dict[str, list[_Placed]] = {name: [] for name in by_name}

    def emit(
        block: Block, name: str, point: Sequence[AffineExpr], values: Sequence[SSAValue]
    ) -> None:
        places[name].append((block, tuple(point), tuple(values)))
        _clone_statement(block, by_name[name], point, values)

    made = Block()
    AstToLoops(parameters, emit).build(tree, made)
    for statement in statements:
        if not _is_complete(found, statement, places[statement.name]):
            made.erase(safe_erase=False)  # nothing else is to use the program's values
            raise StepwellError(
                f"the loops that isl made do not run {_statement_text(statement)} once for each of its iterations, "
                "which is a mistake of isl's; use another tile=, or single steps",
                op=statement.ops[-1],
            )
    _replace_loops(function.body.block, statements, made)


_Placed = tuple[Block, tuple[AffineExpr, ...], tuple[SSAValue, ...]]
"""Where a statement has been put, and as which of its iterations: expressions over values."""


def _is_complete(found: Dependences, statement: Statement, places: Iterable[_Placed]) -> bool:
    """Whether loops that have been made run each iteration of a statement, and once: isl's have been seen not to."""
    run: isl.Set | None = None
    for block, point, values in places:
        frame = found.scop.frames.of(block)
        terms = frame.terms(point, values)
        if terms is None or not frame.certain:
            return False
        # A number in front stands for the iteration of a statement outside of all loops.
        all_terms = [AffineExpr.constant(0), *terms]
        iterations = as_map(frame.around.values(all_terms)).intersect_domain(frame.domain)
        here = iterations.range()
        if not iterations.is_injective() or (run is not None and not run.is_disjoint(here)):
            return False
        run = here if run is None else run.union(here)
    wanted = statement.domain.reset_tuple_id().insert_dims(isl.dim_type.set, 0, 1)
    wanted = wanted.fix_val(isl.dim_type.set, 0, isl.Val(0))
    return wanted.is_empty() if run is None else bool(run.is_equal(wanted))


def _clone_statement(
    block: Block, statement: Statement, point: Sequence[AffineExpr], values: Sequence[SSAValue]
) -> None:
    """Append the statement's operations at the iteration `point`, whose expressions are over `values`."""
    builder = Builder(InsertPoint.at_end(block))
    mapping: dict[SSAValue, SSAValue] = {}
    applied: list[affine.ApplyOp] = []
    for for_op, expr in zip(statement.loops, point, strict=True):
        map_ = AffineMapAttr(AffineMap(len(values), 0, (expr,)))
        apply = builder.insert(affine.ApplyOp(values, map_))
        apply.result.name_hint = for_op.induction_variable.name_hint
        mapping[for_op.induction_variable] = apply.result
        applied.append(apply)
    for op in _with_free_operands(statement):
        builder.insert(op.clone(mapping))
    for apply, expr in zip(applied, point, strict=True):
        substitute(apply.result, expr, values)
        apply.detach()
        apply.erase()


def _with_free_operands(statement: Statement) -> Iterator[Operation]:
    """The statement's operations, each after the constants and index arithmetic it needs."""
    done: set[Operation] = set()

    def needed(op: Operation) -> Iterator[Operation]:
        for operand in (operand for inner in op.walk() for operand in inner.operands):
            owner = operand.owner
            if isinstance(owner, Block) or not is_free(owner) or owner in done:
                continue
            if not op.is_ancestor(owner):
                done.add(owner)
                yield from needed(owner)
                yield owner

    for op in statement.ops:
        yield from needed(op)
        yield op


def _replace_loops(block: Block, statements: Sequence[Statement], made: Block) -> None:
    """Put the generated loops in the place of the function's statements."""
    own = {op for s in statements if not s.loops for op in s.ops}
    old = [op for op in block.ops if isinstance(op, loop.ForOp | loop.IfOp) or op in own]
    last = block.last_op
    assert last is not None
    for op in list(made.ops):
        op.detach()
        block.insert_op_before(op, last)
    for op in reversed(old):
        op.detach()
        op.erase()
