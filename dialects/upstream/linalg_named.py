"""
The named operations of `linalg` whose indexing is a line of a table: contractions, convolutions, pooling, elementwise.

Definitions as upstream's LinalgNamedStructuredOps.yaml has them (https://mlir.llvm.org/docs/Dialects/Linalg/).
Operands are converted to the elements of the result first.
"""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, linalg, math
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DenseIntOrFPElementsAttr, ShapedType
from xdsl.ir import Attribute, Data, Dialect, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.irdl import irdl_attr_definition, irdl_op_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..dtypes import bit_width, is_float
from ..scalar import ScalarBuilder
from .extended import extended
from .linalg import (
    Attributes,
    BroadcastOp,
    GenericSyntaxOp,
    IndexOp,
    MapOp,
    ReduceOp,
    SoftmaxOp,
    StructuredOp,
    TransposeOp,
    extents_of,
)


class _WordAttr(Data[str]):
    """`#linalg.kind<word>`"""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        with parser.in_angle_brackets():
            return parser.parse_identifier()

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)


@irdl_attr_definition
class ElementwiseKindAttr(_WordAttr):
    """The function of `linalg.elementwise`."""

    name = "linalg.elementwise_kind"


@irdl_attr_definition
class TypeFnAttr(_WordAttr):
    """How operands become the type of the result: `cast_signed` or `cast_unsigned`."""

    name = "linalg.type_fn"


# Scalars

_Scalar: TypeAlias = Callable[..., SSAValue]
"""From a builder for the type of the result and elements of that type."""


def _converted(
    builder: Builder,
    value: SSAValue,
    target: Attribute,
    attributes: Attributes,
    *,
    by_default_unsigned: bool = False,
) -> SSAValue:
    """An element as another type, as upstream's TypeFn has it."""
    if value.type == target:
        return value
    cast_attr = attributes.get("cast")
    is_unsigned = by_default_unsigned or (
        isinstance(cast_attr, TypeFnAttr) and cast_attr.data == "cast_unsigned"
    )
    source, to = cast(Any, value.type), cast(Any, target)
    if is_float(source) and is_float(to):
        kind = arith.ExtFOp if bit_width(to) > bit_width(source) else arith.TruncFOp
    elif is_float(source):
        kind = arith.FPToUIOp if is_unsigned else arith.FPToSIOp
    elif is_float(to):
        kind = arith.UIToFPOp if is_unsigned else arith.SIToFPOp
    elif bit_width(to) < bit_width(source):
        kind = arith.TruncIOp
    else:
        kind = arith.ExtUIOp if is_unsigned else arith.ExtSIOp
    return builder.insert(kind(value, to)).results[0]


def _either(floating: Any, integer: Any) -> _Scalar:
    """An operation of `arith` or `math` on floats, and another one on integers."""

    def scalar(b: ScalarBuilder, *args: SSAValue) -> SSAValue:
        kind = floating if b.is_float else integer
        if kind is None:
            raise VerifyException(
                f"found elements of {b.type}, expected others: the operation is not defined on these"
            )
        return b.emit(kind(*args))

    return scalar


def _square(b: ScalarBuilder, x: SSAValue) -> SSAValue:
    return b.mul(x, x)


def _same(b: ScalarBuilder, x: SSAValue) -> SSAValue:
    return x


_MAX = _either(arith.MaximumfOp, arith.MaxSIOp)
_MIN = _either(arith.MinimumfOp, arith.MinSIOp)
_MAX_UNSIGNED = _either(None, arith.MaxUIOp)
_MIN_UNSIGNED = _either(None, arith.MinUIOp)

