"""
How long real models take to their first result in a new process, compiled and from the cache; their kernels and memory.

    python benchmarks/model_start.py [MODEL …] [--threads N]

Each model is run in two processes, one after the other, with a cache folder that is empty at first. Python has the
package's bytecode, as where it is installed: compiling its sources takes longer than compiling most models. Wall seconds are
from the start of the interpreter's work to the first result, imports included; CPU seconds are those of the process and
of those it starts. Kernels are calls, the distinct ones are functions, copies are those without arithmetic, and
memory is the arena over the most bytes that are alive at once.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

HEADER = f"{'cold s':>8}{'CPU s':>8}{'cached s':>10}{'CPU s':>8}{'kernels':>9}{'distinct':>10}{'copies':>8}{'memory':>8}"

ROOT = Path(__file__).resolve().parent.parent
NOT_INSTALLED = re.compile(rf"{re.escape(str(ROOT))}/(\.|build|dist|docs|examples|tests)")


def starts(model: str, threads: int) -> str:
    """The columns of `HEADER` for a model."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "STEPWELL_CACHE": str(Path(folder) / "cache")}
        cold, cached = (_start(model, threads, environment) for _ in range(2))
    if not cached["is_cached"]:
        raise SystemExit(f"error: '{model}' was compiled again by the second process")
    return (
        f"{cold['wall']:8.2f}{cold['cpu']:8.2f}{cached['wall']:10.2f}{cached['cpu']:8.2f}"
        f"{cold['kernels']:9}{cold['distinct']:10}{cold['copies']:8}{cold['memory']:8.2f}"
    )


def _start(model: str, threads: int, environment: dict[str, str]) -> dict[str, Any]:
    command = [sys.executable, __file__, model, "--threads", str(threads), "--child"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"error: '{model}' did not run: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def first_result(name: str, threads: int) -> dict[str, Any]:
    """What one process measures."""
    start = perf_counter()
    import stepwell as sw
    from real_models import MODELS, constants_of

    (model,) = (one for one in MODELS if one.name == name)
    feeds, constants = model.feeds(), constants_of(model)
    shapes = {key: array.shape for key, array in feeds.items() if array.ndim}
    lowered = sw.load(str(model.path), shapes=shapes, constants=constants)
    run = lowered.compile(threads=threads)
    run(**{key: array for key, array in feeds.items() if key not in constants})
    found = {
        "wall": perf_counter() - start,
        "cpu": sum(os.times()[:4]),
        "is_cached": lowered.timings[0][0] == "cache",
    }
    return found if found["is_cached"] else {**found, **counts_of(lowered)}


def counts_of(lowered: Any) -> dict[str, Any]:
    """The kernels of a program, those of them that differ and that only copy, and its memory over the least that it needs."""
    from xdsl.dialects import arith, func, math

    module = lowered.unscheduled()
    called = [op.callee.root_reference.data for op in module.walk() if isinstance(op, func.CallOp)]
    neither = (arith.ConstantOp, arith.SelectOp, arith.CmpiOp, arith.IndexCastOp)
    computing = {
        function.sym_name.data
        for function in module.ops
        if isinstance(function, func.FuncOp)
        for op in function.walk()
        if op.dialect_name() in (arith.Arith.name, math.Math.name) and not isinstance(op, neither)
    }
    plans = lowered.memory_plans()
    bound = sum(plan.lower_bound for plan in plans)
    return {
        "kernels": len(called),
        "distinct": len(set(called)),
        "copies": sum(name not in computing for name in called),
        "memory": sum(plan.total for plan in plans) / bound if bound else 1.0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="by default all")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(first_result(args.models[0], args.threads)))
        return
    from real_models import MODELS  # late: its imports are part of what a child measures

    compileall.compile_dir(ROOT, quiet=1, rx=NOT_INSTALLED)
    names = [model.name for model in MODELS if model.path.exists()]
    for name in args.models:
        if name not in names:
            parser.error(f"found {name!r}, expected one of {', '.join(names)}; see `make models`")
    print(f"{'model':18}{HEADER}")
    for name in args.models or names:
        print(f"{name:18}{starts(name, args.threads)}", flush=True)


if __name__ == "__main__":
    main()
