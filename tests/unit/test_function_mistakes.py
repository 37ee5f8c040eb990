"""What the public functions say about wrong arguments: one line, at the user's line."""

import numpy as np
import pytest
import stepwell as sw

MISTAKES = {
    "found shapes 2x3 and 4": lambda x: sw.add(x, np.zeros(4)),
    "found shape 2x3 of 6 elements and target": lambda x: sw.reshape(x, (4,)),
    "found axis 2 for a tensor of rank 2": lambda x: sw.sum(x, 2),
    "found axis 5 for a tensor of 2 axes": lambda x: sw.split(x, 2, 5),
    "found axes .*expected each axis once": lambda x: sw.max(x, (0, 0)),
    "found 'first' for axis": lambda x: sw.sum(x, "first"),
    r"found axes \[0, 1\], expected a single axis": lambda x: sw.softmax(x, (0, 1)),
    "found complex numbers in gelu": lambda x: sw.gelu(x * 1j),
    "found dtype complex256 for the result": lambda x: sw.astype(x, np.clongdouble),
    "found dtype 'int33'": lambda x: sw.astype(x, "int33"),
    "found a str as an operand": lambda x: sw.exp("x"),
    "found the list .* rows of equal lengths": lambda x: sw.exp([[1], [2, 3]]),
    "a masked array": lambda x: sw.exp(np.ma.masked_array(x)),
    "found perm": lambda x: sw.transpose(x, (0, 0)),
    "found shape 2x3 to broadcast to 4": lambda x: sw.broadcast_to(x, 4),
    "found 2 parts for an extent of 3": lambda x: sw.split(x, 2, 1),
    "expected a list or tuple of at least one tensor": lambda x: sw.concatenate([]),
    "equal ranks and equal": lambda x: sw.concatenate([x, x[0]]),
    "found pad_width": lambda x: sw.pad(x, (1, 2, 3)),
    "found mode 'linear_ramp'": lambda x: sw.pad(x, 1, "linear_ramp"),
    "found the Python integer 300 beside uint8": lambda x: sw.pad(
        sw.astype(x, "u1"), 1, constant_values=300
    ),
    "found constant_values": lambda x: sw.pad(x, 1, constant_values=(1, 2, 3)),
    "found scale of shape 2": lambda x: sw.layer_norm(x, np.ones(2)),
    "found 'big' for alpha": lambda x: sw.leaky_relu(x, "big"),
    "found source 0 and destination": lambda x: sw.moveaxis(x, 0, (0, 1)),
    "found extent 2 on axis 0": lambda x: sw.squeeze(x, 0),
    r"found a result of shape \[2, 0, 4294967296, 4294967296\]": lambda x: sw.broadcast_to(
        x[:, :0, None, None], (2, 0, 2**32, 2**32)
    ),
    "found a result of 65 axes, expected at most 64": lambda x: sw.reshape(x, (1,) * 63 + (2, 3)),
    "found dtype StringDType": lambda x: sw.add(x, np.zeros(3, np.dtypes.StringDType())),
    "found a fraction below 0 or above 1": lambda x: sw.percentile(x, [50, 101]),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_are_one_line_at_the_call(message):
    with pytest.raises(sw.StepwellError, match=message) as caught:
        MISTAKES[message](np.ones((2, 3), "f4"))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(__file__)


OF_ARRAYS_ONLY = {message for message in MISTAKES if "masked" in message}


@pytest.mark.parametrize("message", sorted(MISTAKES.keys() - OF_ARRAYS_ONLY))
def test_mistakes_in_a_traced_function(message):
    with pytest.raises(sw.StepwellError, match=message) as caught:
        sw.jit(MISTAKES[message]).lower(np.ones((2, 3), "f4"))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(__file__)


def test_containers_in_themselves():
    rows = [np.ones(3)]
    rows.append(rows)
    message = "found containers without end in '{}', expected"
    with pytest.raises(sw.StepwellError, match=message.format("x")) as caught:
        sw.jit(lambda x: x[0])(rows)
    assert str(caught.value).startswith(__file__)
    with pytest.raises(sw.StepwellError, match=message.format("result")):
        sw.jit(lambda x: rows)(np.ones(3))
