"""Loops of ours from isl's trees, for random sets of iterations in random orders: which run, and when."""

from collections import Counter
from dataclasses import dataclass
from random import Random

import islpy as isl
import numpy as np
import pytest
from stepwell.analysis.verify import verify
from stepwell.dialects import loop
from stepwell.interpreters.harness import interpret
from stepwell.transforms.step_support.isl_ast import AstToLoops
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, i32
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

LOW, HIGH = -3, 10
"""Between which each variable is."""

SIZE = HIGH - LOW
PARAMETER = 4


@dataclass(frozen=True)
class Program:
    """Statements by name: the iterations of each as isl writes them, when they run, and the edges of tiles, 0 for none."""

    domains: tuple[str, ...]
    shifts: tuple[tuple[int, ...], ...]
    tiles: tuple[int, ...]
    factor: int = 1

    def time(self, statement: int, point: tuple[int, ...]) -> tuple[int, ...]:
        """When an iteration runs."""
        by = self.shifts[statement]
        moved = tuple(self.factor * (p + n) for p, n in zip(point, by, strict=True))
        if not self.tiles:
            return moved
        return (*(m // size for m, size in zip(moved, self.tiles, strict=True)), *moved)


def random_program(rng: Random) -> Program:
    depth, count = rng.choice((1, 1, 2, 2)), rng.choice((1, 1, 2))
    names = [f"i{n}" for n in range(depth)]
    domains = tuple(
        f"[p0] -> {{ S{n}[{', '.join(names)}] : {_alternatives(rng, names)} }}"
        for n in range(count)
    )
    shifts = tuple(tuple(rng.choice((0, 0, 1, -2)) for _ in names) for _ in domains)
    tiles = tuple(rng.choice((2, 3, 4)) for _ in names) if rng.random() < 0.7 else ()
    return Program(domains, shifts, tiles, rng.choice((1, 1, 1, 2, 3)))


def _alternatives(rng: Random, names: list[str]) -> str:
    return " or ".join(f"({_conjunction(rng, names)})" for _ in range(rng.choice((1, 1, 2, 3))))


def _conjunction(rng: Random, names: list[str]) -> str:
    parts: list[str] = []
    for name in names:
        low = rng.choice((0, 0, 1, -2, -3))
        parts.append(f"{low} <= {name} <= {low + rng.randint(1, 6)}")
        if rng.random() < 0.2:
            parts.append(f"{name} <= p0")
    for _ in range(rng.choice((0, 1, 1, 2))):
        sum_ = f"{rng.choice((1, 1, 2))} * {rng.choice(names)} - {rng.choice(names)}"
        number = rng.randint(-2, 3)
        kind = rng.choice(("mod", "=", ">="))
        rest = (
            f"mod {rng.choice((2, 3, 4))} = {rng.choice((0, 1))}" if kind == "mod" else f"{kind} 0"
        )
        parts.append(f"({sum_} + {number}) {rest}")
    return " and ".join(parts)


class Checked(AstToLoops):
    """Counts what trees have that most do not."""

    def __init__(self, parameter: SSAValue, seen: Counter[str]):
        super().__init__([parameter], self.run)
        self._seen = seen

    def run(self, block: Block, name: str, point: list[AffineExpr], values: list[SSAValue]) -> None:
        """Append the statement: the number of iterations before it goes where the iteration is in `log`."""
        body = self._values[0].owner
        assert isinstance(body, Block)
        log, count, _ = body.args
        everywhere = AffineMap(len(values), 0, ())
        place = AffineMap(
            len(values), 0, (AffineExpr.constant(int(name[1:])), *[e - LOW for e in point])
        )
        one = arith.ConstantOp(IntegerAttr(1, i32))
        before = loop.LoadOp(count, everywhere, values)
        after = arith.AddiOp(before.result, one.result)
        stores = loop.StoreOp(after.result, count, everywhere, values)
        block.add_ops([one, before, after, stores, loop.StoreOp(after.result, log, place, values)])

    def _branch(self, alternatives, taken, other, block):
        self._seen["disjunction"] += len(alternatives) > 1
        super()._branch(alternatives, taken, other, block)

    def _for(self, node: isl.AstNode, first: isl.AstExpr, block: Block) -> None:
        is_op = first.get_type() == isl.ast_expr_type.op
        kind = isl.ast_expr_op_type(first.get_op_type()) if is_op else None
        is_single = node.for_is_degenerate()
        self._seen["one of two starts"] += kind is isl.ast_expr_op_type.select
        self._seen["one iteration"] += is_single
        self._seen["one iteration at a maximum"] += is_single and kind is isl.ast_expr_op_type.max
        super()._for(node, first, block)


def loops_of(program: Program, seen: Counter[str]) -> ModuleOp:
    """The function of a program: see `function_of`."""
    sets = [isl.Set(text) for text in program.domains]
    domain, times = sets[0].to_union_set(), isl.UnionMap("{ }")
    for n, (each, shift) in enumerate(zip(sets, program.shifts, strict=True)):
        domain = domain.union(each.to_union_set())
        names = [f"i{k}" for k in range(len(shift))]
        factor = program.factor
        moved = ", ".join(f"{factor}*({i} + {by})" for i, by in zip(names, shift, strict=True))
        times = times.union(isl.UnionMap(f"{{ S{n}[{', '.join(names)}] -> [{moved}] }}"))
    functions = isl.MultiUnionPwAff.from_union_map(times.intersect_domain(domain))
    schedule = isl.Schedule.from_domain(domain).insert_partial_schedule(functions)
    if program.tiles:
        band = schedule.get_root().child(0)
        sizes = isl.MultiVal.zero(band.band_get_space())
        for n, size in enumerate(program.tiles):
            sizes = sizes.set_val(n, isl.Val(size))
        schedule = band.band_tile(sizes).get_schedule()
    context = isl.DEFAULT_CONTEXT
    context.set_ast_build_atomic_upper_bound(1)
    context.set_ast_build_detect_min_max(1)
    try:
        tree = isl.AstBuild.from_context(isl.Set("[p0] -> { : }")).node_from_schedule(schedule)
    finally:
        context.set_ast_build_detect_min_max(0)
    return function_of(tree, [len(sets), *[SIZE] * len(program.shifts[0])], seen)


def function_of(tree: isl.AstNode, shape: list[int], seen: Counter[str]) -> ModuleOp:
    """A function of a log of a shape, a counter and the parameter."""
    arguments = [MemRefType(i32, shape), MemRefType(i32, []), IndexType()]
    function = func.FuncOp("f", (arguments, []))
    body = function.body.block
    Checked(body.args[2], seen).build(tree, body)
    body.add_op(func.ReturnOp())
    module = ModuleOp([function])
    verify(module)
    return module


def iterations(program: Program, parameter: int) -> list[tuple[int, tuple[int, ...]]]:
    """The statements with their iterations."""
    found: list[tuple[int, tuple[int, ...]]] = []
    for n, text in enumerate(program.domains):
        chosen = isl.Set(text).fix_val(isl.dim_type.param, 0, isl.Val(parameter))

        def add(point: isl.Point, n: int = n) -> None:
            dims = range(len(program.shifts[n]))
            values = [point.get_coordinate_val(isl.dim_type.set, k) for k in dims]
            found.append((n, tuple(value.to_python() for value in values)))

        chosen.foreach_point(add)
    return found


def check(program: Program, seen: Counter[str]) -> None:
    module = loops_of(program, seen)
    shape = [len(program.domains), *[SIZE] * len(program.shifts[0])]
    for parameter in (-1, 2, PARAMETER):
        log, count = np.zeros(shape, np.int32), np.zeros((), np.int32)
        log, count, *_ = interpret(module, [log, count, parameter], "f")
        wanted = iterations(program, parameter)
        assert count == len(wanted) == np.count_nonzero(log)
        ran = sorted(wanted, key=lambda each: log[each[0], *(np.array(each[1]) - LOW)])
        assert [program.time(*each) for each in ran] == sorted(program.time(*e) for e in wanted)


@pytest.mark.parametrize("block", range(4))
def test_every_iteration_runs_once_and_in_order(block: int) -> None:
    for seed in range(40 * block, 40 * block + 40):
        program = random_program(Random(f"loops of isl/{seed}"))
        if any(not isl.Set(text).is_empty() for text in program.domains):
            check(program, Counter())


def test_conditions_of_alternatives_and_starts_by_a_condition() -> None:
    """Some of these conditions have a plain number among their parts; isl does not write all of them the same each time."""
    seen = Counter[str]()
    for seed in (196, 511, 559, 692, 2613):
        check(random_program(Random(f"loops of isl/{seed}")), seen)
    assert seen["disjunction"] and seen["one of two starts"] and seen["one iteration"], seen


class _OneIteration:
    """As isl's node of a loop that has one iteration, of which the variable is `first`."""

    def __init__(self, first: isl.AstExpr, body: isl.AstNode):
        self.for_get_init = lambda: first
        self.for_get_body = lambda: body
        self.for_is_degenerate = lambda: True
        self.for_get_iterator = lambda: isl.AstExpr.from_id(isl.Id("c0"))
        self.get_type = lambda: isl.ast_node_type["for_"]


@pytest.mark.parametrize("parameter", [-2, 1, 5])
def test_one_iteration_at_the_greatest_of_two_values(parameter: int) -> None:
    """Which isl makes where it is asked for maxima; a loop has no greatest end."""
    build = isl.AstBuild.from_context(isl.Set("[p0] -> { : }"))
    domain = isl.UnionSet("[p0] -> { S0[0] }")
    greatest = isl.PwAff("[p0] -> { [p0] }").max(isl.PwAff("[p0] -> { [1] }"))
    context = isl.DEFAULT_CONTEXT
    context.set_ast_build_detect_min_max(1)
    try:
        first = build.expr_from_pw_aff(greatest)
    finally:
        context.set_ast_build_detect_min_max(0)
    body = build.node_from_schedule(isl.Schedule.from_domain(domain))
    seen = Counter[str]()
    module = function_of(_OneIteration(first, body), [1, SIZE], seen)
    given = [np.zeros((1, SIZE), np.int32), np.zeros((), np.int32), parameter]
    _, count, *_ = interpret(module, given, "f")
    assert count == seen["one iteration at a maximum"] == 1
