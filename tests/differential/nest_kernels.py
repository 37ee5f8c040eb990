"""A nest of a program as a function of its own: the micro-kernel that `tensorize` may put in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .nest_programs import (
    Access,
    Affine,
    Loop,
    NestProgram,
    Node,
    Operand,
    Statement,
    accesses,
    nodes,
)

Subscripts = tuple[Affine, ...]


def kernel_of(program: NestProgram) -> NestProgram | None:
    """The program of the nest that `program.kernel` names; None when that is no nest a kernel can stand for."""
    root = next(
        (n for n in nodes(program.body) if isinstance(n, Loop) and n.name == program.kernel), None
    )
    if root is None or not _is_simple(root):
        return None
    inner = {node.name for node in nodes((root,)) if isinstance(node, Loop)}
    moves: dict[str, list[Sequence[tuple[str, int]]]] = {}
    for access in accesses((root,)):
        outer = [_outer_terms(expr, inner) for expr in access.subscripts]
        if None in outer or moves.setdefault(access.buffer, outer) != outer:
            return None
    kept = {name: _kept_axes(name, root, inner, program) for name in moves}
    return NestProgram(
        (_without_outer(root, inner, kept),),
        {name: len(axes) for name, axes in kept.items()},
        {},
        program.element,
        "each" if program.input_seed % 2 else "function",
    )


def kernels(program: NestProgram) -> list[str]:
    """The loops that a kernel can stand for."""
    loops = (node.name for node in nodes(program.body) if isinstance(node, Loop))
    return [name for name in loops if kernel_of(replace(program, kernel=name)) is not None]


def _is_simple(root: Loop) -> bool:
    """Whether there are loops and statements, whose bounds and numbers use no loop further out."""
    inner: set[str] = set()
    for node in nodes((root,)):
        if isinstance(node, Loop):
            bounds = (*node.lower, *node.upper)
            if any(name not in inner for bound in bounds for name, _ in bound.terms):
                return False
            inner.add(node.name)
        elif not isinstance(node, Statement):
            return False
    statements = [node for node in nodes((root,)) if isinstance(node, Statement)]
    return all(_is_own(operand, inner) for node in statements for operand in node.operands)


def _is_own(operand: Operand, inner: set[str]) -> bool:
    if isinstance(operand, Affine):
        return all(name in inner for name, _ in operand.terms)
    return isinstance(operand, Access | int)


def _outer_terms(expr: Affine, inner: set[str]) -> Sequence[tuple[str, int]] | None:
    outer = [term for term in expr.terms if term[0] not in inner]
    return None if outer and expr.division else outer


def _kept_axes(name: str, root: Loop, inner: set[str], program: NestProgram) -> list[int]:
    """The axes of a buffer that its argument has: all, or those that the nest goes along."""
    along = {
        axis
        for access in accesses((root,))
        if access.buffer == name
        for axis, expr in enumerate(access.subscripts)
        if expr.division or any(n in inner for n, _ in expr.terms)
    }
    every = range(program.ranks[name])
    same = all(
        len({access.subscripts[axis] for access in accesses((root,)) if access.buffer == name}) == 1
        for axis in every
        if axis not in along
    )
    return [axis for axis in every if axis in along or program.input_seed % 3 or not same]


def _without_outer(node: Node, inner: set[str], kept: Mapping[str, list[int]]) -> Node:
    def access(old: Access) -> Access:
        subscripts = [old.subscripts[axis] for axis in kept[old.buffer]]
        return Access(old.buffer, tuple(_own(expr, inner) for expr in subscripts))

    if isinstance(node, Loop):
        body = tuple(_without_outer(each, inner, kept) for each in node.body)
        return replace(node, body=body)
    assert isinstance(node, Statement)
    operands = tuple(access(o) if isinstance(o, Access) else o for o in node.operands)
    return replace(node, target=access(node.target), operands=operands)


def _own(expr: Affine, inner: set[str]) -> Affine:
    return replace(expr, terms=tuple(term for term in expr.terms if term[0] in inner))
