"""What is in the place of an entry of the cache, and is none."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from stepwell.cache.store import Store


def test_an_entry_in_the_place_of_another_is_none(tmp_path: Path):
    store = Store(tmp_path)
    store.write("objects", "one", b"1")
    (tmp_path / "objects" / "one").rename(tmp_path / "objects" / "two")
    assert store.read("objects", "two") is None


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_no_entry(make: Callable[[Path], None], tmp_path: Path):
    """For a pipe nobody waits, and neither is left open."""
    store = Store(tmp_path)
    store.write("kind", "key", b"contents")
    for path in (tmp_path / "kind" / "key", tmp_path / "written"):
        path.unlink()
        make(path)
    opened = len(os.listdir("/proc/self/fd"))
    again = Store(tmp_path)
    assert again.read("kind", "key") is None
    assert again.map("kind", "key") is None
    again.write("kind", "other", b"contents")
    assert again.read("kind", "other") == b"contents"
    assert len(os.listdir("/proc/self/fd")) == opened
