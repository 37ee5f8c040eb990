"""`stepwell bench` says where it measures, starts libraries unrestricted, and says what they run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from stepwell.targets.target import Target
from stepwell.tools import bench, bench_environment, bench_peers
from stepwell.tools.bench_environment import (
    describe,
    kernels_in,
    machine,
    process_environment,
    withheld,
)

RESTRICTED = {"OPENBLAS_CORETYPE": "Prescott", "MKL_CBWR": "COMPATIBLE", "PATH": "/bin"}

# As Linux says it of the first of two cores.
CPU_INFO = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 17
model name\t: AMD EPYC
stepping\t: 1
power management:

processor\t: 1
model name\t: another
"""

ONEDNN = """onednn_verbose,v1,info,oneDNN v3.13.0 (commit 1289c3b)
onednn_verbose,v1,info,cpu,runtime:threadpool,nthr:1
onednn_verbose,v1,info,cpu,isa:Intel AVX-512 with Intel DL Boost
onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core,undef,src:f32::blocked:ab::f0
onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core,undef,src:f32::blocked:ab::f0
"""

MKL = """MKL_VERBOSE oneMKL 2024.0 Update 2 Product build 20240605 for Intel(R) 64 architecture Intel(R) \
Advanced Vector Extensions 2 (Intel(R) AVX2) enabled processors, Lnx 2.60GHz lp64 gnu_thread
MKL_VERBOSE SGEMM(N,N,256,256,256,0x7ffe64e6db80,0x7f1cedf59010,256) 24.51ms CNR:OFF Dyn:0
stepwell-description: loops for AVX512
"""


def test_the_processor_has_its_own_name():
    host = Target.host()
    found = machine(host, CPU_INFO)
    assert (found.processor, found.identity) == ("AMD EPYC", "family 25, model 17, stepping 1")
    assert f"LLVM calls it {host.cpu}" in str(found)
    unnamed = machine(host, "")
    assert (unnamed.processor, unnamed.identity) == (host.cpu, "")


def test_peers_start_without_what_restricts_them():
    peer = process_environment("numpy", 2, RESTRICTED)
    assert not {"OPENBLAS_CORETYPE", "MKL_CBWR"} & set(peer)
    assert (peer["PATH"], peer["OPENBLAS_NUM_THREADS"]) == ("/bin", "2")
    ours = process_environment(bench_peers.OURS, 2, RESTRICTED)
    assert {**ours, **RESTRICTED} == ours
    assert withheld(RESTRICTED) == [
        "OPENBLAS_CORETYPE=Prescott of the environment is not passed on to the peers",
        "MKL_CBWR=COMPATIBLE of the environment is not passed on to the peers",
    ]


def test_what_libraries_say_of_themselves():
    assert kernels_in(ONEDNN) == [
        "oneDNN v3.13.0",
        "oneDNN for Intel AVX-512 with Intel DL Boost",
        "product by brg_matmul:avx512_core",
    ]
    assert kernels_in(MKL.replace("\\\n", "")) == [
        "oneMKL 2024.0 Update 2 for Intel Advanced Vector Extensions 2 (Intel AVX2) enabled processors",
        "loops for AVX512",
    ]
    assert kernels_in("") == []


@pytest.mark.parametrize("peer", list(bench_peers.PEERS))
def test_every_peer_is_described(peer: str):
    if bench_peers.missing(peer):
        pytest.skip(f"{peer} is not installed")
    found = describe(peer, 1)
    assert found.version[0].isdigit()
    assert found.kernels
    assert found.settings == bench_peers.settings(peer, 1)


def test_a_peer_that_dies_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """As a library does that chooses instructions which the processor does not have."""
    (tmp_path / "sitecustomize.py").write_text("import os\nos.abort()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    assert bench._described(["numpy"], 1) == {}
    said = capsys.readouterr().out
    assert said == "numpy is left out: it cannot multiply two matrices: signal 6\n"


def test_a_peer_that_does_not_end_is_left_out(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(bench_environment, "_DESCRIBE_SECONDS", 0.001)
    assert bench._described(["numpy"], 1) == {}
    assert (
        "numpy is left out: it multiplies no two matrices within 0.001 s" in capsys.readouterr().out
    )
