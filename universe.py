"""
What Stepwell adds to xDSL: its dialects and passes, found by every xDSL tool through the
`xdsl.universe` entry point and loaded only when they are used.

To add a dialect or a pass, add one line to its table: the name, and where its class stands.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any

from xdsl.context import Context
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe

_DIALECTS = {
    "graph": "dialects.graph:Graph",
    "te": "dialects.te:Te",
    "loop": "dialects.loop:Loop",
    "schedule": "dialects.schedule:Schedule",
}

_EXTENDED = {
    "arith": "dialects.upstream.arith:Arith",
    "linalg": "dialects.upstream.linalg_named:Linalg",
    "llvm": "dialects.upstream.llvm:Llvm",
    "chlo": "dialects.upstream.stablehlo:Chlo",
    "memref": "dialects.upstream.memref:MemRef",
    "stablehlo": "dialects.upstream.stablehlo:StableHlo",
    "tensor": "dialects.upstream.tensor:Tensor",
    "tosa": "dialects.upstream.tosa:Tosa",
}
"""Upstream dialects of which xDSL lacks an operation that we need, or has a part only of what upstream's text says."""

_STEPS = (
    "split",
    "tile",
    "reorder",
    "fuse",
    "unroll",
    "unroll_and_jam",
    "vectorize",
    "parallel",
    "peel",
    "index_set_split",
    "partition",
    "skip_padding",
    "mirror",
    "fission",
    "fuse_loops",
    "skew",
    "reverse",
    "compute_at",
    "reverse_compute_at",
    "inline",
    "reverse_inline",
    "stage",
    "stage_halo",
    "rfactor",
    "decompose_reduction",
    "double_buffer",
    "prefetch",
    "nontemporal",
    "set_scope",
    "storage_align",
    "fold_storage",
    "tensorize",
    "pragma",
    "simplify",
    "normalize",
)
"""The keywords of the schedule's steps (`dialects.schedule.STEPS`, without loading it)."""


def _step_pass(keyword: str) -> tuple[str, str]:
    """The pass of a step and its place: `unroll_and_jam` → `loop-unroll-and-jam`, `LoopUnrollAndJamPass`."""
    words = keyword.split("_")
    class_name = "Loop" + "".join(word.capitalize() for word in words) + "Pass"
    return "-".join(["loop", *words]), f"transforms.loop.{keyword}:{class_name}"


