"""Steps under the names that other systems have for them: each is answered with ours, or with why there is none."""

import re

import pytest
import stepwell as sw
from stepwell.dialects.schedule import STEPS
from stepwell.dialects.schedule.call_syntax import parse_call
from stepwell.dialects.schedule.other_words import OTHER_WORDS
from stepwell.driver.pipeline_spec import parse_passes
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text

COPY = """
func.func private @f(%A: memref<8xf32>, %B: memref<8xf32>) {
  loop.for parallel "i" %i = 0 to 8 {
    %a = loop.load %A[%i] : memref<8xf32>
    loop.store %a, %B[%i] : memref<8xf32>
  }
  func.return
}
"""


@pytest.mark.parametrize("word", sorted(OTHER_WORDS))
def test_an_answer_names_steps_that_there_are(word: str):
    assert word not in STEPS
    named = set(re.findall(r"'(\w+)'", OTHER_WORDS[word]))
    assert named <= {*STEPS}
    assert named or OTHER_WORDS[word].startswith("none: ")


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("bind", "here it is 'parallel' for threads and 'vectorize' for lanes"),
        ("cache_read", "here it is 'stage'"),
        ("store_in", "here it is 'set_scope'"),
        (
            "compute_root",
            "there is none, as a buffer is computed in nests of its own until 'compute_at'",
        ),
        ("tyle", "did you mean 'tile'"),
    ],
)
def test_a_call(word: str, answer: str):
    with pytest.raises(StepwellError) as caught:
        parse_call(f"{word}(f/i)")
    assert f"found step '{word}', expected one that there is; {answer}" in str(caught.value)


def test_a_method():
    with pytest.raises(AttributeError, match=r"found step 'vectorise'.*here it is 'vectorize'"):
        sw.Schedule(COPY).vectorise("i", 4)
    with pytest.raises(AttributeError, match="'Schedule' object has no attribute 'xyzzy'"):
        sw.Schedule(COPY).xyzzy("i")


def test_a_pass():
    with pytest.raises(StepwellError, match=r"unknown pass 'loop-cache-write'.*here it is 'stage'"):
        parse_passes("loop-cache-write{buffer=f/A}")


def test_a_script_of_its_own_and_one_in_a_module():
    script = 'schedule.script {\n  schedule.interchange "f/i"\n}\n'
    with pytest.raises(StepwellError, match=r"found 'schedule\.interchange'.*here it is 'reorder'"):
        sw.Schedule(COPY, script=script)
    with pytest.raises(StepwellError, match=r"'schedule\.interchange'.*here it is 'reorder'"):
        parse_text(COPY + script)
