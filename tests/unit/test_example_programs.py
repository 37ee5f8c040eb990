"""Each program of examples/programs compiles and agrees with NumPy, shapes and dtypes too; and the page of them."""

import sys
from pathlib import Path

import numpy as np
import pytest
import stepwell as sw

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from corpus import differences, leaves, programs
from programs_page import page

PROGRAMS = programs()


@pytest.mark.sampled(15)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_agrees_with_numpy(name):
    program = PROGRAMS[name]
    inputs = program.inputs(small=True)
    expected = program.expected(inputs)
    found = sw.jit(program.traceable(), opt="quick")(*inputs)
    assert list(differences(program, found, expected)) == []
    assert [one.dtype for one in leaves(found)] == [one.dtype for one in expected]


def test_a_wrong_result_is_told():
    program = PROGRAMS["images/box_blur"]
    inputs = program.inputs(small=True)
    expected = program.expected(inputs)
    assert list(differences(program, expected[0] + np.float32(0.01), expected)) == [
        f"result 0: differs by 0.01, expected at most {2e-5 * expected[0].max():.3g}"
    ]
    (line,) = differences(program, expected[0].T[:-1], expected)
    assert line == "result 0: found shape (28, 29), expected (29, 29)"
    (line,) = differences(program, [expected[0]] * 2, expected)
    assert line == "found 2 results, expected 1"


def test_every_program_says_what_it_computes_and_has_small_sizes():
    for program in PROGRAMS.values():
        assert program.title and not program.title.endswith("."), program.name
        assert program.module.SMALL, program.name
    assert len(PROGRAMS) >= 150


def test_the_page_counts_what_it_shows():
    rows = {
        "images/box_blur": {"stepwell": 1.0, "numpy": 4.0, "numba": 2.0},
        "numbers/gray_code": {"stepwell": 0.1, "numpy": 0.05},
    }
    text = page(PROGRAMS, rows)
    assert "the geometric mean is **1.00**; 1 are as fast" in text
    assert "fastest other or faster, 1 are below 0.7, and in 1 the fastest other takes" in text
    assert "[`gray_code`](../examples/programs/numbers/gray_code.py)" in text
    assert "| 1 | 4 |  | 2 |  | 2.00 |" in text
