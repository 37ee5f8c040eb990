"""Targets: what the system tells of the machine, known cores, estimates, facts in text, and measurements kept."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from stepwell.cache.folder import cache_folder
from stepwell.errors import StepwellError
from stepwell.runtime.codegen import CodeGenerator
from stepwell.targets import machine, measurements
from stepwell.targets import target as target_module
from stepwell.targets.core import DEFAULT_CACHES, Cache, Core
from stepwell.targets.estimates import complete, following
from stepwell.targets.known_cores import known_core, known_cores
from stepwell.targets.llvm_host import LLVMHost
from stepwell.targets.machine import Cpuid
from stepwell.targets.rates import RATE_NAMES, Rate, Source, is_slowdown
from stepwell.targets.target import Target

NAMES = [
    "zen3",
    "zen4",
    "zen5",
    "sapphire-rapids",
    "emerald-rapids",
    "x86-64",
    "x86-64-v3",
    "x86-64-v4",
    "neoverse-n1",
]


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache directory of the test's own; the host is looked at anew before and after."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    Target.forget_host()
    yield tmp_path
    monkeypatch.undo()
    Target.forget_host()


# What the system tells.


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n")


def test_caches_from_sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(machine, "_CPUS", tmp_path)
    monkeypatch.setattr(machine, "allowed_cpus", lambda: [2, 3, 4])
    assert machine.detect_caches() == DEFAULT_CACHES
    caches = [("1", "Data", "48K", "2", "12"), ("1", "Instruction", "32K", "2", "8")]
    caches += [("2", "Unified", "2M", "2-3", "16"), ("3", "Unified", "36864K", "0-5,8", "0")]
    for number, (level, kind, size, shared, ways) in enumerate(caches):
        folder = tmp_path / "cpu2" / "cache" / f"index{number}"
        names = {"level": level, "type": kind, "size": size, "shared_cpu_list": shared}
        names |= {"ways_of_associativity": ways, "coherency_line_size": "64"}
        for name, text in names.items():
            write(folder / name, text)
    assert machine.detect_caches() == (
        Cache(1, 48 << 10, 12, 1),
        Cache(2, 2 << 20, 16, 2),
        Cache(3, 36 << 20, 8, 7),
    )
    write(tmp_path / "cpu2" / "cache" / "index0" / "size", "unknown")
    assert machine.detect_caches() == DEFAULT_CACHES


def test_hardware_threads_of_a_core_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(machine, "_CPUS", tmp_path)
    monkeypatch.setattr(machine, "allowed_cpus", lambda: [0, 1, 2, 3])
    assert machine.core_cpus() == [0, 1, 2, 3]
    for cpu in range(4):
        siblings = f"{cpu % 2},{cpu % 2 + 2}"
        write(tmp_path / f"cpu{cpu}" / "topology" / "thread_siblings_list", siblings)
    assert machine.core_cpus() == [0, 1]


def test_huge_pages_and_cpuid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(machine, "_HUGE_PAGES", tmp_path / "enabled")
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "cpuinfo")
    assert machine.detect_huge_pages() is None and machine.detect_cpuid() is None
    write(tmp_path / "enabled", "always [madvise] never")
    first = (
        "processor : 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: X"
    )
    write(tmp_path / "cpuinfo", f"{first}\n\n{first.replace('143', '1')}")
    assert machine.detect_huge_pages() == "madvise"
    assert machine.detect_cpuid() == Cpuid("GenuineIntel", 6, 143)
    write(tmp_path / "cpuinfo", "processor : 0\nCPU implementer : 0x41")
    assert machine.detect_cpuid() is None


# Known cores.


def pretend(
    monkeypatch: pytest.MonkeyPatch, cpuid: Cpuid | None, caches: tuple[Cache, ...]
) -> None:
    """Let the system tell of another processor with AVX-512."""
    monkeypatch.setattr(target_module, "detect_cpuid", lambda: cpuid)
    monkeypatch.setattr(target_module, "detect_caches", lambda: caches)
    host = LLVMHost("x86_64-unknown-linux-gnu", "skylake-avx512", "+avx512f,+fma")
    monkeypatch.setattr(target_module, "llvm_host", lambda: host)


def test_host_is_a_known_core_by_cpuid_and_caches(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
):
    near = (Cache(1, 48 << 10, 12), Cache(2, 2 << 20, 16))
    caches = (*near, Cache(3, 30 << 20, 15, 2))
    pretend(monkeypatch, Cpuid("GenuineIntel", 6, 143), caches)
    host = Target.host()
    assert host.rates.fma_f32.core == 128e9 and host.rates.fma_f32.source == "known"
    assert host.rates.beyond_l2.source == "estimated"
    assert host.caches == caches, "what the system tells, and not the known core's"
    assert host.rates.fma_f32.machine == 128e9 * host.cores
    Target.forget_host()
    # LLVM would call a server of another model by the same name.
    pretend(monkeypatch, Cpuid("GenuineIntel", 6, 143), (near[0], Cache(2, 1 << 20)))
    assert Target.host().rates.fma_f32.source == "estimated"


@pytest.mark.parametrize("cpu, gathers", [("icelake-server", False), ("sapphirerapids", True)])
def test_cores_that_gather_slowly_load_the_elements(cpu: str, gathers: bool):
    text = """
