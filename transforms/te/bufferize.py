"""Decides where tensors live: functions over tensors become functions over buffers, around kernels of `te`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.buffer_checks import check_kernel_buffers
from ...analysis.buffer_plan import BufferPlan, Placed, Surroundings, plan_buffers
from ...analysis.levels import Level
from ...analysis.movements import Box
from ...analysis.operations import used_from_above
from ...analysis.strided_views import Placing
from ...dialects import loop, te
from ...dialects.control_flow import FLAG, ControlFlow
from ...dialects.shaped import Tensor, is_tensor, tensor_type
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .bufferizable import check_function, has_tensors
from .constant_globals import ConstantGlobals
from .loose_computes import group_loose_computes
from .moving_kernels import constant_body, moving_body
from .places import Place, PlacedTensor, buffer_type


def bufferize(module: ModuleOp) -> None:
    """
    Give every tensor of the module's functions a place in memory, as `te-bufferize` does.

    Raises StepwellError for what is not kernels, computes, calls and control flow of these, and for open shapes.
    """
    functions = [op for op in module.ops if isinstance(op, func.FuncOp) and has_tensors(op)]
    for function in functions:
        check_function(function)
    constants = ConstantGlobals(module)
    for function in functions:
        if function.body.blocks:
            group_loose_computes(function)
            _bufferize_body(function, constants)
            check_kernel_buffers(function)
        else:
            _bufferize_type(function)


# Functions.


def _bufferize_type(function: func.FuncOp) -> None:
    """Tensors become buffers; those that are returned are arguments behind the others, marked as results."""
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    arg_attrs = _attributes_or_empty(function.arg_attrs, inputs)
    res_attrs = _attributes_or_empty(function.res_attrs, outputs)
    pairs = list(zip(outputs, res_attrs, strict=True))
    results = [pair for pair in pairs if isinstance(pair[0], TensorType)]
    scalars = [pair for pair in pairs if not isinstance(pair[0], TensorType)]
    marked = [DictionaryAttr({loop.RESULT: loop.MARK, **attrs.data}) for _, attrs in results]
    function.function_type = FunctionType.from_lists(
        [_as_buffer(type_) for type_ in (*inputs, *(type_ for type_, _ in results))],
        [type_ for type_, _ in scalars],
    )
    function.arg_attrs = ArrayAttr([*arg_attrs, *marked])
    if function.res_attrs is not None:
        function.res_attrs = ArrayAttr([attrs for _, attrs in scalars])


def _as_buffer(type_: Attribute) -> Attribute:
    return buffer_type(cast(Tensor, type_)) if isinstance(type_, TensorType) else type_


def _attributes_or_empty(
    attributes: ArrayAttr[DictionaryAttr] | None, types: Sequence[Attribute]
) -> Sequence[DictionaryAttr]:
    return [DictionaryAttr({})] * len(types) if attributes is None else attributes.data


def _bufferize_body(function: func.FuncOp, constants: ConstantGlobals) -> None:
    old = function.body.block
    plan = plan_buffers(old)
    _bufferize_type(function)
    block = Block(arg_types=function.function_type.inputs.data)
    BodyBufferizer(plan, constants, block, function).convert_function(old)
    region = function.detach_region(function.body)
    function.add_region(Region(block))
    region.drop_all_references()


@dataclass
class BodyBufferizer:
    """A new block over buffers while it is filled: that of a function, or of a region of control flow in it."""

    plan: BufferPlan
    constants: ConstantGlobals
    block: Block
    function: func.FuncOp
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """buffers of tensors, and the new values of others"""
    results: list[Place] = field(default_factory=list[Place])
    """where the results go"""
    places: dict[SSAValue, Place] = field(default_factory=dict[SSAValue, Place])
    """where tensors are that enter a region"""
    around: Surroundings = field(default_factory=Surroundings)

    @property
    def builder(self) -> Builder:
        return Builder(InsertPoint.at_end(self.block))

    def convert_function(self, old: Block) -> None:
        """Fill the block with what a function's block becomes."""
        terminator = old.last_op
        assert isinstance(terminator, func.ReturnOp)
        for before, after in zip(old.args, self.block.args, strict=False):
            self._set(before, after)
        results = self.block.args[len(old.args) :]
        self.results = [Place(result) for result in results]
        returned = [value for value in terminator.operands if is_tensor(value)]
        for value, result in zip(returned, results, strict=True):
            result.name_hint = value.name_hint or "result"
        self.convert_ops(old)
        for number, reason in self.plan.returned.items():
            message = f"result {number} is copied to the caller's array: {reason}"
            remark(self.function, message, missed=True)
            self.copy(self.buffer_of(returned[number]), results[number])
        scalars = [self.values[value] for value in terminator.operands if not is_tensor(value)]
        self.builder.insert(func.ReturnOp(*scalars))

    def convert_ops(self, old: Block) -> None:
        """Append what the operations of a block become, but for the last."""
        for op in old.ops:
            if op is not old.last_op:
                self._convert_op(op)

    def copy(self, source: SSAValue, destination: SSAValue) -> None:
        """Append a copy between buffers of one shape."""
        self.builder.insert(memref.CopyOp(source, destination))

    def _set(self, old: SSAValue, new: SSAValue) -> None:
        new.name_hint = old.name_hint
        self.values[old] = new

    def _convert_op(self, op: Operation) -> None:
        if isinstance(op, te.KernelOp):
            self._convert_kernel(op)
        elif isinstance(op, arith.ConstantOp) and is_tensor(op.result):
            self._set(op.result, self._global(op))
        elif isinstance(op, tensor.DimOp):
            size = memref.DimOp(self.buffer_of(op.source), self.values[op.index])
            self._set(op.result, self.builder.insert(size).result)
        elif isinstance(op, func.CallOp):
            self._convert_call(op)
        elif isinstance(op, ControlFlow):
            self._convert_control_flow(op)
        else:
            self.builder.insert(op.clone(self.values))

    def _convert_call(self, op: func.CallOp) -> None:
        inputs = [self._operand(value) for value in op.arguments]
        outputs = [self.buffer_of(value) for value in op.res if is_tensor(value)]
        scalars = [value for value in op.res if not is_tensor(value)]
        types = [value.type for value in scalars]
        call = self.builder.insert(func.CallOp(op.callee, [*inputs, *outputs], types))
        call.location = op.location
        for old, new in zip(scalars, call.res, strict=True):
            self._set(old, new)

    def _convert_kernel(self, op: te.KernelOp) -> None:
        if op in self.plan.views:
            remark(
                op, f"'{op.kernel_name.data}' moves nothing: its result is a view of its operand"
            )
            return
        placed = self.plan.placed.get(op)
        if placed is not None:
            self._finish(placed)
            return
        reason = self.plan.kept.get(op)
        if reason is not None:
            remark(op, f"'{op.kernel_name.data}' copies: {reason}", missed=True)
        inputs = [
            self._straightened(arg, value) or self._operand(value)
            for arg, value in zip(op.body.block.args, op.inputs, strict=True)
        ]
        for value in op.outputs:
            if value in self.plan.in_place:
                name = self.plan.in_place[value].name_hint
                remark(op, f"'{op.kernel_name.data}' writes its result in place of '{name}'")
            if value in self.plan.apart:
                reason = self.plan.apart[value]
                remark(op, f"'{op.kernel_name.data}' is not in place: {reason}", missed=True)
        outputs = [self.buffer_of(value) for value in op.outputs]
        self._insert_kernel(op, op.kernel_name.data, inputs, outputs, op.detach_region(op.body))

    def _straightened(self, arg: BlockArgument, value: SSAValue) -> SSAValue | None:
        """The view through which a kernel reads an operand without divisions, where the plan has one."""
        found = self.plan.straightened.get(arg)
        if found is None:
            return None
        for use in [*arg.uses]:
            compute = use.operation
            assert isinstance(compute, te.ComputeOp)
            maps = [*compute.maps]
            maps[use.index] = AffineMapAttr(found.map)
            compute.maps = ArrayAttr(maps)
        type_ = TensorType(tensor_type(value).get_element_type(), found.shape)
        Rewriter.replace_value_with_new_type(arg, type_)
        box = Box((0,) * len(found.shape), found.shape)
        return self._view(value, found.home.root, box, found.home.placing)

    def _insert_kernel(
        self,
        origin: te.KernelOp,
        name: str,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        body: Region,
    ) -> None:
        """Append a kernel over these buffers, and scalars."""
        buffers = [*inputs]
        for constant in te.tensor_constants(body.block):
            # An argument, so that kernels that differ in their constants alone are equal.
            buffers.append(self._global(constant))
            inside = body.block.insert_arg(constant.result.type, len(body.block.args))
            inside.name_hint = constant.result.name_hint
            Rewriter.replace_op(constant, [], [inside])
        kernel = te.KernelOp(
            name,
            buffers,
            (),
            body,
            destinations=outputs,
            inline=origin.inline is not None,
        )
        kernel.attributes |= origin.attributes
        kernel.location = origin.location
        self.builder.insert(kernel)

    def _global(self, op: arith.ConstantOp) -> SSAValue:
        """The buffer of a constant."""
        value = op.value
        assert isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr)
        name = self.constants.name_of(value, op.result.name_hint or "")
        get = self.builder.insert(memref.GetGlobalOp(name, buffer_type(tensor_type(op.result))))
        get.memref.name_hint = op.result.name_hint
        return get.memref

    def _operand(self, value: SSAValue) -> SSAValue:
        return self.buffer_of(value) if is_tensor(value) else self.values[value]

    # Movements whose sources are in their places.

    def _finish(self, placed: Placed) -> None:
        """What is left of a movement: the border's values, and pieces that are elsewhere."""
        movement = placed.movement
        op, result = movement.kernel, movement.result
        name = op.kernel_name.data
        remark(op, f"'{name}': what computes its operands writes them into the result")
        home = self.plan.homes[result]
        for border in movement.borders:
            assert movement.pad is not None
            part = self._view(result, home.root, border, home.placing)
            self._insert_kernel(op, f"{name}_border", (), [part], constant_body(part, movement.pad))
        for piece, reason in placed.copied:
            remark(op, f"'{name}' copies a part: {reason}", missed=True)
            part = self._view(result, home.root, piece.box, home.placing)
            body = moving_body(piece.source, piece.map, part)
            self._insert_kernel(op, f"{name}_part", [self.buffer_of(piece.source)], [part], body)

    # Buffers.

    def buffer_of(self, value: SSAValue) -> SSAValue:
        """The buffer of a tensor, made here where it is the first time that it is needed."""
        if value in self.plan.in_place:
            return self.buffer_of(self.plan.in_place[value])
        if value not in self.values:
            home, type_ = self.plan.homes[value], tensor_type(value)
            if home.root in self.plan.updated:
                # One buffer for both: a kernel that updates an operand has it once.
                return self.buffer_of(self.around.state[cast(int, home.root)])
            place = self._known_place(home.root)
            if place is None and home.root is value:
                alloc = self.builder.insert(loop.AllocOp(loop.Scope.ARENA, buffer_type(type_)))
                self._set(value, alloc.buffer)
            elif place is not None and place.is_whole(buffer_type(type_, home.placing)):
                self.values[value] = place.buffer
            else:
                whole = Box((0,) * type_.get_num_dims(), type_.get_shape())
                self.values[value] = self._view(value, home.root, whole, home.placing)
        return self.values[value]

    def _known_place(self, root: SSAValue | int) -> Place | None:
        return self.results[root] if isinstance(root, int) else self.places.get(root)

    def place_of(self, value: SSAValue) -> Place:
        """Where a tensor starts, in a buffer that starts where its memory does."""
        while value in self.plan.in_place:
            value = self.plan.in_place[value]
        home = self.plan.homes[value]
        place = self._known_place(home.root)
        if place is None:
            assert isinstance(home.root, SSAValue)
            place = Place(self.buffer_of(home.root))
        return place.behind(home.placing.offset)

    def _view(self, value: SSAValue, root: SSAValue | int, box: Box, placing: Placing) -> SSAValue:
        """A part of a tensor that is placed in a buffer."""
        place = self._known_place(root)
        if place is None:
            assert isinstance(root, SSAValue)
            place = Place(self.buffer_of(root))
        part = placing.part(box.low).normalized(box.extents)
        type_ = TensorType(tensor_type(value).get_element_type(), box.extents)
        view = place.view(self.builder, type_, part)
        view.name_hint = value.name_hint
        return view

    # Control flow.

    def _convert_control_flow(self, op: ControlFlow) -> None:
        """Scans, loops and branches become those of `scf`, around kernels over buffers."""
        match op:
            case te.ScanOp():
                self._convert_scan(op)
            case te.WhileOp():
                self._convert_while(op)
            case te.IfOp():
                self._convert_if(op)
            case _:
                raise AssertionError(op.name)

    def _convert_scan(self, op: te.ScanOp) -> None:
        """The state is updated in the buffers of its last values; slices are views that move from step to step."""
        state = self._initialized(op.carried, op.last)
        steps = op.steps.value.data
        low, high, step = (self._index(number) for number in (0, steps, 1))
        block = Block(arg_types=[IndexType()])
        variable = block.args[0]
        variable.name_hint = "t"

        def slice_of(value: SSAValue) -> PlacedTensor:
            leading, *strides = self._placing_of(value).strides
            place = self.place_of(value)
            if op.reverse is not None:
                place, leading = place.behind((steps - 1) * leading), -leading
            return place.at(variable, leading), Placing(0, tuple(strides))

        slices = [slice_of(value) for value in (*op.sequences, *op.stacked)]
        count = len(op.sequences)
        entering: dict[SSAValue, PlacedTensor] = dict(
            zip(op.body.block.args, [*state, *slices[:count]], strict=True)
        )
        replaced = dict(enumerate(op.body.block.args[: len(state)]))
        results = [*state, *slices[count:]]
        self._inside(op.body, block, entering, results, replaced).fill(op.body.block)
        self.builder.insert(scf.ForOp(low, high, step, [], Region(block)))

    def _convert_while(self, op: te.WhileOp) -> None:
        """The flag and the state are updated in their buffers; the loop asks for the flag before each step."""
        flag = self.builder.insert(loop.AllocOp(loop.Scope.ARENA, buffer_type(FLAG))).buffer
        flag.name_hint = "flag"
        self.copy(self.buffer_of(op.condition), flag)
        state = self._initialized(op.carried, op.outputs)
        before, block = Block(), Block()
        holds = Builder(InsertPoint.at_end(before)).insert(memref.LoadOp.get(flag, []))
        before.add_op(scf.ConditionOp(holds.res))
        entering: dict[SSAValue, PlacedTensor] = dict(zip(op.body.block.args, state, strict=True))
        results = [(Place(flag), Placing(0, ())), *state]
        replaced = dict(enumerate(op.body.block.args, 1))
        self._inside(op.body, block, entering, results, replaced).fill(op.body.block)
        self.builder.insert(scf.WhileOp([], [], Region(before), Region(block)))

    def _convert_if(self, op: te.IfOp) -> None:
        """Both branches write their results into the same buffers."""
        results = [(self.place_of(v), self._placing_of(v)) for v in op.outputs]
        flag = self.builder.insert(memref.LoadOp.get(self.buffer_of(op.condition), []))
        blocks = (Block(), Block())
        for region, block in zip((op.then, op.otherwise), blocks, strict=True):
            self._inside(region, block, {}, results, {}).fill(region.block)
        self.builder.insert(scf.IfOp(flag.res, [], Region(blocks[0]), Region(blocks[1])))

    def _index(self, number: int) -> SSAValue:
        return self.builder.insert(arith.ConstantOp(IntegerAttr(number, IndexType()))).result

    def _placing_of(self, value: SSAValue) -> Placing:
        """How a tensor lies from its place on."""
        return Placing(0, self.plan.homes[value].placing.strides)

    def _initialized(
        self, initial: Sequence[SSAValue], last: Sequence[SSAValue]
    ) -> list[PlacedTensor]:
        """The places of the last state, with the initial state in them."""
        for before, after in zip(initial, last, strict=True):
            if self.plan.in_place.get(after) is not before:
                self.copy(self.buffer_of(before), self.buffer_of(after))
        return [(self.place_of(value), self._placing_of(value)) for value in last]

    def _inside(
        self,
        region: Region,
        block: Block,
        entering: Mapping[SSAValue, PlacedTensor],
        results: Sequence[PlacedTensor],
        state: Mapping[int, SSAValue],
    ) -> BodyBufferizer:
        """What fills the block that a region becomes; `state` as in `Surroundings`."""
        taken = [value for value in used_from_above(region) if is_tensor(value)]
        placed = {value: (self.place_of(value), self._placing_of(value)) for value in taken}
        placed |= entering
        around = Surroundings(
            {value: placing for value, (_, placing) in placed.items()},
            [placing for _, placing in results],
            state,
        )
        return BodyBufferizer(
            plan_buffers(region.block, around),
            self.constants,
            block,
            self.function,
            {old: new for old, new in self.values.items() if not is_tensor(old)},
            [place for place, _ in results],
            {value: place for value, (place, _) in placed.items()},
            around,
        )

    def fill(self, old: Block) -> None:
        """Fill the block with what the block of a region becomes."""
        terminator = old.last_op
        assert isinstance(terminator, te.YieldOp)
        results, state = [*self.results], self.around.state
        for number in state:
            if number not in self.plan.updated and number not in self.plan.returned:
                self.results[number] = self._temporary(terminator.values[number])
        self.convert_ops(old)
        arguments = set(state.values())
        late: list[tuple[SSAValue, SSAValue]] = []
        for number, value in enumerate(terminator.values):
            if number not in state:
                if number in self.plan.returned:
                    target = self._result_view(results[number], number, value)
                    self.copy(self.buffer_of(value), target)
            elif number not in self.plan.updated and value is not state[number]:
                source = self.buffer_of(value)
                if self.plan.homes[value].root in arguments:
                    # The other state is replaced as well: what it was is kept aside until all are read.
                    self.copy(source, aside := self._temporary(value).buffer)
                    source = aside
                remark(self.function, f"state {number} is copied at the end of a step", missed=True)
                late.append((source, self._result_view(results[number], number, value)))
        for source, target in late:
            self.copy(source, target)
        self.builder.insert(scf.YieldOp())

    def _temporary(self, value: SSAValue) -> Place:
        """A buffer for a tensor of its own."""
        alloc = self.builder.insert(loop.AllocOp(loop.Scope.ARENA, buffer_type(tensor_type(value))))
        alloc.buffer.name_hint = value.name_hint
        return Place(alloc.buffer)

    def _result_view(self, place: Place, number: int, value: SSAValue) -> SSAValue:
        """The buffer of a result of a region."""
        type_ = tensor_type(value)
        assert self.around.destinations is not None
        placing = self.around.destinations[number]
        whole = place.is_whole(buffer_type(type_, placing))
        return place.buffer if whole else place.view(self.builder, type_, placing)


@dataclass(frozen=True)
class TeBufferizePass(StepwellPass):
    """
    Decides where each tensor lives; what moves elements becomes a view where it can.

    Arguments and results become buffers: results are trailing arguments marked `stepwell.result`, which what computes
    them writes itself. Kernels read buffers and write `into` buffers. A reshape, slice or transposition is a view of its
    source; the parts of a concatenation, the inside of a pad, and what is merged by a reshape are written in their
    place by what computes them. Arguments are never written. A copy that remains says why in a remark.
    """

    name = "te-bufferize"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bufferize(op)
