"""Computes fused into nests of loops and kernels, each of which becomes one native function."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import affine, arith, func
from xdsl.dialects.builtin import AffineMapAttr, IndexType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...analysis.expandable import find_expansion
from ...analysis.facts import facts_of_kernel
from ...analysis.fusion import (
    Caches,
    FusionPlan,
    KernelPlan,
    Nest,
    Point,
    as_stored,
    identity,
    plan_fusion,
)
from ...analysis.fusion.structure import plan_size, plan_structure
from ...analysis.levels import Level
from ...analysis.operations import used_from_above
from ...analysis.plans.cost import time_text
from ...analysis.plans.kernel_cost import predicted
from ...dialects import leaf_operations, te
from ...dialects.control_flow import ControlFlow
from ...dialects.copies import copy_of
from ...dialects.leaf_operations import inserted
from ...dialects.shaped import tensor_type
from ...frozen import frozen
from ...lazy import cached_property
from ...targets.target import Target
from ..numerics import DEFAULT_FP, fp_contract
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .expand import expand_body
from .rfactor import rfactor


@frozen
class TeFusePass(StepwellPass):
    """
    Decide which computes are one nest of loops, and which nests are one kernel.

    Element-wise work is computed where it is read, or with others over the same elements; reductions over the same
    elements share their loops, and are finished in them; a chain over the same rows, such as a softmax or
    attention, is one kernel when that saves traffic (analysis/fusion/rows.py has the formula). `block_bytes` is
    what a block of rows may take, such as the second-level cache; `cache_bytes` is the last-level cache. An operand
    of a product of matrices is computed in its kernel, while it is packed, when that is predicted to take less time on
    `target`. A reduction over all axes of what such a chain makes is one of its rows first where that is predicted to be
    faster, which changes the order of a sum; `fp=strict` keeps that of floats.
    """

    name = "te-fuse"
    level_in = Level.TE
    level_out = Level.TE
    numerics = "reassociates"

    block_bytes: int = Caches.block
    cache_bytes: int = Caches.last_level
    target: str | Target = "host"
    fp: str = DEFAULT_FP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        caches = Caches(self.block_bytes, self.cache_bytes)
        any_order = fp_contract(self.fp) != "strict"
        for function in op.ops:
            if isinstance(function, func.FuncOp):
                for block in _blocks_of_computes(function):
                    fuse(block, self._plan(block, caches, any_order))

    def _plan(self, block: Block, caches: Caches, any_order: bool) -> FusionPlan:
        """
        The plan of a block, in which reductions are written by rows first where that is predicted to take less time;
        `any_order` says whether sums of floats may be.
        """
        plan = plan_fusion(block, caches, self._seconds, reassociates=any_order)
        if not plan.factored:
            return plan
        before = {_roots(kernel): kernel for kernel in plan.kernels}
        apart = {roots: self._seconds(kernel) for roots, kernel in before.items()}
        factored = [rfactor(c, [len(c.static_extents) - 1]) for c in plan.factored]
        other = plan_fusion(block, caches, self._seconds, reassociates=any_order)
        after = {_roots(kernel): kernel for kernel in other.kernels}
        seconds = _sum(self._seconds(after[roots]) for roots in after.keys() - before.keys())
        stored = _sum(apart[roots] for roots in before.keys() - after.keys())
        times = f"predicted to take {time_text(seconds)}, not so {time_text(stored)}"
        is_gain = seconds < stored < inf
        for each in factored:
            if is_gain:
                remark(
                    each.rows, f"reduced row by row first, with what makes its operands: {times}"
                )
                each.finish()
            else:
                each.undo()
                message = f"not reduced row by row first, with what makes its operands: {times}"
                remark(each.compute, message, missed=True)
        return other if is_gain else plan

    def _seconds(self, plan: KernelPlan) -> float | None:
        """What a kernel would take on the target: it is made, looked at and dropped."""
        kernel = _kernel(plan, _body(plan), {})
        while (found := find_expansion(kernel)) is not None:
            expand_body(found)
        cost = predicted(facts_of_kernel(kernel), Target.of(self.target))
        kernel.erase()
        return cost and cost.seconds


def _sum(predicted: Iterable[float | None]) -> float:
    """The time of several kernels: endless where one has no prediction, so that nothing is said to gain by it."""
    return sum(inf if seconds is None else seconds for seconds in predicted)


def _roots(plan: KernelPlan) -> frozenset[te.ComputeOp]:
    """The computes whose results a kernel stores or passes on, which say which kernel it is."""
    return frozenset(root for nest in plan.nests for root in nest.roots)


def _blocks_of_computes(op: Operation) -> Iterator[Block]:
    """The blocks of an operation and of the control flow in it, inner ones first: what they use is then known."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if isinstance(inner, ControlFlow):
                    yield from _blocks_of_computes(inner)
            yield block