_FUNCTIONS: dict[str, tuple[int, _Scalar]] = {
    "exp": (1, _either(math.ExpOp, None)),
    "log": (1, _either(math.LogOp, None)),
    "abs": (1, ScalarBuilder.abs),
    "ceil": (1, _either(math.CeilOp, None)),
    "floor": (1, _either(math.FloorOp, None)),
    "negf": (1, _either(arith.NegfOp, None)),
    "reciprocal": (1, ScalarBuilder.reciprocal),
    "round": (1, _either(math.RoundOp, None)),
    "sqrt": (1, _either(math.SqrtOp, None)),
    "rsqrt": (1, _either(math.RsqrtOp, None)),
    "square": (1, _square),
    "tanh": (1, _either(math.TanhOp, None)),
    "erf": (1, _either(math.ErfOp, None)),
    "copy": (1, _same),
    "fill": (1, _same),
    "add": (2, ScalarBuilder.add),
    "sub": (2, ScalarBuilder.sub),
    "mul": (2, ScalarBuilder.mul),
    "div": (2, _either(arith.DivfOp, arith.DivSIOp)),
    "div_unsigned": (2, _either(None, arith.DivUIOp)),
    "max": (2, _MAX),
    "min": (2, _MIN),
    "max_signed": (2, _MAX),
    "min_signed": (2, _MIN),
    "max_unsigned": (2, _MAX_UNSIGNED),
    "min_unsigned": (2, _MIN_UNSIGNED),
    "powf": (2, _either(math.PowFOp, None)),
    "select": (3, ScalarBuilder.select),
}
"""How many operands a function of single elements has, and what it is."""


class _PointwiseOp(StructuredOp, ABC):
    """The same function of the elements at each place; a scalar operand stands at every place."""

    LEADING: ClassVar[Sequence[str]] = ("indexing_maps",)

    @classmethod
    def word(cls, attributes: Attributes) -> str:
        return cls.name.removeprefix("linalg.")

    def indexing(self) -> Sequence[AffineMap]:
        if "indexing_maps" in self.attributes:
            return given_maps(self.attributes)
        rank = len(extents_of(self.outputs[0]))
        identity, nothing = AffineMap.identity(rank), AffineMap(rank, 0, ())
        is_fill = self.name == "linalg.fill"
        return [
            nothing
            if not isinstance(value.type, ShapedType) or (is_fill and not extents_of(value))
            else identity
            for value in self.operands
        ]

    @classmethod
    def scalar(cls, builder: Builder, args: Sequence[SSAValue], attributes: Attributes) -> SSAValue:
        arity, function = _FUNCTIONS[cls.word(attributes)]
        *read, old = args
        if len(read) != arity:
            raise VerifyException(f"found {len(read)} operands, expected {arity}; mend the list")
        is_choice = cls.word(attributes) == "select"
        operands = [
            value if is_choice and number == 0 else _converted(builder, value, old.type, attributes)
            for number, value in enumerate(read)
        ]
        return function(ScalarBuilder(builder, old.type), *operands)


@irdl_op_definition
class ElementwiseOp(_PointwiseOp):
    """`linalg.elementwise kind=#linalg.elementwise_kind<add> ins(…) outs(…) -> …`"""

    name = "linalg.elementwise"
    LEADING: ClassVar[Sequence[str]] = ("kind", "indexing_maps")

    @classmethod
    def word(cls, attributes: Attributes) -> str:
        kind = attributes.get("kind")
        if not isinstance(kind, ElementwiseKindAttr) or kind.data not in _FUNCTIONS:
            raise VerifyException(
                f"found the kind {kind}, expected one of {', '.join(_FUNCTIONS)}; mend it"
            )
        return kind.data


def given_maps(attributes: Attributes) -> Sequence[AffineMap]:
    """The maps that the text gives an operation which could do without."""
    maps = cast("ArrayAttr[AffineMapAttr]", attributes["indexing_maps"])
    return [map_.data for map_ in maps]


# Contractions and windows


