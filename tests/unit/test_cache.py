"""What is compiled is kept on disk: used again when it is the same, never when it is not, and never when it is damaged."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.cache import folder, version
from stepwell.cache.store import MAGIC, Store, key_of
from stepwell.driver.options import Options
from stepwell.frontend import files
from stepwell.frontend.files import MappedFile
from stepwell.runtime.codegen import CodeGenerator
from stepwell.runtime.kernels import KIND
from stepwell.runtime.objects import object_key
from stepwell.tools.cli import main
from xdsl.dialects.builtin import ModuleOp

X = np.linspace(-2, 2, 24 * 40, dtype=np.float32).reshape(24, 40)
W = np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)
V = np.random.default_rng(1).standard_normal((40, 40)).astype(np.float32)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules that LLVM compiles during the test."""
    texts: list[str] = []
    plain = CodeGenerator.object_code

    def object_code(self: CodeGenerator, text: str) -> bytes:
        texts.append(text)
        return plain(self, text)

    monkeypatch.setattr(CodeGenerator, "object_code", object_code)
    return texts


def layers(x: Any) -> Any:
    h = sw.tanh(x @ W)
    return sw.softmax(h @ V, axis=-1)


def edited(x: Any) -> Any:
    h = sw.tanh(x @ W)
    return sw.softmax(h @ V, axis=-1) * 2.0


def renamed(images: Any) -> Any:
    hidden = sw.tanh(images @ (W * 2))
    return sw.softmax(hidden @ (V - 1), axis=-1)


@lru_cache
def core(function: Callable[..., Any]) -> ModuleOp:
    """A function at the core level, for what is below it to be compiled several times."""
    return sw.jit(function).lower(X).module("core")


def run(function: Callable[..., Any], **options: Any) -> np.ndarray:
    """Compile and call a function."""
    return sw.Lowered(core(function), options=Options(**options)).compile()(X)


def kernels_of(texts: list[str]) -> list[str]:
    return [text for text in texts if "define void @main" not in text]


def test_what_was_compiled_is_not_compiled_again(store: Store, compiled: list[str]):
    first = run(layers)
    assert len(kernels_of(compiled)) > 1
    compiled.clear()
    np.testing.assert_array_equal(run(layers), first)
    assert not compiled


def test_without_the_cache_nothing_is_read_or_kept(store: Store, compiled: list[str]):
    run(layers, cache=False)
    store.clear()  # of the code that makes calls, which is of no function
    run(edited, cache=False)
    assert not store.entries()
    run(layers)
    compiled.clear()
    run(layers, cache=False)
    assert compiled


def test_functions_say_whether_it_is_used(store: Store):
    def twice(x: Any) -> Any:
        return x * 2

    sw.jit(lambda x: x + 1, cache=False, opt="quick")(X)
    store.clear()  # of the code that makes calls, which is of no function
    sw.jit(twice, cache=False, opt="quick")(X)
    assert not store.entries()
    sw.jit(twice, opt="quick")(X)
    assert store.entries()


