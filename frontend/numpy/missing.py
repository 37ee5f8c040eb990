"""NumPy's names that are not here, each with the reason and what to write instead."""

from __future__ import annotations

_ON_ARRAYS = "it reads, writes or prints arrays, which traced values have no elements for; call NumPy's on results"
_COMPLEX = (
    "real functions stay real; convert with .astype(complex), and call sw's of complex numbers"
)
_PER_SLICE = "it calls Python for each element; write the function on whole arrays"
_ROOTS = "it needs eigenvalues of a general matrix, which are complex"
_MEMORY = "it is about the memory of arrays, which traced values do not have"
_STRINGS = "it is about text, dates or objects, for which there is no dtype"
_STATE = "it is a setting of NumPy's; results here follow IEEE arithmetic and warn of nothing"

MISSING: dict[str, str] = {
    **dict.fromkeys(
        (
            *("array2string", "array_repr", "array_str", "base_repr", "binary_repr", "fromfile"),
            *("format_float_positional", "format_float_scientific", "fromregex", "fromstring"),
            *("genfromtxt", "info", "loadtxt", "memmap", "save", "savetxt", "savez"),
            *("savez_compressed", "frombuffer", "from_dlpack", "fromiter", "require"),
            *(
                "asarray_chkfinite",
                "ndenumerate",
                "nditer",
                "nested_iters",
                "flatiter",
                "broadcast",
            ),
        ),
        _ON_ARRAYS,
    ),
    **dict.fromkeys(
        ("longdouble", "float128", "clongdouble", "complex256"),
        "processors compute with at most 64 bits of it; use float64 or complex128",
    ),
    "sort_complex": "there is no order of complex numbers; sort by sw.argsort of a real key",
    "roots": _ROOTS,
    **dict.fromkeys(("frompyfunc", "vectorize"), _PER_SLICE),
    **dict.fromkeys(("may_share_memory", "shares_memory", "isfortran"), _MEMORY),
    **dict.fromkeys(
        (
            *("busday_count", "busday_offset", "busdaycalendar", "is_busday", "datetime64"),
            *("datetime_as_string", "datetime_data", "timedelta64", "isnat", "str_", "bytes_"),
            *("object_", "void", "record", "recarray", "character", "flexible", "strings", "char"),
            *("rec", "typename", "mintypecode", "common_type", "min_scalar_type"),
        ),
        _STRINGS,
    ),
    **dict.fromkeys(
        (
            *(
                "errstate",
                "geterr",
                "geterrcall",
                "seterr",
                "seterrcall",
                "getbufsize",
                "setbufsize",
            ),
            *("printoptions", "get_printoptions", "set_printoptions", "get_include"),
            *("show_config", "show_runtime", "test", "testing", "ctypeslib", "f2py"),
        ),
        _STATE,
    ),
    **dict.fromkeys(
        (
            "ScalarType",
            "sctypeDict",
            "typecodes",
            "dtypes",
            "typing",
            "ufunc",
            "exceptions",
            "core",
        ),
        "it is about NumPy itself; use NumPy's",
    ),
    "little_endian": "arrays have the processor's byte order",
    "asmatrix": "matrices are arrays of two axes; use sw.asarray",
    "matrix": "matrices are arrays of two axes; use sw.asarray",
    "bmat": "matrices are arrays of two axes; use sw.block",
    "einsum_path": "sw.einsum finds the order itself; call NumPy's to see it",
    "polydiv": "the quotient's length depends on the coefficients; write the long division with slices",
    "poly1d": "use arrays of coefficients and sw.polyval",
    "trim_zeros": "how much it cuts depends on the elements; cut by known bounds",
    "ma": "there are no masked arrays; use sw.where",
    "emath": _COMPLEX,
    "polynomial": "use sw.polyval and its kin",
}
"""By name; `{name} is not here: {reason}` is a whole sentence."""
