"""Outputs of ONNX models whose extent the data decides."""

import numpy as np
import onnx
import pytest
import stepwell as sw
from onnx import TensorProto, helper
from stepwell.frontend.onnx.backend import StepwellBackend

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def model(nodes, outputs, path=None):
    """A model of one input x, 3 by 4."""
    x = helper.make_tensor_value_info("x", FLOAT, [3, 4])
    outs = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs]
    graph = helper.make_graph(nodes, "bounded", [x], outs)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    if path is not None:
        onnx.save(proto, path)
    return proto


def sample(seed):
    return np.random.default_rng(seed).integers(0, 3, (3, 4)).astype("f4")


def test_an_output_is_cut_to_its_extent():
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("Unique", ["x"], ["values", "", "which", "counts"]),
    ]
    outputs = [("places", INT64), ("which", INT64), ("values", FLOAT), ("counts", INT64)]
    rep = StepwellBackend.prepare(model(nodes, outputs), opt="quick")
    for seed in (1, 2, 3):
        x = sample(seed)
        places, which, values, counts = rep.run([x])
        np.testing.assert_array_equal(places, np.nonzero(x))
        expected = np.unique(x, return_inverse=True, return_counts=True)
        np.testing.assert_array_equal(values, expected[0])
        np.testing.assert_array_equal(which, expected[1].reshape(-1))
        np.testing.assert_array_equal(counts, expected[2])


def test_an_operand_is_compiled_for_the_values_that_decide_it():
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("Transpose", ["places"], ["tuples"]),
        helper.make_node("GatherND", ["x", "tuples"], ["found"]),
    ]
    rep = StepwellBackend.prepare(model(nodes, [("found", FLOAT)]), opt="quick")
    for seed in (1, 2):
        x = sample(seed)
        (found,) = rep.run([x])
        np.testing.assert_array_equal(found, x[np.nonzero(x)])


def test_a_program_has_the_extents_behind_its_outputs(tmp_path):
    path = tmp_path / "model.onnx"
    model([helper.make_node("NonZero", ["x"], ["places"])], [("places", INT64)], path)
    x = sample(4)
    places, count = sw.load(path, opt="quick").compile()(x)
    assert places.shape == (2, 12)
    np.testing.assert_array_equal(places[:, : int(count)], np.nonzero(x))


def test_an_operand_of_a_program_is_refused_in_one_line(tmp_path):
    path = tmp_path / "model.onnx"
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("Neg", ["places"], ["y"]),
    ]
    model(nodes, [("y", INT64)], path)
    message = (
        r"found values that only the inputs 'x' decide: the number of elements of an operand of"
    )
    with pytest.raises(sw.StepwellError, match=message) as error:
        sw.load(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("axis", "expected"), [(1, (3, 2)), (None, (2,)), (-2, (2, 4))])
def test_what_a_known_condition_chooses_has_a_known_extent(axis, expected):
    more = {} if axis is None else {"axis": axis}
    nodes = [
        helper.make_node("Compress", ["x", "holds"], ["part"], **more),
        helper.make_node("Exp", ["part"], ["y"]),
    ]
    proto = model(nodes, [("y", FLOAT)])
    holds = np.array([True, False, True, False])
    proto.graph.initializer.append(onnx.numpy_helper.from_array(holds, "holds"))
    (found,) = StepwellBackend.prepare(proto, opt="quick").run([sample(1)])
    extent = None if axis is None else sample(1).shape[axis]
    assert found.shape == expected
    np.testing.assert_allclose(found, np.exp(np.compress(holds[:extent], sample(1), axis)), 1e-5)