def fuse(block: Block, plan: FusionPlan) -> None:
    """Rewrite a block as a plan of its computes says."""
    for boundary in plan.boundaries:
        one, other = boundary.producer, boundary.consumer
        message = f"not one kernel, '{one.name}' and '{other.name}': {boundary.reason}"
        remark(one.nests[0].root, message, missed=True)
    computes = [op for op in block.ops if isinstance(op, te.ComputeOp | te.LoopsOp)]
    values: dict[SSAValue, SSAValue] = {}
    kernels = _Kernels(values)
    for each in plan.order:
        if isinstance(each, KernelPlan):
            kernel = kernels.kernel(each)
            block.add_op(kernel)
            remark(kernel, f"kernel '{each.name}': {each.computes}")
        elif isinstance(each, te.LoopsOp):
            block.add_op(_kernel_of_loops(each, values))
        else:
            each.detach()
            block.add_op(each)
    erased = set(computes)
    for old, new in values.items():
        old.replace_uses_with_if(new, lambda use: use.operation not in erased)
    for compute in reversed(computes):
        compute.detach()
        compute.erase(safe_erase=False)
    for each in plan.order:
        if isinstance(each, arith.ConstantOp) and each.parent is block and not each.result.uses:
            each.detach()
            each.erase()


@frozen
class _Body:
    """What stands in a kernel: it is copied for others whose plans have the same structure."""

    block: Block
    inputs: Sequence[SSAValue]
    """outside, for each of the block's arguments"""
    constants: Sequence[arith.ConstantOp]
    """outside, for each of the operations with which it begins"""

    def copied(self, ours: Mapping[SSAValue, SSAValue], plan: KernelPlan) -> _Body:
        """That of another plan; `ours` has its values by those that this one's has in their places."""
        body = _begun(
            [ours[value] for value in self.inputs],
            [_constant(ours[op.result]) for op in self.constants],
        )
        ops = list(self.block.ops)
        inside: dict[SSAValue, SSAValue] = dict(zip(self.block.args, body.block.args, strict=True))
        count = len(self.constants)
        for old, new in zip(ops, body.block.ops, strict=False):
            inside[old.results[0]] = new.results[0]
        for op in ops[count:]:
            body.block.add_op(copy_of(op, inside))
        computes = (op for op in body.block.ops if isinstance(op, te.ComputeOp))
        for nest, compute in zip(plan.nests, computes, strict=True):
            _place(compute, nest)
        return body


@dataclass
class _Made:
    """A plan with the body that was made of it."""

    plan: KernelPlan
    body: _Body

    @cached_property
    def structure(self) -> tuple[Hashable, Sequence[SSAValue]]:
        return plan_structure(self.plan)


class _Kernels:
    """Makes the kernels of plans: the bodies of those with equal structures once."""

    def __init__(self, values: dict[SSAValue, SSAValue]):
        self._values = values
        """what became of the results of computes"""
        self._made: dict[Hashable, list[_Made]] = {}
        """by what is quick to tell apart: most plans are like no other"""

    def kernel(self, plan: KernelPlan) -> te.KernelOp:
        alike = self._made.setdefault(plan_size(plan), [])
        body = self._copied(plan, alike) if alike else None
        if body is None:
            body = _body(plan)
            alike.append(_Made(plan, body))
        return _kernel(plan, body, self._values)

    def _copied(self, plan: KernelPlan, alike: Iterable[_Made]) -> _Body | None:
        """A copy of the body of a plan with the same structure, where there is one."""
        structure, own = plan_structure(plan)
        for made in alike:
            known, values = made.structure
            if known == structure:
                return made.body.copied(dict(zip(values, own, strict=True)), plan)
        return None


def _constant(value: SSAValue) -> arith.ConstantOp:
    assert isinstance(value.owner, arith.ConstantOp)
    return value.owner


