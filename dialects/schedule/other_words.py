"""
What other systems call a step: Halide, TVM, Exo, the polyhedral tools and textbooks have other words for many of
ours, and some steps that there is no use for here. Whoever writes one of these is told what to write.
"""

from __future__ import annotations

OTHER_WORDS: dict[str, str] = {
    # Loops.
    "interchange": "'reorder'",
    "permute": "'reorder'",
    "strip_mine": "'split'",
    "stripmine": "'split'",
    "divide_loop": "'split'",
    "cut_loop": "'index_set_split'",
    "loop_partition": "'partition'",
    "unswitch": "'index_set_split' at the point where the condition changes",
    "specialize": "'index_set_split' at the point where the special case begins",
    "distribute": "'fission'",
    "loop_fission": "'fission'",
    "collapse": "'fuse'",
    "coalesce": "'fuse'",
    "flatten": "'fuse'",
    "mult_loops": "'fuse'",
    "merge": "'fuse_loops' for loops one after the other, 'fuse' for nested ones",
    "jam": "'unroll_and_jam', or 'fuse_loops' for loops one after the other",
    "unroll_jam": "'unroll_and_jam'",
    "compute_with": "'fuse_loops'",
    "create_group": "'fuse_loops' for nests of one kernel; which computes become a kernel is decided at the te level",
    "vectorise": "'vectorize'",
    "parallelize": "'parallel'",
    "parallelise": "'parallel'",
    "bind": "'parallel' for threads and 'vectorize' for lanes: there are no GPU indices to bind a loop to",
    "gpu_blocks": "none: code is made for CPUs; 'parallel' deals a loop to threads",
    "gpu_threads": "none: code is made for CPUs; 'vectorize' puts a loop into lanes",
    "affine_loop_normalize": "'normalize'",
    "bound": "none: bounds follow from the shapes; write the sizes into the types as numbers",
    "align_bounds": "'split' with tail=\"pad\", over a buffer that 'stage' has padded",
    "pad_einsum": "'stage' with pads, then 'split' with tail=\"pad\"",
    "shift": "'skew', which shifts a loop by a multiple of another one",
    "annotate": "'pragma'",
    "unannotate": "none: a note that 'pragma' made does nothing unless something reads it; leave the step out",
    "blockize": "'tensorize', which replaces a nest by a kernel; a nest needs no block around it",
    "replace": "'tensorize'",
    "hoist": "none: what does not change in a loop is moved out of it on the way to level core; 'fission' or "
    "'stage' moves memory accesses",
    # Where something is computed.
    "compute_root": "none: a buffer is computed in nests of its own until 'compute_at' moves them",
    "compute_inline": "'inline'",
    "reverse_compute_inline": "'reverse_inline'",
    "update": "none: each nest is named by its own loops",
    "set_store_predicate": "none: conditions follow from the tail of a 'split' (\"guard\"), or from 'index_set_split'",
    "decompose_padding": "'stage_halo' for a padded copy, 'partition' for the border",
    "bound_storage": "'stage' with pads",
    # Where something is stored.
    "cache_read": "'stage': it copies in what is read and out what is written",
    "cache_write": "'stage': it copies in what is read and out what is written",
    "reindex": "'stage' with an order of its axes",
    "transform_layout": "'stage' with an order of its axes, or a panel",
    "reorder_storage": "'stage' with an order of its axes",
    "reorder_dim": "'stage' with an order of its axes",
    "split_dim": "'stage' with a panel, which splits one axis of the copy",
    "store_at": "'fuse_loops' where it is computed and 'fold_storage'; 'compute_at' makes the buffer as small as one "
    "iteration needs by itself",
    "store_root": "none: a buffer stays where it was made until 'compute_at' or 'stage' makes a smaller one",
    "store_in": "'set_scope'",
    "set_memory": "'set_scope'",
    "rolling_buffer": "'fold_storage', after 'fuse_loops' of what fills the buffer and what reads it",
    "sliding_window": "'fuse_loops' of what fills the buffer and what reads it, then 'fold_storage'",
    "circular_buffer": "'fold_storage'",
    "storage_fold": "'fold_storage'",
    "align_storage": "'storage_align'",
    "buffer_align": "'storage_align'",
    "double_buffering": "'double_buffer'",
    "software_pipeline": "'double_buffer' or 'prefetch'",
    "decompose": "'decompose_reduction'",
}
"""For each word our steps (in quotes), or `none` and why."""


def other_word(keyword: str) -> str | None:
    """What to say to a step under a name that another system has for it; None for any other name."""
    answer = OTHER_WORDS.get(keyword)
    if answer is None:
        return None
    reason = answer.removeprefix("none: ")
    return f"there is none, as {reason}" if reason != answer else f"here it is {answer}"
