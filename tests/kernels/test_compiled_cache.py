"""Functions that numba compiles run whatever the state of their cache; what is damaged in it is replaced."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import caching

import thalweg
from tests.small_disk import fill, only_read, small_disk
from thalweg.kernels import compiled as module
from thalweg.kernels.compiled import compiled
from thalweg.kernels.warm_up import warm_up

WARNING = r"compiled functions cannot be cached in {}.* \({}\), so .* set NUMBA_CACHE_DIR to a folder that can be"


def twice(x: Any) -> Any:
    return x + x


def new() -> Any:
    """Return a function that this process has neither compiled nor loaded."""
    return compiled()(twice)


def run(function: Any) -> tuple[int, int]:
    """Run the function on two types. Return how many were loaded, and how many compiled."""
    assert function(3) == 6
    assert function(np.array([1.5])).tolist() == [3.0]
    stats = function.stats
    return sum(stats.cache_hits.values()), sum(stats.cache_misses.values())


@pytest.fixture(autouse=True)
def warn_again() -> None:
    module._warn.cache_clear()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that has the function for both types; its folder of this test module."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    assert run(new()) == (0, 2)
    assert run(new()) == (2, 0)
    (folder,) = (tmp_path / "cache").iterdir()
    return folder


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda data: b"",
    "one byte": lambda data: data[:1],
    "cut in the middle": lambda data: data[: len(data) // 2],
    "cut at the end": lambda data: data[:-1],
    "zeros": lambda data: bytes(len(data)),
    "no pickle": lambda data: b"\x80\xff" + data,
    "a pickle of something else": lambda data: b"\x80\x04K\x01.",
    "a flipped bit at the start": lambda data: flipped(data, 30),
    "a flipped bit in the middle": lambda data: flipped(data, len(data) // 2),
    "a flipped bit at the end": lambda data: flipped(data, len(data) - 20),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_replaced(cache: Path, damage: str) -> None:
    files = sorted(cache.glob("*.nb?"))
    assert [file.suffix for file in files] == [".nbc", ".nbc", ".nbi"]
    for file in files[1:]:
        file.write_bytes(DAMAGES[damage](file.read_bytes()))
        run(new())
        assert run(new()) == (2, 0), f"{file.name} is as new"


def test_the_files_of_two_types_are_swapped(cache: Path) -> None:
    one, other = sorted(cache.glob("*.nbc"))
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)
    assert run(new())[0] == 0
    assert run(new()) == (2, 0)


def test_a_file_that_may_not_be_read(cache: Path) -> None:
    for file in cache.glob("*.nb?"):
        file.unlink()
        file.mkdir()  # root may read every file, but no folder as a file
    with pytest.warns(UserWarning, match=WARNING.format(cache, ".+")):
        assert run(new()) == (0, 2)


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_disk(tmp_path / "disk", 100_000) as disk:
        ballast = fill(disk)
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(disk))
        with pytest.warns(UserWarning, match=WARNING.format(disk, "No space left on device")) as warned:
            assert run(new()) == (0, 2)
        assert len(warned) == 1
        ballast.unlink()
        assert run(new()) == (0, 2)
        assert run(new()) == (2, 0)


def test_a_home_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """numba would take `~` for the name of a folder in the working directory, and load code from it."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert numba.core.caching.UserWideCacheLocator not in module._folders()
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache")
    assert numba.core.caching.UserWideCacheLocator in module._folders()


def test_no_place_for_a_cache_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module._Checked, "_locator_classes", [])
    with pytest.warns(UserWarning, match=WARNING.format(Path(__file__).parent, "cannot cache function.*")):
        function = new()
    assert run(function) == (0, 2)


JOIN = """
import pyarrow as pa
import thalweg as tw
assert tw.__file__.startswith({tree!r})
rows = pa.table({{"k": [1, 2, 2], "t": [1, 2, 3]}})
print(sum(batch.num_rows for batch in tw.join(on="a.k = b.k", window=5, time="t").over(a=rows, b=rows)))
"""


SQL = """
import pyarrow as pa
import thalweg as tw
assert tw.__file__.startswith({tree!r})
s = tw.session()
s.stream("e", pa.table({{"ts": pa.array([0, 0], pa.timestamp("us")), "v": ["1.5", "x"]}}), time="ts")
s.query("SELECT v FROM e WHERE CAST(v AS DECIMAL(5, 2)) > 1", on_error="dead-letter").dataframe()
"""


def run_in(tree: Path, script: str = JOIN, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a script with a copy of the package, in a process without a home."""
    inherited = {name: os.environ[name] for name in os.environ if not name.startswith(("NUMBA", "XDG", "HOME"))}
    environment = inherited | {"HOME": str(tree), "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"} | settings
    command = [sys.executable, "-c", script.format(tree=str(tree))]
    return subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, timeout=150)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A copy of the package, with what this process has cached."""
    warm_up()
    shutil.copytree(Path(thalweg.__file__).parent, tmp_path / "tree" / "thalweg")
    return tmp_path / "tree"


def test_a_read_only_installation_loads_what_was_compiled_before(installed: Path) -> None:
    with only_read(installed):
        ran = run_in(installed)
    assert (ran.stdout, ran.stderr) == ("5\n", "")


@pytest.mark.long(sample="test_a_full_disk")
def test_a_read_only_installation_without_a_cache(installed: Path) -> None:
    for file in installed.rglob("*.nb?"):
        file.unlink()
    with only_read(installed):
        ran = run_in(installed)
    assert ran.stdout == "5\n"
    assert ran.stderr.count("UserWarning") == ran.stderr.count("NUMBA_CACHE_DIR to a folder") == 1


@pytest.mark.parametrize("script", [JOIN, SQL], ids=["join", "SQL"])
def test_compiling_that_is_turned_off_is_refused(script: str) -> None:
    """It is no error of a row, which would be set aside."""
    source = Path(thalweg.__file__).parents[1]
    ran = run_in(source, script, NUMBA_DISABLE_JIT="1")
    sentence = "thalweg.errors.PlanError: NUMBA_DISABLE_JIT is set, but joins and some SQL functions run only when"
    assert ran.stderr.splitlines()[-1].startswith(sentence)


def test_names_of_any_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba has renamed its classes that find folders."""
    for name in ("InTreeCacheLocator", "UserWideCacheLocator", "UserProvidedCacheLocator"):
        now = getattr(caching, name)
        monkeypatch.delattr(caching, name)
        monkeypatch.setattr(caching, f"_{name}", now, raising=False)
        assert module._locator(name) is now
    assert module._folders()
