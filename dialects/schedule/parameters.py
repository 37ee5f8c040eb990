"""What each parameter of the steps means, for documentation."""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any

from .step import TAILS, Step

_TAILS = ", ".join(f'"{tail}"' for tail in TAILS)

_MEANINGS: dict[str, str] = {
    "loop": 'The loop, as "function/loop".',
    "buffer": 'The buffer, as "function/buffer" (`%` left out).',
    "function": "The function.",
    "at": "The loop at which to do it.",
    "factor": "How many iterations make a block.",
    "tail": f"What to do with iterations left over: one of {_TAILS}.",
    "into": "What to call the buffer that is made; a name is chosen when it is empty.",
    "outer": 'The name of the outer loop; "<loop>.outer" when it is empty.',
    "inner": 'The name of the inner loop; "<loop>.inner" when it is empty.',
    "factors": "The size of a tile along each loop, outermost first.",
    "order": "The names of the loops in their new order, outermost first.",
    "width": "How many iterations run at a time; 0 for all of them.",
    "front": "How many iterations to take off the front.",
    "back": "How many iterations to take off the back.",
    "after": "The buffer that the first part's last statement stores to, or the first part's last loop.",
    "other": "The loop that follows, by its name.",
    "depth": "How many loops of each nest become one, these and those directly inside of them.",
    "shift": "How many iterations later the second body runs.",
    "by": "The loop around it whose variable is added, by its name.",
    "scope": 'Where the buffer lives: "register", "stack", "thread" or "arena".',
    "panel": "Into panels of how many elements the last axis is packed; 0 for none.",
    "pad": "The last axis's size is rounded up to a multiple of this; 0 leaves it.",
    "pads": "The same for each axis of the scratch buffer; empty for none.",
    "distance": "How many iterations ahead.",
    "inside": "A loop further in, whose iterations share the elements out; empty for none, and all hints at the start.",
    "then": "A loop around, in whose next iteration `at` goes on after its last one; empty where hints go on beyond that.",
    "locality": "From 0, used once, to 3, used often: how near the caches are that it is brought to.",
    "axis": "The axis to pad, counted from 0; the stride is that of the axis before it.",
    "offset": "What the stride is to be modulo `factor`.",
    "kernel": "The function of the module that does the same.",
    "key": "What to note.",
    "value": "Its value.",
    # Where a step means something else by the word.
    "fuse.inner": "The loop inside of it, by its name.",
    "fuse.into": 'The name of the fused loop; "<loop>.<inner>" when it is empty.',
    "mark": "Whether to mark the loop only, and leave the writing out to the lowering.",
    "unroll.factor": "How many iterations to write out; 0 for all of them.",
    "unroll_and_jam.factor": "How many iterations of the loop to join.",
    "index_set_split.at": "Where the second loop begins, an affine expression over the loops around.",
    "skew.factor": "By how many times the outer loop's variable the inner one is moved.",
    "stage.at": "The loop whose iterations get a copy each; each call of the function when it is empty.",
    "stage.into": 'The name of the scratch buffer; "<buffer>.staged" when it is empty.',
    "stage.order": "The buffer's axes in the order the scratch buffer has them; empty for the same order.",
    "stage_halo.at": "The loop whose iterations get a copy each; each call of the function when it is empty.",
    "stage_halo.into": 'The name of the scratch buffer; "<buffer>.halo" when it is empty.',
    "stage_halo.order": "The buffer's axes in the order the scratch buffer has them; empty for the same order.",
    "align": "Elements of the copy's last axis of which a multiple stays one; 0 for none.",
    "along": "The loop whose variable is in a subscript of the accesses that use the copy; empty for all of them.",
    "element": "The element type of the copy; empty for the buffer's.",
    "accumulate": "Begin with zeros and add the copy to the buffer at the end, where it is only updated.",
    "rfactor.into": 'The name of the partial results\' buffer; "<buffer>.rf" when it is empty.',
    "rfactor.axis": "Where the loop's axis is among those of the partial results; -1 for the last.",
    "rfactor.of": "The buffer that is reduced into; empty where there is one only.",
    "storage_align.factor": "Modulo how many elements the stride is taken.",
    "fold_storage.axis": "The axis to fold, counted from 0.",
    "fold_storage.factor": "How many elements are kept, fewer than there are.",
}


_OF_LOOPS_OR_BUFFERS = (
    "loop",
    "buffer",
    "at",
    "other",
    "by",
    "after",
    "along",
    "inside",
    "then",
    "fuse.inner",
    "reorder.order",
)


def takes_handles(step_class: type[Step], name: str) -> bool:
    """Whether the parameter names loops or buffers that are there, for which handles may be given."""
    if f"{step_class.keyword}.{name}" == "index_set_split.at":
        return False  # an expression
    return name in _OF_LOOPS_OR_BUFFERS or f"{step_class.keyword}.{name}" in _OF_LOOPS_OR_BUFFERS


def parameters(step_class: type[Step]) -> tuple[Field[Any], ...]:
    """The fields of a step's class, in order; those without a default come first."""
    return fields(step_class)  # pyright: ignore[reportArgumentType]


def meaning(step_class: type[Step], name: str) -> str:
    """What the parameter `name` of a step is, in a sentence."""
    return _MEANINGS.get(f"{step_class.keyword}.{name}") or _MEANINGS.get(name, "")
