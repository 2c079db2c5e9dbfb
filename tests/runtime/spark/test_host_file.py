"""What workers of one host leave for newcomers: theirs alone, never half written, not believed when it is not ours."""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from thalweg.runtime.spark import host_file
from thalweg.runtime.spark.host_file import HostFile


def test_what_one_leaves_another_reads(tmp_path: Path) -> None:
    root = tmp_path / "root"
    assert HostFile("app", "query", root).read() is None
    HostFile("app", "query", root).offer(lambda: {"order": [1, 0]})
    assert HostFile("app", "query", root).read() == {"order": [1, 0]}
    assert HostFile("app", "other", root).read() is None
    assert HostFile("other", "query", root).read() is None
    assert [path.name for path in (root / "app").iterdir()] == ["query.json"], "nothing is left aside"
    assert root.stat().st_mode & 0o077 == 0
    assert (root / "app" / "query.json").stat().st_mode & 0o077 == 0


def test_names_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    HostFile("../up", "a/../../b", tmp_path / "root").offer(lambda: {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["root"]


def test_it_is_not_written_all_the_time(tmp_path: Path) -> None:
    file = HostFile("app", "query", tmp_path / "root")
    asked: list[int] = []

    def snapshot() -> dict[str, Any]:
        asked.append(1)
        return {}

    for _ in range(5):
        file.offer(snapshot)
    assert len(asked) == 1


def test_a_folder_that_others_can_enter_is_not_used(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "app").mkdir(parents=True)
    (root / "app" / "query.json").write_text(json.dumps({"order": [9]}))
    root.chmod(0o700)
    (root / "app").chmod(0o777)
    file = HostFile("app", "query", root)
    assert file.read() is None
    file.offer(lambda: {"order": [1]})
    assert json.loads((root / "app" / "query.json").read_text()) == {"order": [9]}


def test_a_link_laid_in_its_way_is_not_followed(tmp_path: Path) -> None:
    import os

    root, precious = tmp_path / "root", tmp_path / "precious"
    (root / "app").mkdir(parents=True, mode=0o700)
    root.chmod(0o700)
    precious.write_text("mine")
    (root / "app" / f"query.{os.getpid()}").symlink_to(precious)
    HostFile("app", "query", root).offer(lambda: {"order": [1]})
    assert precious.read_text() == "mine"


@pytest.mark.parametrize("content", ["", "{", "[1]", "7"])
def test_what_cannot_be_used_is_nothing(tmp_path: Path, content: str) -> None:
    file = HostFile("app", "query", tmp_path / "root")
    file.offer(lambda: {})
    file.path.write_text(content)
    assert file.read() is None


def test_a_base_that_is_a_link_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    old = home / "documents"
    old.mkdir(parents=True)
    os.utime(old, (0, 0))  # older than what is swept
    home.chmod(0o700)
    base = tmp_path / "base"
    base.symlink_to(home)
    file = HostFile("app", "query", base)
    file.offer(lambda: {"order": [0]})
    assert not file.ready()
    assert file.read() is None
    assert [path.name for path in home.iterdir()] == ["documents"]


def test_folders_of_ended_drivers_are_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that was killed cannot do it itself."""
    monkeypatch.setattr(host_file, "_base", lambda: tmp_path / "root")
    monkeypatch.setattr(atexit, "register", lambda *what, **options: None)
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    here = socket.gethostname()
    drivers = {
        "killed": {"pid": int(gone.stdout), "host": here},
        "alive": {"pid": os.getppid(), "host": here},
        "elsewhere": {"pid": int(gone.stdout), "host": "another host"},
        "broken": [],
    }
    for name, told in drivers.items():
        assert HostFile(name, "query").ready()
        (tmp_path / "root" / name / "driver.json").write_text(json.dumps(told))
    os.utime(tmp_path / "root" / "alive", (0, 0))
    os.utime(tmp_path / "root" / "broken", (0, 0))
    host_file.forget_at_exit("mine")
    assert sorted(folder.name for folder in (tmp_path / "root").iterdir()) == ["alive", "elsewhere", "mine"]
