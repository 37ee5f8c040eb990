"""Products whose last columns, which fill no vector, have a plan of their own."""

from collections.abc import Callable

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import facts_of_loops, find_contractions
from stepwell.analysis.plans.contraction_plan import ContractionPlan
from stepwell.analysis.plans.kernel_cost import contraction_plans
from stepwell.analysis.plans.parted_plan import (
    PartedPlan,
    ends_in_tile,
    part_of,
    waiting_for_weights,
)
from stepwell.frontend.lowered import Lowered
from stepwell.targets.target import Target
from stepwell.tuning.rules import kernels
from stepwell.tuning.session import Session

from .planned_convolutions import compiled_as_is, plans_for, scheduled_by

TARGET = Target.of("sapphire-rapids").alone
Epilogue = Callable[..., object]


def convolved(
    channels: int,
    outputs: int,
    image: tuple[int, int],
    entries: int = 1,
    finish: Epilogue = lambda y, bias, residual: y,
    *,
    is_constant: bool = True,
) -> tuple[Lowered, list[np.ndarray], np.ndarray]:
    """A convolution by windows of one element with what finishes it, what it is called with, and its result."""
    rng = np.random.default_rng(14)
    x = rng.standard_normal((entries, channels, *image), np.float32)
    weights = rng.standard_normal((outputs, channels, 1, 1), np.float32)
    bias = rng.standard_normal((1, outputs, 1, 1), np.float32)
    residual = rng.standard_normal((entries, outputs, *image), np.float32)
    given = np.einsum("nchw,fc->nfhw", x, weights[:, :, 0, 0])
    wanted = np.asarray(finish(given, bias, residual))
    if is_constant:
        call = sw.jit(lambda x, residual: finish(sw.conv(x, weights), bias, residual))
        return call.lower(x, residual), [x, residual], wanted
    call = sw.jit(lambda x, w: sw.conv(x, w))
    return call.lower(x, weights), [x, weights], wanted


def parted(low: Lowered, target: Target) -> PartedPlan | None:
    """The plan in parts, if one is proposed for the program's only kernel."""
    (kernel,) = kernels(low.unscheduled())
    found = contraction_plans(facts_of_loops(kernel).facts, target, 1000)
    return next((plan for plan, _ in found if isinstance(plan, PartedPlan)), None)


def test_the_last_pixels_have_outputs_in_lanes():
    """Of 14 x 14 pixels 192 fill vectors. All outputs in lanes would have to be turned, and pixels alone leave 12 lanes of 16 empty."""
    low, _, _ = convolved(96, 576, (14, 14))
    (plan,) = plans_for(low, TARGET)
    assert isinstance(plan, PartedPlan), plan
    assert plan.columns == 192


@pytest.mark.parametrize(
    ("image", "is_constant"),
    [((28, 28), True), ((14, 14), False), ((3, 5), True)],
    ids=["all are in vectors", "weights that would be packed in each call", "less than a vector"],
)
def test_others_have_no_parts(image: tuple[int, int], is_constant: bool):
    low, _, _ = convolved(96, 576, image, is_constant=is_constant)
    assert parted(low, TARGET) is None


def test_weights_for_both_parts_are_waited_for_where_they_leave_l2():
    """Half of L2 holds one copy of 1 MiB beside the image and the result, and no two. What constants of the whole program push out comes anyway."""
    for outputs, waits in ((128, False), (1024, True)):
        low, _, _ = convolved(256, outputs, (14, 14))
        (kernel,) = kernels(low.unscheduled())
        (whole,) = find_contractions(facts_of_loops(kernel).facts)
        (part,) = find_contractions(part_of(whole, 4))
        assert (waiting_for_weights(whole, part, 1e-6, TARGET) > 0) is waits


def test_a_part_of_a_product_has_fewer_columns_as_far_apart():
    low, _, _ = convolved(8, 16, (5, 7), finish=lambda y, bias, residual: y + residual)
    (kernel,) = kernels(low.unscheduled())
    (whole,) = find_contractions(facts_of_loops(kernel).facts)
    (part,) = find_contractions(part_of(whole, 32))
    assert (part.extent(part.n[-1:]), part.finished) == (32, whole.finished)
    for one, other in ((whole.right, part.right), (whole.result, part.result)):
        before, after = whole.facts.buffers[one.buffer], part.facts.buffers[other.buffer]
        assert (before.shape[-1], after.shape[-1]) == (35, 32)
        assert before.strides == after.strides


def test_parts_keep_no_sums_in_a_buffer_of_the_whole_result():
    """Of columns by themselves L2 keeps neither the image nor the weights: sums would go by blocks of channels."""
    target = Target.parse("x86-64-v3:l2=64K").alone
    low, _, _ = convolved(1024, 256, (1, 87), finish=lambda y, bias, residual: y * bias + residual)
    plan = parted(low, target)
    assert plan is not None
    scheduled_by(low, plan, target)


def test_no_tile_of_the_first_part_goes_beyond_it():
    """Of 80 columns the second tile of 48 has 32: what is beyond are no columns that a buffer ends with."""
    low, _, _ = convolved(64, 48, (9, 9))
    (kernel,) = kernels(low.unscheduled())
    (whole,) = find_contractions(facts_of_loops(kernel).facts)
    plans = [plan for plan, _ in contraction_plans(part_of(whole, 80), TARGET, 100)]
    wide = [plan for plan in plans if isinstance(plan, ContractionPlan) and plan.nr == 48]
    assert {ends_in_tile(plan, 80) for plan in wide} == {True, False}
    assert not any(ends_in_tile(plan, 96) for plan in wide)


FINISHES: dict[str, Epilogue] = {
    "alone": lambda y, bias, residual: y,
    "with a bias": lambda y, bias, residual: sw.maximum(y + bias, 0.0),
    "with a residual": lambda y, bias, residual: sw.maximum(y * bias + residual, -0.5),
    "with one value by rows and columns": lambda y, bias, residual: (
        (y + bias * bias) + residual * (bias * bias)
    ),
}


@pytest.mark.parametrize("finish", FINISHES)
@pytest.mark.parametrize(
    ("channels", "outputs", "image", "entries"),
    [
        (17, 33, (14, 14), 1),
        (64, 48, (7, 7), 1),  # a rest of one column, whose loop goes
        (8, 100, (5, 7), 2),
        (3, 5, (1, 31), 3),
    ],
)
def test_both_parts_compute_their_columns(
    channels: int, outputs: int, image: tuple[int, int], entries: int, finish: str
):
    target = Target.of("host").alone
    low, given, wanted = convolved(channels, outputs, image, entries, FINISHES[finish])
    plan = parted(low, target)
    assert plan is not None
    result = compiled_as_is(scheduled_by(low, plan, target), target)(*given)
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())


def test_loops_that_are_taken_apart_are_no_copies():
    """Steps on all copies of a loop would change the other part as well."""
    low, _, _ = convolved(8, 16, (5, 7))
    module = low.unscheduled()
    (function,) = kernels(module)
    session = Session(module, function)
    column = next(
        session.handle(op) for op in session.nest.loops() if op.constant_trip_count() == 35
    )
    back = session.peel(column, back=3).back
    assert back is not None
    assert len(column.copies) == len(back.copies) == 2
    session.take_apart()
    assert (column.copies, back.copies) == ((column,), (back,))


def test_each_part_packs_the_weights_themselves():
    low, _, _ = convolved(96, 576, (14, 14))
    (plan,) = plans_for(low, TARGET)
    text = str(scheduled_by(low, plan, TARGET))
    assert text.count("loop.load %weights[") == 2
