"""Control flow over tensors becomes that of `scf` over buffers: what the regions hand on stays in its place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, StridedLayoutAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.buffer_exchange import Exchange, plan_exchange, states_in_rows
from ...analysis.buffer_plan import Surroundings, plan_buffers
from ...analysis.operations import used_from_above
from ...analysis.strided_views import Placing
from ...dialects import loop, te
from ...dialects.control_flow import FLAG
from ...dialects.shaped import is_tensor, memref_type, tensor_type
from ...frozen import frozen
from ..remarks import remark
from .body_buffers import BodyBufferizer
from .places import Place, PlacedTensor, buffer_type


@frozen
class _States:
    """The states of a loop, by the numbers that its steps yield them under: what they start with, and the last values."""

    carried: Sequence[SSAValue]
    last: Sequence[SSAValue]
    moving: Sequence[int]
    """the numbers of those that change buffers from step to step"""
    first: int = 0
    rows: Collection[int] = ()
    """the numbers of those that are read from a result of the step before"""

    @property
    def numbers(self) -> list[int]:
        """Of those that have buffers of their own."""
        every = range(self.first, self.first + len(self.last))
        return [number for number in every if number not in self.rows]

    def carried_of(self, number: int) -> SSAValue:
        return self.carried[number - self.first]

    def last_of(self, number: int) -> SSAValue:
        return self.last[number - self.first]


@dataclass
class RegionBufferizer(BodyBufferizer):
    """Scans, loops and branches become those of `scf`, around kernels over buffers; their regions are filled alike."""

    moving: Exchange = field(default_factory=Exchange)
    """the states of the block that change buffers from step to step"""
    buffers: list[SSAValue] = field(default_factory=list[SSAValue])
    """the arguments that these are, in slots"""
    rows: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    """the states that are read from a result of the step before, and the arguments that these are"""

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
        steps = op.steps.value.data
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
        state = [(self.place_of(value), self._placing_of(value)) for value in op.last]
        entering: dict[SSAValue, PlacedTensor] = dict(
            zip(op.body.block.args, [*state, *slices[:count]], strict=True)
        )
        replaced = dict(enumerate(op.body.block.args[: len(state)]))
        results = [*state, *slices[count:]]
        inside = self._inside(op.body, block, entering, results, replaced)
        inside.step = variable
        moving = inside.exchange_buffers(op.body.block)
        starts = {number: self._placing_of(value) for number, value in enumerate(op.carried)}
        in_rows = states_in_rows(inside.plan, op.body.block, replaced, starts)
        inside.follow_rows(in_rows)
        states = _States(op.carried, op.last, moving.states, rows=inside.rows)
        is_kept = any(self._starts_in_place(states, number) for number in moving.states)
        # Where the last step leaves a state is known: in the buffer of its last value.
        homes = {
            n: place if is_kept else moving.origin(place, steps)
            for place, n in enumerate(moving.states)
        }
        buffers = self._start(states, moving, homes)
        found = [buffers[moving.origin(place, steps)] for place in range(len(moving.states))]
        buffers += [self._row(op.carried[n], arg) for n, arg in inside.rows.items()]
        inside.fill(op.body.block)
        low, high, step = (self._index(number) for number in (0, steps, 1))
        self.builder.insert(scf.ForOp(low, high, step, buffers, Region(block)))
        self._bring_home(states, found)
        for number, result in in_rows.items():
            self._take_last_row(op, op.last[number], op.stacked[result - len(op.last)])

    def _row(self, value: SSAValue, row: SSAValue) -> SSAValue:
        """The buffer of a state before the first step, as one of the type that a row of a result has."""
        found = self.buffer_of(value)
        if found.type == row.type:
            return found
        return self.builder.insert(memref.CastOp.get(found, memref_type(row))).dest

    def _take_last_row(self, op: te.ScanOp, last: SSAValue, rows: SSAValue) -> None:
        """Copy a state's last value from the last row of the result that has it for each step, if anything needs it."""
        if not last.uses:
            return
        leading, *strides = self._placing_of(rows).strides
        step = 0 if op.reverse is not None else op.steps.value.data - 1
        place = self.place_of(rows).behind(step * leading)
        row = place.view(self.builder, tensor_type(last), Placing(0, tuple(strides)))
        self.copy(row, self.buffer_of(last))

    def _convert_while(self, op: te.WhileOp) -> None:
        """The flag and the state are updated in their buffers; the loop asks for the flag before each step."""
        flag = self.builder.insert(loop.AllocOp(loop.Scope.ARENA, buffer_type(FLAG))).buffer
        flag.name_hint = "flag"
        self.copy(self.buffer_of(op.condition), flag)
        state = [(self.place_of(value), self._placing_of(value)) for value in op.outputs]
        block = Block()
        entering: dict[SSAValue, PlacedTensor] = dict(zip(op.body.block.args, state, strict=True))
        results = [(Place(flag), Placing(0, ())), *state]
        replaced = dict(enumerate(op.body.block.args, 1))
        inside = self._inside(op.body, block, entering, results, replaced)
        moving = inside.exchange_buffers(op.body.block)
        states = _States(op.carried, op.outputs, moving.states, first=1)
        homes = {number: place for place, number in enumerate(moving.states)}
        buffers = self._start(states, moving, homes)
        inside.fill(op.body.block)
        types = [buffer.type for buffer in buffers]
        before = Block(arg_types=types)
        holds = Builder(InsertPoint.at_end(before)).insert(memref.LoadOp.get(flag, []))
        before.add_op(scf.ConditionOp(holds.res, *before.args))
        steps = self.builder.insert(scf.WhileOp(buffers, types, Region(before), Region(block)))
        self._bring_home(states, steps.res[: len(moving.states)])

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

    def _starts_in_place(self, states: _States, number: int) -> bool:
        """Whether a state starts in the buffer in which its last value is to be."""
        return self.plan.in_place.get(states.last_of(number)) is states.carried_of(number)

    def _start(self, states: _States, moving: Exchange, homes: Mapping[int, int]) -> list[SSAValue]:
        """
        The buffers of the slots before the first step; the initial state is copied to where the first step reads it.

        `homes` has the slot for the buffer of the last value of a state, by number.
        """
        slots: dict[int, SSAValue] = {}
        for number, slot in homes.items():
            place = self.place_of(value := states.last_of(number))
            if place.is_whole(buffer_type(tensor_type(value))):
                slots[slot] = place.buffer
        buffers: list[SSAValue] = []
        for slot, number in enumerate((*moving.states, *moving.computed)):
            if slot not in slots:
                slots[slot] = self._temporary(states.last_of(number)).buffer
            buffers.append(slots[slot])
        for number in states.numbers:
            before, after = states.carried_of(number), states.last_of(number)
            if number in moving.states:
                start = buffers[moving.states.index(number)]
                if self._starts_in_place(states, number) and start is self.place_of(after).buffer:
                    continue
                self.copy(self.buffer_of(before), start)
            elif not self._starts_in_place(states, number):
                self.copy(self.buffer_of(before), self.buffer_of(after))
        return buffers

    def _bring_home(self, states: _States, found: Sequence[SSAValue]) -> None:
        """Copy the last values that the steps left in other buffers (`found`) to where they are to be."""
        homes = [self.buffer_of(states.last_of(number)) for number in states.moving]
        away = [
            (source, home) for source, home in zip(found, homes, strict=True) if source is not home
        ]
        is_apart = len(away) < 2 or not any(
            source in homes or isinstance(source.owner, scf.WhileOp) for source, _ in away
        )
        for number, (source, home) in enumerate(away):
            if not is_apart:
                # One's last value may be in another's buffer: all are read before any is replaced.
                aside = self.builder.insert(
                    loop.AllocOp(loop.Scope.ARENA, memref_type(home))
                ).buffer
                self.copy(source, aside)
                away[number] = aside, home
        for source, home in away:
            self.copy(source, home)

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

    def exchange_buffers(self, old: Block) -> Exchange:
        """Let the states that change buffers enter the block in buffers that it is given; which ones these are."""
        terminator, state = old.last_op, self.around.state
        assert isinstance(terminator, te.YieldOp)
        self.moving = plan_exchange(self.plan, terminator.values, state)
        for number in (*self.moving.states, *self.moving.computed):
            value = state[number]
            buffer = self.block.insert_arg(buffer_type(tensor_type(value)), len(self.block.args))
            self.buffers.append(buffer)
            if len(self.buffers) <= len(self.moving.states):
                buffer.name_hint = value.name_hint
                self.places[value] = Place(buffer)
            else:
                buffer.name_hint = terminator.values[number].name_hint
                self.results[number] = Place(buffer)
        for number, slot in self.moving.over.items():
            self.results[number] = Place(self.buffers[slot])
        for number in self.moving.computed:
            remark(self.function, f"state {number} changes places with a spare buffer at each step")
        return self.moving

    def follow_rows(self, numbers: Iterable[int]) -> None:
        """Let these states enter the block in the row that the step before wrote; nothing copies them."""
        for number in numbers:
            value = self.around.state[number]
            layout = StridedLayoutAttr(self.plan.homes[value].placing.strides, None)
            type_ = tensor_type(value)
            row = MemRefType(type_.get_element_type(), type_.get_shape(), layout)
            self.rows[number] = self.block.insert_arg(row, len(self.block.args))
            self._set(value, self.rows[number])
            remark(self.function, f"state {number} is read from the row that the step before wrote")

    def fill(self, old: Block) -> None:
        """Fill the block with what the block of a region becomes."""
        terminator = old.last_op
        assert isinstance(terminator, te.YieldOp)
        results, state = [*self.results], self.around.state
        for number in state:
            if not (
                number in self.plan.updated
                or number in self.plan.returned
                or number in self.moving.states
                or number in self.rows
            ):
                self.results[number] = self._temporary(terminator.values[number])
        self.convert_ops(old)
        arguments = set(state.values())
        late: list[tuple[SSAValue, SSAValue]] = []
        for number, value in enumerate(terminator.values):
            if number not in state:
                if number in self.plan.returned:
                    target = self._result_view(results[number], number, value)
                    self.copy(self.buffer_of(value), target)
            elif not (
                number in self.plan.updated
                or number in self.moving.states
                or number in self.rows
                or value is state[number]
            ):
                source = self.buffer_of(value)
                if self.plan.homes[value].root in arguments:
                    # The other state is replaced as well: what it was is kept aside until all are read.
                    self.copy(source, aside := self._temporary(value).buffer)
                    source = aside
                remark(self.function, f"state {number} is copied at the end of a step", missed=True)
                late.append((source, self._result_view(results[number], number, value)))
        for source, target in late:
            self.copy(source, target)
        following = [self.buffers[slot] for slot in self.moving.following]
        rows = [self.buffer_of(terminator.values[number]) for number in self.rows]
        self.builder.insert(scf.YieldOp(*following, *rows))

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