_PASSES: dict[str, str] = {
    "graph-extend-narrow-floats": "transforms.graph.extend_narrow_floats:GraphExtendNarrowFloatsPass",
    "graph-canonicalize": "transforms.graph.canonicalize:GraphCanonicalizePass",
    "graph-cse": "transforms.graph.cse:GraphCsePass",
    "graph-share-constants": "transforms.graph.share_constants:GraphShareConstantsPass",
    "graph-tile-loops": "transforms.graph.tile_loops:GraphTileLoopsPass",
    "graph-simplify": "transforms.graph.simplify:GraphSimplifyPass",
    "graph-recognize-counts": "transforms.graph.recognize_counts:GraphRecognizeCountsPass",
    "graph-fold-constants": "transforms.graph.fold_constants:GraphFoldConstantsPass",
    "graph-recognize-multiples": "transforms.graph.recognize_multiples:GraphRecognizeMultiplesPass",
    "graph-reduce-strength": "transforms.graph.reduce_strength:GraphReduceStrengthPass",
    "graph-recognize-activations": "transforms.graph.recognize_activations:GraphRecognizeActivationsPass",
    "graph-recognize-normalizations": "transforms.graph.recognize_normalizations:GraphRecognizeNormalizationsPass",
    "graph-simplify-movement": "transforms.graph.simplify_movement:GraphSimplifyMovementPass",
    "graph-sink-transposes": "transforms.graph.sink_transposes:GraphSinkTransposesPass",
    "graph-flatten-rows": "transforms.graph.flatten_rows:GraphFlattenRowsPass",
    "graph-scale-late": "transforms.graph.scale_late:GraphScaleLatePass",
    "graph-scatter-in-any-order": "transforms.graph.scatter_in_any_order:GraphScatterInAnyOrderPass",
    "graph-narrow-sums": "transforms.graph.narrow_sums:GraphNarrowSumsPass",
    "graph-order-products": "transforms.graph.order_products:GraphOrderProductsPass",
    "graph-recognize-fourier": "transforms.graph.recognize_fourier:GraphRecognizeFourierPass",
    "graph-merge-products": "transforms.graph.merge_products:GraphMergeProductsPass",
    "graph-fold-scales": "transforms.graph.fold_scales:GraphFoldScalesPass",
    "graph-normalize-late": "transforms.graph.normalize_late:GraphNormalizeLatePass",
    "graph-block-channels": "transforms.graph.block_channels:GraphBlockChannelsPass",
    "graph-winograd": "transforms.graph.winograd:GraphWinogradPass",
    "graph-compute-by-rows": "transforms.graph.compute_by_rows:GraphComputeByRowsPass",
    "graph-compute-by-images": "transforms.graph.compute_by_images:GraphComputeByImagesPass",
    "graph-compute-by-strips": "transforms.graph.compute_by_strips:GraphComputeByStripsPass",
    "graph-decompose": "transforms.graph.decompose:GraphDecomposePass",
    "graph-outline-repeats": "transforms.graph.outline_repeats:GraphOutlineRepeatsPass",
    "graph-pad-images": "transforms.graph.pad_images:GraphPadImagesPass",
    "graph-take-pixels": "transforms.graph.take_pixels:GraphTakePixelsPass",
    "graph-stack-phases": "transforms.graph.stack_phases:GraphStackPhasesPass",
    "convert-graph-to-te": "lowering.graph_to_te:ConvertGraphToTePass",
    "convert-stablehlo-to-graph": "frontend.stablehlo.convert:ConvertStablehloToGraphPass",
    "convert-tosa-to-graph": "frontend.tosa.convert:ConvertTosaToGraphPass",
    "convert-linalg-to-te": "lowering.linalg_to_te:ConvertLinalgToTePass",
    "convert-te-to-linalg": "lowering.te_to_linalg:ConvertTeToLinalgPass",
    "te-reduce-rows-first": "transforms.te.reduce_rows_first:TeReduceRowsFirstPass",
    "te-write-out-products": "transforms.te.write_out_products:TeWriteOutProductsPass",
    "te-write-out-sums": "transforms.te.write_out_sums:TeWriteOutSumsPass",
    "te-fuse": "transforms.te.fuse:TeFusePass",
    "te-int-range-optimizations": (
        "transforms.te.int_range_optimizations:TeIntRangeOptimizationsPass"
    ),
    "te-double-windows": "transforms.te.double_windows:TeDoubleWindowsPass",
    "te-compute-in-loops": "transforms.te.compute_in_loops:TeComputeInLoopsPass",
    "te-consume-in-blocks": "transforms.te.consume_in_blocks:TeConsumeInBlocksPass",
    "te-consume-in-loops": "transforms.te.consume_in_loops:TeConsumeInLoopsPass",
    "te-merge-loops": "transforms.te.merge_loops:TeMergeLoopsPass",
    "te-sink-into-regions": "transforms.te.sink_into_regions:TeSinkIntoRegionsPass",
    "te-inline-functions": "transforms.te.inline_functions:TeInlineFunctionsPass",
    "te-inline-entangled": "transforms.te.inline_functions:TeInlineEntangledPass",
    "te-inline-in-loops": "transforms.te.inline_in_loops:TeInlineInLoopsPass",
    "te-narrow-steps": "transforms.te.narrow_steps:TeNarrowStepsPass",
    "te-bufferize": "transforms.te.bufferize:TeBufferizePass",
    "te-collapse": "transforms.te.collapse:TeCollapsePass",
    "te-flatten-operands": "transforms.te.flatten_operands:TeFlattenOperandsPass",
    "te-expand": "transforms.te.expand:TeExpandPass",
    "convert-te-to-loop": "lowering.te_to_loop:ConvertTeToLoopPass",
    "schedule-by-rules": "tuning.rules:ScheduleByRulesPass",
    "apply-schedule": "transforms.loop.apply_schedule:ApplySchedulePass",
    **dict(_step_pass(keyword) for keyword in _STEPS),
    "loop-narrow": "transforms.loop.narrow:LoopNarrowPass",
    "loop-auto-fission": "transforms.loop.auto_fission:LoopAutoFissionPass",
    "loop-auto-fuse": "transforms.loop.auto_fuse:LoopAutoFusePass",
    "loop-auto-interchange": "transforms.loop.auto_interchange:LoopAutoInterchangePass",
    "loop-auto-parallelize": "transforms.loop.auto_parallelize:LoopAutoParallelizePass",
    "loop-auto-tile": "transforms.loop.auto_tile:LoopAutoTilePass",
    "loop-auto-unroll-and-jam": "transforms.loop.auto_unroll_and_jam:LoopAutoUnrollAndJamPass",
    "loop-polyhedral": "transforms.loop.polyhedral:LoopPolyhedralPass",
    "convert-affine-to-loop": "lowering.affine_to_loop:ConvertAffineToLoopPass",
    "convert-loop-to-affine": "lowering.loop_to_affine:ConvertLoopToAffinePass",
    "loop-inline-functions": "transforms.loop.inline_functions:LoopInlineFunctionsPass",
    "loop-merge-kernels": "transforms.loop.merge_kernels:LoopMergeKernelsPass",
    "loop-outline-packing": "transforms.loop.outline_packing:LoopOutlinePackingPass",
    "loop-plan-memory": "transforms.loop.plan_memory:LoopPlanMemoryPass",
    "loop-share-buffers": "transforms.loop.share_buffers:LoopShareBuffersPass",
    "convert-loop-to-core": "lowering.loop_to_core:ConvertLoopToCorePass",
    "core-mem2reg": "transforms.core.mem2reg:CoreMem2RegPass",
    "core-time-calls": "transforms.core.time_calls:CoreTimeCallsPass",
    "core-add-as-integers": "transforms.core.add_as_integers:CoreAddAsIntegersPass",
    "core-divide-as-integers": "transforms.core.divide_as_integers:CoreDivideAsIntegersPass",
    "core-convert-by-permuting": "transforms.core.convert_by_permuting:CoreConvertByPermutingPass",
    "core-fp-flags": "transforms.core.fp_flags:CoreFpFlagsPass",
    "core-divide-by-constants": ("transforms.core.divide_by_constants:CoreDivideByConstantsPass"),
    "core-divide-by-invariants": "transforms.core.divide_by_invariants:CoreDivideByInvariantsPass",
    "core-expand-narrow-floats": (
        "transforms.core.expand_narrow_floats:CoreExpandNarrowFloatsPass"
    ),
    "core-expand-math": "transforms.core.expand_math:CoreExpandMathPass",
    "core-expand-extremes": "transforms.core.expand_extremes:CoreExpandExtremesPass",
    "convert-core-to-llvm": "lowering.core_to_llvm.convert:ConvertCoreToLLVMPass",
}


