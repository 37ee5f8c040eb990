"""Programs in text, interpreted."""

import numpy as np
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret


def parse(text):
    module = parse_text(text, "test.mlir")
    module.verify()
    return module


def run(text, *inputs, entry=None):
    results = interpret(parse(text), inputs, entry)
    return results[0] if len(results) == 1 else results


def f32s(*values):
    return np.array(values, np.float32)