def _begun(inputs: Sequence[SSAValue], constants: Sequence[arith.ConstantOp]) -> _Body:
    """A body with its arguments and constants."""
    block = Block(arg_types=[value.type for value in inputs])
    for value, arg in zip(inputs, block.args, strict=True):
        arg.name_hint = value.name_hint
    block.add_ops(leaf_operations.copy_of(constant, {}) for constant in constants)
    return _Body(block, inputs, constants)


def _body(plan: KernelPlan) -> _Body:
    made = {value for nest in plan.nests for value in nest.results}
    used = [value for value in _used_from_outside(plan.nests) if value not in made]
    constants = [v.owner for v in used if isinstance(v.owner, arith.ConstantOp)]
    inputs = [value for value in used if not isinstance(value.owner, arith.ConstantOp)]
    body = _begun(inputs, constants)
    inside: dict[SSAValue, SSAValue] = dict(zip(inputs, body.block.args, strict=True))
    for old, new in zip(constants, body.block.ops, strict=True):
        inside[old.result] = new.results[0]
    builder = Builder(InsertPoint.at_end(body.block))
    for nest in plan.nests:
        compute = inserted(builder, _NestBody(nest, inside).compute())
        inside |= zip(nest.stored, compute.outputs, strict=True)
    inserted(builder, te.YieldOp(*(inside[result] for result in plan.results)))
    return body


def _kernel(plan: KernelPlan, body: _Body, values: dict[SSAValue, SSAValue]) -> te.KernelOp:
    """
    A kernel of its plan. `values` has what became of the results of computes, and gets those of the kernel.
    """
    results = plan.results
    outer = [values.get(value, value) for value in body.inputs]
    types = [result.type for result in results]
    kernel = te.KernelOp(plan.name, outer, types, Region(body.block))
    kernel.location = plan.nests[-1].root.location
    for result, output in zip(results, kernel.outputs, strict=True):
        output.name_hint = result.name_hint
        values[result] = output
    return kernel


def _place(compute: te.ComputeOp, nest: Nest) -> None:
    """Let a nest's compute stand where the last of the roots does."""
    compute.location = next(reversed(nest.roots)).location


def _kernel_of_loops(op: te.LoopsOp, values: dict[SSAValue, SSAValue]) -> te.KernelOp:
    """A kernel of loops that no others join; `values` gets its results."""
    inputs = list(dict.fromkeys(op.operands))
    block = Block(arg_types=[value.type for value in inputs])
    inside: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for value, arg in inside.items():
        arg.name_hint = value.name_hint
    inner = leaf_operations.copy_of(op, inside)
    block.add_ops([inner, te.YieldOp(*inner.outputs)])
    outer = [values.get(value, value) for value in inputs]
    name = op.loops_name.data
    kernel = te.KernelOp(name, outer, [result.type for result in op.outputs], Region(block))
    kernel.location = op.location
    for result, output in zip(op.outputs, kernel.outputs, strict=True):
        output.name_hint = result.name_hint
        values[result] = output
    return kernel


def _used_from_outside(nests: Iterable[Nest]) -> Iterable[SSAValue]:
    """What nests use and do not define, in the bodies of their computes too: a kernel sees nothing around it."""
    used: dict[SSAValue, None] = {}
    for nest in nests:
        used |= {read.source: None for read in nest.reads}
        computes = dict.fromkeys([*(point.compute for point in nest.points), *nest.roots])
        used |= {value: None for root in nest.roots for value in root.dynamic_extents}
        for compute in computes:
            used |= dict.fromkeys(used_from_above(compute.body))
    return used


