"""Making a failing schedule small: steps and whatever of the program it fails without are taken away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from stepwell.dialects.schedule import Step

from .nest_programs import (
    Access,
    Affine,
    Branch,
    Guarded,
    Let,
    Loop,
    NestProgram,
    Node,
    Opaque,
    Statement,
)
from .random_nests import Case, case_of

Fails = Callable[[Case, Sequence[Step]], bool]
Body = tuple[Node, ...]


def minimize(case: Case, steps: Sequence[Step], fails: Fails) -> tuple[Case, list[Step]]:
    """The smallest program and steps found that still fail, by single changes until none helps."""
    steps = list(steps)
    progress = True
    while progress:
        progress = False
        for shorter in _without_one(steps):
            if fails(case, shorter):
                steps, progress = shorter, True
                break
        if progress:
            continue
        for program in _smaller(case.program):
            candidate = _made(program)
            if candidate is not None and fails(candidate, steps):
                case, progress = candidate, True
                break
    return case, steps


def _made(program: NestProgram) -> Case | None:
    try:
        return case_of(program)
    except Exception:  # a change that leaves no program
        return None


def _without_one(steps: Sequence[Step]) -> Iterator[list[Step]]:
    for number in reversed(range(len(steps))):
        yield [step for n, step in enumerate(steps) if n != number]


def _smaller(program: NestProgram) -> Iterator[NestProgram]:
    for body in _smaller_bodies(program.body):
        if body:
            yield replace(program, body=body)
    for name, value in program.symbols.items():
        body = tuple(_fixed(node, name, value) for node in program.body)
        symbols = {n: v for n, v in program.symbols.items() if n != name}
        yield replace(program, body=body, symbols=symbols)
    if program.kernel:
        yield replace(program, kernel="")
    if program.dynamic:
        yield replace(program, dynamic=frozenset())
    if program.element != "i32":
        yield replace(program, element="i32")


def _smaller_bodies(body: Body) -> Iterator[Body]:
    """The body with one node less, or with one node smaller."""
    for n, node in enumerate(body):
        yield (*body[:n], *body[n + 1 :])
        for smaller in _smaller_nodes(node):
            yield (*body[:n], *smaller, *body[n + 1 :])


def _smaller_nodes(node: Node) -> Iterator[Body]:
    match node:
        case Loop():
            first = _first_of(node)
            if first is not None:
                yield tuple(_fixed(inner, node.name, first) for inner in node.body)
            for body in _smaller_bodies(node.body):
                yield (replace(node, body=body),)
            yield from ((smaller,) for smaller in _smaller_ranges(node))
        case Branch():
            yield node.then
            yield node.otherwise
            for body in _smaller_bodies(node.then):
                yield (replace(node, then=body),)
            for body in _smaller_bodies(node.otherwise):
                yield (replace(node, otherwise=body),)
            for n in range(len(node.conditions) if len(node.conditions) > 1 else 0):
                kept = (*node.conditions[:n], *node.conditions[n + 1 :])
                yield (replace(node, conditions=kept),)
        case Statement():
            yield from ((smaller,) for smaller in _smaller_statements(node))
        case _:
            pass


def _first_of(node: Loop) -> int | None:
    if any(bound.terms for bound in node.lower):
        return None
    return max(bound.value({}) for bound in node.lower)


def _smaller_ranges(node: Loop) -> Iterator[Loop]:
    for n in range(len(node.lower) if len(node.lower) > 1 else 0):
        yield replace(node, lower=(*node.lower[:n], *node.lower[n + 1 :]))
    for n in range(len(node.upper) if len(node.upper) > 1 else 0):
        yield replace(node, upper=(*node.upper[:n], *node.upper[n + 1 :]))
    if node.step != 1:
        yield replace(node, step=1)
    bounds = (*node.lower, *node.upper)
    if len(bounds) == 2 and not any(bound.terms for bound in bounds):
        low, high = (bound.value({}) for bound in bounds)
        if high - low > 1:
            yield replace(node, upper=(Affine((), high - 1),))
        if low:
            yield replace(node, lower=(Affine(),), upper=(Affine((), high - low),))


def _smaller_statements(node: Statement) -> Iterator[Statement]:
    if node.update:
        yield replace(node, update="")
    for n in range(len(node.operands) if len(node.operands) > 1 else 0):
        yield replace(
            node,
            operands=(*node.operands[:n], *node.operands[n + 1 :]),
            operators=node.operators[1:],
        )
    for n, operand in enumerate(node.operands):
        if isinstance(operand, Guarded | Opaque):
            simpler = (*node.operands[:n], operand.access, *node.operands[n + 1 :])
            yield replace(node, operands=simpler)
        elif not isinstance(operand, int):
            yield replace(node, operands=(*node.operands[:n], 1, *node.operands[n + 1 :]))
    for target in _smaller_accesses(node.target):
        yield replace(node, target=target)
    for n, operand in enumerate(node.operands):
        if isinstance(operand, Access):
            for access in _smaller_accesses(operand):
                yield replace(node, operands=(*node.operands[:n], access, *node.operands[n + 1 :]))


def _smaller_accesses(access: Access) -> Iterator[Access]:
    for n, subscript in enumerate(access.subscripts):
        before, after = access.subscripts[:n], access.subscripts[n + 1 :]
        if subscript.division:
            yield Access(access.buffer, (*before, Affine(subscript.terms), *after))
        if subscript.number:
            yield Access(access.buffer, (*before, replace(subscript, number=0), *after))
        for m in range(len(subscript.terms)):
            terms = (*subscript.terms[:m], *subscript.terms[m + 1 :])
            yield Access(access.buffer, (*before, replace(subscript, terms=terms), *after))


# A number in the place of a name.


def _fixed(node: Node, name: str, value: int) -> Node:
    def expr(e: Affine) -> Affine:
        number = e.number + sum(c * value for n, c in e.terms if n == name)
        return replace(e, terms=tuple(t for t in e.terms if t[0] != name), number=number)

    def access(a: Access) -> Access:
        return Access(a.buffer, tuple(expr(e) for e in a.subscripts))

    match node:
        case Loop():
            return replace(
                node,
                lower=tuple(expr(e) for e in node.lower),
                upper=tuple(expr(e) for e in node.upper),
                body=tuple(_fixed(inner, name, value) for inner in node.body),
            )
        case Branch():
            return Branch(
                tuple(replace(c, expr=expr(c.expr)) for c in node.conditions),
                tuple(_fixed(inner, name, value) for inner in node.then),
                tuple(_fixed(inner, name, value) for inner in node.otherwise),
            )
        case Statement():
            operands = []
            for operand in node.operands:
                match operand:
                    case Access():
                        operands.append(access(operand))
                    case Opaque():
                        operands.append(Opaque(access(operand.access)))
                    case Guarded():
                        condition = replace(operand.condition, expr=expr(operand.condition.expr))
                        operands.append(
                            Guarded(access(operand.access), condition, operand.otherwise)
                        )
                    case Affine():
                        operands.append(expr(operand))
                    case _:
                        operands.append(operand)
            return replace(node, target=access(node.target), operands=tuple(operands))
        case Let():
            return Let(node.name, access(node.access))
        case _:
            return node
