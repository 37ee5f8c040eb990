"""Tensors of an ONNX file as NumPy arrays: types, bytes in the file, and bytes in files beside it."""

from __future__ import annotations

import math
from pathlib import Path

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from ...dialects.dtypes import has_element_type
from ...errors import StepwellError
from ...spelling import one_line
from .external_data import external_path

MAX_EXTENT = 2**63 - 1


def type_name(data_type: int) -> str:
    """ONNX's name of an element type, in lower case: float8e4m3fn, string."""
    try:
        return TensorProto.DataType.Name(data_type).lower()
    except ValueError:
        return f"element type {data_type}"


def dtype_of(data_type: int) -> np.dtype | None:
    """The dtype of an element type of ONNX, or None when Stepwell does not have it."""
    if data_type == TensorProto.BFLOAT16:
        return np.dtype(ml_dtypes.bfloat16)
    try:
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(data_type))
    except (KeyError, TypeError, ValueError):
        return None
    # Narrow types of ONNX are dtypes of ml_dtypes, and its strings are objects: neither is an element type.
    return dtype if has_element_type(dtype) else None


def required_dtype(data_type: int, what: str) -> np.dtype:
    """The dtype of an element type. Raises StepwellError, naming `what` has it, when there is none."""
    dtype = dtype_of(data_type)
    if dtype is None:
        raise StepwellError(
            f"found {what} of type {type_name(data_type)}, expected a type that Stepwell has; "
            "see docs/dtypes.md, and convert the model"
        )
    return dtype


def tensor_array(tensor: TensorProto, folder: Path | None) -> np.ndarray:
    """
    The elements of a tensor, shared with the model or mapped from a file in the model's `folder`.

    Raises StepwellError for a type Stepwell does not have, for bytes that are not those of its shape, and for
    external data outside of the folder.
    """
    what = f"tensor '{one_line(tensor.name, 60)}'"
    dtype = required_dtype(tensor.data_type, what)
    shape = tuple(tensor.dims)
    if any(extent < 0 for extent in shape) or math.prod(shape) * dtype.itemsize > MAX_EXTENT:
        raise StepwellError(
            f"found {what} of shape {one_line(str(list(shape)), 60)}, expected extents that memory can hold; "
            "export the model again"
        )
    if tensor.data_location == TensorProto.EXTERNAL:
        return _external_array(tensor, shape, dtype, folder, what)
    try:
        array = numpy_helper.to_array(tensor)
        if array.shape == shape:
            return array if array.dtype == dtype else array.astype(dtype)
    except MemoryError:
        raise
    except Exception:  # the package says so in several ways
        pass
    raise StepwellError(
        f"found {what} without the {math.prod(shape)} elements of {type_name(tensor.data_type)} that its shape "
        f"{one_line(str(list(shape)), 60)} says, expected all of them; export the model again"
    )


def _external_array(
    tensor: TensorProto, shape: tuple[int, ...], dtype: np.dtype, folder: Path | None, what: str
) -> np.ndarray:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    path = external_path(entries.get("location", ""), folder, what)
    bytes_needed = math.prod(shape) * dtype.itemsize
    try:
        offset = int(entries.get("offset", 0))
        length = int(entries.get("length", bytes_needed))
    except ValueError:
        offset, length = -1, -1
    size = path.stat().st_size
    if offset < 0 or length != bytes_needed or offset + length > size:
        raise StepwellError(
            f"found {what} at an offset of {one_line(entries.get('offset', '0'), 24)} bytes of '{path.name}', "
            f"expected {bytes_needed} bytes there, of the {size} it has; copy the whole file again"
        )
    if not bytes_needed:
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype, "r", offset, shape)
