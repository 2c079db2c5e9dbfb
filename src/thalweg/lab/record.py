"""Stores the findings in a file next to the page, so that one experiment can be run again without the others."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from thalweg.errors import ThalwegError
from thalweg.lab.claim import Finding


@dataclass(frozen=True, slots=True)
class Record:
    """The last run of one experiment."""

    findings: list[Finding]
    figures: list[tuple[str, str]]
    """The file and the title of each figure."""
    quick: bool
    seconds: float


def read(path: Path) -> dict[str, Record]:
    """Return the records of a paper by experiment; empty if nothing was run yet."""
    if not path.exists():
        return {}
    try:
        return {
            name: Record(
                [Finding(**finding) for finding in kept["findings"]],
                [(file, title) for file, title in kept["figures"]],
                kept["quick"],
                kept["seconds"],
            )
            for name, kept in json.loads(path.read_text(encoding="utf-8")).items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ThalwegError(
            f"{path} is not a file that `thalweg lab` wrote ({error}): remove it and run again"
        ) from error


def write(path: Path, records: dict[str, Record]) -> None:
    """Write all records, and replace the file."""
    text = json.dumps({name: asdict(record) for name, record in records.items()}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
