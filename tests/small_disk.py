"""A disk of a few bytes, which only root can mount: to be full, or to be read only for root too."""

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
    mount = shutil.which("mount")
    command = [mount or "", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    if mount is None or os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only root can mount a disk here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, leave: int = 0) -> Path:
    """Fill the disk but for so many bytes. Return the file to remove to have space again."""
    ballast = disk / ".ballast"
    ballast.write_bytes(b"x" * (shutil.disk_usage(disk).free - leave))
    return ballast


def allow_writing(disk: Path, allowed: bool) -> None:
    """Mount the disk again, to be written to or only read. Files must not be open for writing if it is only read."""
    subprocess.run(["mount", "-o", f"remount,{'rw' if allowed else 'ro'}", str(disk)], check=True)