class SubscriptOp(StructuredOp, ABC):
    """
    Subscripts name the axis of each operand, as in `numpy.einsum`. Where a letter has a capital, the first operand is
    read in windows: at `stride * h + dilation * H`.
    """

    LEADING: ClassVar[Sequence[str]] = ("indexing_maps",)
    SUBSCRIPTS: ClassVar[str]

    def indexing(self) -> Sequence[AffineMap]:
        if "indexing_maps" in self.attributes:
            return given_maps(self.attributes)
        if not self.SUBSCRIPTS:
            raise VerifyException("found no indexing_maps, expected one for each operand; add them")
        operands, result = self.SUBSCRIPTS.split("->")
        axes = [*operands.split(","), result]
        letters = list(dict.fromkeys(result + "".join(axes[:-1])))
        windows = sorted(set(letters) & {letter.lower() for letter in letters if letter.isupper()})
        strides, dilations = (self._steps(name, len(windows)) for name in ("strides", "dilations"))

        def index(operand: int, letter: str) -> AffineExpr:
            plain = AffineDimExpr(letters.index(letter))
            if operand > 0 or letter not in windows:
                return plain
            number = windows.index(letter)
            inner = AffineDimExpr(letters.index(letter.upper()))
            return plain * strides(number) + inner * dilations(number)

        return [
            AffineMap(len(letters), 0, tuple(index(operand, letter) for letter in of_operand))
            for operand, of_operand in enumerate(axes)
        ]

    def _steps(self, name: str, count: int) -> Callable[[int], int]:
        attribute = self.attributes.get(name)
        if not isinstance(attribute, DenseIntOrFPElementsAttr):
            return lambda number: 1
        values = attribute.get_values()
        if len(values) != count:
            raise VerifyException(
                f"found {len(values)} {name}, expected {count}, one for each axis of the window; mend them"
            )
        return lambda number: values[number]


class _SumOfProductsOp(SubscriptOp, ABC):
    """The sum of products, of a quantized operation after zero points are subtracted."""

    @classmethod
    def scalar(cls, builder: Builder, args: Sequence[SSAValue], attributes: Attributes) -> SSAValue:
        *read, old = args
        if len(read) not in (2, 4):
            raise VerifyException(
                f"found {len(read)} operands, expected 2, or 4 with zero points; mend the list"
            )
        b = ScalarBuilder(builder, old.type)
        values = [_converted(builder, value, old.type, attributes) for value in read]
        if len(values) == 4:
            values = [
                b.sub(value, zero) for value, zero in zip(values[:2], values[2:], strict=True)
            ]
        return b.add(old, b.mul(*values))


class _PoolingOp(SubscriptOp, ABC):
    """A sum or an extreme over windows; the second operand has the shape of a window and is not read."""

    @classmethod
    def scalar(cls, builder: Builder, args: Sequence[SSAValue], attributes: Attributes) -> SSAValue:
        if len(args) != 3:
            raise VerifyException(
                f"found {len(args) - 1} operands, expected an image and a window; mend the list"
            )
        image, _, old = args
        word = re.sub(r"^.*pooling_[a-z]+_", "", cls.name)
        function = ScalarBuilder.add if word == "sum" else _FUNCTIONS[word][1]
        is_unsigned = word.endswith("unsigned")
        converted = _converted(
            builder, image, old.type, attributes, by_default_unsigned=is_unsigned
        )
        return function(ScalarBuilder(builder, old.type), old, converted)


_CONTRACTIONS = {
    "matmul": "mk,kn->mn",
    "batch_matmul": "bmk,bkn->bmn",
    "batch_reduce_matmul": "bmk,bkn->mn",
    "matvec": "mn,n->m",
    "vecmat": "m,mn->n",
    "batch_matvec": "bmk,bk->bm",
    "batch_vecmat": "bm,bmn->bn",
    "dot": "m,m->",
    "mmt4d": "mkac,nkbc->mnab",
    "batch_mmt4d": "zmkac,znkbc->zmnab",
    "quantized_matmul": "mk,kn,,->mn",
    "quantized_batch_matmul": "bmk,bkn,,->bmn",
    "contract": "",  # its maps are always given
}

