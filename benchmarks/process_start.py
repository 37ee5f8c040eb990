"""
What a new process takes to import Stepwell and call a function that an earlier process compiled, beside JAX.

    python benchmarks/process_start.py [--rounds N] [--check]

Each process starts Python, imports NumPy, imports the package, and calls one jitted function on 16 elements. CPU seconds,
of the process and those that it starts, are shown beside wall seconds, since they say little of what else the machine
does; the rows are medians of processes that ran in turns. JAX runs where it is installed, with its compilation cache on
disk as it advises. `--check` exits with 1 when Stepwell's process takes 0.3 s of CPU or more.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import median

LIMIT_SECONDS = 0.3

PROGRAMS = {
    "python": "pass",
    "numpy": "import numpy as np\nnp.arange(16, dtype=np.float32)",
    "stepwell": """
import numpy as np
import stepwell as sw

@sw.jit
def f(x):
    return sw.tanh(x) * 2 + x.sum()

f(np.arange(16, dtype=np.float32))
""",
    "jax": """
import numpy as np
import jax
import jax.numpy as jnp
jax.config.update("jax_compilation_cache_dir", CACHE)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)

@jax.jit
def f(x):
    return jnp.tanh(x) * 2 + x.sum()

np.asarray(f(np.arange(16, dtype=np.float32)))
""",
}
"""What is run, by the name of its row; a process does what those above it do, but for JAX."""


def seconds(file: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Of CPU and of the clock, that a new process takes to run a file."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, str(file)], env=environment, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="processes of each kind")
    parser.add_argument("--check", action="store_true", help="fail when the limit is passed")
    arguments = parser.parse_args()

    names = [name for name in PROGRAMS if name in ("python", "stepwell") or find_spec(name)]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "STEPWELL_CACHE": str(Path(folder, "compiled"))}
        files = {name: Path(folder, f"{name}_program.py") for name in names}
        for name, file in files.items():
            file.write_text(
                PROGRAMS[name].replace("CACHE", repr(str(Path(folder, "compiled_by_jax"))))
            )
        first = {name: seconds(file, environment) for name, file in files.items()}
        rounds = [
            {name: seconds(file, environment) for name, file in files.items()}
            for _ in range(arguments.rounds)
        ]
    print(f"{'process':<12}{'CPU s':>8}{'wall s':>8}{'first: CPU s':>14}{'wall s':>8}")
    cached = {
        name: [median(times) for times in zip(*(r[name] for r in rounds), strict=True)]
        for name in names
    }
    for name in names:
        row = (*cached[name], *first[name])
        print(f"{name:<12}{row[0]:8.3f}{row[1]:8.3f}{row[2]:14.3f}{row[3]:8.3f}")
    return int(arguments.check and cached["stepwell"][0] >= LIMIT_SECONDS)


if __name__ == "__main__":
    raise SystemExit(main())
