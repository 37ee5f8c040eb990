"""Samples between elements, against sums over the elements around each one, written in Python."""

from itertools import product

import numpy as np
import pytest
import stepwell as sw

RNG = np.random.default_rng(4)


def floats(*shape, scale=1.0):
    return RNG.uniform(-scale, scale, shape).astype(np.float32)


def folded(at, extent, padding, align):
    """A position moved between the ends, one reflection after another; None for one that is 0."""
    low, high = (0, extent - 1) if align else (-0.5, extent - 0.5)
    if padding == "border":
        return min(max(at, 0), extent - 1)
    if padding == "reflection":
        while high > low and not low <= at <= high:
            at = 2 * low - at if at < low else 2 * high - at
        return min(max(at, 0), extent - 1) if high == low else at
    return at


def weights(mode, at):
    """The elements around a position, and how much each counts."""
    if mode == "nearest":
        return {int(np.rint(at)): 1.0}
    first = int(np.floor(at))
    if mode == "linear":
        return {n: 1 - abs(at - n) for n in (first, first + 1)}
    a, result = -0.75, {}
    for n in range(first - 1, first + 3):
        d = abs(at - n)
        near = (a + 2) * d**3 - (a + 3) * d**2 + 1
        result[n] = near if d <= 1 else a * (d**3 - 5 * d**2 + 8 * d - 4)
    return result


def sampled(image, position, mode, padding, align):
    """One sample of an image without channels."""
    around = []
    for at, extent in zip(position, image.shape, strict=True):
        if mode == "nearest":
            at = np.rint(at)
        # Of a cubic filter each element is moved by itself, not the position.
        start = at if mode == "cubic" else folded(at, extent, padding, align)
        around.append(weights(mode, start).items())
    total = 0.0
    for chosen in product(*around):
        place = [
            folded(n, e, padding, align) for (n, _), e in zip(chosen, image.shape, strict=True)
        ]
        if all(0 <= p < e for p, e in zip(place, image.shape, strict=True)):
            total += np.prod([weight for _, weight in chosen]) * image[tuple(map(int, place))]
    return total


def grid_sampled(x, grid, mode, padding, align):
    y = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    extents = np.array(x.shape[2:])
    for n, *at in np.ndindex(x.shape[0], *grid.shape[1:-1]):
        norm = grid[n][tuple(at)][::-1].astype(float)
        position = (norm + 1) / 2 * (extents - 1) if align else ((norm + 1) * extents - 1) / 2
        for c in range(x.shape[1]):
            y[(n, c, *at)] = sampled(x[n, c], position, mode, padding, align)
    return y


# Cubic samples of three axes are sums of 64 terms, which take their time to compile.
GRIDS = [
    pytest.param(
        *places, mode, padding, marks=[pytest.mark.slow] * (len(places[0]) == 3 and mode == "cubic")
    )
    for places in (((5,), (7,)), ((4, 1), (3, 5)), ((3, 4, 5), (2, 1, 1)))
    for mode in ("nearest", "linear", "cubic")
    for padding in ("zeros", "border", "reflection")
]


@pytest.mark.parametrize(("image", "places", "mode", "padding"), GRIDS)
def test_grid_sample(image, places, mode, padding):
    x = floats(2, 2 if len(image) < 3 else 1, *image)
    grid = floats(2, *places, len(image), scale=3.0)
    for align in (False, True):
        expected = grid_sampled(x, grid, mode, padding, align)
        found = sw.grid_sample(x, grid, mode, padding, align)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_as_pytorch(mode, padding):
    torch = pytest.importorskip("torch")
    x, grid = floats(2, 2, 4, 5), floats(2, 3, 6, 2, scale=2.0)
    for align in (False, True):
        word = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
        expected = torch.nn.functional.grid_sample(
            torch.from_numpy(x), torch.from_numpy(grid), word, padding, align
        )
        found = sw.grid_sample(x, grid, mode, padding, align)
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-4, atol=1e-4)


