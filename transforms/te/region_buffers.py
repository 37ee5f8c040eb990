"""Control flow over tensors becomes that of `scf` over buffers: what the regions hand on stays in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.buffer_plan import Surroundings, plan_buffers
from ...analysis.operations import used_from_above
from ...analysis.strided_views import Placing
from ...dialects import loop, te
from ...dialects.control_flow import FLAG
from ...dialects.shaped import is_tensor, tensor_type
from ..remarks import remark
from .body_buffers import BodyBufferizer
from .places import Place, PlacedTensor, buffer_type


@dataclass
class RegionBufferizer(BodyBufferizer):
    """Scans, loops and branches become those of `scf`, around kernels over buffers; their regions are filled alike."""

    def convert_op(self, op: Operation) -> None:
        match op:
            case te.ScanOp():
                self._convert_scan(op)
            case te.WhileOp():
                self._convert_while(op)
            case te.IfOp():
                self._convert_if(op)
            case _:
                super().convert_op(op)

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
    ) -> RegionBufferizer:
        """What fills the block that a region becomes; `state` as in `Surroundings`."""
        taken = [value for value in used_from_above(region) if is_tensor(value)]
        placed = {value: (self.place_of(value), self._placing_of(value)) for value in taken}
        placed |= entering
        around = Surroundings(
            {value: placing for value, (_, placing) in placed.items()},
            [placing for _, placing in results],
            state,
        )
        return RegionBufferizer(
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
