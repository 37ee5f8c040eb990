"""
`--check-each` on real models at reduced sizes: each pass down to te and its buffers keeps what is computed.

The models are those of benchmarks/models.py that `make models` has put into build/models; others are left out. Loops are
not interpreted, which would take hours: `make test-models` compares what is compiled.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from stepwell.driver.options import Options, make_pass
from stepwell.driver.pass_manager import PassManager
from stepwell.driver.pipelines import DEFAULT_STAGES
from stepwell.frontend.onnx.importer import import_model
from stepwell.frontend.onnx.reading import read_model
from stepwell.tools.check_each import CheckEach
from stepwell.universe import make_context, multiverse
from xdsl.dialects.builtin import ModuleOp

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
from models import MODELS, Model  # noqa: E402

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

SLACK = 10
"""Times the tolerance for programs of a few operations: 1e-4 of an output's scale, as beside other runtimes."""

UNTIL = "te-bufferize"


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [one for one in MODELS if one.name not in FIXED], ids=lambda one: one.name
)
def test_each_pass_keeps_the_values_of_a_real_model(model):
    path = ROOT / model.path
    if not path.exists():
        pytest.skip(f"{model.path} is not there: make models")
    names = [name for stage in DEFAULT_STAGES for name in stage.passes]
    names = names[: names.index(UNTIL) + 1]
    passes = [make_pass(multiverse().all_passes[name](), Options()) for name in names]
    PassManager(passes, [CheckEach(slack=SLACK)]).run(make_context(), reduced(model, path))


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
