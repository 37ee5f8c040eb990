"""What JAX, PyTorch, Numba and TensorFlow call things: for names and options that are not here, what to write instead."""

from __future__ import annotations

_LATER_BATCH = (
    "there is no automatic batching yet; write the function on whole arrays with a leading axis, or use stepwell.map, "
    "which loops over it"
)
_LATER_GRADIENT = (
    "there are no automatic gradients yet; write the derivative, or finite differences"
)
_JIT = "use stepwell.jit, which needs no types and no modes"
_THREADS = "use range, or stepwell.fori_loop: kernels are put on threads by themselves"
_ONE_DEVICE = "there is one device, the processor, and arrays are NumPy's; leave it out"
_NUMPYS_NAMES = "stepwell itself has NumPy's names: stepwell.sum, stepwell.exp"
_CONTROL = "stepwell itself has scan, map, cond, switch, while_loop and fori_loop; the rest has NumPy's names"
_TREES = "write a comprehension over the dictionary or list; jit and the loops take nested ones"

PACKAGE: dict[str, str] = {
    **dict.fromkeys(("vmap", "pmap", "xmap", "guvectorize", "shard_map"), _LATER_BATCH),
    **dict.fromkeys(
        (
            *("grad", "value_and_grad", "jacobian", "jacfwd", "jacrev", "hessian", "vjp", "jvp"),
            *("GradientTape", "no_grad", "stop_gradient", "custom_vjp", "custom_jvp"),
        ),
        _LATER_GRADIENT,
    ),
    **dict.fromkeys(
        ("njit", "function", "compile", "script", "cfunc", "stencil", "jitclass"), _JIT
    ),
    **dict.fromkeys(("prange", "set_num_threads", "get_num_threads"), _THREADS),
    **dict.fromkeys(("device_put", "device_get", "devices", "device", "cuda"), _ONE_DEVICE),
    **dict.fromkeys(("numpy", "np", "jnp"), _NUMPYS_NAMES),
    **dict.fromkeys(("lax", "control_flow"), _CONTROL),
    **dict.fromkeys(("tree", "tree_map", "tree_util", "tree_flatten"), _TREES),
    "block_until_ready": "calls return when the result is there; leave it out",
    "make_jaxpr": "write print(stepwell.jit(f).lower(x).as_text())",
    "debug": "use stepwell.debug_print and stepwell.debug_callback",
    "pure_callback": "use stepwell.debug_callback, which returns nothing; or split the function there",
    "tensor": "use stepwell.array, or NumPy's arrays as they are",
    "from_numpy": "NumPy's arrays are taken as they are",
    "cat": "use stepwell.concatenate",
    "rand": "use stepwell.random.uniform(key, shape)",
    "randn": "use stepwell.random.normal(key, shape)",
    "manual_seed": "use key = stepwell.random.PRNGKey(seed), and give the key to each function",
    "Module": "write functions of arrays; stepwell.from_torch takes a torch.nn.Module",
    "Sequential": "write functions of arrays; stepwell.from_torch takes a torch.nn.Module",
}
"""By name: `module 'stepwell' has no attribute NAME: ...`."""

NETWORKS: dict[str, str] = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), "use stepwell.nn.conv, for any number of axes"),
    **dict.fromkeys(
        ("max_pool1d", "max_pool2d", "max_pool3d"),
        "use stepwell.nn.max_pool, for any number of axes",
    ),
    **dict.fromkeys(
        ("avg_pool", "avg_pool1d", "avg_pool2d", "avg_pool3d"),
        "use stepwell.nn.average_pool, for any number of axes",
    ),
    **dict.fromkeys(
        ("attention", "scaled_dot_product_attention", "dot_product_attention"),
        "write stepwell.softmax(q @ k.swapaxes(-1, -2) * scale) @ v, which becomes one kernel",
    ),
    **dict.fromkeys(
        ("cross_entropy", "softmax_cross_entropy", "nll_loss"),
        "write -(onehot * stepwell.nn.log_softmax(logits)).sum(-1), with stepwell.one_hot(labels, classes)",
    ),
    "mse_loss": "write ((x - y) ** 2).mean()",
    "linear": "write x @ w.T + b",
    "Linear": "write x @ w.T + b; stepwell.from_torch takes a torch.nn.Module",
    "dropout": "results are those of inference; leave it out",
    "embedding": "write table[indices]",
    "softmax": "use stepwell.softmax",
    "tanh": "use stepwell.tanh",
    "one_hot": "use stepwell.one_hot",
}
"""By name: `module 'stepwell.nn' has no attribute NAME: ...`."""

_KEY = "random numbers come from keys: key = stepwell.random.PRNGKey(seed)"

RANDOM: dict[str, str] = {
    "rand": f"{_KEY}, then stepwell.random.uniform(key, shape)",
    "random": f"{_KEY}, then stepwell.random.uniform(key, shape)",
    "random_sample": f"{_KEY}, then stepwell.random.uniform(key, shape)",
    "randn": f"{_KEY}, then stepwell.random.normal(key, shape)",
    "standard_normal": f"{_KEY}, then stepwell.random.normal(key, shape)",
    "seed": _KEY,
    "default_rng": _KEY,
    "RandomState": _KEY,
    "Generator": _KEY,
}
"""The same for `stepwell.random`, of NumPy's names."""

_STATIC = "numbers, strings, bools and None that are no arrays are compiled for by themselves; leave it out"
_BUFFERS = "results may take out= of the compiled function; leave it out"

JIT_OPTIONS: dict[str, str] = {
    **dict.fromkeys(("static_argnums", "static_argnames"), _STATIC),
    **dict.fromkeys(("donate_argnums", "donate_argnames"), _BUFFERS),
    **dict.fromkeys(("device", "backend"), "there is one, the processor; leave it out"),
    **dict.fromkeys(("nopython", "nogil", "forceobj", "looplift", "inline"), "leave it out"),
    "parallel": "write threads=, which is all processors by default",
    "fastmath": "write fp='fast'",
    "error_model": "division by zero gives inf and nan, as in NumPy; leave it out",
    "dynamic": "each shape is compiled for; leave it out",
    "mode": "leave it out",
    "fullgraph": "functions are always traced whole; leave it out",
}
"""Options of other packages' `jit` and `compile`."""
