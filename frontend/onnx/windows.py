"""ONNX's attributes of windows, as the functions of `nn` have them."""

from __future__ import annotations

from collections.abc import Sequence

from ..nn.windows import Padding
from .registry import Unsupported

_AUTOMATIC = {"VALID": "valid", "SAME_UPPER": "same", "SAME_LOWER": "same_lower"}


def padding(auto_pad: str, pads: Sequence[int], rank: int) -> Padding:
    """What `auto_pad` says, or else `pads`."""
    if auto_pad in _AUTOMATIC:
        return _AUTOMATIC[auto_pad]
    if auto_pad not in ("NOTSET", ""):
        raise Unsupported(f"auto_pad {auto_pad}")
    return pairs(pads, rank)


def pairs(pads: Sequence[int], rank: int) -> Sequence[Sequence[int]]:
    """The elements before and behind each axis, of `pads` as ONNX has them: all beginnings and then all ends."""
    if not pads:
        return [(0, 0)] * rank
    if len(pads) != 2 * rank:
        raise Unsupported(f"{len(pads)} pads for a window of {rank} axes")
    return list(zip(pads[:rank], pads[rank:], strict=True))