target triple = "x86_64-unknown-linux-gnu"
declare <8 x double> @llvm.masked.gather.v8f64.v8p0(<8 x ptr>, <8 x i1>, <8 x double>)
define <8 x double> @f(<8 x ptr> %p) {
  %x = call <8 x double> @llvm.masked.gather.v8f64.v8p0(<8 x ptr> %p, <8 x i1> splat (i1 true), <8 x double> poison)
  ret <8 x double> %x
}"""
    generator = CodeGenerator("x86_64-unknown-linux-gnu", cpu, "")
    assert ("vgather" in generator.assembly(text)) is gathers


def test_models_tell_known_cores_apart():
    def named(model: int, name: str) -> str | None:
        found = known_core(Cpuid("AuthenticAMD", 25, model), known_cores()[name].core)
        return found and found.name

    assert named(0x01, "zen3") == named(0x21, "zen3") == "zen3"
    assert named(0x11, "zen3") is None, "a Zen 4 of another size"
    assert known_core(None, known_cores()["zen3"].core) is None


def test_the_first_known_core_that_fits_counts():
    """Sapphire Rapids stands for all models of its family with its caches that are not known themselves."""
    core = known_cores()["sapphire-rapids"].core
    found = {model: known_core(Cpuid("GenuineIntel", 6, model), core) for model in (143, 173, 207)}
    names = {model: known and known.name for model, known in found.items()}
    assert names == {143: "sapphire-rapids", 173: "sapphire-rapids", 207: "emerald-rapids"}


def test_known_core_and_llvms_cpu_are_one_target():
    for name, llvm in [
        ("zen3", "znver3"),
        ("zen5", "znver5"),
        ("sapphire-rapids", "sapphirerapids"),
        ("emerald-rapids", "emeraldrapids"),
    ]:
        known = Target.parse(name)
        assert known.cpu == llvm and known.name == name
        assert dataclasses.replace(known, name=llvm) == Target.parse(llvm)
    zen3 = Target.parse("zen3")
    assert (zen3.vector_bits, zen3.vector_registers, zen3.lanes(4)) == (256, 16, 8)
    assert zen3.rates.fma_f32 == Rate(102e9, 102e9, "known")
    assert zen3.rates.read_l1.source == "estimated"
    assert zen3.rates.read_l3.source == "estimated"  # from Zen 4's, as the core's file says
    assert zen3.rates.read_l3.core == known_cores()["zen4"].facts(1)["beyond_l2"].core
    assert zen3.frequency == pytest.approx(3.19e9, rel=0.01)


def test_a_lower_bound_gives_way_to_what_other_rates_say():
    def tile(rate: float, source: Source) -> Rate:
        found = {"fma_f32": Rate(160e9, 160e9, "busy"), "read_l2": Rate(110e9, 110e9, "busy")}
        return complete(
            Core(512, 32), 1, {**found, "tile_near": Rate(rate, rate, source)}
        ).tile_near

    assert tile(90e9, "measured").core == 90e9
    assert tile(90e9, "busy").source == "estimated" and tile(90e9, "busy").core > 140e9
    assert tile(159e9, "busy").core == 159e9


def test_every_known_rate_is_one():
    for known in known_cores().values():
        assert set(dict(known.rates)) <= set(RATE_NAMES)
        assert all(value > 1e8 for name, value in known.rates if not is_slowdown(name))


# Estimates.


@pytest.mark.parametrize("name", NAMES)
def test_estimates_keep_the_order_of_things(name: str):
    rates = complete(Target.parse(name).core, 2, {})
    assert all(rates.named(rate).source == "estimated" for rate in RATE_NAMES)
    reads = [rates.bandwidth(level) for level in ("L1", "L2", "L3", "memory")]
    copies = [rates.bandwidth(level, "copy") for level in ("L1", "L2", "L3", "memory")]
    assert reads == sorted(reads, reverse=True) and copies == sorted(copies, reverse=True)
    assert rates.fma_f32.core >= rates.tile_near.core >= rates.tile_narrow_far.core
    assert rates.tile_near.core >= rates.tile_wide_far.core
    assert rates.pack_near.core >= rates.pack_far.core
    assert rates.fma_f32.core >= rates.fma_f32_narrow.core >= rates.fma_f64_narrow.core
    slowdowns = [rates.slowdown(rows).core for rows in range(1, 15)]
    assert slowdowns[0] == 1 and slowdowns == sorted(slowdowns)


def test_estimates_follow_what_is_known():
    core = Core(512, 32)
    slow = complete(core, 1, {"read_l3": Rate(9e9, 9e9), "fma_f64": Rate(60e9, 60e9)})
    assert slow.fma_f32.core == 120e9
    assert slow.read_memory.core <= slow.beyond_l2.core == 9e9
    assert slow.tile_wide_far.core == 2 * 9 * 9e9 / 4
    # Twelve ways hold twelve rows, eight do not.
    twelve = complete(dataclasses.replace(core, caches=(Cache(1, 48 << 10, 12),)), 1, {})
    assert twelve.slowdown(12).core == 1 < complete(core, 1, {}).slowdown(12).core
    # More rows lose no less: what fewer of them lost beyond that is noise.
    noisy = complete(core, 1, {"strided_6": Rate(1.04, 1.04), "strided_8": Rate(1.01, 1.01)})
    assert noisy.slowdown(6).core == noisy.slowdown(8).core == 1.01
    # A core that splits vectors of 512 bits loses nothing with narrower ones.
    split = complete(dataclasses.replace(core, fma_ports=1), 1, {})
    assert split.fma_f32_narrow.core == split.fma_f32.core


def test_more_threads_have_no_more_than_all_cores():
    rates = complete(Core(256, 16), 4, {"read_memory": Rate(10e9, 25e9)})
    assert [rates.bandwidth(threads=n) for n in (1, 2, 3, 4, 9)] == [10e9, 20e9, 25e9, 25e9, 25e9]
    assert rates.peak("f64", 4) == 4 * rates.peak("f64")
    assert rates.bandwidth("L3", threads=4) == rates.bandwidth("L3"), "shared until measured"


def test_register_tiles():
    assert Core(256, 16).probe_tile == (6, 2)
    assert Core(512, 32).probe_tile == (9, 3)
    assert [Core(512, 32).vectors_beside(rows) for rows in (4, 8, 14)] == [4, 3, 2]


# Facts in text.


def test_facts_are_overridden():
    plain = Target.parse("zen5")
    target = Target.parse("zen5:l2=2M,registers=16,beyond_l2=9e9,l2_ways=8,cores=4")
    assert target.cache(2) == Cache(2, 2 << 20, 8)
    assert (target.vector_registers, target.cores) == (16, 4)
    assert target.rates.beyond_l2 == Rate(9e9, 9e9, "given")
    assert (
        target.rates.fma_f32 == Rate(262e9, 4 * 262e9, "known")
        or target.rates.fma_f32.core == 262e9
    )
    assert target.rates.tile_wide_far.core < plain.rates.tile_wide_far.core
    assert target.cpu == plain.cpu and "registers=16" in str(target)
    assert {target: 1}


def test_what_follows_from_a_given_fact_is_estimated_anew():
    found = {name: Rate(1e9, 1e9, "known") for name in RATE_NAMES}
    target = Target.parse("zen4")
    target = dataclasses.replace(target, found=tuple(found.items()))
    given = target.overridden(target_module.parse_overrides("beyond_l2=9e9"), "x").rates
    assert given.tile_wide_far.source == given.pack_far.source == "estimated"
    assert given.tile_near.source == given.read_l3.source == "known"
    assert following(["l1_ways"]) == {name for name in RATE_NAMES if name.startswith("strided_")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zen", "found target 'zen', expected host or a core that is known; did you mean 'zen"),
        ("zen5:", "found unknown fact ''"),
        ("zen5:l2=2M,l2=1M", "found 'l2' of a target twice"),
        ("zen5:l2", "found no value for 'l2' of a target, expected a size from 1K to 931322G"),
        ("zen5:l2=2.5M", "found '2.5M' for 'l2'"),
        ("zen5:l2=99G", "found target 'l2=99G' with L2 of 106300440576 bytes and L3 of"),
        ("zen5:beyond=9", "found unknown fact 'beyond' of a target"),
        ("zen5:beyond_l3=9", "did you mean 'beyond_l2'"),
        ("zen5:l2=999999G", "expected a size from 1K to 931322G, as 512K or 2M; mend it"),
        ("zen5:registers=2", "expected a whole number from 4 to 10000"),
        ("zen5:cores=0", "found '0' for 'cores' of a target, expected a whole number from 1 to"),
        ("zen5:cores=100000", "expected a whole number from 1 to 10000; mend it"),
        ("zen5:fma_f32=-1", "expected a number from 0.001 to 1e+15, as 9e9"),
        ("zen5:beyond_l2=1e-300", "expected a number from 0.001 to 1e+15, as 9e9"),
        ("zen5:fma_f32=nan", "found 'nan' for 'fma_f32'"),
        ("zen5:fma_f32=inf", "found 'inf' for 'fma_f32'"),
    ],
)
def test_facts_that_cannot_be(text: str, message: str):
    with pytest.raises(StepwellError) as error:
        Target.parse(text)
    assert message in error.value.message
    assert "\n" not in error.value.message


# Where measurements are kept.

MEASURED = {"fma_f32": Rate(100e9, 190e9), "strided_14": Rate(1.5, 1.5, "busy")}


def test_target_has_what_was_stored(empty_cache: Path):
    assert not Target.host().is_measured
    file = Target.host().measured_file
    assert file.is_relative_to(empty_cache / "stepwell")
    measurements.store(file, MEASURED)
    assert measurements.load(file) == MEASURED
    Target.forget_host()
    assert Target.host().is_measured
    assert Target.host().rates.fma_f32 == Rate(100e9, 190e9, "measured")
    assert {Target.host(): 1}  # a key still
    assert not Target.parse("x86-64-v3").is_measured


def test_the_last_cache_is_what_was_found_of_it(empty_cache: Path, monkeypatch: pytest.MonkeyPatch):
    caches = (Cache(1, 48 << 10, 12), Cache(2, 2 << 20, 16), Cache(3, 480 << 20, 16))
    pretend(monkeypatch, Cpuid("GenuineIntel", 6, 143), caches)
    file = Target.host().measured_file
    measurements.store(file, {"last_cache": Rate(120 << 20, 120 << 20)})
    Target.forget_host()
    host = Target.host()
    assert host.caches == (*caches[:2], Cache(3, 120 << 20, 16))
    assert host.measured_file == file, "it does not follow from what is in it"
    measurements.store(file, {"last_cache": Rate(1 << 20, 1 << 20)})
    Target.forget_host()
    assert Target.host().cache(3).bytes == 2 << 20, "no less than what is inside of it"


def test_the_last_cache_is_given_by_either_fact():
    assert Target.parse("zen5:last_cache=16e6").cache(3).bytes == 16_000_000
    given = Target.parse("zen5:l3=8M")
    assert given.cache(3).bytes == given.rates.last_cache.core == 8 << 20


def test_fewer_cores_have_what_was_measured_of_each(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
):
    """A process that may run on two of four cores; what was measured on two alone counts more."""
    monkeypatch.setattr(target_module, "core_cpus", lambda: [0, 1])
    monkeypatch.setattr(target_module, "all_cores", lambda: 4)
    rates = {"fma_f32": Rate(100e9, 380e9), "read_memory": Rate(20e9, 30e9)}
    Target.forget_host()
    whole = dataclasses.replace(Target.host(), cores=4).measured_file
    measurements.store(whole, rates)
    Target.forget_host()
    found = Target.host().rates
    assert (found.fma_f32, found.read_memory) == (Rate(100e9, 200e9), Rate(20e9, 30e9))
    measurements.store(Target.host().measured_file, MEASURED)
    Target.forget_host()
    assert Target.host().rates.fma_f32 == MEASURED["fma_f32"]


def test_cores_that_a_process_may_not_use_are_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 16)
    monkeypatch.setattr(machine, "allowed_cpus", lambda: [0, 1, 8, 9])
    for cores, expected in (([0, 1], 8), ([0, 1, 8, 9], 16)):
        monkeypatch.setattr(machine, "core_cpus", lambda cores=cores: cores)
        assert machine.all_cores() == expected


def test_files_differ_by_machine(monkeypatch: pytest.MonkeyPatch):
    host = Target.host()
    small = dataclasses.replace(host.core, caches=(Cache(1, 8 << 10),))
    machines = [
        host,
        *(dataclasses.replace(host, **{n: v}) for n, v in [("features", "+x"), ("cores", 9)]),
    ]
    files = {target.measured_file for target in [*machines, dataclasses.replace(host, core=small)]}
    monkeypatch.setattr(target_module, "detect_cpuid", lambda: Cpuid("Acme", 1, 2))
    assert len(files | {host.measured_file}) == 5


def test_the_better_of_two_measurements():
    old = {"fma_f32": Rate(100, 180), "read_l1": Rate(9, 9, "busy"), "strided_14": Rate(1.5, 1.5)}
    new = {"fma_f32": Rate(90, 190), "read_l1": Rate(8, 8), "strided_14": Rate(1.3, 1.7)}
    merged = measurements.merged(old, {**new, "beyond_l2": Rate(3, 3, "busy")})
    assert merged == {
        "fma_f32": Rate(100, 190),
        "read_l1": Rate(8, 8),
        "strided_14": Rate(1.4, 1.6),
        "beyond_l2": Rate(3, 3, "busy"),
    }
    assert measurements.merged(new, {"read_l1": Rate(99, 99, "busy")})["read_l1"] == Rate(8, 8)


def test_two_rates_that_are_measured_in_turns_are_kept_by_how_they_compare():
    """The better of each, from different runs, would say what neither run found."""
    old = {"beyond_l2": Rate(100, 200), "rows_beyond_l2": Rate(104, 208)}
    new = {"beyond_l2": Rate(112, 220), "rows_beyond_l2": Rate(114.24, 224.4)}
    merged = measurements.merged(old, new)
    assert merged["beyond_l2"] == Rate(112, 220)
    assert merged["rows_beyond_l2"].core == pytest.approx(112 * 1.03)
    of_tiles = measurements.merged(
        {"fma_f32": Rate(100, 200), "tile_near": Rate(90, 180)},
        {"fma_f32": Rate(150, 300), "tile_near": Rate(120, 240)},
    )
    assert of_tiles["tile_near"].core == pytest.approx(150 * 0.85)
    hints = measurements.HINTS[0]
    merged = measurements.merged(
        dict(zip(hints, (Rate(90, 90), Rate(99, 99)), strict=True)),
        dict(zip(hints, (Rate(100, 100), Rate(100, 100)), strict=True)),
    )
    assert merged["tile_rows_asked"].core == pytest.approx(105)
    # One that the other measurement has not is kept by what it was compared with in its own.
    first, second = measurements.HINTS[1]
    both = {first: Rate(80, 80), second: Rate(84, 84)}
    merged = measurements.merged({first: Rate(100, 100)}, both)
    assert merged[second].core == pytest.approx(1.05 * merged[first].core)
    # A busy machine leaves no time for some, and those that are not known yet come first in the next run.
    merged = measurements.merged({"fma_f32": Rate(100, 200)}, {"tile_near": Rate(80, 160)})
    assert merged == {"fma_f32": Rate(100, 200), "tile_near": Rate(80, 160)}
    # The next run compares both with each other, and one without the first has compared the second with the stored one.
    again = measurements.merged(merged, {"fma_f32": Rate(90, 180), "tile_near": Rate(81, 162)})
    assert again["tile_near"].core == pytest.approx(100 * 0.85)
    alone = measurements.merged(merged, {"tile_near": Rate(90, 180)})
    assert alone["tile_near"].core == pytest.approx(100 * 0.85)
    tiles = {"tile_near": Rate(90, 180), "tile_near_asked": Rate(91, 182)}
    assert measurements.merged(tiles, {"fma_f32": Rate(50, 50)}) == {"fma_f32": Rate(50, 50)}, (
        "compared with what is not known any more, and so is what is compared with that"
    )
    busy = {"beyond_l2": Rate(90, 90, "busy"), "rows_beyond_l2": Rate(60, 60, "busy")}
    assert measurements.merged(old, busy)["rows_beyond_l2"] == Rate(104, 208)


def test_a_slow_stream_that_was_measured_tells_of_the_latency():
    """32 lines of it are under way at once. What is estimated itself says nothing, and no latency is less than servers have."""
    assert Target.parse("x86-64-v3").rates.latency("L3") == pytest.approx(30e-9)
    assert Target.parse("x86-64-v3:read_l3=100e9").rates.latency("L3") == pytest.approx(30e-9)
    slow = Target.parse("x86-64-v3:read_l3=10e9,read_memory=8e9").rates
    assert (slow.latency("L3"), slow.latency()) == pytest.approx((204.8e-9, 256e-9))


def test_what_was_measured_on_a_busy_machine_is_not_estimated():
    busy = {"read_l3": Rate(30e9, 30e9), "beyond_l2": Rate(15e9, 15e9, "busy")}
    assert complete(Target.parse("zen5").core, 1, busy).beyond_l2.core == 15e9


GOOD = {"version": 3, "rates": {"fma_f32": {"core": 1.0, "machine": 2.0, "source": "measured"}}}


def test_rates_that_another_version_has_are_left_out(tmp_path: Path):
    rates = {**GOOD["rates"], "fma_f8": GOOD["rates"]["fma_f32"]}
    (tmp_path / "x.json").write_text(json.dumps({**GOOD, "rates": rates}))
    assert measurements.load(tmp_path / "x.json") == {"fma_f32": Rate(1, 2)}


@pytest.mark.parametrize(
    "text",
    [
        *["", "{", "[]", '{"cores": 2}', '{"version": 3}', "null", '{"version": 3, "rates": []}'],
        json.dumps(GOOD).replace('"version": 3', '"version": 2'),
        json.dumps(GOOD).replace("1.0", "NaN"),
        json.dumps(GOOD).replace("1.0", "-1"),
        json.dumps(GOOD).replace("1.0", "9" * 400),
        "[" * 100_000,
        json.dumps(GOOD).replace("fma_f32", "fma_f8"),
        json.dumps(GOOD).replace("measured", "guessed"),
    ],
)
def test_a_damaged_or_old_file_is_no_measurement(text: str, tmp_path: Path):
    (tmp_path / "x.json").write_text(json.dumps(GOOD))
    assert measurements.load(tmp_path / "x.json") == {"fma_f32": Rate(1, 2)}
    (tmp_path / "x.json").write_text(text)
    assert measurements.load(tmp_path / "x.json") == {}


def test_a_relative_cache_folder_is_ignored(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert cache_folder() == Path("/home/somebody/.cache/stepwell")
