"""Non-maximum suppression: at once, interpreted and native, against a plain loop."""

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st


def area(box):
    return (box[2] - box[0]) * (box[3] - box[1])


def expected(boxes, scores, limit, overlap, least):
    rows = []
    for batch, category in np.ndindex(*scores.shape[:2]):
        chosen = []
        for box in np.argsort(-scores[batch, category], kind="stable"):
            one = boxes[batch, box]
            for other in boxes[batch, chosen]:
                sides = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
                shared = np.prod(np.maximum(sides, 0))
                if shared > overlap * (area(one) + area(other) - shared):
                    break
            else:
                if len(chosen) < limit and scores[batch, category, box] > least:
                    chosen.append(box)
                    rows.append((batch, category, box))
    return np.array(rows, np.int64).reshape(-1, 3)


def random_boxes(rng, batches, count):
    """Corners on a grid, so that quotients of areas are far from thresholds."""
    low = rng.integers(0, 8, (batches, count, 2))
    return np.concatenate([low, low + rng.integers(1, 8, low.shape)], 2).astype("f4")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 99), st.integers(0, 9), st.integers(0, 5))
def test_chosen_boxes(seed, count, limit):
    rng = np.random.default_rng(seed)
    boxes = random_boxes(rng, 2, count)
    scores = rng.integers(0, 6, (2, 3, count)).astype("f4")
    rows, number = sw.non_max_suppression(boxes, scores, limit, 0.337, 1.5)
    wanted = expected(boxes, scores, limit, 0.337, 1.5)
    assert number == len(wanted)
    np.testing.assert_array_equal(rows[:number], wanted)
    assert not rows[number:].any()


def test_natively_with_thresholds_known_at_run_time():
    rng = np.random.default_rng(5)
    boxes, scores = random_boxes(rng, 1, 33), rng.uniform(0, 1, (1, 2, 33)).astype("f4")

    def suppressed(boxes, scores, overlap, least):
        return tuple(sw.non_max_suppression(boxes, scores, 7, overlap, least))

    jitted = sw.jit(suppressed)
    for overlap, least in ((0.337, 0.5), (0.11, 0.9)):
        arguments = boxes, scores, np.float32(overlap), np.float32(least)
        rows, number = jitted(*arguments)
        wanted = expected(boxes, scores, 7, overlap, least)
        np.testing.assert_array_equal(rows[: int(number)], wanted)
        module = jitted.lower(*arguments).module("te")
        for one, other in zip((rows, number), sw.interpret(module, arguments), strict=True):
            np.testing.assert_array_equal(one, other)


def test_boxes_by_their_centres_and_corners_in_any_order():
    boxes = np.array([[[1, 1, 2, 2], [1, 1, 2, 2], [8, 8, 2, 2]]], np.float32)
    scores = np.array([[[0.5, 0.9, 0.1]]], np.float32)
    rows, number = sw.non_max_suppression(boxes, scores, 9, 0.5, center_point_box=True)
    assert rows[:number].tolist() == [[0, 0, 1], [0, 0, 2]]
    turned = np.array([[[2, 2, 0, 0], [0, 2, 2, 0], [9, 9, 7, 7]]], np.float32)
    rows, number = sw.non_max_suppression(turned, scores, 9, 0.5)
    assert rows[:number].tolist() == [[0, 0, 1], [0, 0, 2]]


def test_mistakes_are_one_line():
    with pytest.raises(sw.StepwellError, match=r"found boxes of shape \[3, 4\]"):
        sw.non_max_suppression(np.ones((3, 4), "f4"), np.ones((1, 1, 3), "f4"), 1)
    with pytest.raises(
        sw.StepwellError, match="found boxes of shape 1x3x4 and scores of shape 1x1x5"
    ):
        sw.non_max_suppression(np.ones((1, 3, 4), "f4"), np.ones((1, 1, 5), "f4"), 1)
