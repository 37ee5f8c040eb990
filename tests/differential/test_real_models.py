"""
`--check-kernels` on real models at reduced sizes: each pass down to LLVM's dialect keeps what is computed.

The models are those of benchmarks/real_models.py that `make models` has put into build/models; others are left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from stepwell.analysis.levels import Level
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.onnx.importer import import_model
from stepwell.frontend.onnx.reading import read_model
from stepwell.tools.check_kernels import CheckKernels
from xdsl.dialects.builtin import ModuleOp

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
from real_models import MODELS, Model  # noqa: E402

SIZES = {
    "orientation": {"x": (1, 3, 32, 32)},
    "text-320x320": {"x": (1, 3, 32, 32)},
    "lac": {"token_ids": (1, 5)},
    "text-lines": {"x": (1, 3, 48, 48)},
    "captcha": {"input1": (1, 1, 64, 32)},
    **{
        name: {"image": (1, 3, 32, 32)}
        for name in ("resnet50", "mobilenet_v2", "mobilenet_v3", "efficientnet_b0", "unet")
    },
}
"""Instead of those that models are timed with, by model and input."""

FIXED = ("vit_b_16", "basic-pitch", "yolox", "text-480x640", "text-736x736")
"""Models that are not smaller for smaller inputs, and those that are there in another size."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [one for one in MODELS if one.name not in FIXED], ids=lambda one: one.name
)
def test_each_pass_keeps_the_values_of_a_real_model(model):
    path = ROOT / model.path
    if not path.exists():
        pytest.skip(f"{model.path} is not there: make models")
    module = reduced(model, path)
    lower_to(module, Level.LLVM, instrumentations=[CheckKernels()], verify_each=True)


def reduced(model: Model, path: Path) -> ModuleOp:
    """The program of a model for small inputs, also where the file says their sizes."""
    found = read_model(path)
    given = {name: array for name, array in model.given.items() if array.ndim == 0}
    shapes = {name: array.shape for name, array in model.feeds().items() if name not in given}
    shapes |= SIZES.get(model.name, {})
    for one in found.proto.graph.input:
        for dim, extent in zip(
            one.type.tensor_type.shape.dim, shapes.get(one.name, ()), strict=False
        ):
            dim.dim_value = extent
    return import_model(found, shapes, given)
