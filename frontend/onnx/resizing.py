"""Resize and its forerunner Upsample."""

from __future__ import annotations

from collections.abc import Sequence

from ..nn.resize import resize
from .registry import Value, integers, known, onnx_op


def _numbers(value: Value, what: str) -> list[float] | None:
    """The elements of an input, or None where it is left out or empty."""
    return None if value is None else known(value, what).reshape(-1).tolist() or None


@onnx_op("Resize", since=11)
def resize_(
    x: Value,
    roi: Value = None,
    scales: Value = None,
    sizes: Value = None,
    *,
    antialias: int = 0,
    axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Value:
    chosen = None if sizes is None else integers(sizes, "the sizes")
    crops = coordinate_transformation_mode == "tf_crop_and_resize"
    return resize(
        x,
        chosen or None,
        _numbers(scales, "the scales"),
        axes=axes,
        mode=mode,
        coordinate_transformation_mode=coordinate_transformation_mode,
        nearest_mode=nearest_mode,
        cubic_coeff_a=cubic_coeff_a,
        exclude_outside=bool(exclude_outside),
        antialias=bool(antialias),
        extrapolation_value=extrapolation_value,
        keep_aspect_ratio_policy=keep_aspect_ratio_policy,
        roi=_numbers(roi, "the part that is resized") if crops else None,
    )


@onnx_op("Upsample", since=9)
@onnx_op("Resize", since=10)
def resize_by_factors(x: Value, scales: Value, *, mode: str = "nearest") -> Value:
    return _by_factors(x, _numbers(scales, "the scales") or [], mode)


@onnx_op("Upsample")
def upsample(x: Value, *, scales: Sequence[float], mode: str = "nearest") -> Value:
    return _by_factors(x, list(scales), mode)


def _by_factors(x: Value, factors: list[float], mode: str) -> Value:
    """
    As before version 11 of the operator set: coordinates are divided by the factor, and the nearest element is the one before
    them where there become more, the one behind them where there become fewer. So do ONNX Runtime and OpenVINO.
    """
    if mode != "nearest":
        known_mode = "linear" if mode == "bilinear" else mode
        return resize(
            x, None, factors, mode=known_mode, coordinate_transformation_mode="asymmetric"
        )
    for some, nearest_mode in (
        ([max(factor, 1.0) for factor in factors], "floor"),
        ([min(factor, 1.0) for factor in factors], "ceil"),
    ):
        x = resize(
            x,
            None,
            some,
            coordinate_transformation_mode="asymmetric",
            nearest_mode=nearest_mode,
        )
    return x