def test_the_environment_turns_it_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for off in ("off", "OFF", "0"):
        monkeypatch.setenv(folder.VARIABLE, off)
        assert folder.compiled_store() is None
    monkeypatch.delenv(folder.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert folder.compiled_folder() == tmp_path / "stepwell" / "compiled"


def test_editing_one_layer_compiles_one_kernel(store: Store, compiled: list[str]):
    run(layers)
    compiled.clear()
    run(edited)
    assert len(kernels_of(compiled)) == 1


@pytest.mark.parametrize("edited", [0, 2, 3])
def test_editing_one_of_several_layers_is_one_other_kernel(store: Store, edited: int):
    """Also of those that were one repeated function: what the others call values is no part of what they are found by."""
    own = [np.full((40, 40), 1 / (number + 100), np.float32) for number in range(4)]

    def kernels_with(functions: Sequence[Callable[[Any], Any]]) -> int:
        def stack(x: Any) -> Any:
            for function, w in zip(functions, own, strict=True):
                x = sw.layer_norm(x + function(x @ w + w[2]) @ (w / 2), w[0], w[1])
            return x

        sw.jit(stack)(X)
        return sum(entry.path.parent.name == KIND for entry in store.entries())

    before = kernels_with([sw.gelu] * 4)
    functions = [sw.relu if number == edited else sw.gelu for number in range(4)]
    assert kernels_with(functions) == before + 1


def test_other_names_and_weights_are_the_same_kernels(store: Store, compiled: list[str]):
    run(layers)
    compiled.clear()
    found = run(renamed)
    assert not kernels_of(compiled)
    np.testing.assert_array_equal(found, run(renamed, cache=False))


@pytest.mark.parametrize("options", [{"target": "x86-64-v2"}, {"opt": "quick"}, {"fp": "strict"}])
def test_other_options_are_other_kernels(
    store: Store, compiled: list[str], options: dict[str, Any]
):
    run(layers)
    compiled.clear()
    run(layers, **options)
    assert compiled


KERNEL = """
define void @k(ptr noalias align 64 %x, ptr noalias align 64 %y) nounwind {{
  %v = load float, ptr %x, align {alignment}
  %s = fadd {flags} float %v, 1.0
  store float %s, ptr %y, align 4
  ret void
}}
"""


def test_a_key_has_all_that_llvm_is_given():
    generator = CodeGenerator("x86_64-unknown-linux-gnu", "x86-64-v3", "")
    text = KERNEL.format(alignment=4, flags="")
    keys = {
        object_key(text, generator),
        object_key(KERNEL.format(alignment=64, flags=""), generator),
        object_key(KERNEL.format(alignment=4, flags="contract"), generator),
        object_key(text.replace("noalias", ""), generator),
        object_key(text, CodeGenerator(generator.triple, "x86-64-v4", "")),
        object_key(text, CodeGenerator(generator.triple, generator.cpu, "+avx512f")),
        object_key(text, CodeGenerator(generator.triple, generator.cpu, "", quick=True)),
    }
    assert len(keys) == 7


def test_another_compiler_uses_nothing(
    store: Store, compiled: list[str], monkeypatch: pytest.MonkeyPatch
):
    run(layers)
    compiled.clear()
    monkeypatch.setattr("stepwell.runtime.objects.compiler_version", lambda: "another")
    run(layers)
    assert compiled


def test_the_version_of_the_compiler_follows_its_files(tmp_path: Path):
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    for name in ("__init__.py", "inner/__init__.py", "inner/a.py"):
        (package / name).write_text("x = 1\n")

    def state() -> list[tuple[str, str, int, int, int]]:
        files: list[tuple[str, str, int, int, int]] = []
        version._add_files(package, "", files)
        return files

    before = state()
    assert len(before) == 3 and state() == before
    (package / "inner" / "a.py").write_text("x = 2\n")
    assert state() != before


# Damaged files.


def damage(data: bytes, rng: random.Random) -> bytes:
    """The bytes, cut off somewhere or with one bit flipped."""
    place = rng.randrange(len(data))
    if rng.random() < 0.5:
        return data[:place]
    return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]


def test_damaged_entries_are_made_again(store: Store, compiled: list[str]):
    expected = run(layers)
    rng = random.Random(7)
    for _ in range(3):
        for entry in store.entries():
            entry.path.write_bytes(damage(entry.path.read_bytes(), rng))
        compiled.clear()
        np.testing.assert_array_equal(run(layers), expected)
        assert compiled


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_entry_is_none(seed: int, tmp_path: Path):
    store, rng = Store(tmp_path), random.Random(seed)
    store.write("objects", "key", rng.randbytes(rng.randrange(200)))
    (entry,) = store.entries()
    entry.path.write_bytes(damage(entry.path.read_bytes(), rng))
    assert store.read("objects", "key") is None
    assert not store.entries()


def test_keys_keep_their_parts_apart():
    assert key_of("ab", "c") != key_of("a", "bc")


# The folder.


def test_a_folder_that_others_write_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    place = tmp_path / "open"
    place.mkdir()
    place.chmod(0o777)
    monkeypatch.setenv(folder.VARIABLE, str(place))
    np.testing.assert_allclose(run(layers, opt="quick").sum(-1), 1, rtol=1e-5)
    run(layers, opt="quick")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(
        f"warning: found the cache folder '{place}' writable by others (mode 777)"
    )
    assert not list(place.iterdir())