def test_compiled():
    x, grid = floats(2, 3, 5, 7), floats(2, 4, 3, 2, scale=1.5)
    grid[0, 0, 0] = np.nan, 1e30

    def samples(x, grid):
        return [
            sw.grid_sample(x, grid, "cubic", "reflection"),
            sw.grid_sample(x, grid),
            sw.grid_sample(
                x, sw.affine_grid(grid[:, 0].reshape(2, 2, 3), (2, 3, 4, 5), align_corners=True)
            ),
        ]

    for found, expected in zip(
        sw.jit(samples, opt="quick")(x, grid), samples(x, grid), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_what_is_outside_is_zero_beside_infinities():
    x = np.full((1, 1, 2, 2), np.inf, np.float32)
    assert sw.grid_sample(x, np.full((1, 1, 1, 2), 9, np.float32)) == 0


def test_integers_are_sampled_at_the_nearest():
    x = np.arange(6).reshape(1, 1, 2, 3)
    found = sw.grid_sample(x, np.float32([[[[1, 1], [-1, -1]]]]), "nearest", "border")
    np.testing.assert_array_equal(found, [[[[5, 0]]]])


@pytest.mark.parametrize("align", [False, True])
def test_affine_grid_of_the_identity_gives_the_image_back(align):
    x = floats(1, 2, 4, 5, 3)
    grid = sw.affine_grid(np.eye(3, 4, dtype=np.float32)[None], x.shape, align)
    assert grid.shape == (1, 4, 5, 3, 3)
    np.testing.assert_allclose(sw.grid_sample(x, grid, "linear", "border", align), x, atol=1e-5)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align(mode, aligned):
    x, images = floats(2, 3, 6, 7), np.array([1, 0, 1])
    rois = np.float32([[1, 2, 9, 8], [-3, 0, 2, 30], [4, 4, 4.2, 4.1]])
    scale, ratio, cells = 0.5, 2, (2, 3)
    expected = np.zeros((3, 3, *cells))
    for r, c, i, j in np.ndindex(expected.shape):
        x1, y1, x2, y2 = rois[r] * scale - 0.5 * aligned
        sizes = np.array([y2 - y1, x2 - x1])
        sizes = (sizes if aligned else np.maximum(sizes, 1)) / cells
        terms = []
        for s, t in np.ndindex(ratio, ratio):
            at = np.array([y1, x1]) + (np.array([i, j]) + (np.array([s, t]) + 0.5) / ratio) * sizes
            if any(at < -1) or at[0] > 6 or at[1] > 7:
                terms.append([0.0])
                continue
            at = np.clip(at, 0, (5, 6))
            rows, columns = (weights("linear", one).items() for one in at)
            image = np.pad(x[images[r], c], 1)
            terms.append([u * v * image[m + 1, n + 1] for (m, u), (n, v) in product(rows, columns)])
        expected[r, c, i, j] = (
            np.mean([sum(t) for t in terms]) if mode == "avg" else max(map(max, terms))
        )
    found = sw.roi_align(x, rois, images, cells, scale, ratio, aligned=aligned, mode=mode)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("groups", "offset_groups"), [(1, 1), (2, 1), (1, 2)])
def test_deform_conv(groups, offset_groups):
    x, w, b = floats(2, 4, 5, 6), floats(6, 4 // groups, 2, 3), floats(6)
    offset = floats(2, offset_groups * 12, 3, 6, scale=2.0)
    mask = floats(2, offset_groups * 6, 3, 6)
    window = {"stride": (2, 1), "padding": 1, "dilation": (2, 1)}
    expected = np.zeros((2, 6, 3, 6)) + b[:, None, None]
    shifts = offset.reshape(2, offset_groups, 2, 3, 2, 3, 6)
    factors = mask.reshape(2, offset_groups, 2, 3, 3, 6)
    for n, f, i, j, c in np.ndindex(2, 6, 3, 6, 4 // groups):
        channel = f // (6 // groups) * (4 // groups) + c
        group = channel // (4 // offset_groups)
        for u, v in np.ndindex(2, 3):
            at = np.array([2 * i - 1 + 2 * u, j - 1 + v]) + shifts[n, group, u, v, :, i, j]
            value = sampled(x[n, channel], at, "linear", "zeros", False)
            expected[n, f, i, j] += w[f, c, u, v] * factors[n, group, u, v, i, j] * value
    arguments = {"groups": groups, "offset_groups": offset_groups, **window}
    found = sw.deform_conv(x, w, offset, b, mask, **arguments)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_deform_conv_without_offsets_is_a_convolution():
    x, w = floats(1, 2, 5, 5), floats(3, 2, 3, 3)
    found = sw.deform_conv(x, w, np.zeros((1, 18, 5, 5), np.float32), padding=1)
    np.testing.assert_allclose(found, sw.conv(x, w, padding=1), rtol=1e-4, atol=1e-5)


IMAGE = np.zeros((1, 2, 4, 4), np.float32)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sw.grid_sample(IMAGE, IMAGE), r"found a grid of shape \[1, 2, 4, 4\]"),
        (lambda: sw.grid_sample(IMAGE, IMAGE[..., :2], "area"), "found mode 'area', expected one"),
        (lambda: sw.grid_sample(IMAGE, IMAGE[..., :2], padding_mode="x"), "found padding_mode 'x'"),
        (lambda: sw.grid_sample(IMAGE[0, 0], IMAGE[..., :2]), "expected at least 3 axes"),
        (lambda: sw.grid_sample(IMAGE.astype(int), IMAGE[..., :2]), "found images of int64"),
        (lambda: sw.affine_grid(IMAGE[0], (1, 1, 4, 4)), r"found matrices of shape \[2, 4, 4\]"),
        (lambda: sw.roi_align(IMAGE, IMAGE, [0], 2), "found boxes of shape"),
        (lambda: sw.roi_align(IMAGE, IMAGE[0, 0], [0] * 4, (1, 2, 3)), "found output_size"),
        (lambda: sw.deform_conv(IMAGE, IMAGE, IMAGE), "found offsets of shape"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(sw.StepwellError, match=message):
        call()
