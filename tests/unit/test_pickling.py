"""Jitted functions and Executables go to other processes."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import onnx
import pytest
import stepwell as sw
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from stepwell import StepwellError

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@sw.jit
def doubled(x):
    return x * 2


def tripled(x):
    return x * 3


def test_a_decorated_function_is_pickled_by_name():
    doubled.__wrapped__.__module__ = __name__
    assert pickle.loads(pickle.dumps(doubled)) is sys.modules[__name__].doubled


def test_a_jitted_function_is_made_again_with_its_options():
    again = pickle.loads(pickle.dumps(sw.jit(tripled, opt="quick", fp="strict")))
    assert repr(again) == "<jit tripled(x)>"
    assert again._options.opt == "quick"
    assert again._options.fp == "strict"
    np.testing.assert_array_equal(again(X), X * 3)


def test_a_function_without_a_name_needs_cloudpickle(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    monkeypatch.setitem(sys.modules, "joblib.externals.cloudpickle", None)
    with pytest.raises(
        StepwellError, match=r"found the function .* to pickle, .* install cloudpickle"
    ):
        pickle.dumps(sw.jit(lambda x: x + 1))


def test_a_function_without_a_name_goes_with_its_code():
    again = pickle.loads(pickle.dumps(sw.jit(lambda x: x + 1, opt="quick")))
    np.testing.assert_array_equal(again(X), X + 1)


def test_an_executable_runs_in_another_process(tmp_path):
    """With a weight that was packed when the code was loaded, and let go then."""
    weight = np.random.default_rng(0).standard_normal((64, 128), np.float32)
    x = np.ones((32, 64), np.float32)
    executable = sw.jit(lambda x: sw.tanh(x @ weight)).lower(x).compile()
    (tmp_path / "executable").write_bytes(pickle.dumps(executable))
    program = (
        "import pickle, sys, numpy as np\n"
        "run = pickle.load(open(sys.argv[1] + '/executable', 'rb'))\n"
        "np.save(sys.argv[1] + '/result.npy', run(np.ones((32, 64), np.float32)))\n"
        "assert 'xdsl' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True
    )
    assert not done.returncode, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "result.npy"), executable(x))


def test_a_lowered_program_goes_to_another_process_with_its_constants(tmp_path):
    weight = np.random.default_rng(0).standard_normal((64, 128), np.float32)
    low = sw.jit(lambda x: sw.tanh(x @ weight), opt="quick", fp="strict").lower(
        np.ones((32, 64), np.float32)
    )
    low.as_text("asm")  # what it keeps of lower levels stays here
    (tmp_path / "lowered").write_bytes(pickle.dumps(low))
    program = (
        "import pickle, sys, numpy as np\n"
        "low = pickle.load(open(sys.argv[1] + '/lowered', 'rb'))\n"
        "np.save(sys.argv[1] + '/result.npy', low.compile()(np.ones((32, 64), np.float32)))\n"
        "print(low, low.options.fp, low.compile().signature)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True
    )
    assert not done.returncode, done.stderr
    executable = low.compile()
    assert done.stdout == f"{low} strict {executable.signature}\n"
    result = executable(np.ones((32, 64), np.float32))
    np.testing.assert_array_equal(np.load(tmp_path / "result.npy"), result)


@pytest.mark.filterwarnings("ignore::stepwell.PerformanceWarning")
def test_a_long_lowered_program_and_one_of_a_model_are_pickled(tmp_path):
    def long(x):
        for _ in range(400):
            x = x + 1
        return x

    low = sw.jit(long, opt="quick").lower(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(low)).compile()(X), X + 400)
    np.testing.assert_array_equal(copy.deepcopy(low).compile()(X), X + 400)
    graph = make_graph(
        [make_node("Neg", ["x"], ["y"])],
        "g",
        [make_tensor_value_info("x", TensorProto.FLOAT, X.shape)],
        [make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    onnx.save(make_model(graph, opset_imports=[make_opsetid("", 18)]), tmp_path / "m.onnx")
    low = pickle.loads(pickle.dumps(sw.load(tmp_path / "m.onnx", opt="quick")))
    np.testing.assert_array_equal(low.compile()(X), -X)


@pytest.mark.slow
def test_spawned_processes_and_joblib_call_jitted_functions(tmp_path):
    (tmp_path / "functions.py").write_text(
        "import stepwell as sw\n@sw.jit\ndef doubled(x):\n    return x * 2\n"
    )
    (tmp_path / "main.py").write_text(
        "import multiprocessing, joblib, numpy as np, stepwell as sw, functions\n"
        "@sw.jit\n"
        "def tripled(x):\n    return x + functions.doubled(x)\n"
        "if __name__ == '__main__':\n"
        "    x = np.ones(3)\n"
        "    with multiprocessing.get_context('spawn').Pool(2) as pool:\n"
        "        for run in (functions.doubled, tripled, tripled.lower(x).compile()):\n"
        "            np.testing.assert_array_equal(pool.map(run, [x, 2 * x])[1], run(2 * x))\n"
        "    for run in (functions.doubled, tripled):\n"
        "        parts = joblib.Parallel(2)(joblib.delayed(run)(i * x) for i in range(3))\n"
        "        np.testing.assert_array_equal(parts[2], run(2 * x))\n"
    )
    done = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True)
    assert not done.returncode, done.stderr
