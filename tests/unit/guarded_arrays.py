"""Arrays beside pages that nobody may touch: code that reads or writes beyond their ends does not get away with it."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np


def guarded(array: np.ndarray, *, ends: bool = True) -> np.ndarray:
    """A copy that ends right before such a page, wherever it begins then, or begins right behind one."""
    page = mmap.PAGESIZE
    inside = max(-(-array.nbytes // page), 1) * page
    memory = mmap.mmap(-1, inside + 2 * page)
    whole = np.frombuffer(memory, np.uint8)
    first = page + (inside - array.nbytes if ends else 0)
    copy = whole[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    for offset in (0, page + inside):
        _forbid(whole.ctypes.data + offset, page)
    return copy


def _forbid(address: int, size: int) -> None:
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(address, size, 0):
        raise OSError(ctypes.get_errno(), "mprotect")
