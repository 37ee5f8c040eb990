"""
The tables of docs/performance.md from what `stepwell bench --json` wrote.

    stepwell bench --json one.json; stepwell bench --threads 2 --json two.json
    stepwell bench --target x86-64-v3 --json v3.json
    python docs/generate_performance.py one.json two.json v3.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from math import exp, log
from pathlib import Path
from statistics import median
from typing import Any

PAGE = Path(__file__).parent / "performance.md"
PEERS = {
    "numpy": "NumPy",
    "torch": "PyTorch",
    "onnxruntime": "ONNX Runtime",
    "openvino": "OpenVINO",
    "best": "best",
}
HEADINGS = {
    (1, "host"): "## One thread",
    (2, "host"): "## Two threads",
    (1, "x86-64-v3"): "## One thread, compiled for x86-64-v3",
}
"""The section for what was measured with this many threads for this target; a new one is added at the end."""


def ratios(program: dict[str, Any]) -> dict[str, float]:
    """How many times longer each peer took, by medians; `best` is the least."""
    times = {name: median(samples) for name, samples in program["samples"].items()}
    ours = times.pop("stepwell")
    found = {name: time / ours for name, time in times.items()}
    return {**found, "best": min(found.values())} if found else {}


def table(programs: Iterable[dict[str, Any]]) -> list[str]:
    lines = [
        f"| kernel | ms | GFLOP/s | GB/s | {' | '.join(PEERS.values())} |",
        "|---|---:|---:|---:|" + "---:|" * len(PEERS),
    ]
    for program in programs:
        seconds = median(program["samples"]["stepwell"])
        work = program["work"]
        moved = (work["bytes_read"] + work["bytes_written"]) / seconds / 1e9
        of_peers = ratios(program)
        cells = [f"{of_peers[p]:.2f}x" if p in of_peers else "-" for p in PEERS]
        rate = (work["flops"] or 0) / seconds / 1e9
        lines.append(
            f"| {program['name']} | {seconds * 1e3:.3g} | {rate:.0f} | {moved:.0f} | {' | '.join(cells)} |"
        )
    return lines


def means(programs: list[dict[str, Any]]) -> list[str]:
    """The geometric mean of the ratios in each group, and of all."""
    groups = list(dict.fromkeys(program["group"] for program in programs))
    lines = [
        "| geometric mean of | " + " | ".join(PEERS.values()) + " |",
        "|---|" + "---:|" * len(PEERS),
    ]
    for group in (*groups, "all"):
        chosen = [p for p in programs if group in (p["group"], "all")]
        cells: list[str] = []
        for peer in PEERS:
            found = [log(r[peer]) for p in chosen if peer in (r := ratios(p))]
            cells.append(f"{exp(sum(found) / len(found)):.2f}x" if found else "-")
        lines.append(f"| {group} ({len(chosen)}) | {' | '.join(cells)} |")
    return lines


def circumstances(data: dict[str, Any]) -> list[str]:
    """The processor, its roofs, and a row for each peer: what it runs here and how it was set."""
    machine, roofs = data["machine"], data["roofs"]
    caches = ", ".join(f"L{c['level']} {c['bytes'] >> 10} KiB" for c in machine["caches"])
    lines = [
        f"{machine['processor']} ({machine['identity']}; LLVM calls it {machine['cpu']}), {machine['cores']} cores, "
        f"{caches}; ours compiled for {data['target']}."
    ]
    if roofs:
        which = "core" if data["threads"] == 1 else "machine"
        rates = ", ".join(
            f"{roofs[f'fma_{d}'][which] / 1e9:.0f} GFLOP/s of {d}" for d in ("f32", "f64")
        )
        reads = ", ".join(
            f"{roofs[f'read_{level.lower()}'][which] / 1e9:.0f} from {level}"
            for level in ("L1", "L2", "L3", "memory")
        )
        lines.append(f"Roofs: {rates} multiply-adds; GB/s to read: {reads}.")
    lines += ["", "| peer | runs | settings |", "|---|---|---|"]
    for name, peer in data["peers"].items():
        settings = ", ".join(f"{key}={value}" for key, value in peer["settings"].items()) or "-"
        runs = "; ".join(peer["kernels"])
        lines.append(f"| {PEERS[name]} {peer['version']} | {runs} | {settings} |")
    return [*lines, ""]


def main(paths: list[str]) -> None:
    page = PAGE.read_text()
    for path in paths:
        try:
            data = json.loads(Path(path).read_text())
        except (OSError, ValueError) as error:
            sys.exit(f"error: {path}: {error}; expected what stepwell bench --json has written")
        programs = [program for program in data["programs"] if not program["error"]]
        heading = HEADINGS[data["threads"], data["target"].partition(":")[0]]
        if f"{heading}\n" not in page:
            page = f"{page.rstrip()}\n\n{heading}\n"
        before, _, after = page.partition(f"{heading}\n")
        rest = after[after.find("\n## ") :] if "\n## " in after else "\n"
        tables = "\n".join([*circumstances(data), *table(programs), "", *means(programs)])
        page = f"{before}{heading}\n\n{tables}\n{rest}"
    PAGE.write_text(page)


if __name__ == "__main__":
    main(sys.argv[1:])
