"""
The programs of examples/programs, as each library runs them.

A file defines `inputs(rng, ...)`, whose defaults are the sizes that are timed, `SMALL`, the sizes that tests take, and

    program(np, *inputs)         the program over NumPy's names: `np` may be NumPy, Stepwell, JAX's NumPy or PyTorch
    compiled(np, lax, *inputs)   for JAX and Stepwell, where there are loops: `lax` has scan, fori_loop, while_loop and cond
    stepwell, jax, torch(np, *inputs)   where a library names something otherwise
    numba(*inputs)               the loops that one writes for Numba

of which `program` is what the result must be, by NumPy. `RTOL` may say how far from it results may be, in parts of the
greatest magnitude.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

FOLDER = Path(__file__).parents[1] / "examples" / "programs"
PEERS = ("numpy", "jax", "numba", "torch")
SEED = 0

FASTMATH = {"contract", "reassoc", "nsz", "arcp"}
"""
What Numba's code may do: sums in another order, products fused with sums, products with reciprocals in place of divisions.

Stepwell's does as much by default, but for the last: it multiplies by reciprocals of sums alone, and other quotients stay
those of a division.
"""


def environment() -> dict[str, str]:
    """The environment of a process whose libraries compute on one thread, JAX on the processor."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    return {**os.environ, **one, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}


@dataclass(frozen=True)
class Program:
    name: str
    """Theme and file: `images/box_blur`."""
    module: ModuleType = field(repr=False)

    @property
    def title(self) -> str:
        """What it computes, from its file's first line."""
        return (self.module.__doc__ or "").strip().splitlines()[0].rstrip(".")

    def inputs(self, *, small: bool = False) -> tuple[Any, ...]:
        return self.module.inputs(np.random.default_rng(SEED), **self.module.SMALL if small else {})

    def expected(self, inputs: tuple[Any, ...]) -> list[np.ndarray]:
        """What NumPy computes."""
        with np.errstate(all="ignore"):
            return leaves(self.module.program(np, *inputs))

    def traceable(self) -> Callable[..., Any]:
        """What `stepwell.jit` is given."""
        import stepwell as sw

        return self._form("stepwell", sw, sw)

    def call(self, library: str, inputs: tuple[Any, ...]) -> Callable[[], Any] | None:
        """What runs the program with a library, the inputs in its arrays; None where it has none for that library."""
        if library == "stepwell":
            import stepwell as sw

            return partial(sw.jit(self.traceable(), threads=1), *inputs)
        if library == "jax":
            return self._call_jax(inputs)
        if library == "torch":
            return self._call_torch(inputs)
        if library == "numba":
            if not hasattr(self.module, "numba"):
                return None
            from numba import njit

            return partial(njit(self.module.numba, fastmath=FASTMATH), *inputs)
        return partial(self.module.program, np, *inputs)

    def _form(self, library: str, names: Any, loops: Any) -> Callable[..., Any]:
        """The function for a library that compiles."""
        if hasattr(self.module, library):
            return partial(getattr(self.module, library), names)
        if hasattr(self.module, "compiled"):
            return partial(self.module.compiled, names, loops)
        return partial(self.module.program, names)

    def _call_jax(self, inputs: tuple[Any, ...]) -> Callable[[], Any]:
        import jax

        # As its tutorials: 64 bits where the data are of 64 bits.
        jax.config.update("jax_enable_x64", any(np.asarray(x).itemsize == 8 for x in inputs))
        jitted = jax.jit(self._form("jax", jax.numpy, jax.lax))
        arrays = [jax.numpy.asarray(x) for x in inputs]
        return lambda: jax.block_until_ready(jitted(*arrays))

    def _call_torch(self, inputs: tuple[Any, ...]) -> Callable[[], Any]:
        import torch

        torch.set_num_threads(1)
        function = getattr(self.module, "torch", self.module.program)
        tensors = [torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in inputs]
        return partial(function, torch, *tensors)


def leaves(result: Any) -> list[np.ndarray]:
    """The arrays of a result, which may be nested tuples and lists."""
    if isinstance(result, (tuple, list)):
        return [leaf for one in result for leaf in leaves(one)]
    return [np.asarray(result)]


def differences(program: Program, found: Any, expected: list[np.ndarray]) -> Iterator[str]:
    """What is wrong with the values of a result, a line each; nothing if it is right."""
    results = leaves(found)
    if len(results) != len(expected):
        yield f"found {len(results)} results, expected {len(expected)}"
        return
    for number, (one, other) in enumerate(zip(results, expected, strict=True)):
        if one.shape != other.shape:
            yield f"result {number}: found shape {one.shape}, expected {other.shape}"
            continue
        is_narrow = np.float32 in (one.dtype, other.dtype)
        rtol = getattr(program.module, "RTOL", 2e-5 if is_narrow else 1e-10)
        wide, true = one.astype(np.float64), other.astype(np.float64)
        finite = np.abs(true[np.isfinite(true)])
        scale = rtol * max(1e-30, finite.max(initial=0.0))
        if not np.allclose(wide, true, rtol=0, atol=scale, equal_nan=True):
            worst = np.nanmax(np.abs(wide - true))
            yield f"result {number}: differs by {worst:.3g}, expected at most {scale:.3g}"


def load(path: Path) -> Program:
    name = path.relative_to(FOLDER).with_suffix("").as_posix()
    spec = spec_from_file_location(f"examples.programs.{name.replace('/', '.')}", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return Program(name, module)


def programs() -> dict[str, Program]:
    """All of them by name, in order."""
    return {one.name: one for one in map(load, sorted(FOLDER.glob("*/*.py")))}
