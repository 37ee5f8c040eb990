"""
Real models of which some bytes or fields are changed: each ends in a result or in one line, in bounded time and memory.

    python tests/onnx_mutations.py --mutations 1000 --seed 0 [--model M.onnx]

The model is SqueezeNet of the onnx package, for smaller images, when none is given. The process bounds its own memory.
The status is 1 when anything else than a result or a message came of a mutation, or one took too long.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np
import onnx
import stepwell as sw
from stepwell.errors import StepwellError

MEMORY = 6 << 30
"""Bytes of address space, most of which libraries reserve."""
SECONDS = 60
"""of processor time for a mutation: most of it is compiling kernels that no other mutation has."""
MAX_ELEMENTS = 1 << 20
"""Of all inputs and outputs of a program that is still run."""


def squeezenet() -> onnx.ModelProto:
    """SqueezeNet 1.1 as the onnx package has it, with weights of one number each, for images of 48 by 48."""
    model = onnx.load(Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx")
    (image,) = (one for one in model.graph.input if one.name == "data_0")
    for axis, extent in enumerate((1, 3, 48, 48)):
        image.type.tensor_type.shape.dim[axis].dim_value = extent
    for one in model.graph.output:
        one.type.tensor_type.ClearField("shape")
    return model


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes changed, put in or left out, or the end cut off; or some fields of the message changed."""
    if rng.random() < 0.7:
        model = onnx.ModelProto.FromString(data)
        for _ in range(int(rng.integers(1, 3))):
            change_a_field(model, rng)
        return model.SerializeToString()
    array = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        place = int(rng.integers(len(array)))
        match rng.integers(8):
            case 0:
                del array[place : place + int(rng.integers(1, 9))]
            case 1:
                array[place:place] = rng.bytes(int(rng.integers(1, 9)))
            case 2 if rng.random() < 0.2:
                del array[max(place, 1) :]
            case 3:
                array[place] ^= 1 << int(rng.integers(8))
            case _:
                array[place] = int(rng.integers(256))
        if not array:
            return b""
    return bytes(array)


NUMBERS = (0, 1, -1, 2, 3, 7, 16, 1 << 31, 1 << 62, -(1 << 62))


def change_a_field(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    """Another number or name in a field of some message, or an entry of a list left out or doubled."""
    fields = list(_fields(model))
    message, descriptor = fields[rng.integers(len(fields))]
    value = getattr(message, descriptor.name)
    names = [name for node in model.graph.node for name in (*node.input, *node.output)]
    if descriptor.is_repeated:
        position = int(rng.integers(len(value)))
        if rng.random() < 0.3:
            del value[position]
        elif rng.random() < 0.3 or descriptor.cpp_type == descriptor.CPPTYPE_MESSAGE:
            value.append(value[position])
        else:
            value[position] = _other(descriptor, names, rng, value[position])
    elif descriptor.cpp_type == descriptor.CPPTYPE_MESSAGE or rng.random() < 0.1:
        message.ClearField(descriptor.name)
    else:
        setattr(message, descriptor.name, _other(descriptor, names, rng, value))


def _fields(message):
    for descriptor, value in message.ListFields():
        yield message, descriptor
        if descriptor.cpp_type == descriptor.CPPTYPE_MESSAGE:
            for part in value if descriptor.is_repeated else [value]:
                yield from _fields(part)


def _other(descriptor, names, rng, value):
    if isinstance(value, bytes):
        return value[: int(rng.integers(len(value) + 1))]
    if isinstance(value, str):
        return names[rng.integers(len(names))]
    if isinstance(value, float):
        return float(rng.choice([0, -1, 1e30, np.nan, np.inf]))
    if descriptor.enum_type is not None:
        return int(rng.choice([one.number for one in descriptor.enum_type.values]))
    bits = 31 if descriptor.cpp_type == descriptor.CPPTYPE_INT32 else 63
    fitting = [one for one in NUMBERS if -(1 << bits) <= one < 1 << bits]
    return int(fitting[rng.integers(len(fitting))])


def outcome_of_mutation(data: bytes, seed: int, path: Path) -> str:
    """What becomes of a model with some bytes changed: `runs`, or the line that it ends in."""
    path.write_bytes(mutated(data, np.random.default_rng(seed)))
    try:
        run = sw.load(path, opt="quick").compile(threads=1)
        specs = (*run.signature.inputs, *run.signature.results)
        if sum(math.prod(spec.shape) for spec in specs) < MAX_ELEMENTS:
            run(*(np.zeros(spec.shape, spec.dtype) for spec in run.signature.inputs))
    except StepwellError as error:
        return str(error)
    return "runs"


def failure_of(data: bytes, seed: int, path: Path) -> str | None:
    """What is wrong with what becomes of the mutation of this seed, or None."""
    start = time.process_time()
    try:
        outcome = outcome_of_mutation(data, seed, path)
    except Exception:
        return traceback.format_exc(limit=-4)
    if "\n" in outcome or len(outcome) > 2000:
        return f"a message of {outcome.count(chr(10)) + 1} lines and {len(outcome)} letters"
    seconds = time.process_time() - start
    return f"{seconds:.0f} s: {outcome}" if seconds > SECONDS else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--mutations", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", type=Path, help="a model whose inputs have shapes")
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    data = args.model.read_bytes() if args.model else squeezenet().SerializeToString()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.seed, args.seed + args.mutations):
            print(f"seed {seed}", file=sys.stderr, flush=True)  # the last one is that of a crash
            failure = failure_of(data, seed, Path(folder) / "m.onnx")
            if failure:
                failures += 1
                print(f"seed {seed}: {failure}", flush=True)
    print(f"{args.mutations} mutations, {failures} failures")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
