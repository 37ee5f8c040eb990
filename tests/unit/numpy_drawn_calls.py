"""
What each of NumPy's functions is called with.

`CALLS` has a strategy for each name, which gives the arguments in order and those by name. What NumPy refuses is drawn too.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from unit.numpy_strategies import (
    ALL,
    BOOL,
    FILLED,
    FLOATS,
    FULL,
    INTEGERS,
    KEEP,
    MILD,
    NUMBERS,
    ROWS,
    SHAPES,
    SIGNED,
    TWO,
    UNSIGNED,
    along,
    array,
    call,
    clipped,
    concatenated,
    padded,
    permuted,
    piled,
    products,
    quantiles,
    reduced,
    repeated,
    reshaped,
    rolled,
    same_rows,
    searched,
    shapes_and_dtype,
    stacked,
    taken,
    tensor_products,
    together,
    two_axes,
)

UNARY_FLOATS = (
    *("acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "asin"),
    *(
        "asinh",
        "atan",
        "atanh",
        "cbrt",
        "cos",
        "cosh",
        "deg2rad",
        "degrees",
        "exp",
        "exp2",
        "expm1",
    ),
    *("fabs", "log", "log10", "log1p", "log2", "rad2deg", "radians", "rint", "sin", "sinc", "sinh"),
    *("sqrt", "tan", "tanh"),
)
UNARY = (
    *("abs", "absolute", "angle", "ceil", "conj", "conjugate", "copy", "fix", "floor", "imag"),
    *("isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "iscomplex", "logical_not"),
    *("nan_to_num", "positive", "real", "real_if_close", "signbit", "sign"),
    *("square", "trunc", "around", "round", "ravel", "atleast_1d", "atleast_2d", "atleast_3d"),
    *("zeros_like", "ones_like", "array", "asarray", "asanyarray", "ascontiguousarray"),
    *("nonzero", "flatnonzero", "unique", "unique_values", "unique_counts"),
    *("unique_inverse", "unique_all", "transpose", "squeeze", "negative"),
)
BINARY = (
    *("add", "divide", "equal", "float_power", "floor_divide", "fmax", "fmin", "greater"),
    *("greater_equal", "less", "less_equal", "logical_and", "logical_or", "logical_xor"),
    *("maximum", "minimum", "mod", "multiply", "not_equal", "remainder", "subtract"),
    *("true_divide", "divmod", "fmod"),
)
BINARY_FLOATS = (
    *("arctan2", "atan2", "copysign", "heaviside", "hypot", "logaddexp", "logaddexp2", "isclose"),
)
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
SHIFTS = ("left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift")
AXES = {"several": False}

CALLS = {
    **{name: call(array(NUMBERS)) for name in UNARY_FLOATS},
    **{name: call(array()) for name in UNARY},
    **{name: together() for name in BINARY},
    **{name: together(dtypes=NUMBERS) for name in BINARY_FLOATS},
    **{name: together(dtypes=INTEGERS + BOOL) for name in BITS},
    **{name: together(dtypes=INTEGERS) for name in SHIFTS},
    **{name: together(dtypes=INTEGERS, **MILD) for name in ("gcd", "lcm")},
    **{name: call(array(INTEGERS + BOOL)) for name in ("invert", "bitwise_not", "bitwise_invert")},
    "reciprocal": call(array(FLOATS) | array(UNSIGNED, low=1, special=False)),
    "bitwise_count": call(array(INTEGERS)),
    **{name: call(array(NUMBERS)) for name in ("frexp", "spacing")},
    "nextafter": together(dtypes=NUMBERS),
    "i0": call(array(NUMBERS, **MILD)),
    "packbits": along(array(INTEGERS + BOOL, FULL), several=False),
    "unpackbits": along(
        array(UNSIGNED[:1], FULL),
        several=False,
        keywords={"count": st.integers(-9, 20), "bitorder": st.sampled_from(["big", "little"])},
    ),
    "modf": call(array(FLOATS)),
    "ldexp": st.tuples(
        st.tuples(array(FLOATS, (3, 2)), array([np.dtype("int32")], (2,), low=-3)), st.just({})
    ),
    **{name: together(dtypes=FLOATS, low=0, **MILD) for name in ("power", "pow")},
    "clip": clipped(),
    "where": together(3, special=False, low=0),
    # Reductions.
    **{name: reduced(array(NUMBERS, **MILD), dtype=True) for name in ("sum", "prod")},
    **{name: reduced(array(NUMBERS, FULL)) for name in ("max", "min", "amax", "amin")},
    **{name: reduced(array(), initial=False) for name in ("all", "any")},
    "mean": reduced(array(ALL, FULL, **MILD), initial=False),
    **{
        name: reduced(array(NUMBERS, FULL, **MILD), initial=False, ddof=st.integers(0, 1))
        for name in ("var", "std")
    },
    "ptp": along(array(NUMBERS, FULL), keywords=KEEP),
    "count_nonzero": along(array(), keywords=KEEP),
    **{
        name: along(array(ALL, FULL), several=False, keywords=KEEP) for name in ("argmax", "argmin")
    },
    **{
        name: along(array(FLOATS, FULL), keywords=KEEP)
        for name in ("nanmax", "nanmin", "nanmean", "nanmedian", "nanstd", "nanvar")
    },
    **{name: along(array(FLOATS, FULL), keywords=KEEP) for name in ("nansum", "nanprod")},
    **{name: along(array(FLOATS, FULL), several=False) for name in ("nanargmax", "nanargmin")},
    "median": along(array(NUMBERS, FULL, **MILD), keywords=KEEP),
    **{name: quantiles() for name in ("quantile", "nanquantile")},
    **{name: quantiles(100) for name in ("percentile", "nanpercentile")},
    "average": along(array(NUMBERS, FULL, **MILD), keywords=KEEP),
    **{
        name: along(array(NUMBERS, FULL, **MILD), several=False)
        for name in ("cumsum", "cumprod", "nancumsum", "nancumprod")
    },
    **{
        name: along(
            array(NUMBERS, FULL, **MILD),
            several=False,
            none=False,
            required=True,
            keywords={"include_initial": st.booleans()},
        )
        for name in ("cumulative_sum", "cumulative_prod")
    },
    "diff": along(array(ALL, FULL), several=False, none=False, keywords={"n": st.integers(0, 3)}),
    "ediff1d": call(array(NUMBERS, **MILD)),
    "trapezoid": along(array(FLOATS, FULL, **MILD), several=False, none=False),
    "gradient": call(array(FLOATS, npst.array_shapes(min_dims=1, max_dims=2, min_side=2), **MILD)),
    "unwrap": call(array(FLOATS, FULL, **MILD)),
    # Order.
    "sort": along(array(), several=False),
    "argsort": along(array(shape=FULL), several=False).map(
        lambda given: (given[0], {**given[1], "stable": True})
    ),
    "searchsorted": searched(),
    "digitize": searched().map(lambda given: ((given[0][1], given[0][0]), {})),
    "lexsort": same_rows(NUMBERS, 1, TWO, special=True),
    **{
        name: same_rows(NUMBERS, 2, ROWS)
        for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d")
    },
    "isin": same_rows(NUMBERS, 2, FULL, special=True),
    # Movement.
    "reshape": reshaped(),
    "permute_dims": permuted(),
    "flip": along(array()),
    "fliplr": call(array(shape=TWO)),
    "flipud": call(array(shape=FULL)),
    "rot90": call(array(shape=TWO), k=st.integers(-3, 3)),
    "roll": rolled(),
    "moveaxis": two_axes(),
    "swapaxes": two_axes(),
    "rollaxis": two_axes(),
    "expand_dims": two_axes(count=1),
    "matrix_transpose": call(array(shape=TWO)),
    "tile": call(array(), st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=4).map(tuple)),
    "repeat": repeated(),
    "resize": call(array(), SHAPES),
    "pad": padded(),
    "tril": call(array(shape=TWO), k=st.integers(-4, 4)),
    "triu": call(array(shape=TWO), k=st.integers(-4, 4)),
    "diag": call(
        array(shape=npst.array_shapes(min_dims=1, max_dims=2, min_side=1)), k=st.integers(-3, 3)
    ),
    "diagflat": call(array(shape=FULL), k=st.integers(-3, 3)),
    "diagonal": call(array(shape=TWO), offset=st.integers(-4, 4)),
    "trace": call(array(NUMBERS, TWO, **MILD), offset=st.integers(-4, 4)),
    "vander": call(array(NUMBERS, ROWS, **MILD), N=st.integers(0, 4), increasing=st.booleans()),
    # Joining and cutting.
    **{name: concatenated() for name in ("concatenate", "concat")},
    "stack": stacked(),
    **{
        name: piled()
        for name in ("vstack", "row_stack", "hstack", "dstack", "column_stack", "block")
    },
    "append": same_rows(ALL, 2, SHAPES, special=True),
    "split": call(array(shape=(6, 2)), st.sampled_from([1, 2, 3, [1, 4], [2]])),
    "array_split": call(array(shape=FULL), st.integers(1, 4)),
    "hsplit": call(array(shape=(2, 6)), st.sampled_from([1, 2, 3, [1, 4]])),
    "vsplit": call(array(shape=(6, 2)), st.sampled_from([1, 2, 3, [1, 4]])),
    "dsplit": call(array(shape=(2, 1, 6)), st.sampled_from([1, 2, 3, [1, 4]])),
    "unstack": two_axes(count=0),
    "broadcast_arrays": together(3),
    "broadcast_to": call(
        array(shape=st.sampled_from([(), (1,), (3,), (2, 1)])),
        st.sampled_from([(2, 3), (4, 2, 3), (0, 2, 3)]),
    ),
    "meshgrid": call(array(shape=ROWS), array(shape=ROWS), indexing=st.sampled_from(["xy", "ij"])),
    "take": taken(),
    "take_along_axis": taken(along_axis=True),
    "compress": call(array(BOOL, ROWS), array(shape=(9,))),
    "extract": same_rows(ALL, 2, SHAPES, special=True),
    "delete": call(
        array(shape=(5, 3)),
        st.sampled_from([0, -1, [0, 2], slice(1, 3), []]),
        axis=st.integers(-2, 1),
    ),
    "insert": call(
        array(shape=(5, 3)), st.sampled_from([0, -1, 5, [0, 2]]), 7, axis=st.integers(-2, 1)
    ),
    # Products.
    "matmul": products(),
    "dot": products().filter(lambda given: given[0][0].ndim < 3 > given[0][1].ndim),
    "inner": same_rows(NUMBERS),
    "outer": same_rows(NUMBERS),
    "vdot": same_rows(NUMBERS),
    "vecdot": same_rows(NUMBERS),
    "kron": same_rows(NUMBERS),
    "cross": call(array(FLOATS + SIGNED, (2, 3), **MILD), array(FLOATS + SIGNED, (3,), **MILD)),
    "tensordot": tensor_products(),
    "matvec": call(array(NUMBERS, (2, 3, 4), **MILD), array(NUMBERS, (4,), **MILD)),
    "vecmat": call(array(NUMBERS, (3,), **MILD), array(NUMBERS, (2, 3, 4), **MILD)),
    "convolve": call(
        array(NUMBERS, ROWS, **MILD),
        array(NUMBERS, ROWS, **MILD),
        st.sampled_from(["full", "same", "valid"]),
    ),
    "correlate": call(
        array(NUMBERS, ROWS, **MILD),
        array(NUMBERS, ROWS, **MILD),
        st.sampled_from(["full", "same", "valid"]),
    ),
    "polyval": call(array(NUMBERS, FILLED, **MILD), array(NUMBERS, **MILD)),
    **{name: same_rows(NUMBERS, 2, FILLED) for name in ("polyadd", "polysub")},
    "polymul": same_rows(FLOATS, 2, FILLED, special=False, low=1),
    "poly": call(array(NUMBERS, FILLED, **MILD)),
    "polyfit": call(st.just(np.arange(7.0)), array(FLOATS[1:], (7, 2), **MILD), st.integers(0, 3)),
    "polyder": call(array(NUMBERS, FILLED, **MILD), st.integers(0, 2)),
    "polyint": call(array(NUMBERS, FILLED, **MILD), st.integers(0, 2)),
    # Made of nothing.
    **{name: shapes_and_dtype() for name in ("zeros", "ones")},
    "full": call(SHAPES, array(FLOATS + BOOL, ())),
    "full_like": call(array(), st.integers(0, 9)),
    "eye": call(
        st.integers(0, 4), st.integers(0, 4), st.integers(-4, 4), dtype=st.sampled_from(ALL)
    ),
    "identity": call(st.integers(0, 4), dtype=st.sampled_from(ALL)),
    "tri": call(
        st.integers(0, 4), st.integers(0, 4), st.integers(-4, 4), dtype=st.sampled_from(ALL)
    ),
    "arange": call(st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([1, 2, -1, -3, 0.5])),
    "linspace": call(
        st.integers(-9, 9),
        st.integers(-9, 9),
        st.integers(0, 7),
        endpoint=st.booleans(),
        dtype=st.sampled_from(FLOATS + SIGNED),
    ),
    "logspace": call(st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 5)),
    "geomspace": call(st.integers(1, 9), st.integers(1, 9), st.integers(0, 5)),
    "indices": call(SHAPES),
    **{name: call(st.integers(0, 9)) for name in ("bartlett", "blackman", "hamming", "hanning")},
    "kaiser": call(st.integers(0, 9), st.sampled_from([0.0, 2.5, 14.0])),
    **{
        name: call(st.integers(0, 4), st.integers(-2, 2))
        for name in ("tril_indices", "triu_indices")
    },
    **{
        name: call(array(NUMBERS, TWO), k=st.integers(-2, 2))
        for name in ("tril_indices_from", "triu_indices_from")
    },
    "diag_indices_from": call(array(NUMBERS, (3, 3))),
    "diag_indices": call(st.integers(0, 4), st.integers(1, 3)),
    # The rest.
    "astype": call(array(INTEGERS + BOOL), st.sampled_from(ALL)),
    "allclose": same_rows(FLOATS, 2, SHAPES, special=True),
    "array_equal": same_rows(ALL, 2, SHAPES, special=True),
    "array_equiv": together(),
    "histogram": call(array(FLOATS, FULL, **MILD), st.integers(1, 5)),
    "histogram_bin_edges": call(array(FLOATS, FULL, **MILD), st.integers(1, 5)),
    "histogram2d": call(
        array(FLOATS[1:], (9,), **MILD),
        array(FLOATS[1:], (9,), **MILD),
        st.sampled_from([3, (2, 4), np.linspace(-3, 3, 5)]),
        density=st.booleans(),
    ),
    "histogramdd": call(
        array(FLOATS[1:], (9, 2), **MILD),
        st.sampled_from([3, (2, 4)]),
        range=st.sampled_from([None, ((-4, 4), (0, 9))]),
    ),
    "bincount": call(array(UNSIGNED[:1], ROWS, **MILD), minlength=st.integers(0, 12)),
    "unravel_index": call(array(UNSIGNED[:1], FULL, **MILD), st.just((4, 5))),
    "interp": st.tuples(
        array(FLOATS[1:], **MILD).map(lambda x: (x, np.arange(5.0), np.arange(5.0) ** 2)),
        st.just({}),
    ),
    "corrcoef": call(array(FLOATS, (3, 5), **MILD)),
    "cov": call(array(FLOATS, (3, 5), **MILD)),
}

ELSEWHERE = {
    **dict.fromkeys(("empty", "empty_like"), "the elements are not defined"),
    **dict.fromkeys(("partition", "argpartition"), "the order within the parts is not defined"),
    **dict.fromkeys(
        ("asfortranarray", "ravel_multi_index", "ix_", "choose", "select", "piecewise", "einsum"),
        "calls with arguments of their own are in `numpy_calls`",
    ),
    "argwhere": "it is `nonzero`",
    "fromfunction": "it takes a function",
    **dict.fromkeys(
        ("put", "put_along_axis", "fill_diagonal", "putmask", "place", "copyto"),
        "NumPy writes into its argument",
    ),
    **dict.fromkeys(("apply_along_axis", "apply_over_axes", "mask_indices"), "they take functions"),
}
"""Names that are not compared here, with the reason."""

SIZED = {
    **dict.fromkeys(("nonzero", "flatnonzero", "compress", "extract"), "size"),
    **dict.fromkeys(("unique", "unique_values", "unique_counts", "unique_inverse"), "size"),
    **dict.fromkeys(("unique_all", "union1d", "intersect1d", "setdiff1d", "setxor1d"), "size"),
    "bincount": "length",
}
"""Names whose results have a shape that the elements say, and the keyword by which a traced function is told it."""