_CONVOLUTIONS = [
    "conv_1d",
    "conv_2d",
    "conv_3d",
    "conv_1d_nwc_wcf",
    "conv_1d_ncw_fcw",
    "conv_2d_nhwc_hwcf",
    "conv_2d_nhwc_fhwc",
    "conv_2d_nchw_fchw",
    "conv_2d_nhwc_hwcf_q",
    "conv_2d_nhwc_fhwc_q",
    "conv_2d_nchw_fchw_q",
    "conv_2d_ngchw_fgchw",
    "conv_2d_ngchw_gfchw",
    "conv_2d_ngchw_gfchw_q",
    "conv_2d_nhwgc_gfhwc",
    "conv_2d_nhwgc_gfhwc_q",
    "conv_3d_ndhwc_dhwcf",
    "conv_3d_ncdhw_fcdhw",
    "conv_3d_ndhwc_dhwcf_q",
    "depthwise_conv_1d_nwc_wc",
    "depthwise_conv_1d_ncw_cw",
    "depthwise_conv_1d_nwc_wcm",
    "depthwise_conv_2d_nhwc_hwc",
    "depthwise_conv_2d_nchw_chw",
    "depthwise_conv_2d_nhwc_hwcm",
    "depthwise_conv_2d_nhwc_hwc_q",
    "depthwise_conv_2d_nhwc_hwcm_q",
    "depthwise_conv_3d_ndhwc_dhwc",
    "depthwise_conv_3d_ncdhw_cdhw",
    "depthwise_conv_3d_ndhwc_dhwcm",
]

_POOLINGS = [
    "nhwc_sum",
    "nhwc_max",
    "nhwc_max_unsigned",
    "nhwc_min",
    "nhwc_min_unsigned",
    "nchw_sum",
    "nchw_max",
    "nwc_sum",
    "nwc_max",
    "nwc_max_unsigned",
    "nwc_min",
    "nwc_min_unsigned",
    "ncw_sum",
    "ncw_max",
    "ndhwc_sum",
    "ndhwc_max",
    "ndhwc_min",
]

_SPATIAL = re.compile("[dhw]")


def _convolution_subscripts(name: str) -> str:
    """
    What the layouts in the name of a convolution say: `conv_2d_nhwc_hwcf` is `nhwc,HWcf->nhwf`. Images have n, g
    and c, filters f for channels that are made and m for those made of each.
    """
    body = name.removesuffix("_q")
    layouts = re.search(r"_([a-z]+)_([a-z]+)$", body)
    if layouts is None:
        image = filter_ = {"1": "w", "2": "hw", "3": "dhw"}[body[len("conv_")]]
    else:
        image, filter_ = layouts.groups()
    if "m" in filter_:
        result = f"{image}m"
    else:
        result = image if name.startswith("depthwise") else image.replace("c", "f")
    zero_points = ",," if name.endswith("_q") else ""
    return f"{image},{_windows(filter_)}{zero_points}->{result}"


def _windows(layout: str) -> str:
    return _SPATIAL.sub(lambda match: match[0].upper(), layout)


def _pooling_subscripts(name: str) -> str:
    image = name.partition("_")[0]
    return f"{image},{''.join(_windows(axis) for axis in image if _SPATIAL.match(axis))}->{image}"


_OpT = TypeVar("_OpT", bound=StructuredOp)


def _named(base: type[_OpT], name: str, **members: Any) -> type[_OpT]:
    """The class of a row: an operation that differs from its base in its name and its subscripts."""
    members["__annotations__"] = dict.fromkeys(members, "ClassVar[str]")
    members |= {"name": f"linalg.{name}", "__doc__": f"`linalg.{name}`", "__module__": __name__}
    class_name = "".join(word.capitalize() for word in name.split("_")) + "Op"
    return irdl_op_definition(cast("type[_OpT]", type(class_name, (base,), members)))


_PRODUCTS = {
    **_CONTRACTIONS,
    **{name: _convolution_subscripts(name) for name in _CONVOLUTIONS},
}
NAMED = (
    *(_named(_SumOfProductsOp, name, SUBSCRIPTS=text) for name, text in _PRODUCTS.items()),
    *(
        _named(_PoolingOp, f"pooling_{name}", SUBSCRIPTS=_pooling_subscripts(name))
        for name in _POOLINGS
    ),
    *(_named(_PointwiseOp, name) for name in _FUNCTIONS if "signed" not in name or "div" in name),
)

_Own = extended(
    linalg.Linalg,
    *NAMED,
    GenericSyntaxOp,
    ElementwiseOp,
    MapOp,
    ReduceOp,
    TransposeOp,
    BroadcastOp,
    SoftmaxOp,
    IndexOp,
)
Linalg = Dialect("linalg", [*_Own.operations], [*_Own.attributes, ElementwiseKindAttr, TypeFnAttr])