@cache
def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(f".{module}", __package__), name)


def _lazily(table: dict[str, str]) -> dict[str, Callable[[], Any]]:
    return {name: partial(_load, place) for name, place in table.items()}


def _dialects() -> dict[str, Callable[[], Dialect]]:
    return _lazily(_DIALECTS)


def _passes() -> dict[str, Callable[[], type[ModulePass]]]:
    return _lazily(_PASSES)


STEPWELL_UNIVERSE = Universe(all_dialects=_dialects(), all_passes=_passes())


@cache
def multiverse() -> Universe:
    """
    Everything there is: Stepwell's, xDSL's and every installed plug-in's.

    Stepwell is in it even when it is run from a source tree, where no entry point names it.
    """
    found = Universe.get_multiverse()
    return Universe(
        all_dialects=found.all_dialects | STEPWELL_UNIVERSE.all_dialects | _lazily(_EXTENDED),
        all_passes=found.all_passes | STEPWELL_UNIVERSE.all_passes,
        all_targets=found.all_targets | STEPWELL_UNIVERSE.all_targets,
    )


def make_context(*, allow_unregistered: bool = False) -> Context:
    """A context that knows every dialect there is and loads each when it is first met."""
    ctx = Context(allow_unregistered=allow_unregistered)
    for name, factory in multiverse().all_dialects.items():
        ctx.register_dialect(name, factory)
    return ctx