def test_a_folder_of_another_owner_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    owner = os.geteuid()
    monkeypatch.setenv(folder.VARIABLE, str(tmp_path / "theirs"))
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert folder.compiled_store() is None
    assert f"owned by user {owner}, expected one that is yours" in capfd.readouterr().err


def test_a_folder_that_cannot_be_made_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(folder.VARIABLE, str(tmp_path / "file" / "cache"))
    assert folder.compiled_store() is None
    assert "unusable (Not a directory)" in capfd.readouterr().err


def test_a_file_that_others_write_to_is_none(tmp_path: Path):
    store = Store(tmp_path)
    store.write("objects", "key", b"code")
    (entry,) = store.entries()
    assert entry.path.stat().st_mode & 0o777 == 0o600
    entry.path.chmod(0o622)
    assert store.read("objects", "key") is None
    entry.path.chmod(0o600)
    assert store.read("objects", "key") == b"code"
    entry.path.rename(tmp_path / "elsewhere")
    entry.path.symlink_to(tmp_path / "elsewhere")
    assert store.read("objects", "key") is None


def test_the_entries_used_least_recently_go(tmp_path: Path):
    store = Store(tmp_path, most_bytes=10_000)
    for number in range(9):
        store.write("objects", str(number), bytes(1000))
        os.utime(tmp_path / "objects" / str(number), (number, number))
    assert store.read("objects", "0") is not None  # it was used now
    store.write("objects", "last", bytes(1000))
    names = {entry.path.name for entry in store.entries()}
    assert {"0", "8", "last"} <= names and "1" not in names
    assert sum(entry.bytes for entry in store.entries()) <= 10_000


def test_short_processes_count_the_entries_when_much_has_been_written(tmp_path: Path):
    def write(name: str) -> None:
        Store(tmp_path, most_bytes=100_000).write("objects", name, bytes(1000))

    def is_counted(name: str) -> bool:
        abandoned = tmp_path / "objects" / "1-a.new"
        abandoned.write_bytes(MAGIC)
        os.utime(abandoned, (0, 0))
        write(name)
        return not abandoned.exists()

    write("first")
    counted = [is_counted(str(number)) for number in range(20)]
    assert counted == [number % 6 == 5 for number in range(20)]  # 1/16 is six entries
    (tmp_path / "written").write_bytes(b"cut")
    assert is_counted("cut") and not is_counted("after")
    (tmp_path / "written").unlink()
    assert is_counted("lost")
    for number in range(200):
        write(str(number))
    assert sum(entry.bytes for entry in Store(tmp_path).entries()) <= 100_000 * 17 / 16


def test_what_is_too_large_is_not_kept(tmp_path: Path):
    store = Store(tmp_path, most_bytes=1000)
    store.write("objects", "key", bytes(1000))
    assert not store.entries()


def test_files_of_processes_that_ended_are_removed(tmp_path: Path):
    store = Store(tmp_path)
    old, young = tmp_path / "objects" / "1-a.new", tmp_path / "objects" / "2-b.new"
    old.parent.mkdir()
    for file in (old, young):
        file.write_bytes(MAGIC)
    os.utime(old, (0, 0))
    store.write("objects", "key", b"code")
    assert not old.exists() and young.exists()


# Several processes.

PROGRAM = """
import sys
import numpy as np, stepwell as sw

def f(x):
    h = sw.tanh(x @ np.eye(40, dtype=np.float32) * 2)
    return sw.softmax(h @ np.eye(40, dtype=np.float32), axis=-1) + h

x = np.linspace(-2, 2, 24 * 40, dtype=np.float32).reshape(24, 40)
sys.stdout.write(sw.jit(f, opt=sys.argv[1])(x).tobytes().hex())
"""


def run_together(store: Store, count: int, opt: str) -> list[subprocess.CompletedProcess[str]]:
    environment = {**os.environ, folder.VARIABLE: str(store.folder)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, opt],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(count)
    ]
    found = [(process, *process.communicate()) for process in started]
    return [subprocess.CompletedProcess([], p.returncode, out, err) for p, out, err in found]


def check_equal(done: list[subprocess.CompletedProcess[str]]) -> None:
    assert [process.stderr for process in done] == [""] * len(done)
    assert len({process.stdout for process in done}) == 1 and done[0].stdout


