"""The bytes of a resource are kept as long as something refers to them, and no longer."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import numpy as np
import pytest
import stepwell as sw
from stepwell.dialects.resource_handles import handle_of, storage
from stepwell.dialects.resources import declare, elements_to_numpy, retyped, tensor_elements
from stepwell.driver.pass_manager import module_text
from stepwell.errors import StepwellError
from stepwell.frontend.text import make_context, parse_text
from stepwell.interpreters.harness import interpret
from xdsl.dialects.builtin import DenseResourceAttr, TensorType, f32
from xdsl.parser import Parser

X = np.ones((4, 500), np.float32)
BLOB = "0x40000000" + "0000803F" * 100


def weights(seed: int) -> np.ndarray:
    """2 MB"""
    return np.random.default_rng(seed).standard_normal((500, 1000)).astype(np.float32)


def program(name: str, blob: str = BLOB, used: bool = True) -> str:
    value = f"dense_resource<{name}>" if used else "dense<0.0>"
    return f"""
    func.func @main() -> tensor<100xf32> {{
      %c = arith.constant {value} : tensor<100xf32>
      func.return %c : tensor<100xf32>
    }}
    {{-# dialect_resources: {{ builtin: {{ {name}: "{blob}" }} }} #-}}"""


def bytes_of(name: str) -> str | None:
    gc.collect()
    return storage().lookup(name)


def test_it_is_forgotten_with_its_last_attribute():
    attr = tensor_elements(np.arange(100, dtype=np.float32), "short_lived")
    assert isinstance(attr, DenseResourceAttr)
    name = attr.resource_handle.data
    other = retyped(attr, TensorType(f32, (10, 10)))
    del attr
    assert bytes_of(name)
    array = elements_to_numpy(other)
    del other
    assert bytes_of(name) is None
    assert array[9, 9] == 99


def test_equal_data_is_kept_for_both():
    array = np.arange(200)
    first, second = declare(array, "both"), declare(array.copy(), "both")
    name = first.data
    del first
    assert bytes_of(name)
    del second
    assert bytes_of(name) is None
    again = tensor_elements(array, "both")
    np.testing.assert_array_equal(elements_to_numpy(again), array)


def test_it_is_forgotten_with_its_module():
    module = parse_text(program("of_a_module"))
    gc.collect()
    np.testing.assert_array_equal(interpret(module, [])[0], np.ones(100, np.float32))
    del module
    assert bytes_of("of_a_module") is None


def test_what_no_operation_uses_is_not_kept():
    module = parse_text(program("unused", used=False))
    assert bytes_of("unused") is None
    module.verify()


def test_a_name_may_come_again_with_other_bytes():
    for digits, number in (("0000803F", 1), ("00000040", 2)):
        module = parse_text(program("again", "0x40000000" + digits * 100))
        assert "<again>" in str(module)
        assert (interpret(module, [])[0] == number).all()
        del module
        gc.collect()


def test_a_handle_without_bytes():
    handle = handle_of("no_bytes_yet")
    with pytest.raises(StepwellError, match="resource 'no_bytes_yet' has no bytes"):
        elements_to_numpy(DenseResourceAttr(handle, TensorType(f32, (100,))))
    del handle
    assert bytes_of("no_bytes_yet") is None


def test_what_others_have_put_into_the_table_stays():
    theirs = Parser(make_context(), program("theirs")).parse_module()
    ours = parse_text(program("theirs"))
    del ours
    assert bytes_of("theirs") == BLOB
    assert (interpret(theirs, [])[0] == 1).all()
    storage()._blob_storage.pop("theirs")


def test_text_of_a_module_brings_them_back():
    ctx = make_context()
    ctx.get_optional_dialect("builtin")  # what prints resources
    array = np.arange(100, dtype=np.float32)
    attr = tensor_elements(array, "printed")
    assert isinstance(attr, DenseResourceAttr)
    name = attr.resource_handle.data
    module = parse_text(
        f"""func.func @main() -> tensor<100xf32> {{
          %c = arith.constant dense_resource<{name}> : tensor<100xf32>
          func.return %c : tensor<100xf32>
        }}"""
    )
    del attr
    gc.collect()
    text = module_text(module, ctx)
    del module
    assert bytes_of(name) is None
    np.testing.assert_array_equal(interpret(parse_text(text), [])[0], array)


def test_compiled_functions_release_their_weights():
    """Packed ones too. What a function compiled before has left behind is not counted."""

    def layer(seed: int):
        w = weights(seed)
        function = sw.jit(lambda x: sw.relu(x @ w))
        low = function.lower(X)
        for level in ("te", "loop", "llvm"):
            assert len(low.as_text(level)) > w.nbytes
        np.testing.assert_allclose(function(X), np.maximum(X @ w, 0), rtol=1e-4, atol=1e-3)
        return function, low, weakref.ref(w)

    layer(0)
    gc.collect()
    before = len(storage()._blob_storage)
    tracemalloc.start()
    try:
        function, low, array = layer(1)
        gc.collect()
        assert len(storage()._blob_storage) > before
        assert tracemalloc.get_traced_memory()[0] > weights(1).nbytes
        del low
        gc.collect()
        assert len(storage()._blob_storage) == before, "compiled code needs no text"
        np.testing.assert_allclose(function(X), np.maximum(X @ weights(1), 0), rtol=1e-4, atol=1e-3)
        del function
        gc.collect()
        assert array() is None
        assert tracemalloc.get_traced_memory()[0] < weights(1).nbytes / 2
    finally:
        tracemalloc.stop()
