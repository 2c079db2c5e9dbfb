"""docs/architecture.md names files that exist, and every folder of the package."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "src" / "thalweg"


def test_every_file_it_names_is_there() -> None:
    named = set(re.findall(r"`([a-z_0-9/]+\.py)`", PAGE))
    assert len(named) > 60
    assert not [name for name in sorted(named) if not (PACKAGE / name).is_file()]


def test_every_folder_is_in_the_table() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    listed = set(re.findall(r"`([a-z_]+)/`", PAGE.partition("\n## ")[0]))
    assert folders <= listed