class _NestBody:
    """The body of one compute, in which those of a nest are evaluated."""

    def __init__(self, nest: Nest, inside: Mapping[SSAValue, SSAValue]):
        self.nest, self.inside = nest, inside
        stored = map(as_stored, nest.reads)
        reads = [te.Read(inside[r.source], r.map, r.pad) for r in stored]
        root = nest.root
        self.iterators = [
            te.Iterator(it.name, extent if isinstance(extent, int) else inside[extent])
            for it, extent in zip(root.iterators, nest.space.every, strict=True)
        ]
        self.reads = reads
        self.mapping = dict(inside)
        self.block = te.compute_block(self.iterators, reads, self._hints())
        self.builder = Builder(InsertPoint.at_end(self.block))
        count = len(self.iterators)
        self.variables = self.block.args[:count]
        self.arguments = dict(zip(nest.reads, self.block.args[count:], strict=True))
        self.known: dict[te.Read, tuple[SSAValue, ...]] = {}
        """what is evaluated, by the read that it replaces"""

    def _hints(self) -> list[str | None]:
        hints: dict[te.Read, str | None] = {}
        roots = (Point.of(root, self.nest.space.numbers) for root in self.nest.roots)
        for point in (*self.nest.points, *roots):
            arguments = point.compute.read_args
            for read, arg in zip(point.operands, arguments, strict=True):
                hints[read] = arg.name_hint
        return [hints.get(read) or read.source.name_hint for read in self.nest.reads]

    def compute(self) -> te.ComputeOp:
        nest = self.nest
        whole = identity(len(self.iterators))
        for point in self._in_order([Point.of(root, nest.space.numbers) for root in nest.roots]):
            self._evaluate(point)
        stored = [te.Read(value, whole) for value in nest.results]
        passed_on = [(self.arguments[te.Read(value, whole)],) for value in nest.passed_on]
        yielded = [*passed_on, *(self.known[read] for read in stored)]
        inserted(self.builder, te.YieldOp(*(value for terms in yielded for value in terms)))
        combiners: dict[SSAValue, te.Combiner] = {
            value: combiner
            for root in nest.roots
            for value, combiner in zip(root.outputs, root.combiners, strict=False)
        }
        count = len(nest.space.parallel)
        op = te.ComputeOp(
            self.iterators[:count],
            self.reads,
            [tensor_type(value) for value in nest.stored],
            Region(self.block),
            reduction=self.iterators[count:],
            combiner=[combiners[value] for value in nest.results if value in combiners],
        )
        for root in nest.roots:
            op.attributes = {**root.attributes, **op.attributes}
        _place(op, nest)
        for value, output in zip(nest.stored, op.outputs, strict=True):
            output.name_hint = value.name_hint
        return op

    def _in_order(self, wanted: Sequence[Point]) -> list[Point]:
        """The points that are wanted and those they need, each after these."""
        order: list[Point] = []
        done: set[Point] = set()
        pending = list(reversed(wanted))
        while pending:
            point = pending[-1]
            if point in done:
                pending.pop()
                continue
            needed = [each for each in self._needed(point) if each not in done]
            if needed:
                pending += reversed(needed)
                continue
            done.add(point)
            order.append(pending.pop())
        return order

    def _needed(self, point: Point) -> Iterable[Point]:
        for read in point.operands:
            if read not in self.arguments:
                yield Point.behind(read, point.extents)

    def _evaluate(self, point: Point) -> None:
        compute, mapping = point.compute, self.mapping
        for arg, read in zip(compute.read_args, point.operands, strict=True):
            argument = self.arguments.get(read)
            mapping[arg] = self.known[read][0] if argument is None else argument
        for arg, expr in zip(compute.iterator_args, point.map.results, strict=True):
            if arg.uses:
                mapping[arg] = self._index(point.map, expr)
        for op in compute.body.block.ops:
            if not isinstance(op, te.YieldOp):
                inserted(self.builder, leaf_operations.copy_of(op, mapping))
        for result, terms in zip(compute.outputs, compute.terms, strict=True):
            read = te.Read(result, point.map, point.pad)
            values = (mapping.get(term, term) for term in terms)
            self.known[read] = tuple(self._guarded(value, point) for value in values)

    def _guarded(self, value: SSAValue, point: Point) -> SSAValue:
        """The element of a point, or its pad where the nest is outside of what its compute defines."""
        pad: SSAValue | None = None
        for expr, predicate, number in point.guards:
            if pad is None:
                assert point.pad is not None, "where there is no pad, the nest is inside"
                pad = inserted(self.builder, arith.ConstantOp(point.pad)).result
            index = self._index(point.map, expr)
            limit = inserted(self.builder, arith.ConstantOp.from_int_and_width(number, IndexType()))
            holds = inserted(self.builder, arith.CmpiOp(index, limit.result, predicate)).result
            value = inserted(self.builder, arith.SelectOp(holds, value, pad)).result
        return value

    def _index(self, map_: AffineMap, expr: AffineExpr) -> SSAValue:
        if isinstance(expr, AffineDimExpr):
            return self.variables[expr.position]
        of_one = AffineMapAttr(AffineMap(map_.num_dims, 0, (expr,)))
        return inserted(self.builder, affine.ApplyOp(self.variables, of_one)).result
