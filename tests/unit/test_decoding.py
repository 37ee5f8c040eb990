"""examples/decoding: tokens are NumPy's, and keys and values are written in place."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import stepwell as sw

FILE = Path(__file__).parents[2] / "examples" / "decoding" / "gpt.py"
COUNT = 3


@pytest.fixture(scope="module")
def gpt() -> ModuleType:
    spec = importlib.util.spec_from_file_location("examples_decoding_gpt", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclass looks its annotations up
    spec.loader.exec_module(module)
    return module


def test_tokens_are_those_of_the_whole_text_computed_again(gpt: ModuleType):
    """Two calls of one compiled program, of which the second goes on where the first ended."""
    decoder = gpt.Decoder(gpt.Shape(layers=2, width=24, heads=3, vocabulary=37, length=11))
    generate = sw.jit(lambda *state: decoder.generate(*state, COUNT), opt="quick")
    state, found = (np.int64(5), np.int64(0), decoder.empty_caches()), [5]
    for _ in range(2):
        state, tokens = generate(*state)
        found += tokens.tolist()
    logits = decoder.whole(found[:-1])
    assert found[1:] == logits.argmax(-1).tolist() and len(set(found)) > 2
    assert int(state[1]) == 2 * COUNT


def test_a_step_copies_no_keys_and_values(gpt: ModuleType):
    decoder = gpt.Decoder(gpt.Shape(layers=1, width=16, heads=2, vocabulary=9, length=7))
    state = (np.int64(5), np.int64(0), decoder.empty_caches())
    low = sw.jit(lambda *state: decoder.generate(*state, COUNT)).lower(*state)
    text = str(low.unscheduled())
    assert "max_exp_sum" in text  # attention is one kernel
    (_, step) = text.split("scf.for")
    assert step.count("@main.dynamic_update_slice(") == 2
    assert not any("copy" in line and "2x7x8" in line for line in step.splitlines())
    kernel = text[text.index("func.func private @main.dynamic_update_slice") :]
    assert "copy" not in kernel[: kernel.index("func.return")]
