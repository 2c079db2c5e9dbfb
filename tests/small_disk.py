"""Disks of a few bytes and folders that can only be read, which only root can mount."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """Mount an empty disk of so many bytes on a new folder, or skip the test."""
    folder.mkdir()
    _mounted("-t", "tmpfs", "-o", f"size={size}", "none", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, leave: int = 0) -> Path:
    """Fill the disk but for so many bytes. Return the file to remove to have space again."""
    ballast = disk / ".ballast"
    ballast.write_bytes(b"x" * (shutil.disk_usage(disk).free - leave))
    return ballast


@contextmanager
def only_read(folder: Path) -> Iterator[None]:
    """Mount a folder over itself, so that it can only be read, for root too; or skip the test. Files that are open stay
    open for writing."""
    _mounted("--bind", str(folder), str(folder))
    try:
        _mounted("-o", "remount,bind,ro", str(folder))
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mounted(*given: str) -> None:
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0 or subprocess.run([mount, *given], capture_output=True).returncode:
        pytest.skip("only root can mount here")
