"""
What is said where a traced value is used as if it had its elements already, and where it lacks an attribute: one line,
which names what was found and what to write instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import StepwellError
from ..spelling import did_you_mean
from .call_site import call_site_text
from .operators import function_named

_KEEP = "keep it a tensor, or pass the value as a Python number"

_REMEDIES: dict[str, str] = {
    "a branch on a tensor": (
        "write stepwell.where(condition, a, b) for elements, & | ~ for 'and', 'or' and 'not', and stepwell.cond or "
        "stepwell.while_loop for 'if' and 'while'"
    ),
    "a formatted tensor": (
        "return it and format the result, or write stepwell.debug_print('{:.3f}', x)"
    ),
    "a tensor made into a NumPy array": (
        "write stepwell.asarray or stepwell.stack, stepwell.zeros for an array to assign into, and a function of whole "
        "arrays in place of numpy.vectorize"
    ),
    "a loop over a tensor without axes": "it is one number",
    "a long loop over a tensor": (
        "stepwell.unstack gives its parts, stepwell.scan is a real loop, stepwell.sum and its kin reduce"
    ),
    "'in' on a tensor": "write (x == value).any(), or stepwell.isin",
    "float() of a tensor": (
        "keep it a tensor, of x.astype(float) for instance, with stepwell's functions in place of those of math; or pass "
        "the value as a Python number"
    ),
    "int() of a tensor": "keep it a tensor, of x.astype(int), or pass the value as a Python number",
    "complex() of a tensor": _KEEP,
    "a tensor used as a Python integer": (
        "shapes, ranges and slices are Python integers: pass the value as one, or write stepwell.fori_loop for loops and "
        "stepwell.take or stepwell.dynamic_slice for elements"
    ),
    "the hash of a tensor": "sets and keys of dictionaries need values; keep tensors in a list",
    "len() of a tensor without axes": "a tensor without axes is one number",
    ".item() of a tensor": "index it, or call .item() on the result",
    ".tolist() of a tensor": "stepwell.unstack gives its parts; or call .tolist() on the result",
    "a pickled tensor": "return it, and pickle the array that the call gives",
}
"""By what is found: what to do instead."""


def unusable(shown: str, what: str, *, is_traced: bool) -> StepwellError:
    """The error for `what`, a key of the table above, found of the tensor that is `shown` so."""
    if not is_traced:
        return StepwellError(
            f"found {what}: {shown} was kept when its function had been traced, expected an array; return it from the "
            "function and use what the call gives",
            where=call_site_text(),
        )
    return StepwellError(
        f"found {what}: {shown} is a traced value and has no concrete value while the function is traced; "
        f"{_REMEDIES[what]}",
        where=call_site_text(),
    )


_IN_PLACE = "traced values do not change"
_ON_RESULTS = "a traced value has no elements yet; call it on the result"
_NO_MEMORY = "a traced value has no memory yet"
_ONE_DEVICE = "there is one device, the processor; leave it out"
_NO_GRADIENT = "there are no gradients yet; leave it out"

_INSTEAD = {
    "sort": "it sorts in place; use stepwell.sort(x)",
    "fill": "it writes in place; use stepwell.full_like(x, value)",
    "partition": "it sorts in place; use stepwell.partition(x, kth)",
    "put": "it writes in place; use stepwell.put(x, indices, values)",
    "resize": "it works in place; use stepwell.resize(x, shape)",
    "view": "traced values have no bytes to look at; use astype to convert, reshape for another shape",
    "numpy": "a traced value has no elements yet; the jitted function returns NumPy arrays",
    "flat": "use x.ravel()",
    **dict.fromkeys(("tobytes", "tofile", "dump", "dumps"), _ON_RESULTS),
    **dict.fromkeys(("data", "ctypes", "strides", "flags", "setflags", "base"), _NO_MEMORY),
    # JAX's and PyTorch's.
    "block_until_ready": "calls return when the result is there; leave it out",
    "unsqueeze": "use stepwell.expand_dims(x, axis), or x[None]",
    "permute": "use x.transpose(axes)",
    "expand": "use stepwell.broadcast_to(x, shape)",
    "contiguous": "it is as it would be; leave it out",
    "clone": "use x.copy()",
    "dim": "use x.ndim",
    "numel": "use x.size",
    "mm": "use x @ y",
    "bmm": "use x @ y",
    "t": "use x.T",
    "float": "use x.astype(stepwell.float32)",
    "half": "use x.astype(stepwell.float16)",
    "double": "use x.astype(stepwell.float64)",
    "long": "use x.astype(stepwell.int64)",
    "int": "use x.astype(stepwell.int32)",
    "type": "use x.astype(dtype)",
    "add_": f"{_IN_PLACE}; write x = x + y",
    "mul_": f"{_IN_PLACE}; write x = x * y",
    **dict.fromkeys(
        ("to", "cpu", "cuda", "device", "devices", "sharding", "to_device"), _ONE_DEVICE
    ),
    **dict.fromkeys(
        ("detach", "requires_grad", "requires_grad_", "grad", "backward"), _NO_GRADIENT
    ),
}


def no_attribute(name: str, known: Sequence[str]) -> str:
    """The message for an attribute that Tensors do not have."""
    what = f"a traced value has no attribute '{name}'"
    if name in _INSTEAD:
        return f"{what}: {_INSTEAD[name]}"
    if not name.startswith("_") and function_named(name) is not None:
        return f"{what}; write stepwell.{name}(x)"
    return f"{what}; {did_you_mean(name, known, 'it has those of numpy.ndarray that need no elements')}"