def test_two_processes_at_once_give_one_result(store: Store):
    check_equal(run_together(store, 2, "quick"))


@pytest.mark.slow
def test_eight_processes_at_once_give_one_result(store: Store):
    check_equal(run_together(store, 8, "full"))
    assert all(entry.path.suffix != ".new" for entry in store.entries())


# The command.


def test_the_command_shows_and_clears(store: Store, capsys: pytest.CaptureFixture[str]):
    assert main(["cache", "info"]) == 0
    assert capsys.readouterr().out.startswith("0 entries, 0.0 MB of at most 1074 MB in ")
    store.write("objects", "key", bytes(2_000_000))
    assert main(["cache", "info"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[1] == "  objects: 1 entry, 2.0 MB"
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"removed 1 entry, 2.0 MB from {store.folder}\n"
    assert not store.entries()


def test_the_command_says_when_it_is_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(folder.VARIABLE, "off")
    assert main(["cache", "info"]) == 0
    assert capsys.readouterr().out == "nothing is kept: STEPWELL_CACHE turns it off\n"


def test_the_command_line_turns_it_off(
    store: Store, tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
):
    program = tmp_path / "p.mlir"
    program.write_text(
        "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
        "  %y = graph.tanh %x : tensor<8xf32>\n  func.return %y : tensor<8xf32>\n}\n"
    )
    words = ["run", str(program), "--random", "1", "--opt", "quick"]
    # What calls any program of these shapes is no part of it: compiled once a process, and kept.
    with monkeypatch.context() as without:
        without.setenv(folder.VARIABLE, "off")
        assert main(words) == 0
    compiled.clear()
    assert main([*words, "--no-cache"]) == 0
    assert compiled and not store.entries()
    assert main(words) == 0
    assert store.entries()


def test_cache_is_a_bool() -> None:
    with pytest.raises(sw.StepwellError, match="found cache='no', expected True or False"):
        sw.jit(lambda x: x, cache="no")


def test_large_entries_are_read_into_memory_or_mapped(tmp_path: Path):
    store = Store(tmp_path)
    contents = bytes(range(256)) * 33
    store.write("kind", "key", contents)
    memory: list[bytearray] = []

    def allocate(size: int) -> memoryview:
        memory.append(bytearray(size))
        return memoryview(memory[-1])

    assert store.read_into("kind", "key", allocate) and memory == [contents]
    assert store.map("kind", "key") == contents
    (entry,) = store.entries()
    for damaged in (entry.path.read_bytes()[:-1], entry.path.read_bytes()[:40], b""):
        for is_there in (
            lambda: store.map("kind", "key") is not None,
            lambda: store.read_into("kind", "key", allocate),
        ):
            entry.path.unlink(missing_ok=True)
            entry.path.write_bytes(damaged)
            entry.path.chmod(0o600)
            assert not is_there() and not store.entries()


def test_what_is_read_is_the_file_that_was_opened(store: Store, tmp_path: Path):
    """Another one may take its place before it is read: its digest beside what is mapped would find another's program."""
    file, kept, first = tmp_path / "weights", tmp_path / "kept", b"1" * (1 << 20)
    file.write_bytes(first)
    opened = MappedFile(file)
    file.rename(kept)
    file.write_bytes(bytes(1 << 20))
    assert opened.read() == first == opened.contents[:]
    assert opened.digest == sha256(first).hexdigest()


def test_digests_of_large_files_are_kept_until_they_change(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "weights"
    file.write_bytes(bytes(1 << 20))
    assert MappedFile(file).digest == sha256(bytes(1 << 20)).hexdigest()
    assert not store.entries(), "a change within the same tick of the clock would not be seen"
    monkeypatch.setattr(files.time, "time_ns", lambda: file.stat().st_mtime_ns + 10**10)
    first = MappedFile(file).digest
    (entry,) = store.entries()
    assert entry.kind == "files" and MappedFile(file).digest == first
    monkeypatch.setattr(files, "sha256", lambda _: pytest.fail("read again"))
    assert MappedFile(file).digest == first
    file.write_bytes(bytes(1 << 20)[:-1] + b"1")
    with pytest.raises(pytest.fail.Exception, match="read again"):
        _ = MappedFile(file).digest
