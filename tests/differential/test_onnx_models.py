"""Random ONNX models against ONNX's reference evaluator, and a sample of ONNX's own tests of backends."""

import onnx_models
import onnx_suite
import pytest

BLOCK = 10


@pytest.mark.sampled(3)
@pytest.mark.parametrize("start", range(0, 2000, BLOCK))
def test_random_models_agree_with_the_reference_evaluator(start):
    for seed in range(start, start + BLOCK):
        failure = onnx_models.failure_of(seed)
        assert failure is None, f"onnx_models.py --models 1 --seed {seed}: {failure}"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("start", [7, 57, 107, 157])
def test_a_sample_of_the_suite_is_neither_wrong_nor_crashing(start):
    cases = onnx_suite.load_cases()
    names = sorted(cases)[start::200]
    outcomes = [onnx_suite.run_case(cases[name]) for name in names]
    bad = [one for one in outcomes if one.state in (onnx_suite.WRONG, onnx_suite.CRASH)]
    assert not bad
    assert sum(one.state == onnx_suite.PASS for one in outcomes) > len(outcomes) / 2
