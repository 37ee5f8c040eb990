"""
`scf.parallel` to `llvm`: its iterations one after the other, or on threads.

On threads, the body becomes a function of its own, which one call of `GOMP_parallel` runs on several threads:

    f:                     store the parts into which the iterations are cut, how many are claimed at a time and
                           what the body uses of f in a struct;
                           GOMP_parallel(f.threads0, struct, number of threads, 0)
    f.threads0:            claim iterations, or return when none are left; load what the body uses;
                           call f.threads0.share(first claimed, end of their part, struct, ...)
    f.threads0.share:      the claimed iterations in order; then claim more, until none are left

How threads claim stands in claims.py. Any number of threads does all the work, even one: in this process the caller
never waits for a thread that the system has not scheduled yet (runtime/thread_pool.py). `GOMP_parallel` is the ABI
of GCC's `-fopenmp` (https://gcc.gnu.org/onlinedocs/libgomp/Implementing-PARALLEL-construct.html): object files run
on GCC's libgomp, LLVM's libomp or Intel's libiomp5, which all have it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects import arith, func, llvm, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.operations import operands_of, operations_in, operations_inside
from ..llvm_text import GOMP_PARALLEL, MAX_THREADS, THREAD_NUMBER
from .claims import (
    CLAIM,
    COUNT,
    FIRST_PASSED,
    Search,
    claim_size,
    emit_search,
    extreme,
    number_of_parts,
    own_part,
    search_blocks,
    store_parts,
    struct_of,
)
from .emitter import Emitter, unsupported
from .loop_hints import NO_UNROLL, branch_back
from .memref import BUFFER_ALIGNMENT
from .properties import INTERNAL, NSW, VOID, function_type, function_without_body
from .types import POINTER, Index, element_bytes, is_memref, is_vector

_DATA_ALIGNMENT = 128
"""Bytes, of the struct, so that each part has its lines for itself."""

_SUNK = (
    arith.ConstantOp,
    memref.AssumeAlignmentOp,
    memref.CastOp,
    memref.CollapseShapeOp,
    memref.DimOp,
    memref.ExpandShapeOp,
    memref.GetGlobalOp,
    memref.MemorySpaceCastOp,
    memref.ReinterpretCastOp,
    memref.SubviewOp,
    memref.ViewOp,
)
"""
Made again in the body instead of passed to it: constants stay constants there, and the pointers of views
stay visibly those of their buffers, which `noalias` is said of.
"""


def convert_parallel(e: Emitter, op: Operation) -> None:
    """On threads where that helps; in order where it has results, is inside of another, or runs once."""
    assert isinstance(op, scf.ParallelOp)
    count = _static_count(e, op)
    if e.symbols.threads == 1 or e.in_parallel or op.res or (count is not None and count <= 1):
        _convert_in_order(e, op)
    else:
        _convert_on_threads(e, op)


def _static_count(e: Emitter, op: scf.ParallelOp) -> int | None:
    """The iterations of the first dimension, when its bounds are constants."""
    lower, upper, step = (e.index(bound[0]) for bound in (op.lowerBound, op.upperBound, op.step))
    if isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int) and step > 0:
        return max(0, -((lower - upper) // step))
    return None


def with_team(module: ModuleOp, threads: int) -> ModuleOp:
    """
    A level-5 module that asks for so many threads, whatever it was lowered for: a copy, or the module
    itself when it asks for none.
    """
    if not any(_called_function(op) == GOMP_PARALLEL for op in module.walk()):
        return module
    module = module.clone()
    for op in list(module.walk()):
        name = _called_function(op)
        if name not in (GOMP_PARALLEL, MAX_THREADS):
            continue
        constant = llvm.ConstantOp(IntegerAttr(threads, i32), i32)
        Rewriter.insert_op(constant, InsertPoint.before(op))
        if name == GOMP_PARALLEL:
            op.operands[2] = constant.result
        else:
            op.results[0].replace_all_uses_with(constant.result)
            Rewriter.erase_op(op)
    return module


def _called_function(op: Operation) -> str | None:
    if isinstance(op, llvm.CallOp) and op.callee is not None:
        return op.callee.string_value()
    return None


# One after the other.


def _convert_in_order(e: Emitter, op: scf.ParallelOp) -> None:
    # With threads, a loop inside of this one may run on them, and its buffers are theirs.
    buffers = _heap_buffers(e, op.body.block) if e.symbols.threads == 1 else {}
    with _allocated_once(e, buffers):
        results = _lower_dimensions(e, op, 0)
    e.unflatten(op.results, results)


def _lower_dimensions(e: Emitter, op: scf.ParallelOp, first: int) -> list[SSAValue]:
    """
    The dimensions from `first` on as loops in each other; what the reductions give. LLVM does not write out several of
    their iterations beside each other: prefetchers know a stream by the instructions that read it, and lose one that each
    second row reads with others.
    """
    carried: list[SSAValue] = e.flatten(op.initVals)
    loops: list[tuple[Block, Block, SSAValue]] = []
    bounds = zip(op.lowerBound, op.upperBound, op.step, op.body.block.args, strict=True)
    for lower, upper, step, old in list(bounds)[first:]:
        header = Block(arg_types=[i64, *(value.type for value in carried)])
        inside, after = Block(), Block()
        e.branch(header, [e.value(lower), *carried])
        e.start(header)
        e.bind(old, header.args[0])
        e.branch_if(e.compare("slt", header.args[0], e.value(upper), i1), inside, after)
        e.start(inside)
        loops.append((header, after, e.value(step)))
        carried = list(header.args[1:])
    carried = _lower_body(e, op, carried)
    for header, after, step in reversed(loops):
        counter = header.args[0]
        following = e.emit(llvm.AddOp, (counter, step), i64, {"overflowFlags": NSW})
        branch_back(e, header, [following, *carried], (NO_UNROLL,))
        e.start(after)
        carried = list(header.args[1:])
    return carried


def _lower_body(e: Emitter, op: scf.ParallelOp, carried: Sequence[SSAValue]) -> list[SSAValue]:
    """The body once, then each reduction applied to what is carried; the new values."""
    reduce = op.body.block.last_op
    assert isinstance(reduce, scf.ReduceOp)
    e.lower_block(op.body.block)
    results: list[SSAValue] = []
    for region, so_far, value in zip(reduce.reductions, carried, reduce.args, strict=True):
        block = region.block
        if len(e.flatten((value,))) != 1:
            raise unsupported(reduce, f"of a {value.type}")
        e.unflatten(block.args, (so_far, e.value(value)))
        e.lower_block(block)
        last = block.last_op
        assert isinstance(last, scf.ReduceReturnOp)
        results.append(e.value(last.result))
    return results


# On threads.


@dataclass
class _Captures:
    """What a body uses of the function around it: values to pass, and operations to make again."""

    values: list[SSAValue] = field(default_factory=list[SSAValue])
    sunk: list[Operation] = field(default_factory=list[Operation])
    _seen: set[SSAValue] = field(default_factory=set[SSAValue])

    def add(self, value: SSAValue) -> None:
        if value in self._seen:
            return
        self._seen.add(value)
        owner = value.owner
        if isinstance(owner, _SUNK):
            for operand in owner.operands:
                self.add(operand)
            self.sunk.append(owner)
        else:
            self.values.append(value)


def _captures(op: scf.ParallelOp) -> _Captures:
    operations = operations_in(op)
    inside: set[SSAValue] = set(op.body.block.args)
    for inner in operations:
        inside.update(inner.results)
        for region in inner.regions:
            for block in region.blocks:
                inside.update(block.args)
    captures = _Captures()
    for value in (
        op.lowerBound[0],
        op.step[0],
        *op.lowerBound[1:],
        *op.upperBound[1:],
        *op.step[1:],
    ):
        captures.add(value)
    for inner in operations:
        for operand in operands_of(inner):
            if operand not in inside:
                captures.add(operand)
    return captures


def _convert_on_threads(e: Emitter, op: scf.ParallelOp) -> None:
    e.symbols.declare(GOMP_PARALLEL, llvm.LLVMFunctionType((POINTER, POINTER, i32, i32)), op)
    captures = _captures(op)
    passed = e.flatten(captures.values)
    name = e.symbols.new_name(f"{_function_name(op)}.threads")
    count, team = _count(e, op), _team(e, op)
    threads = _useful_threads(e, count, team)
    parts = number_of_parts(e, threads)
    data_type = struct_of(parts, count, passed)
    _define_share(e, op, f"{name}.share", captures, passed, data_type)
    _define_entry(e, op, name, data_type)
    data = llvm.AllocaOp.create(
        operands=(e.constant(1),),
        result_types=(POINTER,),
        properties={"elem_type": data_type, "alignment": IntegerAttr(_DATA_ALIGNMENT, i64)},
    )
    data.results[0].name_hint = "data"
    e.prologue(data)
    store_parts(e, data.results[0], data_type, count, parts)
    fields = (e.ssa(parts), e.ssa(claim_size(e, count, team)), *passed)
    for number, value in enumerate(fields, COUNT):
        place = e.pointer_at(data.results[0], (0, number), data_type)
        e.store(value, place, _alignment(value.type))
    entry = e.emit(llvm.AddressOfOp, (), POINTER, {"global_name": SymbolRefAttr(name)})
    asked = _as_i32(e, threads)
    e.call(GOMP_PARALLEL, (entry, data.results[0], asked, e.constant(0, i32)), None)


def _function_name(op: Operation) -> str:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, func.FuncOp):
        parent = parent.parent_op()
    assert parent is not None
    return parent.sym_name.data


def _alignment(type_: Attribute) -> int:
    """Bytes, of a member of the struct. Of vectors nothing is known."""
    return 1 if is_vector(type_) or isinstance(type_, llvm.LLVMStructType) else element_bytes(type_)


def _count(e: Emitter, op: scf.ParallelOp) -> Index:
    """How many iterations the first dimension has: ceil((upper - lower) / step), at least 0."""
    known = _static_count(e, op)
    if known is not None:
        return known
    lower, upper, step = (e.index(bound[0]) for bound in (op.lowerBound, op.upperBound, op.step))
    distance: Index = upper
    if lower != 0:
        distance = e.emit(llvm.SubOp, (e.ssa(upper), e.ssa(lower)), i64, {"overflowFlags": NSW})
    if step != 1:
        last = e.add(step, -1)
        rounded = e.add(distance, last)
        distance = e.emit(llvm.SDivOp, (e.ssa(rounded), e.ssa(step)), i64)
    return extreme(e, "llvm.smax.i64", distance, 0)


def _team(e: Emitter, op: Operation) -> Index:
    """How many threads there are: as many as the code is lowered for, or as the library says."""
    if e.symbols.threads:
        return e.symbols.threads
    e.symbols.declare(MAX_THREADS, llvm.LLVMFunctionType((), i32), op)
    threads = e.call(MAX_THREADS, (), i32)
    assert threads is not None
    return e.emit(llvm.ZExtOp, (threads,), i64)


def _useful_threads(e: Emitter, count: Index, team: Index) -> Index:
    """The threads to ask for: no more than there are iterations, and one where there are none."""
    return extreme(e, "llvm.smin.i64", extreme(e, "llvm.smax.i64", count, 1), team)


def _as_i32(e: Emitter, number: Index) -> SSAValue:
    if isinstance(number, int):
        return e.constant(number, i32)
    return e.emit(llvm.TruncOp, (number,), i32, {"overflowFlags": llvm.OverflowAttr(None)})


def _define_entry(e: Emitter, op: Operation, name: str, data_type: llvm.LLVMStructType) -> None:
    """The function that each thread calls with the struct. One that comes late finds no iteration left."""
    e.symbols.declare(THREAD_NUMBER, llvm.LLVMFunctionType((), i32), op)
    inner = Emitter(e.handlers, e.symbols)
    inner.entry.insert_arg(POINTER, 0)
    data = inner.entry.args[0]
    data.name_hint = "data"

    def field_of(number: int) -> SSAValue:
        type_ = data_type.types.data[number]
        return inner.load(inner.pointer_at(data, (0, number), data_type), type_, _alignment(type_))

    parts, claim = field_of(COUNT), field_of(CLAIM)
    search = search_blocks()
    inner.branch(search.look, (own_part(inner, parts), parts))
    emit_search(inner, search, data, data_type, parts, claim)
    inner.start(search.found)
    passed = map(field_of, range(FIRST_PASSED, len(data_type.types)))
    inner.call(f"{name}.share", (*search.found.args, data, parts, claim, *passed), None)
    inner.branch(search.none)
    inner.start(search.none)
    inner.append(llvm.ReturnOp())
    _define(e, name, [POINTER], inner)


def _define_share(
    e: Emitter,
    op: scf.ParallelOp,
    name: str,
    captures: _Captures,
    passed: Sequence[SSAValue],
    data_type: llvm.LLVMStructType,
) -> None:
    """The function of a thread that has claimed iterations already: those from `first` on, and all it can claim."""
    inner = Emitter(e.handlers, e.symbols)
    inner.in_parallel = True
    search = search_blocks()
    claimed = [(value.type, value.name_hint) for value in search.found.args]
    for type_, hint in (*claimed, *_SHARED, *((value.type, None) for value in passed)):
        inner.entry.insert_arg(type_, len(inner.entry.args)).name_hint = hint
    before = len(claimed) + len(_SHARED)
    first = inner.entry.args[: len(claimed)]
    data, parts, claim = inner.entry.args[len(claimed) : before]
    inner.unflatten(captures.values, inner.entry.args[before:])
    for sunk in captures.sunk:
        inner.handlers[type(sunk)](inner, sunk)
    with _allocated_once(inner, _heap_buffers(inner, op.body.block)):
        inner.branch(search.found, first)
        inner.start(search.found)
        _lower_claim(inner, op, search, claim)
        emit_search(inner, search, data, data_type, parts, claim)
        inner.start(search.none)
    inner.append(llvm.ReturnOp())
    promises = [DictionaryAttr({})] * before + _promises(e, captures.values, passed)
    types = [argument.type for argument in inner.entry.args]
    _define(e, name, types, inner, promises)


_SHARED = ((POINTER, "data"), (i64, "parts"), (i64, "claim"))
"""The arguments of a share between what is claimed and what the body uses."""


def _lower_claim(e: Emitter, op: scf.ParallelOp, search: Search, claim: SSAValue) -> None:
    """The loop over the iterations that were claimed; then the search goes on in the same part."""
    first, end, part, left = search.found.args
    header, inside, done = Block(arg_types=[i64]), Block(), Block()
    last = extreme(e, "llvm.smin.i64", e.add(first, claim), end)
    e.branch(header, (first,))
    e.start(header)
    counter = header.args[0]
    e.branch_if(e.compare("slt", counter, e.ssa(last), i1), inside, done)
    e.start(inside)
    lower, step = e.index(op.lowerBound[0]), e.index(op.step[0])
    e.bind(op.body.block.args[0], e.ssa(e.add(e.mul(counter, step), lower)))
    _lower_dimensions(e, op, 1)
    following = e.add(counter, 1)
    branch_back(e, header, (e.ssa(following),), (NO_UNROLL,))
    e.start(done)
    e.branch(search.look, (part, left))


def _define(
    e: Emitter,
    name: str,
    types: Sequence[Attribute],
    inner: Emitter,
    promises: Sequence[DictionaryAttr] = (),
) -> None:
    properties: dict[str, Attribute] = {}
    if any(promise.data for promise in promises):
        properties["arg_attrs"] = ArrayAttr(promises)
    function = function_without_body(name, function_type(types, VOID), INTERNAL, properties)
    function.add_region(inner.finish())
    e.symbols.outlined.append(function)


# Scratch memory.


def _heap_buffers(e: Emitter, block: Block) -> dict[memref.AllocOp, memref.DeallocOp]:
    """
    The buffers that an iteration allocates and frees, whose size is known: they are allocated once, for all
    iterations of the thread. They may be in loops inside of the body, or in branches of it.
    """
    found: dict[memref.AllocOp, memref.DeallocOp] = {}
    for op in operations_inside(block):
        if type(op) is memref.DeallocOp and isinstance(op.memref.owner, memref.AllocOp):
            alloc = op.memref.owner
            if alloc.parent is op.parent and not alloc.operands and alloc not in e.hoisted:
                found[alloc] = op
    return found


@contextmanager
def _allocated_once(e: Emitter, buffers: dict[memref.AllocOp, memref.DeallocOp]) -> Generator[None]:
    """Allocate the buffers here, and free them after what is lowered inside."""
    for alloc in buffers:
        e.handlers[memref.AllocOp](e, alloc)
    e.hoisted |= {*buffers, *buffers.values()}
    yield
    e.hoisted -= {*buffers, *buffers.values()}
    for dealloc in buffers.values():
        e.handlers[memref.DeallocOp](e, dealloc)


# What is known of pointers.


def _promises(
    e: Emitter, captured: Sequence[SSAValue], passed: Sequence[SSAValue]
) -> list[DictionaryAttr]:
    """
    The attributes of a share's pointers.

    Those of the function around hold in the share too: what one thread writes, no other thread uses, as
    no iteration depends on another. But where a pointer is passed that may be derived from another one,
    `noalias` would say that it is not.
    """
    unknown = False
    known: dict[SSAValue, dict[str, Attribute]] = {}
    for value in captured:
        if not is_memref(value.type):
            unknown = unknown or isinstance(value.type, llvm.LLVMPointerType)
            continue
        pointer = e.memref(value).pointer
        if isinstance(value.owner, memref.AllocOp | memref.AllocaOp):
            known[pointer] = {
                "llvm.noalias": UnitAttr(),
                "llvm.align": IntegerAttr(BUFFER_ALIGNMENT, i64),
            }
        elif pointer in e.promises:
            known[pointer] = dict(e.promises[pointer].data)
        else:
            unknown = True
    if unknown:
        for promise in known.values():
            promise.pop("llvm.noalias", None)
    return [DictionaryAttr(known.get(value, {})) for value in passed]
