"""
What a measurement depends on besides the programs: the processor, the variables that a contestant's process
starts with, and what each library says that it runs on this processor.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from ..errors import StepwellError
from ..frozen import frozen
from ..runtime.measure import environment
from ..targets.target import Target
from .bench_peers import OURS, settings, version

_CPU_INFO = Path("/proc/cpuinfo")

_RESTRICTIONS = (
    *("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"),
    *("MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE"),
    *("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_CPU_ISA_HINTS", "DNNL_CPU_ISA_HINTS"),
    *("ATEN_CPU_CAPABILITY", "NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES"),
)
"""
Variables that make a library run other kernels than it would choose. Whoever set one did not mean this
measurement: a peer starts without it.
"""

_VERBOSE = {"MKL_VERBOSE": "1", "ONEDNN_VERBOSE": "1", "DNNL_VERBOSE": "1"}
_DESCRIBE_SECONDS = 120
_MARK = "stepwell-description:"


# The machine.


@frozen
class Machine:
    """The processor by its own name, and as compilers call it; `identity` is its family, model and stepping."""

    processor: str
    identity: str
    cpu: str
    cores: int
    vector_bits: int
    caches: Sequence[dict[str, Any]]

    def __str__(self) -> str:
        caches = ", ".join(f"L{cache['level']} {_size(cache['bytes'])}" for cache in self.caches)
        identity = f"{self.identity}; " if self.identity else ""
        cores = "1 core" if self.cores == 1 else f"{self.cores} cores"
        return (
            f"{self.processor} ({identity}LLVM calls it {self.cpu}), {cores}, "
            f"{self.vector_bits}-bit vectors, {caches}"
        )


def machine(host: Target, cpu_info: str | None = None) -> Machine:
    """This machine. `cpu_info` stands for the text of /proc/cpuinfo, which other systems do not have."""
    if cpu_info is None:
        cpu_info = _CPU_INFO.read_text() if _CPU_INFO.exists() else ""
    said = dict(re.findall(r"^([^\t:]+?)\s*:\s*(.*)$", cpu_info.partition("\n\n")[0], re.MULTILINE))
    identity = ", ".join(
        f"{label} {said[key]}"
        for key, label in (("cpu family", "family"), ("model", "model"), ("stepping", "stepping"))
        if key in said
    )
    caches = [asdict(cache) for cache in host.caches]
    return Machine(
        said.get("model name", host.cpu), identity, host.cpu, host.cores, host.vector_bits, caches
    )


def _size(bytes_: int) -> str:
    return f"{bytes_ >> 20} MiB" if bytes_ >= 1 << 20 else f"{bytes_ >> 10} KiB"


# The process of a contestant.


def process_environment(
    name: str, threads: int, inherited: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """All variables of a contestant's process. Ours keeps what it is given: it calls none of these libraries."""
    kept = {
        key: value for key, value in inherited.items() if name == OURS or key not in _RESTRICTIONS
    }
    return {**kept, **environment(threads)}


def withheld(inherited: Mapping[str, str] = os.environ) -> list[str]:
    """A line for each variable of the environment that the peers' processes start without."""
    return [
        f"{name}={inherited[name]} of the environment is not passed on to the peers"
        for name in _RESTRICTIONS
        if name in inherited
    ]


# What a library runs.


@frozen
class Description:
    """A library as it is measured: `kernels` is what it says of the instructions it chose here."""

    version: str
    kernels: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        return f"{self.version}: {'; '.join(self.kernels) or 'does not say which kernels it runs'}"


def describe(name: str, threads: int) -> Description:
    """
    Have the library multiply two matrices in a process of its own, and read what it says of itself.

    Raises StepwellError when that process does not come to its end: such a library cannot be measured.
    """
    command = [sys.executable, "-m", f"{__package__}.bench_probe_peer", name, str(threads)]
    try:
        done = subprocess.run(
            command,
            env={**process_environment(name, threads), **_VERBOSE},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_DESCRIBE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise StepwellError(f"multiplies no two matrices within {_DESCRIBE_SECONDS} s") from None
    if done.returncode:
        how = "signal" if done.returncode < 0 else "exit status"
        raise StepwellError(f"cannot multiply two matrices: {how} {abs(done.returncode)}")
    return Description(version(name), kernels_in(done.stdout), settings(name, threads))


def statement(text: str) -> str:
    """What the process of `describe` prints for `kernels_in` to find."""
    return f"{_MARK} {text}"


_PATTERNS = (
    (re.compile(rf"^{_MARK} (.*)$"), "{0}"),
    # MKL says which of Intel's instruction sets it has enabled; on other makers' it is the generic one.
    (
        re.compile(
            r"^MKL_VERBOSE (oneMKL \S+(?: Update \d+)?) .*? for Intel\(R\) 64 architecture (.*?) ?processors,"
        ),
        "{0} for {1} processors",
    ),
    (re.compile(r"^onednn_verbose,(?:v\d+,)?info,(oneDNN v\S+)"), "{0}"),
    (re.compile(r"^onednn_verbose,(?:v\d+,)?info,cpu,isa:(.*)$"), "oneDNN for {0}"),
    (re.compile(r"^onednn_verbose,(?:v\d+,\w+,)?exec,cpu,matmul,([^,]+),"), "product by {0}"),
)


def kernels_in(output: str) -> list[str]:
    """What libraries print of themselves with `_VERBOSE`, in short, each once."""
    found: list[str] = []
    for line in output.splitlines():
        for pattern, form in _PATTERNS:
            if match := pattern.match(line.strip()):
                found.append(form.format(*match.groups()).replace("(R)", ""))
    return list(dict.fromkeys(found))
