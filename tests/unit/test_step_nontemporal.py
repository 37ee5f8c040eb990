"""nontemporal: a hint on stores, which changes nothing that is computed."""

import numpy as np
import pytest
from stepwell.analysis.levels import Level
from stepwell.dialects.schedule.steps import Nontemporal
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.text import parse_text
from stepwell.runtime.engine import aligned_empty
from stepwell.runtime.jit import compile_module

from .loop_nests import check_extents, reason
from .nest_texts import SCRATCH
from .vector_loops import check_lanes, loop_program


@pytest.mark.parametrize("buffers", ["B", "T", "BT"])
def test_extents(buffers: str) -> None:
    check_extents(SCRATCH, *(Nontemporal(f"f/{name}") for name in buffers), extents=(1, 5, 33))


def test_refusals() -> None:
    program = SCRATCH.replace("{n}", "9")
    assert "nothing is stored to '%A'" in reason(program, Nontemporal("f/A"))
    near = program.replace("alloc arena", "alloc stack")
    assert "'%T' has scope 'stack', and is to stay near" in reason(near, Nontemporal("f/T"))


COPY = "%a = loop.load %A[%i] : M\n loop.store %a, %B[%i] {nontemporal} : M"


@pytest.mark.parametrize("element", ["f32", "f64", "i8", "i1"])
@pytest.mark.parametrize("lanes", [1, 7, 17, 64])
def test_vectors(element: str, lanes: int) -> None:
    check_lanes(loop_program(COPY, lanes, element=element))


@pytest.mark.parametrize("offset", [0, 4, 16, 32, 60, 64])
def test_addresses(offset: int) -> None:
    """Where lines do not begin where the buffer does, stores are plain ones."""
    module = parse_text(loop_program(COPY, 256, element="f32"), "copy.mlir")
    lower_to(module, Level.LLVM)
    copy = compile_module(module)
    assert "movnt" in copy.assembly() or "stnp" in copy.assembly()
    source = np.arange(400, dtype=np.float32)
    target = aligned_empty(1700)[offset : offset + 1600].view(np.float32)
    target[:] = -1
    copy(source, target, np.zeros(4, np.float32), 0)
    np.testing.assert_array_equal(target, np.where(source < 256, source, -1))
